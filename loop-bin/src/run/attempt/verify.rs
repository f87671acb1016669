//! Verification of finished work: one verifier after the other looks at it, and reports findings.
//! The verifiers themselves are in `verifiers/`; a run is handed their list.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ralph_base::listing::named_files;
use ralph_base::state::RunDir;
use ralph_core::git::contents_at;
use ralph_core::plan::Plan;
use ralph_project::checks::{Check, CheckContext, CheckRules, run_checks};
use ralph_project::config::Config;
use ralph_project::diagnosis::Diagnosis;
use ralph_project::project::Project;
use ralph_project::under_way::Attempt;
use ralph_project::verification::{Finding, Grade};

use super::{Job, Stopped, Used};
use crate::exit::Failure;
use crate::run::decide::WorkEnd;
use work_copy::git_output::listed;
use work_copy::{Staged, Start, Workspace};

/// Something that looks at finished work.
pub(crate) trait Verifier: std::fmt::Debug + Sync {
    /// Its name in findings.
    fn name(&self) -> &'static str;

    /// What there is to say about it before the first story. Programs are found in the given path.
    fn before(
        &self,
        _: &Project,
        _: &Config,
        _: Option<&Plan>,
        _: &str,
    ) -> Result<Vec<Diagnosis>, Failure> {
        Ok(Vec::new())
    }

    /// Takes what it needs from the project when a run starts.
    fn begin(&self, _: &Project, _: &RunDir) -> Result<(), Failure> {
        Ok(())
    }

    /// Whether it looks at this work.
    fn is_due(&self, _: &Work<'_>) -> bool {
        true
    }

    /// Looks at the work. Its files are afterwards as they were, unless what is staged has changed too.
    fn verify(&self, work: &mut Work<'_>) -> Result<Vec<Finding>, Stopped>;
}

/// The name in findings about what the commit does not contain.
const LEFT_OUT: &str = "left out";

/// The verifiers of a run, in their order.
pub(crate) type Verifiers = &'static [&'static dyn Verifier];

/// How far the work is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Nobody has looked at it yet.
    New,
    /// It was rebased or reformatted since.
    Changed,
    /// Git hooks changed it in its commit, so what is staged cannot change any more.
    Committed,
}

/// Finished work, staged in its copy.
pub(crate) struct Work<'a> {
    pub(crate) job: &'a Job,
    pub(crate) copy: &'a mut Workspace,
    pub(crate) attempt: &'a Attempt,
    pub(crate) stage: Stage,
    pub(crate) staged: Staged,
    /// What the verifiers found so far, or in an earlier stage.
    pub(crate) findings: Vec<Finding>,
    /// The checks that ran, with their output.
    pub(crate) checks: Vec<Check>,
    /// What the agents of verifiers used.
    pub(crate) used: Vec<Used>,
    /// The verifier that refused it.
    pub(crate) refused_by: Option<&'static str>,
}

/// The text of a file before the story and now; empty where it is not there.
#[derive(Debug, Clone, Default)]
pub(crate) struct Texts {
    pub(crate) path: String,
    pub(crate) is_new: bool,
    pub(crate) old: String,
    pub(crate) new: String,
}

impl Texts {
    /// Whether a line with one of these words, separated by `|`, was changed.
    pub(crate) fn differ(&self, words: &str) -> bool {
        let of = |text: &str| -> Vec<String> {
            let lines =
                text.lines().filter(|line| words.split('|').any(|word| line.contains(word)));
            lines.map(|line| line.trim().to_owned()).collect()
        };
        of(&self.old) != of(&self.new)
    }
}

impl From<Texts> for [String; 3] {
    fn from(texts: Texts) -> Self {
        [texts.path, texts.old, texts.new]
    }
}

/// Has all verifiers look at the work that are due. The first that refuses it ends the attempt. They
/// see what the commit will contain: what the story itself has git ignore is out of their way.
pub(crate) fn verify(work: &mut Work<'_>) -> Result<(), Stopped> {
    let left_out = work.copy.put_aside(&work.staged, Start::of(work.attempt)).map_err(|error| {
        WorkEnd::failed(format!("what its .gitignore hides cannot be put aside: {error}"))
    })?;
    let verified = verify_each(work);
    work.copy.bring_back(&left_out);
    work.findings.retain(|earlier| earlier.verifier != LEFT_OUT);
    if !left_out.stay.is_empty() {
        let what = "which its own .gitignore keeps out of the commit";
        let what = format!("the checks saw {}, {what}", named_files(&left_out.stay));
        work.findings.push(Finding::remark(LEFT_OUT, "not in the commit", what));
    }
    match verified {
        Err(Stopped::Work(WorkEnd::Failed(_, why) | WorkEnd::Impossible(why)))
            if !left_out.aside.is_empty() =>
        {
            let files = named_files(&left_out.aside);
            let what = "were not there, because the story's own .gitignore keeps them out of it";
            Err(WorkEnd::failed(format!("{why}\n{files} {what}")).into())
        }
        verified => verified,
    }
}

fn verify_each(work: &mut Work<'_>) -> Result<(), Stopped> {
    for verifier in work.job.context.verifiers {
        if !verifier.is_due(work) {
            continue;
        }
        let found = verifier.verify(work)?;
        if let Some(refused) = found.iter().find(|finding| finding.grade == Grade::Refused) {
            work.refused_by = Some(verifier.name());
            return Err(WorkEnd::failed(refused.line.clone()).into());
        }
        work.findings.retain(|earlier| earlier.verifier != verifier.name());
        work.findings.extend(found);
    }
    Ok(())
}

impl<'a> Work<'a> {
    /// Work that was verified before and has changed.
    pub(crate) fn changed(
        job: &'a Job,
        copy: &'a mut Workspace,
        attempt: &'a Attempt,
        staged: Staged,
    ) -> Self {
        let (findings, checks, used) = (Vec::new(), Vec::new(), Vec::new());
        let (stage, refused_by) = (Stage::Changed, None);
        Self { job, copy, attempt, stage, staged, findings, checks, used, refused_by }
    }

    /// Runs commands of the user's in the copy, each for that long at most.
    pub(crate) fn run_commands(
        &mut self,
        commands: &[String],
        limit: Option<Duration>,
    ) -> Result<Vec<Check>, Failure> {
        let (job, context) = (self.job, &self.job.context);
        let config = &context.config;
        let rules = CheckRules::new(config, &job.failed_before, &self.attempt.text);
        let settings = CheckContext { rules: Some(rules), ..self.settings() };
        let limit = config.verify.timeout.limit().into_iter().chain(limit).min();
        let stop = || context.is_interrupted();
        let checks = run_checks(settings, commands, limit, &stop);
        self.programs_ran()?;
        Ok(checks?)
    }

    /// The texts of those changed files that are wanted, before the story and now.
    pub(crate) fn texts(&self, is_wanted: impl Fn(&Path) -> bool) -> Result<Vec<Texts>, Failure> {
        let wanted = self.staged.files.iter().filter(|path| is_wanted(path));
        let paths: Vec<Vec<u8>> = wanted.map(|path| path.as_os_str().as_bytes().to_vec()).collect();
        // A path with a newline cannot be requested.
        let paths: Vec<Vec<u8>> = paths.into_iter().filter(|path| !path.contains(&b'\n')).collect();
        if paths.is_empty() {
            return Ok(Vec::new());
        }
        let repo = self.copy.repo_of_objects();
        let at = |tree: &str| contents_at(&repo, tree, &paths);
        let old = self.attempt.base.as_deref().map(at).transpose()?.unwrap_or_default();
        let new = at(&self.staged.tree)?;
        let text = |bytes: Option<&Vec<u8>>| {
            String::from_utf8_lossy(bytes.map_or(&[][..], Vec::as_slice)).into_owned()
        };
        let of = |path: &Vec<u8>| Texts {
            path: String::from_utf8_lossy(path).into_owned(),
            is_new: !old.contains_key(path.as_slice()),
            old: text(old.get(path.as_slice())),
            new: text(new.get(path.as_slice())),
        };
        Ok(paths.iter().map(of).collect())
    }

    /// How programs of the user's are started in the copy.
    pub(crate) fn settings(&self) -> CheckContext<'_> {
        CheckContext {
            dir: self.copy.root(),
            run: &self.job.run,
            left: self.job.context.time_for_checks(),
            rules: None,
            door: &self.copy.doors.checks,
        }
    }

    /// Notes that programs ran that may have changed anything in the copy.
    pub(crate) fn programs_ran(&mut self) -> Result<(), Failure> {
        let restored = self.copy.programs_ran()?;
        restored.into_iter().for_each(|said| self.job.reporter.warn(said));
        Ok(())
    }

    /// Makes the files of the copy what is staged, and removes these.
    pub(crate) fn put_back(&mut self, removed: &[PathBuf]) -> Result<(), Failure> {
        self.copy.open(Start::of(self.attempt))?;
        for path in removed {
            self.copy.remove(path)?;
        }
        let changed = self.copy.after_checks(&self.job.books.ours)?.changed;
        self.restore(&[], &changed)
    }

    /// Restores files from what is staged, or from another source.
    pub(crate) fn restore(&self, source: &[&str], files: &[PathBuf]) -> Result<(), Failure> {
        if files.is_empty() {
            return Ok(());
        }
        let from_input = ["--worktree", "--pathspec-from-file=-", "--pathspec-file-nul"];
        let args = [&["restore"], &from_input[..], source].concat();
        self.copy.git().feed(&args, &listed(files))?;
        Ok(())
    }
}
