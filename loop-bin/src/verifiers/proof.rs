//! Proves a story's tests: run against the code as it was before the story, they
//! must fail.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ralph_core::verdict::{Kind, Verdict};
use ralph_project::checks::{Check, CheckEnd};
use ralph_project::config::{Config, Prove};
use ralph_project::strikes::is_test_file;

use crate::exit::Failure;
use crate::run::attempt::Stopped;
use crate::run::attempt::verify::{Stage, Verifier, Work};
use crate::run::decide::WorkEnd;
use crate::terminal::{Tone, counted};
use ralph_project::verification::{Finding, Grade};
use work_copy::Workspace;
use work_copy::git_output::{RAW, differences};

/// Tries the new tests.
#[derive(Debug)]
pub(super) struct Proofs;

/// The result of running a story's tests without the rest of its work.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Proof {
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
    fn is_good(&self) -> bool {
        matches!(self, Self::Failed(_))
    }

    /// Short text for messages, after `proven:` or `not shown:`.
    fn in_words(&self) -> String {
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

impl Verifier for Proofs {
    fn name(&self) -> &'static str {
        "proof"
    }

    fn is_due(&self, work: &Work<'_>) -> bool {
        work.stage == Stage::New
            && work.job.context.config.verify.prove != Prove::Off
            // Not in place: a kill would leave the user's tree half reverted.
            && !work.copy.is_in_place
            && !work.checks.is_empty()
    }

    fn verify(&self, work: &mut Work<'_>) -> Result<Vec<Finding>, Stopped> {
        let Some((proof, new)) = prove(work)? else { return Ok(Vec::new()) };
        let (config, reporter) = (&work.job.context.config, &work.job.reporter);
        let (story, found) = (&work.attempt.story, proof.in_words());
        if proof.is_good() {
            reporter.toned(Tone::Good, format!("{story} proven: {found}"));
            return Ok(vec![Finding::new(self.name(), Grade::Proven, found)]);
        }
        if proof != Proof::Hollow {
            reporter.line(format!("{story} not shown: {found}"));
            return Ok(vec![Finding::new(self.name(), Grade::Fine, found)]);
        }
        if config.verify.prove == Prove::Refuse {
            let tests = new.iter().map(|path| path.display().to_string()).collect::<Vec<_>>();
            let why = format!("{found}; make them fail without it: {}", tests.join(", "));
            return Ok(vec![Finding::refused(self.name(), why)]);
        }
        reporter.toned(Tone::Warning, format!("{story} not shown: {found}"));
        let remark = Finding::remark(self.name(), "not shown", found.clone());
        Ok(vec![Finding { line: found, ..remark }])
    }
}

/// Tests the story without the rest of its work, if it has tests and other changes. Returns its new
/// tests too.
fn prove(work: &mut Work<'_>) -> Result<Option<(Proof, Vec<PathBuf>)>, Stopped> {
    let Some(base) = &work.attempt.base else { return Ok(None) };
    let (tests, others): (Vec<_>, Vec<_>) =
        work.staged.files.iter().cloned().partition(|path: &PathBuf| is_test_file(path));
    let written = written_since(work.copy, base, &work.staged.tree)?;
    let is_new = |path: &PathBuf| written.contains(path) && is_code(path);
    let new: Vec<PathBuf> = tests.into_iter().filter(is_new).collect();
    if others.is_empty() || new.is_empty() {
        return Ok(None);
    }
    let top = work.copy.top().as_std_path();
    let is_there = |path: &PathBuf| top.join(path).symlink_metadata().is_ok();
    let removed: Vec<PathBuf> = others.iter().filter(|path| !is_there(path)).cloned().collect();
    let checks = checks_without(work, base, &others);
    take_another_second(work.copy, &others);
    work.put_back(&removed)?;
    let checks = checks?;
    if let Some(signal) = work.job.context.interrupts.signal() {
        return Err(WorkEnd::LandingStopped(signal).into());
    }
    Ok(Some((Proof::of(&checks, &work.job.context.config), new)))
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
    work: &mut Work<'_>,
    base: &str,
    others: &[PathBuf],
) -> Result<Vec<Check>, Failure> {
    let (config, reporter) = (&work.job.context.config, &work.job.reporter);
    let is_test = |check: &&Check| {
        check.verdict_of(config).is_some_and(|verdict| verdict.kind != Kind::NotATest)
    };
    let name = |check: &Check| check.command.clone();
    let mut commands: Vec<String> = work.checks.iter().filter(is_test).map(name).collect();
    if commands.is_empty() {
        commands = work.checks.iter().map(name).collect();
    }
    let files = counted(others.len(), "other file", "other files");
    let doing = format!("trying its tests without its changes to {files}");
    reporter.doing(&doing);
    reporter.line(format!("{}: {doing}", work.attempt.story));
    take_another_second(work.copy, others);
    work.restore(&[&format!("--source={base}")], others)?;
    work.run_commands(&commands)
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
