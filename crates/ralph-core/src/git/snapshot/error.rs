//! Why a snapshot could not be made, read or returned to.

use std::io;

use crate::git::error::GitError;
use crate::git::repo::RepoError;

/// Why a snapshot could not be made or read.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    /// The repository is not usable now.
    #[error(transparent)]
    Repo(#[from] RepoError),
    /// Git failed.
    #[error(transparent)]
    Git(#[from] GitError),
    /// A bare commit is not in the history of what is checked out: to return to it would move a
    /// branch that has nothing to do with it.
    #[error("the checkpoint {commit} is not in the history of {branch}")]
    Elsewhere {
        /// The commit.
        commit: String,
        /// What is checked out.
        branch: String,
    },
    /// A branch that would be moved is checked out in another work tree.
    #[error("the branch {branch} is checked out in {place}")]
    InAnotherTree {
        /// The branch.
        branch: String,
        /// The other work tree.
        place: String,
    },
    /// A repository stands where files are to be written; it is not ours to move.
    #[error("{path} is a repository of its own and stands in the way; move it elsewhere first")]
    InTheWay {
        /// The repository.
        path: String,
    },
    /// A file could not be read or written.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The ref is not there, or names nothing.
    #[error("{name} was removed or damaged; what only it held is lost")]
    Gone {
        /// The ref.
        name: String,
    },
    /// The ref is there, but it is not one of our snapshots.
    #[error("{name} is not a snapshot that this version can read ({why}); it was left as it is")]
    Foreign {
        /// The ref.
        name: String,
        /// What is wrong with it.
        why: String,
    },
}
