//! Proves a story's tests: run against the code as it was before the story, they
//! must fail.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ralph_core::verdict::{Kind, Verdict};
use ralph_project::checks::{Check, CheckEnd};
use ralph_project::config::{Config, Prove};
use ralph_project::strikes::is_test_file;
use ralph_project::under_way::Attempt;

use super::check::run_commands;
use super::{Job, Passed, Stopped};
use crate::exit::Failure;
use crate::run::decide::WorkEnd;
use crate::terminal::{Tone, counted};
use work_copy::git_output::{RAW, differences, listed};
use work_copy::{Start, Workspace};

/// The result of running a story's tests without the rest of its work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::run) enum Proof {
    /// They failed; with the number of failures, if known.
    Failed(Option<u64>),
    /// They could not run, because something that they need is missing.
    Broken,
    /// A check failed, but its output does not show whether a test did.
    Unclear,
    /// They passed.
    Hollow,
}

impl Proof {
    /// The proof by the results of the checks.
    fn of(checks: &[Check], config: &Config) -> Self {
        let Some(check) = checks.iter().find(|check| !check.passed()) else { return Self::Hollow };
        match check.verdict_of(config) {
            _ if !matches!(check.end, CheckEnd::Exited(Some(_))) => Self::Broken,
            Some(Verdict { kind: Kind::Failed, counts, failing, .. }) => {
                let count = counts.failed.max(failing.len() as u64);
                Self::Failed(if count > 0 { Some(count) } else { None })
            }
            Some(Verdict { kind: Kind::Errored | Kind::NoTests, .. }) => Self::Broken,
            _ => Self::Unclear,
        }
    }

    /// Whether a new test ran and failed.
    pub(in crate::run) fn is_good(&self) -> bool {
        matches!(self, Self::Failed(_))
    }

    /// Short text for messages, after `proven:` or `not shown:`.
    pub(in crate::run) fn in_words(&self) -> String {
        match self {
            Self::Failed(Some(1)) => "its new test fails without the change".to_owned(),
            Self::Failed(Some(count)) => format!("its {count} new tests fail without the change"),
            Self::Failed(None) => "its new tests fail without the change".to_owned(),
            Self::Broken => "its new tests cannot run without the change".to_owned(),
            Self::Unclear => "no test was seen to fail without the change".to_owned(),
            Self::Hollow => "its new tests also pass without the change".to_owned(),
        }
    }
}

/// Tests the story without the rest of its work, if it has tests and other changes.
pub(super) fn prove(
    job: &Job,
    copy: &mut Workspace,
    attempt: &Attempt,
    passed: &Passed,
) -> Result<Option<Proof>, Stopped> {
    let config = &job.context.config;
    // Not in place: a kill would leave the user's tree half reverted.
    if config.verify.prove == Prove::Off || copy.is_in_place || passed.checks.is_empty() {
        return Ok(None);
    }
    let Some(base) = &attempt.base else { return Ok(None) };
    let (tests, others): (Vec<_>, Vec<_>) =
        passed.staged.files.iter().cloned().partition(|path: &PathBuf| is_test_file(path));
    let written = written_since(copy, base, &passed.staged.tree)?;
    let new: Vec<&PathBuf> =
        tests.iter().filter(|path| written.contains(path) && is_code(path)).collect();
    if others.is_empty() || new.is_empty() {
        return Ok(None);
    }
    let top = copy.top().as_std_path();
    let is_there = |path: &PathBuf| top.join(path).symlink_metadata().is_ok();
    let removed: Vec<PathBuf> = others.iter().filter(|path| !is_there(path)).cloned().collect();
    let checks = checks_without(job, copy, (&attempt.story, base), &others, passed);
    put_back(job, copy, attempt, &others, &removed)?;
    let checks = checks?;
    if let Some(signal) = job.context.interrupts.signal() {
        return Err(WorkEnd::LandingStopped(signal).into());
    }
    let proof = Proof::of(&checks, config);
    let (story, found) = (&attempt.story, proof.in_words());
    if proof.is_good() {
        job.reporter.toned(Tone::Good, format!("{story} proven: {found}"));
    } else if config.verify.prove == Prove::Refuse && proof == Proof::Hollow {
        let tests = new.iter().map(|path| path.display().to_string());
        return Err(WorkEnd::failed(format!(
            "{found}; make them fail without it: {}",
            tests.collect::<Vec<_>>().join(", ")
        ))
        .into());
    } else {
        let tone = if proof == Proof::Hollow { Tone::Warning } else { Tone::Plain };
        job.reporter.toned(tone, format!("{story} not shown: {found}"));
    }
    Ok(Some(proof))
}

/// The files of a tree that are new or changed, compared with another tree.
fn written_since(copy: &Workspace, base: &str, tree: &str) -> Result<Vec<PathBuf>, Failure> {
    // A file that was moved unchanged has no new text.
    let wanted = ["--find-renames", "--diff-filter=AM", "--ignore-submodules", base, tree];
    let args = [&["diff-tree", "-r"], &RAW[..], &wanted].concat();
    let found = differences(&copy.store().run(&args)?);
    let written = found.into_iter().filter(|one| one.old.id != one.new.id);
    Ok(written.map(|one| one.path).collect())
}

/// Runs the checks that run tests, with everything except the story's tests reverted.
fn checks_without(
    job: &Job,
    copy: &mut Workspace,
    (story, base): (&str, &str),
    others: &[PathBuf],
    passed: &Passed,
) -> Result<Vec<Check>, Failure> {
    let config = &job.context.config;
    let is_test = |check: &&Check| {
        check.verdict_of(config).is_some_and(|verdict| verdict.kind != Kind::NotATest)
    };
    let name = |check: &Check| check.command.clone();
    let mut commands: Vec<String> = passed.checks.iter().filter(is_test).map(name).collect();
    if commands.is_empty() {
        commands = passed.checks.iter().map(name).collect();
    }
    let files = counted(others.len(), "other file", "other files");
    let doing = format!("trying its tests without its changes to {files}");
    job.reporter.doing(&doing);
    job.reporter.line(format!("{story}: {doing}"));
    take_another_second(copy, others);
    let source = format!("--source={base}");
    restore(copy, &[&source], others)?;
    run_commands(job, copy, &commands)
}

/// Restores the staged work, and removes again what it had removed.
fn put_back(
    job: &Job,
    copy: &mut Workspace,
    attempt: &Attempt,
    others: &[PathBuf],
    removed: &[PathBuf],
) -> Result<(), Failure> {
    copy.open(Start::of(attempt))?;
    take_another_second(copy, others);
    for path in removed {
        copy.remove(path)?;
    }
    let changed = copy.after_checks(&job.books.ours)?.changed;
    restore(copy, &[], &changed)
}

fn restore(copy: &Workspace, source: &[&str], files: &[PathBuf]) -> Result<(), Failure> {
    if files.is_empty() {
        return Ok(());
    }
    let from_input = ["--worktree", "--pathspec-from-file=-", "--pathspec-file-nul"];
    let args = [&["restore"], &from_input[..], source].concat();
    copy.git().feed(&args, &listed(files))?;
    Ok(())
}

/// Gives each version of a file another modification time, by the second, because some tools decide
/// by time and size whether their cached results are still valid.
fn take_another_second(copy: &Workspace, files: &[PathBuf]) {
    let top = copy.top().as_std_path();
    let newest = files.iter().filter_map(|file| second_of(&top.join(file))).max();
    while newest.is_some_and(|newest| newest >= second(SystemTime::now())) {
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Whether a file can contain tests, rather than only data for them.
fn is_code(path: &Path) -> bool {
    let extension = path.extension().and_then(OsStr::to_str).unwrap_or_default();
    let data = "csv gif html jpg json jsonl lock log md pdf png snap svg toml tsv txt xml yaml yml";
    !data.split(' ').any(|known| known == extension)
}

fn second_of(file: &Path) -> Option<u64> {
    Some(second(fs_err::symlink_metadata(file).ok()?.modified().ok()?))
}

fn second(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proof(command: &str, end: CheckEnd, output: &str) -> Proof {
        let check = Check::new(command, end, output.to_owned(), Duration::ZERO);
        Proof::of(&[check], &Config::default())
    }

    #[test]
    fn only_tests_that_fail_prove_anything() {
        let red = CheckEnd::Exited(Some(1));
        let shown = |command: &str, end, output: &str| proof(command, end, output).in_words();
        let out = "FAILED test_a.py::test_b - assert 1 == 2\n1 failed, 3 passed in 0.1s\n";
        assert_eq!(shown("pytest", red, out), "its new test fails without the change");
        let out = "2 failed in 0.1s\n";
        assert_eq!(shown("pytest", red, out), "its 2 new tests fail without the change");
        let out = "E   ImportError: cannot import name 'b'\n1 error in 0.05s\n";
        assert_eq!(proof("pytest", CheckEnd::Exited(Some(2)), out), Proof::Broken);
        let unclear = proof("./check.sh", red, "nope\n");
        assert_eq!((unclear.is_good(), unclear), (false, Proof::Unclear));
        let hollow = proof("pytest", CheckEnd::Exited(Some(0)), "4 passed in 0.1s\n");
        assert_eq!((hollow.is_good(), hollow), (false, Proof::Hollow));
        assert_eq!(proof("pytest", CheckEnd::TimedOut, ""), Proof::Broken);
        assert_eq!(Proof::of(&[], &Config::default()), Proof::Hollow);
    }
}
