//! What an agent that was ended in the middle of a git command leaves: a merge or rebase under way,
//! a lock that nobody holds. Both would keep us from saving and restoring the tree.

use std::path::PathBuf;
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

/// Locks that a git which is killed leaves behind.
const LOCKS: [&str; 2] = ["index.lock", "HEAD.lock"];

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
/// started has ended.
pub(super) fn remove_dead_locks(repo: &Repo) -> Vec<PathBuf> {
    let begun = Instant::now();
    let locks =
        || LOCKS.map(|name| repo.git_dir().join(name)).into_iter().filter(|lock| lock.exists());
    while locks().next().is_some() && begun.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_millis(20));
    }
    locks().filter(|lock| fs_err::remove_file(lock).is_ok()).collect()
}
