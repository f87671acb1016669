//! Undo: writes the changes of a discarded attempt back to the work tree, as files.
//!
//! Never overwrites anything that is not in a commit: each file must be as the rollback left it, or
//! already as in the attempt. HEAD, the index and all other files stay unchanged.

use std::collections::BTreeSet;
use std::io;
use std::path::PathBuf;

use super::changed::not_on_disk;
use super::diff::{self, Change, shown};
use super::files::{Inventory, Worktree, entry_at, in_the_way, set_modes};
use super::rollback::{PATIENCE, find};
use super::{Repo, Snapshot, SnapshotError};
use ralph_base::state::{Lock, StateDir};

/// Restores a discarded attempt, completely or not at all; returns the files that changed.
pub fn undo(repo: &Repo, state: &StateDir, id: &str) -> Result<Vec<PathBuf>, SnapshotError> {
    let _lock = Lock::take_within(&state.rollback_lock(), "undoing a rollback", PATIENCE)?;
    let (base, attempt) = difference(repo, id)?;
    let mut changes = diff::between(repo.git(), &base, &attempt.commit)?;
    changes.retain(|change| !change.is_inner && !repo.is_untouched(&change.path));
    let missing = not_on_disk(repo, &changes)?;
    changes.retain(|change| missing.contains(&change.path));
    let seen = missing.iter().map(|path| Ok((path.clone(), entry_at(repo.top(), path)?)));
    let seen: Inventory = seen.collect::<io::Result<_>>()?;
    let (absent, present): (Vec<&Change>, Vec<&Change>) =
        changes.iter().partition(|change| change.is_absent());
    let mut conflicts = in_the_way(repo.top(), present.iter().map(|change| &change.path))?;
    conflicts.retain(|path| !missing.contains(path));
    let mut before = diff::between(repo.git(), &attempt.commit, &base)?;
    before.retain(|change| missing.contains(&change.path));
    conflicts.extend(not_on_disk(repo, &before)?);
    if !conflicts.is_empty() {
        return Err(SnapshotError::Refused(format!(
            "these files have changed since the rollback: {files}; compare with `git diff HEAD \
             {name}`, or create a branch from the saved attempt with `git branch NAME {name}`",
            files = shown(&conflicts).join(", "),
            name = attempt.name,
        )));
    }
    let mut tree = Worktree { repo, saved: &seen, stay: BTreeSet::new() };
    for change in absent {
        tree.remove(&change.path)?;
    }
    tree.write(&present)?;
    let mut modes = attempt.record.modes;
    modes.retain(|path, _| missing.contains(path.as_ref() as &std::path::Path));
    set_modes(repo.top(), &modes)?;
    Ok(missing.into_iter().filter(|path| !tree.stay.contains(path)).collect())
}

/// Returns the changes of a discarded attempt, including its commits, as a patch against the state
/// that replaced it.
pub fn changes_of(repo: &Repo, id: &str) -> Result<String, SnapshotError> {
    let (base, attempt) = difference(repo, id)?;
    let args = ["diff", "--no-ext-diff", "--stat", "--patch", &base, &attempt.commit, "--"];
    Ok(repo.git().line(&args)?)
}

/// Returns the commit that replaced an attempt, and the attempt itself.
fn difference(repo: &Repo, id: &str) -> Result<(String, Snapshot), SnapshotError> {
    let attempt = Snapshot::load(repo, &find(repo, id)?.name)?;
    let base = attempt.record.replaced_by.first().or(attempt.record.head.as_ref());
    Ok((repo.base(base.map(String::as_str))?, attempt))
}
