//! Rollback to a checkpoint, for people and hooks, and the list of discarded attempts.

use std::time::Duration;

use super::restore::{Restored, is_interrupted, restore};
use super::snapshot::DISCARDED;
use super::{Checkpoint, GitError, Repo, Snapshot, SnapshotError, changed_since};
use ralph_base::secrets::mask;
use ralph_base::state::{Id, Lock, StateDir, stamp};

/// How long a rollback waits for another one.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);

/// An attempt that a rollback removed from the tree.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Discarded {
    /// The id that the user types to restore it.
    pub id: String,
    /// The ref of its snapshot.
    pub name: String,
    /// When it was discarded, as RFC 3339.
    pub at: String,
    /// The reason for the rollback.
    pub why: String,
}

/// Returns the tree to the checkpoint. The previous state is kept and can be restored with
/// [`undo`](super::undo).
pub fn rollback(
    repo: &Repo,
    state: &StateDir,
    story: Option<&Id>,
    why: &str,
) -> Result<Restored, SnapshotError> {
    let _lock = Lock::take_within(&state.rollback_lock(), "rolling back", PATIENCE)?;
    discard(repo, &target(repo, state)?, story, why)
}

/// Does the same as [`rollback`], unless nothing has changed: two hooks that see the same failing
/// run then cause only one rollback.
pub fn rollback_changes(
    repo: &Repo,
    state: &StateDir,
    story: Option<&Id>,
    why: &str,
) -> Result<Option<Restored>, SnapshotError> {
    let _lock = Lock::take_within(&state.rollback_lock(), "rolling back", PATIENCE)?;
    let target = target(repo, state)?;
    if changed_since(repo, &target)?.is_empty() && !is_interrupted(repo) {
        return Ok(None);
    }
    discard(repo, &target, story, why).map(Some)
}

fn target(repo: &Repo, state: &StateDir) -> Result<Snapshot, SnapshotError> {
    Checkpoint::load(state)?.ok_or(SnapshotError::NoCheckpoint)?.target(repo)
}

fn discard(
    repo: &Repo,
    target: &Snapshot,
    story: Option<&Id>,
    why: &str,
) -> Result<Restored, SnapshotError> {
    let story = story.map(|id| format!("-{id}")).unwrap_or_default();
    // The subject is a single line that lists show.
    let subject = mask(why.lines().next().unwrap_or_default());
    let subject: String = subject.chars().take(200).collect();
    restore(repo, target, &format!("{DISCARDED}{}{story}", stamp()), &subject)
}

/// Returns all discarded attempts, newest first.
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

/// Finds a discarded attempt by its id or an unambiguous prefix of it.
pub(super) fn find(repo: &Repo, id: &str) -> Result<Discarded, SnapshotError> {
    let mut all = discarded(repo)?;
    if let Some(exact) = all.iter().find(|attempt| attempt.id == id || attempt.name == id) {
        return Ok(exact.clone());
    }
    all.retain(|attempt| attempt.id.starts_with(id));
    let why = match all.as_slice() {
        [attempt] => return Ok(attempt.clone()),
        [] => format!("no discarded attempt matches `{id}`"),
        several => format!("`{id}` matches {} discarded attempts", several.len()),
    };
    Err(SnapshotError::Refused(format!("{why}; list them with `ralph-loop undo`")))
}
