//! Locks that a git which was killed left behind: they would keep us from saving and restoring the
//! tree.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::processes;
use super::repo::Repo;

/// How often we look whether a lock is gone.
const PULSE: Duration = Duration::from_millis(20);

/// Removes locks that are there for all of `patience` and whose holder was killed; returns them. A
/// lock is left where another git is at work in the tree, and so are those that were there `before`.
pub fn remove_dead_locks(repo: &Repo, before: &[PathBuf], patience: Duration) -> Vec<PathBuf> {
    let begun = Instant::now();
    let mut left = locks(repo);
    left.retain(|lock| !before.contains(lock));
    while !left.is_empty() && begun.elapsed() < patience {
        std::thread::sleep(PULSE);
        left.retain(|lock| lock.exists());
    }
    if left.is_empty() || is_held(repo, &left) {
        return Vec::new();
    }
    left.into_iter().filter(|lock| fs_err::remove_file(lock).is_ok()).collect()
}

/// Whether any git is at work here, or any program has one of these files open.
pub fn is_held(repo: &Repo, locks: &[PathBuf]) -> bool {
    processes::all().any(|process| {
        processes::is_git_in(&process, repo.top()) || processes::has_open(&process, locks)
    })
}

/// The locks that are there now.
pub fn locks(repo: &Repo) -> Vec<PathBuf> {
    let (own, shared) = (repo.git_dir(), repo.shared_git_dir());
    let mut found =
        vec![own.join("index.lock"), own.join("HEAD.lock"), shared.join("packed-refs.lock")];
    found.retain(|lock| lock.exists());
    collect(&shared.join("refs"), &mut found);
    found
}

fn collect(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs_err::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            collect(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "lock") {
            found.push(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use test_support::TestRepo;

    use super::*;

    #[test]
    fn only_locks_that_nobody_holds_are_removed() {
        let test = TestRepo::new();
        let repo = Repo::open(test.root()).unwrap();
        test.write(".git/refs/heads/main.lock", "");
        let before = locks(&repo);
        test.write(".git/index.lock", "");
        let index = test.root().join(".git/index.lock").into_std_path_buf();
        assert_eq!(locks(&repo).len(), 2);
        let held = fs_err::File::open(&index).unwrap();
        assert_eq!(remove_dead_locks(&repo, &before, Duration::ZERO), Vec::<PathBuf>::new());
        drop(held);
        assert_eq!(remove_dead_locks(&repo, &before, Duration::ZERO), [index]);
        assert_eq!(locks(&repo), before);
    }
}
