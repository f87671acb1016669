//! What an attempt changed: the difference to what was there when it began.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use camino::Utf8Path;

use super::attempt::Attempt;
use super::commit;
use super::nested;
use super::procedure::{Place, SettleError};
use crate::git::{Checkpoint, CheckpointError, Repo, SnapshotError, Status, unchanged_since};
use crate::state::StateDir;

/// The files that differ from what was there when the attempt began; plan, progress and our own
/// folders do not count.
pub fn changed_files(place: &Place<'_>, attempt: &Attempt) -> Result<Vec<PathBuf>, SettleError> {
    changed_since(place, attempt, Status::read(place.repo)?)
}

pub(super) fn changed_since(
    place: &Place<'_>,
    attempt: &Attempt,
    status: Status,
) -> Result<Vec<PathBuf>, SettleError> {
    let mut files = status.changed;
    // A submodule that points elsewhere is work as well.
    files.extend(nested::since(place, &status.nested)?);
    if let Some(head) = status.head.filter(|head| Some(head) != attempt.head.as_ref()) {
        files.extend(commit::files_between(place.repo, attempt.head.as_deref(), &head)?);
    }
    let ours = ours(place, attempt);
    files.retain(|file| !place.repo.is_untouched(file) && !ours.contains(&Some(file.clone())));
    if !files.is_empty() {
        let as_before = uncommitted_and_unchanged(place)?;
        files.retain(|file| !as_before.contains(file));
    }
    files.sort();
    files.dedup();
    Ok(files)
}

/// The files that the loop writes into, as far as they are in the work tree.
pub(super) fn ours(place: &Place<'_>, attempt: &Attempt) -> [Option<PathBuf>; 3] {
    let counter = StateDir::loop_progress_beside(&attempt.plan);
    [&attempt.plan, &attempt.progress, &counter].map(|path| below_top(place.repo, path))
}

/// What was uncommitted already when the attempt began, and is as it was: left by a git hook or by a
/// script, for instance. An agent that did nothing must not be believed because of it.
fn uncommitted_and_unchanged(place: &Place<'_>) -> Result<BTreeSet<PathBuf>, SettleError> {
    let Some(checkpoint) = Checkpoint::load(place.state)?.filter(Checkpoint::has_uncommitted)
    else {
        return Ok(BTreeSet::new());
    };
    match checkpoint.target(place.repo).and_then(|target| unchanged_since(place.repo, &target)) {
        // Without the snapshot there is nothing to compare with.
        Err(SnapshotError::Gone { .. }) => Ok(BTreeSet::new()),
        found => Ok(found.map_err(CheckpointError::from)?),
    }
}

/// A path relative to the top of the work tree, if it is in there.
pub(super) fn below_top(repo: &Repo, path: &Utf8Path) -> Option<PathBuf> {
    let path = path.as_std_path();
    // Its folder may be gone.
    let real = path.ancestors().skip(1).find_map(|folder| {
        let inside = path.strip_prefix(folder).ok()?;
        Some(folder.canonicalize().ok()?.join(inside))
    });
    real.as_deref().unwrap_or(path).strip_prefix(repo.top()).ok().map(Path::to_owned)
}
