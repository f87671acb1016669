//! Why a git call gave no answer.

use std::io;

use ralph_base::state::LockError;

use super::RepoError;

/// Why a git call did not give an answer.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// Git could not be started, or its pipes failed.
    #[error("could not run `git {command}` in {dir}: {source}; is git installed and on PATH?")]
    Start {
        /// The git command.
        command: String,
        /// Where it was to run.
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
        /// Its exit code; none if a signal ended it.
        code: Option<i32>,
        /// The end of what it said.
        stderr: String,
    },
    /// Another process holds a lock in the repository, and kept it.
    #[error(
        "another process has held {lock} for {seconds} s; wait for that git command to finish, or \
         delete the file if none is running"
    )]
    Locked {
        /// How long we waited.
        seconds: u64,
        /// The file.
        lock: String,
    },
    /// Git did not end within its limit, or did nothing for that long, and was killed.
    #[error("`git {command}` in {dir} timed out after {seconds} s and was killed")]
    Deadline {
        /// The git command.
        command: String,
        /// Where it ran.
        dir: String,
        /// The limit.
        seconds: u64,
    },
    /// We were asked to stop, and git was ended.
    #[error("`git {command}` in {dir} was stopped because the run is stopping")]
    Stopped {
        /// The git command.
        command: String,
        /// Where it ran.
        dir: String,
    },
}

/// What git says behind the name of a lock that is there.
const LOCK_EXISTS: &str = "': File exists";

impl GitError {
    /// Git's exit code, where it ended by itself with a failure.
    pub fn exit_code(&self) -> Option<i32> {
        match self {
            Self::Failed { code, .. } => *code,
            _ => None,
        }
    }

    /// Whether trying again later may help: git was killed, or the disk was full.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Failed { code, stderr, .. } => {
                code.is_none() || stderr.contains("No space left on device")
            }
            Self::Start { source, .. } => source.kind() == io::ErrorKind::StorageFull,
            _ => false,
        }
    }

    /// What git said, where it ended by itself with a failure.
    pub(super) fn said(&self) -> &str {
        match self {
            Self::Failed { stderr, .. } => stderr,
            _ => "",
        }
    }

    /// Whether git found no repository where it looked for one.
    pub(super) fn names_no_repository(&self) -> bool {
        self.said().contains("not a git repository")
    }

    /// The lock of another process that was in the way, as git names it.
    pub(super) fn lock(&self) -> Option<&str> {
        let (before, _) = self.said().split_once(LOCK_EXISTS)?;
        let (_, path) = before.rsplit_once('\'')?;
        path.ends_with(".lock").then_some(path)
    }
}

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
