//! Locks that a git which was killed left behind: they would keep us from saving and restoring the
//! tree.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::command::{GitError, LOCK_PATIENCE};
use super::repo::Repo;

/// Locks besides those of single refs.
const LOCKS: [&str; 3] = ["index.lock", "HEAD.lock", "packed-refs.lock"];

/// How long a lock may be somebody else's, who is still at work.
const PATIENCE: Duration = Duration::from_secs(2);

/// How often we look whether a lock is gone.
const PULSE: Duration = Duration::from_millis(20);

/// Removes locks whose holder was killed, those of submodules included; returns them. Only for when
/// everything that could hold one for us has ended; a lock of somebody else, whose git is still at
/// work here, is left, and so are those that were there `before`.
pub fn remove_dead_locks(repo: &Repo, before: &[PathBuf]) -> Vec<PathBuf> {
    let new = || locks(repo).into_iter().filter(|lock| !before.contains(lock)).collect::<Vec<_>>();
    let begun = Instant::now();
    let mut left = new();
    while !left.is_empty() && begun.elapsed() < PATIENCE {
        std::thread::sleep(PULSE);
        left = new();
    }
    if left.is_empty() || is_held(repo, &left) {
        return Vec::new();
    }
    left.into_iter().filter(|lock| fs_err::remove_file(lock).is_ok()).collect()
}

/// Removes locks whose holder was killed and returns them, and waits for those of others; one that
/// is kept is an error. `stop` ends the wait.
pub fn wait_for_locks(repo: &Repo, stop: &dyn Fn() -> bool) -> Result<Vec<PathBuf>, GitError> {
    if locks(repo).is_empty() {
        return Ok(Vec::new());
    }
    let begun = Instant::now();
    let mut removed = remove_dead_locks(repo, &[]);
    while !locks(repo).is_empty() && begun.elapsed() < LOCK_PATIENCE && !stop() {
        std::thread::sleep(PULSE);
    }
    if !locks(repo).is_empty() && !stop() {
        // Whoever held it may have been killed meanwhile.
        removed.extend(remove_dead_locks(repo, &[]));
    }
    match locks(repo).first() {
        Some(lock) if !stop() => Err(GitError::Locked {
            seconds: begun.elapsed().as_secs(),
            lock: lock.display().to_string(),
        }),
        _ => Ok(removed),
    }
}

/// Whether any git is at work here, or any program has one of these files open.
pub fn is_held(repo: &Repo, locks: &[PathBuf]) -> bool {
    let processes = fs_err::read_dir("/proc").into_iter().flatten().flatten();
    processes
        .map(|entry| entry.path())
        .any(|process| is_git_at_work(&process, repo.top()) || has_open(&process, locks))
}

/// The locks that are there now, of submodules as well.
pub fn locks(repo: &Repo) -> Vec<PathBuf> {
    let mut git_dirs = vec![repo.git_dir().to_owned()];
    collect_modules(&repo.git_dir().join("modules"), &mut git_dirs);
    let mut found = Vec::new();
    for git_dir in git_dirs {
        found.extend(LOCKS.map(|name| git_dir.join(name)).into_iter().filter(|lock| lock.exists()));
        collect_locks(&git_dir.join("refs"), &mut found);
    }
    found
}

/// The git folders of submodules; a name with slashes makes folders around them.
fn collect_modules(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs_err::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.join("HEAD").is_file() {
            collect_modules(&path.join("modules"), found);
            found.push(path);
        } else if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            collect_modules(&path, found);
        }
    }
}

fn collect_locks(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs_err::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            collect_locks(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "lock") {
            found.push(path);
        }
    }
}

/// Whether a process is a git of anybody's in this folder or below it.
fn is_git_at_work(process: &Path, top: &Path) -> bool {
    let name = fs_err::read_to_string(process.join("comm")).unwrap_or_default();
    name.starts_with("git")
        && fs_err::read_link(process.join("cwd")).is_ok_and(|folder| folder.starts_with(top))
}

fn has_open(process: &Path, files: &[PathBuf]) -> bool {
    let opened = fs_err::read_dir(process.join("fd")).into_iter().flatten().flatten();
    opened
        .filter_map(|entry| fs_err::read_link(entry.path()).ok())
        .any(|path| files.contains(&path))
}
