//! Uncommitted work that was there before an attempt, and that the attempt took out of the tree.

use std::path::PathBuf;

use super::attempt::Attempt;
use super::changed::ours;
use super::procedure::{Place, SettleError};
use crate::git::{self, Checkpoint, CheckpointError, Snapshot, SnapshotError, Unreturned};

/// Keeps such work for undo, before the checkpoint that holds it is forgotten; none if all of it is
/// there. Where nothing was uncommitted, which is usual, no git is asked.
pub fn keep_taken_out(
    place: &Place<'_>,
    attempt: &Attempt,
) -> Result<Option<Box<Unreturned>>, SettleError> {
    let checkpoint = Checkpoint::load(place.state)?.filter(Checkpoint::has_uncommitted);
    let Some(name) = checkpoint.and_then(|checkpoint| checkpoint.snapshot) else { return Ok(None) };
    let ours: Vec<PathBuf> = ours(place, attempt).into_iter().flatten().collect();
    let kept = match Snapshot::load(place.repo, &name) {
        // There is nothing left to compare with, and whoever put refs back has told of it.
        Err(SnapshotError::Gone { .. }) => return Ok(None),
        found => found.and_then(|snapshot| git::keep_taken_out(place.repo, &snapshot, &ours)),
    };
    Ok(kept.map_err(CheckpointError::from)?.map(Box::new))
}
