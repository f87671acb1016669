//! Why a tree could not be saved, or a saved state not be brought back.

use std::io;

use super::{GitError, RepoError};
use ralph_base::state::LockError;

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
        "there is no checkpoint to return to, so nothing was changed; commit or stash your changes \
         (`git stash -u`), then start again"
    )]
    NoCheckpoint,
    /// The ref is not there, or names nothing.
    #[error("{0} was deleted or damaged; anything saved only there is lost")]
    Gone(String),
    /// It is not ours to do, or not possible.
    #[error("{0}; nothing was changed")]
    Refused(String),
    /// Something failed after the tree was saved.
    #[error("{source}; your changes are saved as {saved_as}, and the next rollback will try again")]
    Unfinished {
        /// What failed.
        source: Box<SnapshotError>,
        /// The ref that holds everything.
        saved_as: String,
    },
}
