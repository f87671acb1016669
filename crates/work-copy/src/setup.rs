//! The commands that set up a copy: run when it is new, and again when a lock file has changed.

use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::time::Duration;

use ralph_base::state;
use ralph_project::checks::{CheckContext, CheckEnd, run_checks};

use super::Workspace;
use super::known::Known;
use super::repository::lend_excludes;
use crate::git_output::paths;
use ralph_base::state::fingerprint;
use ralph_project::failure::Failure;

/// Files that list the packages of a project, in addition to those recognized by their name.
const MANIFESTS: &str = "\
    Package.resolved environment.yml npm-shrinkwrap.json package.json pyproject.toml";

/// Whether a file lists the packages of a project.
fn names_packages(file: &str) -> bool {
    let is_list = file.starts_with("requirements") || file.ends_with(".sum");
    let mut parts = file.split(['.', '-']);
    let is_lock = parts.any(|part| matches!(part, "lock" | "lockb" | "lockfile"));
    is_lock || is_list || MANIFESTS.split(' ').any(|manifest| manifest == file)
}

/// Whether the setup commands have to be run now.
pub fn needs_setup(copy: &Workspace, commands: &[String]) -> bool {
    let known = state::read_text(&copy.own.setup_stamp).unwrap_or_default();
    !commands.is_empty() && !copy.is_in_place && known != stamp_now(copy, commands)
}

/// Whether an agent may have changed files that git ignores in the copy. The setup runs some of
/// them, so it then gets no credentials.
pub fn is_used(copy: &Workspace) -> bool {
    copy.own.setup_stamp.exists()
}

/// Returns why a setup of the copy at this commit gets no credentials, if so: it would run what an
/// agent wrote. A story that landed counts however many commits of the user's came after it, unless
/// the user merged it as part of something.
pub fn withheld(copy: &Workspace, tip: Option<&str>) -> Result<Option<String>, Failure> {
    if is_used(copy) {
        return Ok(Some("the copy was used".to_owned()));
    }
    let Some(tip) = tip.filter(|_| !copy.trusts_setup) else { return Ok(None) };
    let git = copy.source.git();
    let log = ["log", "--first-parent", "--format=%H"];
    let landed = state::read_text(copy.own.records.of_run().landed()).unwrap_or_default();
    let named = git.line(&[&log[..], &["--grep=^Ralph-Story: ", "-1", tip]].concat())?;
    let named = Some(named).filter(|named| !named.is_empty());
    let ours = if named.is_some() || landed.is_empty() {
        named
    } else {
        let all = git.line(&[&log[..], &[tip]].concat())?;
        let landed: BTreeSet<&str> = landed.lines().collect();
        all.lines().find(|commit| landed.contains(commit)).map(str::to_owned)
    };
    Ok(ours.map(|id| format!("{id:.8} is the loop's, and [workspace] trust_setup is not set")))
}

/// Runs the setup commands if necessary; returns whether it did.
pub fn set_up(
    copy: &mut Workspace,
    commands: &[String],
    (limit, is_trusted): (Option<Duration>, bool),
    run: &str,
    stop: &dyn Fn() -> bool,
) -> Result<bool, Failure> {
    let is_used = is_used(copy);
    if !needs_setup(copy, commands) {
        if !is_used && !copy.is_in_place {
            state::replace(&copy.own.setup_stamp, b"")?;
        }
        return Ok(false);
    }
    copy.known = Known::default();
    let door = if is_trusted { &copy.doors.setup } else { &copy.doors.checks };
    let context = CheckContext { dir: &copy.root, run, left: None, rules: None, door };
    let ran = run_checks(context, commands, limit, stop)?;
    if let Some(failed) = ran.last().filter(|command| !command.passed()) {
        if failed.end == CheckEnd::Stopped {
            return Err(Failure::because("the setup was stopped"));
        }
        return Err(Failure::because(format!(
            "the setup command `{}` {}; fix it in [workspace] setup, raise [verify] timeout, \
             widen [sandbox], or start with --in-place\n{}",
            failed.name(),
            failed.verdict(),
            failed.excerpt()
        )));
    }
    exclude_leftovers(copy)?;
    // The stamp after the setup, which may write its own lock file.
    state::replace(&copy.own.setup_stamp, stamp_now(copy, commands).as_bytes())?;
    Ok(true)
}

/// Records files that the setup left and git does not ignore: they are kept, but not part of an
/// attempt's work, and no commit contains them.
fn exclude_leftovers(copy: &Workspace) -> Result<(), Failure> {
    let list = ["ls-files", "-z", "--others", "--exclude-standard", "--directory"];
    let list = [&list[..], &["--no-empty-directory"]].concat();
    let mut lines = state::read(&copy.own.setup_leftovers).unwrap_or_default();
    for path in paths(&copy.git().run(&list)?) {
        if !copy.is_only_carried(&path) {
            lines.extend(ignoring(path.as_os_str().as_bytes()));
        }
    }
    state::replace(&copy.own.setup_leftovers, &lines)?;
    Ok(lend_excludes(copy)?)
}

/// Returns the tracked files that differ from the index.
pub fn changed_by_setup(copy: &Workspace) -> Result<Vec<PathBuf>, Failure> {
    let changed = paths(&copy.git().run(&["diff-files", "-z", "--name-only"])?);
    Ok(changed.into_iter().filter(|path| !copy.is_only_carried(path)).collect())
}

/// Computes a fingerprint of the commands and of every lock file that they may depend on.
fn stamp_now(copy: &Workspace, commands: &[String]) -> String {
    let mut stamp = commands.join("\n");
    for folder in BTreeSet::from([&copy.top, &copy.root]) {
        let entries = folder.read_dir_utf8().into_iter().flatten().flatten();
        let mut files: Vec<_> = entries.map(|entry| entry.into_path()).collect();
        files.sort();
        for file in files.iter().filter(|file| file.file_name().is_some_and(names_packages)) {
            let content = state::read(file).unwrap_or_default();
            stamp.push_str(&format!("\n{file} {:016x}", fingerprint(&content)));
        }
    }
    stamp
}

/// Returns the pattern by which git ignores exactly this path.
fn ignoring(path: &[u8]) -> Vec<u8> {
    let mut line = vec![b'/'];
    for byte in path {
        if b"*?[\\".contains(byte) {
            line.push(b'\\');
        }
        line.push(*byte);
    }
    line.push(b'\n');
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lock_files_and_manifests_are_recognized_by_name() {
        let packages = "Cargo.lock bun.lockb pnpm-lock.yaml packages.lock.json go.sum \
                        requirements-dev.txt package.json gradle.lockfile pyproject.toml";
        assert!(packages.split_whitespace().all(names_packages));
        let others = ["clock.py", "README.md", "package.md", "block-list.txt"];
        assert!(!others.into_iter().any(names_packages));
    }
}
