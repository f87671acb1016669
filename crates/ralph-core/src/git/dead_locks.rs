//! Locks that a git which was killed left behind: they would keep us from saving and restoring the
//! tree.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::repo::Repo;

/// Locks besides those of single refs.
const LOCKS: [&str; 3] = ["index.lock", "HEAD.lock", "packed-refs.lock"];

/// How long a lock may be somebody else's, who is still at work.
const PATIENCE: Duration = Duration::from_secs(2);

/// Removes locks whose holder was killed, those of submodules included; returns them. Only for when
/// everything that could hold one for us has ended; a lock of somebody else, whose git is still at
/// work here, is left.
pub fn remove_dead_locks(repo: &Repo) -> Vec<PathBuf> {
    let begun = Instant::now();
    while !locks(repo).is_empty() && begun.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_millis(20));
    }
    if locks(repo).is_empty() || is_git_at_work(repo.top()) {
        return Vec::new();
    }
    locks(repo).into_iter().filter(|lock| fs_err::remove_file(lock).is_ok()).collect()
}

fn locks(repo: &Repo) -> Vec<PathBuf> {
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

/// Whether a git of anybody's runs in this folder or below it.
fn is_git_at_work(top: &Path) -> bool {
    let processes = fs_err::read_dir("/proc").into_iter().flatten().flatten();
    processes.map(|entry| entry.path()).any(|process| {
        let name = fs_err::read_to_string(process.join("comm")).unwrap_or_default();
        name.starts_with("git")
            && fs_err::read_link(process.join("cwd")).is_ok_and(|folder| folder.starts_with(top))
    })
}
