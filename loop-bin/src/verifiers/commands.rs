//! The user's checks. What they change in the story's files is checked too.

use ralph_base::listing::named_files;
use ralph_core::git::GitError;
use ralph_core::verdict::Kind;
use ralph_project::checks::{Check, CheckEnd, one_line};
use ralph_project::strikes::with_cause;
use ralph_project::verification::{CommandFacts, Finding, Grade};

use crate::receipts::sha256;
use crate::run::attempt::Stopped;
use crate::run::attempt::verify::{Stage, Verifier, Work};
use crate::run::decide::WorkEnd;
use work_copy::git_output::{base_of, paths};
use work_copy::{AfterChecks, Staged, Start};

/// How often checks are repeated because they changed files.
const MOST_ROUNDS: usize = 3;

#[derive(Debug)]
pub(super) struct Commands;

impl Verifier for Commands {
    fn name(&self) -> &'static str {
        "commands"
    }

    fn verify(&self, work: &mut Work<'_>) -> Result<Vec<Finding>, Stopped> {
        if work.job.context.config.verify.commands.is_empty() {
            return Ok(Vec::new());
        }
        if work.stage == Stage::Committed {
            check_commit(work)?;
        } else {
            check_staged(work)?;
        }
        let config = &work.job.context.config;
        let mut finding = match work.staged.rewritten.as_slice() {
            [] => Finding::new(self.name(), Grade::Fine, ""),
            files => {
                let were = if files.len() == 1 { "was" } else { "were" };
                let files = named_files(files);
                let what = "written while the checks ran, so they may not have seen it";
                Finding::remark(self.name(), "rewritten", format!("{files} {were} {what}"))
            }
        };
        let facts = work.checks.iter().map(|check| CommandFacts {
            output_sha256: sha256(&check.output),
            ..CommandFacts::of(check, config)
        });
        finding.commands = facts.collect();
        if finding.commands.iter().any(|check| check.excused.is_some()) {
            finding.grade = Grade::Remark;
        }
        let config = &work.job.context.config;
        let ran_none = |check: &&Check| {
            check.verdict_of(config).is_some_and(|verdict| verdict.kind == Kind::NoTests)
        };
        let silent = work.checks.iter().filter(ran_none);
        let silent = silent.map(|check| {
            Finding::remark(self.name(), "no test ran", format!("`{}`", check.name()))
        });
        Ok([finding].into_iter().chain(silent).collect())
    }
}

/// Checks a commit that git hooks changed.
fn check_commit(work: &mut Work<'_>) -> Result<(), Stopped> {
    run(work)?;
    let AfterChecks { changed, rewritten, .. } = work.copy.after_checks(&work.job.books.ours)?;
    work.staged.rewritten.extend([changed, rewritten].concat());
    Ok(())
}

/// Runs the checks until one fails, or all pass without changing files.
fn check_staged(work: &mut Work<'_>) -> Result<(), Stopped> {
    let (job, attempt) = (work.job, work.attempt);
    for round in 1..=MOST_ROUNDS {
        run(work)?;
        work.copy.open(Start::of(attempt))?;
        let AfterChecks { changed, rewritten, too_long } =
            work.copy.after_checks(&job.books.ours)?;
        if !too_long.is_empty() {
            let files = named_files(&too_long);
            let why = format!("the checks made {files} longer than [limits] changes allows");
            return Err(WorkEnd::failed(why).into());
        }
        if changed.is_empty() {
            work.staged.rewritten = rewritten;
            return Ok(());
        }
        let (story, files) = (&attempt.story, named_files(&changed));
        if round == MOST_ROUNDS {
            job.reporter.warn(format!(
                "{story}: the checks change files every time they run: {files}; the commit \
                 contains them as they were checked"
            ));
            work.staged.rewritten = changed;
            return Ok(());
        }
        job.reporter.line(format!("{story}: the checks changed {files}; checking again"));
        // New files that checks created do not belong to the story.
        let failed = |error: GitError| WorkEnd::failed(error.to_string());
        work.copy.stage_again(changed).map_err(failed)?;
        let store = work.copy.store();
        let base = base_of(&store, attempt.base.as_deref())?;
        let left = ["diff-index", "-z", "--cached", "--name-only", &base];
        let files = paths(&store.run(&left)?);
        if files.is_empty() && !work.staged.files.is_empty() {
            work.copy.git().run(&["read-tree", "--reset", "-u", &work.staged.tree])?;
            let why = "the checks undid all changes; checks must not modify the work";
            return Err(WorkEnd::failed(why).into());
        }
        let tree = work.copy.write_tree(&base)?;
        work.staged = Staged { tree, files, ..std::mem::take(&mut work.staged) };
    }
    Err(WorkEnd::failed("the checks kept changing files").into())
}

/// Runs the checks once; all of them pass.
fn run(work: &mut Work<'_>) -> Result<(), Stopped> {
    let job = work.job;
    let config = &job.context.config;
    work.copy.show_staged()?;
    let names: Vec<String> = config.verify.commands.iter().map(|check| one_line(check)).collect();
    let (story, names) = (&work.attempt.story, names.join(", "));
    job.reporter.doing(&format!("checking with {names}"));
    job.reporter.line(format!("{story}: checking with {names}"));
    work.checks = work.run_commands(&config.verify.commands, None)?;
    for check in &work.checks {
        job.reporter.note(&job.key, CommandFacts::of(check, config).event());
    }
    match work.checks.last() {
        Some(last) if !last.passed() => Err(not_passed(work, last).into()),
        _ => Ok(()),
    }
}

/// Why a failed check keeps the work from landing. A missing program that no attempt can install ends
/// the run.
fn not_passed(work: &Work<'_>, check: &Check) -> WorkEnd {
    let context = &work.job.context;
    if let (CheckEnd::Stopped, Some(signal)) = (check.end, context.interrupts.signal()) {
        return WorkEnd::LandingStopped(signal);
    }
    let (name, verdict) = (check.name(), check.verdict());
    match check.needs() {
        Some(program) => WorkEnd::Impossible(format!(
            "the check `{name}` needs `{program}`, which was not found; install it, or fix \
             [verify] commands"
        )),
        None => {
            let tests = check.verdict_of(&context.config);
            let what = format!("`{name}` {verdict}");
            WorkEnd::failed(with_cause(&what, tests.as_ref(), &check.excerpt()))
        }
    }
}
