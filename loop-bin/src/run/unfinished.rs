//! What an agent that was ended in the middle of a git command leaves: a merge or rebase under way,
//! a lock that nobody holds. Both would keep us from saving and restoring the tree.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ralph_core::git::{GitError, Repo};

/// What git leaves in its folder during an operation, its name, and how it is given up without a
/// change to files, index or commits.
const OPERATIONS: [(&str, &str, &[&str]); 5] = [
    ("rebase-merge", "rebase", &["rebase", "--quit"]),
    ("rebase-apply", "rebase", &["am", "--quit"]),
    ("CHERRY_PICK_HEAD", "cherry-pick", &["cherry-pick", "--quit"]),
    ("REVERT_HEAD", "revert", &["revert", "--quit"]),
    ("MERGE_HEAD", "merge", &["merge", "--quit"]),
];

/// Locks that a git which is killed leaves behind, besides those of single refs.
const LOCKS: [&str; 3] = ["index.lock", "HEAD.lock", "packed-refs.lock"];

/// How long a lock may be somebody else's, who is still at work.
const PATIENCE: Duration = Duration::from_secs(2);

/// Gives up an operation of several steps that was left under way, and names it. The files stay as
/// they are, so that they can be saved.
pub(super) fn quit_operation(repo: &Repo) -> Result<Option<&'static str>, GitError> {
    let mut left = None;
    for (file, name, quit) in OPERATIONS {
        if repo.git_dir().join(file).exists() {
            repo.git().run(quit)?;
            left = Some(name);
        }
    }
    Ok(left)
}

/// Removes locks whose holder was killed; returns them. Only for when everything that the agent
/// started has ended; a lock of somebody else, whose git is still at work here, is left.
pub(super) fn remove_dead_locks(repo: &Repo) -> Vec<PathBuf> {
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
    let mut found: Vec<PathBuf> = LOCKS.map(|name| repo.git_dir().join(name)).into();
    found.retain(|lock| lock.exists());
    collect_locks(&repo.git_dir().join("refs"), &mut found);
    found
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
