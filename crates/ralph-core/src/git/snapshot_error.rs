//! Why a tree could not be saved, or a saved state not be brought back.

use std::io;

use super::error::GitError;
use super::repo::RepoError;
use crate::state::LockError;

/// Why a tree could not be saved, or a saved state not be brought back. Nothing was changed, unless
/// it is [`Unfinished`](Self::Unfinished).
#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    /// The repository is not usable now.
    #[error(transparent)]
    Repo(#[from] RepoError),
    /// Git failed.
    #[error(transparent)]
    Git(#[from] GitError),
    /// A file could not be read or written.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// Another rollback goes on and does not end.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// There is nothing to return to.
    #[error(
        "there is no checkpoint to return to, so nothing was changed; commit what is there or stash \
         it (`git stash -u`), then start again"
    )]
    NoCheckpoint,
    /// The file of the checkpoint holds something else.
    #[error(
        "{path} holds something else than a commit id and a snapshot of ours; start `ralph-loop` \
         again, which writes it anew, or remove the file"
    )]
    Unreadable {
        /// The file.
        path: String,
    },
    /// The ref is not there, or names nothing.
    #[error("{name} was removed or damaged; what only it held is lost")]
    Gone {
        /// The ref.
        name: String,
    },
    /// The ref is there, but it is not one of our snapshots.
    #[error("{name} is not a snapshot that this version can read; it was left as it is")]
    Foreign {
        /// The ref.
        name: String,
    },
    /// A bare commit is not in the history of what is checked out: to return to it would move a
    /// branch that has nothing to do with it.
    #[error("the checkpoint {commit} is not in the history of {branch}; nothing was changed")]
    Elsewhere {
        /// The commit.
        commit: String,
        /// What is checked out.
        branch: String,
    },
    /// A repository stands where files are to be written; it is not ours to move.
    #[error(
        "{path} is a repository of its own and stands in the way; nothing was changed; move it \
         elsewhere first"
    )]
    InTheWay {
        /// The repository.
        path: String,
    },
    /// Something failed after the tree was saved.
    #[error("{source}; what was there is kept as {saved_as}, and the next rollback tries again")]
    Unfinished {
        /// What failed.
        source: Box<SnapshotError>,
        /// The ref that holds everything.
        saved_as: String,
    },
    /// Not one discarded attempt has an id that begins like this.
    #[error("`{id}` could be {count} discarded attempts; `ralph-loop undo` lists them")]
    NotOne {
        /// What was asked for.
        id: String,
        /// How many match.
        count: usize,
    },
    /// Files are neither as the rollback left them nor as the attempt had them.
    #[error(
        "these files have changed since: {files}; nothing was changed; `git diff HEAD {name}` compares, \
         and `git branch NAME {name}` makes a branch of what is kept"
    )]
    Conflicts {
        /// The files.
        files: String,
        /// The ref that keeps the attempt.
        name: String,
    },
}
