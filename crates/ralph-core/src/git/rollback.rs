//! Rollback: how people and hooks return to a checkpoint, and what that discarded.

use std::time::Duration;

use super::brought::Brought;
use super::checkpoint::{Checkpoint, CheckpointError};
use super::error::GitError;
use super::refs::{DISCARDED, new_discarded};
use super::repo::Repo;
use super::restore::changed::changed_since;
use super::restore::note::interrupted;
use super::restore::procedure::{RestoreError, Restored, restore};
use super::snapshot::record::SaveAs;
use super::snapshot::take::Snapshot;
use super::snapshot::target::Target;
use super::status::Status;
use crate::secrets::mask;
use crate::state::{Id, Lock, LockError, StateDir};

/// How long one rollback waits for another.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);

/// An attempt that a rollback or an undo took out of the tree.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Discarded {
    /// What the user types to get it back.
    pub id: String,
    /// The ref that keeps it.
    pub name: String,
    /// When it was discarded, as RFC 3339.
    pub at: String,
    /// Why.
    pub why: String,
}

/// Why a rollback or an undo did not happen.
#[derive(Debug, thiserror::Error)]
pub enum RollbackError {
    /// There is nothing to return to.
    #[error(
        "there is no checkpoint to return to, so nothing was changed; commit what is there or stash \
         it (`git stash -u`), then start again"
    )]
    NoCheckpoint,
    /// No discarded attempt has this id.
    #[error("no discarded attempt is called `{id}`; `ralph-loop undo` lists them")]
    Unknown {
        /// What was asked for.
        id: String,
    },
    /// Several discarded attempts begin with this id.
    #[error("`{id}` could be {count} discarded attempts; give more of the id")]
    Ambiguous {
        /// What was asked for.
        id: String,
        /// How many match.
        count: usize,
    },
    /// Files are not as they were, so nothing was brought back.
    #[error(
        "work went on since that was taken out of the tree, and these files are not as they were: \
         {files}; nothing was changed; {advice}"
    )]
    Conflicts {
        /// The files.
        files: String,
        /// How to have the attempt's nevertheless.
        advice: String,
    },
    /// All that the attempt had changed is in the tree.
    #[error("what `{id}` had changed is in the tree already; nothing was changed")]
    NothingMissing {
        /// The attempt.
        id: String,
    },
    /// The checkpoint cannot be used.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    /// Git failed.
    #[error(transparent)]
    Git(#[from] GitError),
    /// The state could not be restored.
    #[error(transparent)]
    Restore(#[from] RestoreError),
    /// Another rollback goes on and does not end.
    #[error(transparent)]
    Lock(#[from] LockError),
}

/// Returns the tree to the checkpoint. What was there is kept and can be brought back by
/// [`undo`](super::undo).
pub fn rollback(
    repo: &Repo,
    state: &StateDir,
    story: Option<&Id>,
    why: &str,
) -> Result<Restored, RollbackError> {
    let _lock = Lock::take_within(&state.rollback_lock(), "rolling back", PATIENCE)?;
    Ok(discard(repo, &target(repo, state)?, story, why)?)
}

/// The same, unless there is nothing to roll back: then two hooks that see the same failing run make
/// one rollback.
pub fn rollback_changes(
    repo: &Repo,
    state: &StateDir,
    story: Option<&Id>,
    why: &str,
) -> Result<Option<Restored>, RollbackError> {
    let _lock = Lock::take_within(&state.rollback_lock(), "rolling back", PATIENCE)?;
    let target = target(repo, state)?;
    let changed = changed_since(repo, &target).map_err(RestoreError::from)?;
    if changed.is_empty() && interrupted(repo).map_err(RestoreError::from)?.is_none() {
        return Ok(None);
    }
    Ok(Some(discard(repo, &target, story, why)?))
}

fn target(repo: &Repo, state: &StateDir) -> Result<Target, RollbackError> {
    let checkpoint = Checkpoint::load(state)?.ok_or(RollbackError::NoCheckpoint)?;
    Ok(checkpoint.target(repo).map_err(RestoreError::from)?)
}

/// Finishes a restore that a crash or a power cut interrupted; tells whether there was one.
pub fn finish_interrupted(repo: &Repo, state: &StateDir) -> Result<bool, RollbackError> {
    let _lock = Lock::take_within(&state.rollback_lock(), "finishing a rollback", PATIENCE)?;
    let Some(target) = interrupted(repo).map_err(RestoreError::from)? else { return Ok(false) };
    let why = "left by an interrupted rollback";
    match target.snapshot().filter(|attempt| attempt.name.starts_with(DISCARDED)) {
        // It was an undo, which spares what has nothing to do with it.
        Some(attempt) => {
            let unrelated = Brought::by(repo, attempt)?.unrelated(&Status::read(repo)?.changed);
            discard(&repo.sparing(unrelated), &target, None, why)?
        }
        None => discard(repo, &target, None, why)?,
    };
    Ok(true)
}

/// All discarded attempts, newest first.
pub fn discarded(repo: &Repo) -> Result<Vec<Discarded>, GitError> {
    let format = "--format=%(refname)%00%(creatordate:iso-strict)%00%(contents:subject)";
    let listed = repo.git().line(&["for-each-ref", "--sort=-refname", format, DISCARDED])?;
    let parse = |line: &str| {
        let mut fields = line.split('\0').map(str::to_owned);
        let (name, at, why) = (fields.next()?, fields.next()?, fields.next()?);
        let id = name.strip_prefix(DISCARDED)?.to_owned();
        Some(Discarded { id, name, at, why })
    };
    Ok(listed.lines().filter_map(parse).collect())
}

/// A discarded attempt by its id or the beginning of it.
pub fn find(repo: &Repo, id: &str) -> Result<Discarded, RollbackError> {
    let all = discarded(repo)?;
    if let Some(exact) = all.iter().find(|attempt| attempt.id == id || attempt.name == id) {
        return Ok(exact.clone());
    }
    let mut close: Vec<Discarded> = all.into_iter().filter(|a| a.id.starts_with(id)).collect();
    match (close.pop(), close.len()) {
        (Some(only), 0) if !id.is_empty() => Ok(only),
        (None, _) => Err(RollbackError::Unknown { id: id.to_owned() }),
        (Some(_), others) => Err(RollbackError::Ambiguous { id: id.to_owned(), count: others + 1 }),
    }
}

/// What a discarded attempt had changed, its commits included, as a patch against what took its
/// place.
pub fn changes_of(repo: &Repo, attempt: &Discarded) -> Result<String, RollbackError> {
    let snapshot = Snapshot::load(repo, &attempt.name).map_err(RestoreError::from)?;
    Ok(Brought::by(repo, &snapshot)?.patch(repo, &snapshot)?)
}

/// Returns to a target; what is there is kept as discarded.
pub(super) fn discard(
    repo: &Repo,
    target: &Target,
    story: Option<&Id>,
    why: &str,
) -> Result<Restored, RestoreError> {
    let name = new_discarded(story);
    // The subject is one line, and lists show it.
    let subject = mask(why.lines().next().unwrap_or_default());
    let message: String = subject.chars().take(200).collect();
    restore(repo, target, SaveAs { name: &name, message: &message })
}
