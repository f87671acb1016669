//! Errors of git calls and snapshots.

use std::io;

use ralph_base::state::LockError;

use super::RepoError;

/// A failure of a git call.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// Git could not be started, or its pipes failed.
    #[error("could not run `git {command}` in {dir}: {source}; is git installed and on PATH?")]
    Start {
        /// The git command.
        command: String,
        /// The folder in which it was to run.
        dir: String,
        /// The system's reason.
        source: io::Error,
    },
    /// Git ran and failed.
    #[error("`git {command}` failed in {dir}: {stderr}")]
    Failed {
        /// The git command.
        command: String,
        /// Where it ran.
        dir: String,
        /// The exit code; `None` if a signal ended git.
        code: Option<i32>,
        /// The end of git's messages.
        stderr: String,
    },
    /// Another process held a lock in the repository for too long.
    #[error(
        "another process has held {lock} for {seconds} s; wait for that git command to finish, or \
         delete the file if none is running"
    )]
    Locked {
        /// The seconds that we waited.
        seconds: u64,
        /// The lock file.
        lock: String,
    },
    /// Git exceeded its time limit, or showed no activity for that long, and was killed.
    #[error("`git {command}` in {dir} timed out after {seconds} s and was killed")]
    Deadline {
        /// The git command.
        command: String,
        /// Where it ran.
        dir: String,
        /// The limit.
        seconds: u64,
    },
    /// The run is stopping, so git was ended.
    #[error("`git {command}` in {dir} was stopped because the run is stopping")]
    Stopped {
        /// The git command.
        command: String,
        /// Where it ran.
        dir: String,
    },
}

/// The text after the name of an existing lock in git's message.
const LOCK_EXISTS: &str = "': File exists";

impl GitError {
    /// Returns git's exit code, if git ran and failed.
    pub fn exit_code(&self) -> Option<i32> {
        match self {
            Self::Failed { code, .. } => *code,
            _ => None,
        }
    }

    /// Returns whether trying again later may help: git was killed, or the disk was full.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Failed { code, stderr, .. } => {
                code.is_none() || stderr.contains("No space left on device")
            }
            Self::Start { source, .. } => source.kind() == io::ErrorKind::StorageFull,
            _ => false,
        }
    }

    /// Returns git's error messages, if git ran and failed.
    pub(super) fn said(&self) -> &str {
        match self {
            Self::Failed { stderr, .. } => stderr,
            _ => "",
        }
    }

    /// Returns whether git found no repository.
    pub(super) fn names_no_repository(&self) -> bool {
        self.said().contains("not a git repository")
    }

    /// Returns the path of the lock that blocked git, as in git's message.
    pub(super) fn lock(&self) -> Option<&str> {
        let (before, _) = self.said().split_once(LOCK_EXISTS)?;
        let (_, path) = before.rsplit_once('\'')?;
        path.ends_with(".lock").then_some(path)
    }
}

/// A failure to save a tree or to restore a saved state. Nothing was changed, unless it is
/// [`Unfinished`](Self::Unfinished).
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
    /// Another rollback is still running.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// There is no checkpoint.
    #[error(
        "there is no checkpoint to return to, so nothing was changed; commit or stash your changes \
         (`git stash -u`), then start again"
    )]
    NoCheckpoint,
    /// The ref or its commit does not exist.
    #[error("{0} was deleted or damaged; anything saved only there is lost")]
    Gone(String),
    /// The operation is not allowed or not possible.
    #[error("{0}; nothing was changed")]
    Refused(String),
    /// Something failed after the tree was saved.
    #[error("{source}; your changes are saved as {saved_as}, and the next rollback will try again")]
    Unfinished {
        /// The error.
        source: Box<SnapshotError>,
        /// The ref of the saved state.
        saved_as: String,
    },
}
