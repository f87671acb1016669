//! Undo: brings back an attempt that a rollback took out of the tree.
//!
//! Where HEAD is as the rollback left it, everything comes back exactly, commits of the agent's
//! included; uncommitted files that have nothing to do with the attempt stay. Elsewhere work went
//! on since, so only the files come back that the attempt had changed, on top of what is checked
//! out; HEAD, branches, index and all other files stay as they are.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::brought::Brought;
use super::paths::shown;
use super::refs::new_discarded;
use super::repo::Repo;
use super::restore::diff::{Change, Content};
use super::restore::head::HeadMove;
use super::restore::procedure::{RestoreError, Restored};
use super::restore::worktree::Worktree;
use super::rollback::{Discarded, PATIENCE, RollbackError, discard, find};
use super::snapshot::error::SnapshotError;
use super::snapshot::record::{LaidOver, SaveAs, SnapshotRecord};
use super::snapshot::take::{Extra, Snapshot};
use super::snapshot::target::Target;
use super::status::Status;
use crate::state::{Lock, StateDir};

/// Brings back a discarded attempt. What was there is discarded in turn, so undo can be undone.
pub fn undo(repo: &Repo, state: &StateDir, id: &str) -> Result<Restored, RollbackError> {
    let _lock = Lock::take_within(&state.rollback_lock(), "undoing a rollback", PATIENCE)?;
    let found = find(repo, id)?;
    let attempt = Snapshot::load(repo, &found.name).map_err(RestoreError::from)?;
    let now = Status::read(repo)?;
    let brought = Brought::by(repo, &attempt)?;
    let in_the_way = brought.in_the_way(repo).map_err(RestoreError::from)?;
    let target = Target::Snapshot(Box::new(attempt.clone()));
    // The branch of the attempt may be another work tree's by now.
    let is_elsewhere =
        matches!(HeadMove::plan(repo, &target, &now), Err(SnapshotError::InAnotherTree { .. }));
    if is_elsewhere || attempt.record.left_at != Some(now.position()) {
        let undo = FilesOnly { repo, found: &found, attempt: &attempt, brought, now };
        return undo.carry_out(&in_the_way);
    }
    let spared = brought.unrelated(&now.changed);
    let restored = discard(&repo.sparing(spared), &target, None, &format!("undo of {}", found.id))?;
    let (_, mut overwritten) = brought.missing(repo, &now, &restored.saved)?;
    overwritten.extend(in_the_way);
    Ok(Restored { overwritten: overwritten.into_iter().collect(), ..restored })
}

/// All of the attempt's files or, if one of them would overwrite something, none.
struct FilesOnly<'a> {
    repo: &'a Repo,
    found: &'a Discarded,
    attempt: &'a Snapshot,
    brought: Brought,
    now: Status,
}

impl FilesOnly<'_> {
    fn carry_out(self, in_the_way: &BTreeSet<PathBuf>) -> Result<Restored, RollbackError> {
        if !in_the_way.is_empty() {
            return Err(self.refusal(in_the_way));
        }
        let saved = self.save()?;
        let (missing, conflicts) = self.brought.missing(self.repo, &self.now, &saved)?;
        if !conflicts.is_empty() {
            saved.forget(self.repo)?;
            return Err(self.refusal(&conflicts));
        }
        let (inner, missing): (Vec<Change>, Vec<Change>) =
            missing.into_iter().partition(|change| change.to == Content::Submodule);
        if missing.is_empty() {
            saved.forget(self.repo)?;
            return Err(RollbackError::NothingMissing { id: self.found.id.clone() });
        }
        let not_saved = match write(self.repo, self.attempt, &saved, &missing) {
            Ok(not_saved) => not_saved,
            Err(error) => {
                let (source, saved_as) = (Box::new(error), saved.name);
                return Err(RestoreError::Unfinished { source, saved_as }.into());
            }
        };
        let touched = missing.into_iter().map(|change| change.path);
        Ok(Restored {
            saved,
            touched: touched.filter(|path| !not_saved.contains(path)).collect(),
            left_alone: shown(inner.iter().map(|change| &change.path)),
            not_saved,
            as_files: true,
            overwritten: Vec::new(),
        })
    }

    /// What the attempt's files are about to take the place of.
    fn save(&self) -> Result<Snapshot, RestoreError> {
        let Self { repo, attempt, brought, now, .. } = self;
        let over = LaidOver { from: brought.base.clone(), to: attempt.commit.clone() };
        let record = SnapshotRecord {
            replaced_by: now.head.clone(),
            laid_over: Some(over),
            left_at: Some(now.position()),
            ..SnapshotRecord::of(now)
        };
        let extra = Extra {
            files: brought.changes.iter().map(|change| change.path.clone()).collect(),
            // The difference to it is what an undo of this undo brings back.
            commits: BTreeSet::from([attempt.commit.clone()]),
        };
        let message = format!("undo of {}, files only", self.found.id);
        let save_as = SaveAs { name: &new_discarded(None), message: &message };
        Ok(Snapshot::take_with(repo, save_as, now, record, extra)?)
    }

    /// What the user can do instead. A file that the attempt had removed is not in its commit.
    fn refusal(&self, conflicts: &BTreeSet<PathBuf>) -> RollbackError {
        let is_removal = |path: &&PathBuf| {
            let changes = &self.brought.changes;
            changes.iter().any(|change| change.path == **path && change.to == Content::Absent)
        };
        let (removed, changed): (Vec<&PathBuf>, Vec<&PathBuf>) =
            conflicts.iter().partition(is_removal);
        let name = &self.found.name;
        let mut advice = Vec::new();
        if !changed.is_empty() {
            advice.push(format!(
                "`git diff HEAD {name} -- <file>` compares one, and `git checkout {name} -- <file>` \
                 takes the one that is kept"
            ));
        }
        if !removed.is_empty() {
            let removed = shown(removed).join(", ");
            advice.push(format!(
                "{removed} had been removed, and `git rm -- <file>` does that again"
            ));
        }
        RollbackError::Conflicts { files: shown(conflicts).join(", "), advice: advice.join("; ") }
    }
}

/// Exactly as they were on disk; the index is not touched. Names those that stay.
fn write(
    repo: &Repo,
    attempt: &Snapshot,
    saved: &Snapshot,
    changes: &[Change],
) -> Result<Vec<PathBuf>, SnapshotError> {
    let tree = Worktree { repo, saved: &saved.taken };
    let (removed, written): (Vec<&Change>, Vec<&Change>) =
        changes.iter().partition(|change| change.to == Content::Absent);
    let mut modes = attempt.modes.clone();
    modes.retain(|path, _| written.iter().any(|change| change.path == *path));
    let mut stay = tree.write(&written, &modes)?;
    for Change { path, .. } in removed {
        if !tree.remove(path)? {
            stay.push(path.clone());
        }
    }
    Ok(stay)
}
