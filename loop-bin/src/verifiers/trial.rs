//! Runs the checks that run tests with some files as they are in another tree, and puts them back.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ralph_core::verdict::Kind;
use ralph_project::checks::Check;

use crate::exit::Failure;
use crate::run::attempt::Stopped;
use crate::run::attempt::verify::Work;
use crate::run::decide::WorkEnd;
use work_copy::Workspace;

/// Runs the checks that run tests, each for that long at most, with these files as they are in a tree; those
/// that it does not have are away. Afterwards everything is as it was.
pub(super) fn tests_with(
    work: &mut Work<'_>,
    tree: &str,
    files: &[PathBuf],
    limit: Option<Duration>,
) -> Result<Vec<Check>, Stopped> {
    let top = work.copy.top().to_owned();
    let is_there = |path: &Path| top.as_std_path().join(path).symlink_metadata().is_ok();
    let away: Vec<PathBuf> = files.iter().filter(|path| !is_there(path)).cloned().collect();
    let checks = run_tests_with(work, tree, files, limit);
    take_another_second(work.copy, files);
    work.put_back(&away)?;
    let checks = checks?;
    if let Some(signal) = work.job.context.interrupts.signal() {
        return Err(WorkEnd::LandingStopped(signal).into());
    }
    Ok(checks)
}

fn run_tests_with(
    work: &mut Work<'_>,
    tree: &str,
    files: &[PathBuf],
    limit: Option<Duration>,
) -> Result<Vec<Check>, Failure> {
    take_another_second(work.copy, files);
    work.restore(&[&format!("--source={tree}")], files)?;
    let config = &work.job.context.config;
    let is_test = |check: &&Check| {
        check.verdict_of(config).is_some_and(|verdict| verdict.kind != Kind::NotATest)
    };
    let name = |check: &Check| check.command.clone();
    let mut commands: Vec<String> = work.checks.iter().filter(is_test).map(name).collect();
    if commands.is_empty() {
        commands = work.checks.iter().map(name).collect();
    }
    work.run_commands(&commands, limit)
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

fn second_of(file: &Path) -> Option<u64> {
    Some(second(fs_err::symlink_metadata(file).ok()?.modified().ok()?))
}

fn second(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
