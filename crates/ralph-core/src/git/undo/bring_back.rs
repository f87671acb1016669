//! Undo: brings back an attempt that a rollback took out of the tree.
//!
//! Where HEAD is as the rollback left it, everything comes back exactly, commits of the agent's
//! included; uncommitted files that have nothing to do with the attempt stay. Elsewhere work went
//! on since, so only the files come back that the attempt had changed, on top of what is checked
//! out; HEAD, branches, index and all other files stay as they are.
//! A submodule in which nobody worked since goes back to its own part of the attempt.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::brought::Brought;
use super::draft;
use crate::git::command::GitError;
use crate::git::repo::Repo;
use crate::git::restore::as_they_were::Present;
use crate::git::restore::diff::{Change, Content};
use crate::git::restore::moved;
use crate::git::restore::nested::{self, Inner};
use crate::git::restore::procedure::{RestoreError, Restored, SaveAs, restore};
use crate::git::restore::worktree;
use crate::git::rollback::{Discarded, PATIENCE, RollbackError, discard, find, new_name};
use crate::git::snapshot::inventory::Modes;
use crate::git::snapshot::take::{Extra, LaidOver, Snapshot, SnapshotError};
use crate::git::snapshot::target::Target;
use crate::git::status::Status;
use crate::state::{Lock, StateDir};

/// Brings back a discarded attempt. What was there is discarded in turn, so undo can be undone.
pub fn undo(repo: &Repo, state: &StateDir, id: &str) -> Result<Restored, RollbackError> {
    let _lock = Lock::take_within(&state.rollback_lock(), "undoing a rollback", PATIENCE)?;
    let found = find(repo, id)?;
    let attempt = Snapshot::load(repo, &found.name).map_err(RestoreError::from)?;
    if let Some(path) = &attempt.record.draft {
        return draft::bring_back(repo, &found, &attempt, path);
    }
    let now = Status::read(repo)?;
    let brought = Brought::by(repo, &attempt)?;
    let is_there = attempt.record.left_at == Some(now.position());
    if !is_there || moves_branches_elsewhere(repo, &attempt, &now)? {
        return bring_files(repo, &found, &attempt, brought, &now);
    }
    let present = Present { repo, now: &now, base: &brought.base };
    let before = brought.before(repo, &attempt)?;
    let mut changed: Vec<Change> = brought.changes.clone();
    changed.retain(|change| change.to != Content::Submodule);
    let there = present.those_like(&changed).map_err(RestoreError::from)?;
    changed.retain(|change| !there.contains(&change.path));
    let overwritten = present.conflicts(&changed, &before).map_err(RestoreError::from)?;
    let repo = repo.sparing(brought.unrelated(&now.changed));
    let target = Target::Snapshot(Box::new(attempt));
    let restored = discard(&repo, &target, None, &format!("undo of {}", found.id))?;
    Ok(Restored { overwritten: overwritten.into_iter().collect(), ..restored })
}

/// Whether an exact return would move a branch that another work tree has checked out.
fn moves_branches_elsewhere(
    repo: &Repo,
    attempt: &Snapshot,
    now: &Status,
) -> Result<bool, GitError> {
    let record = &attempt.record;
    let own = record.branch.iter().filter(|branch| Some(*branch) != now.branch.as_ref());
    let moved: BTreeSet<&String> = own.chain(record.branches.keys()).collect();
    if moved.is_empty() {
        return Ok(false);
    }
    let listed = repo.git().line(&["worktree", "list", "--porcelain"])?;
    let mut is_elsewhere = false;
    for line in listed.lines() {
        if let Some(path) = line.strip_prefix("worktree ") {
            is_elsewhere = Path::new(path) != repo.top();
        } else if let Some(branch) = line.strip_prefix("branch refs/heads/")
            && is_elsewhere
            && moved.iter().any(|moved| *moved == branch)
        {
            return Ok(true);
        }
    }
    Ok(false)
}

/// All of the attempt's files or, if one of them would overwrite something, none.
fn bring_files(
    repo: &Repo,
    found: &Discarded,
    attempt: &Snapshot,
    brought: Brought,
    now: &Status,
) -> Result<Restored, RollbackError> {
    repo.refuse_if_busy().map_err(SnapshotError::from).map_err(RestoreError::from)?;
    let before = brought.before(repo, attempt)?;
    let Brought { base, changes } = brought;
    let (inner, mut wanted): (Vec<Change>, Vec<Change>) =
        changes.into_iter().partition(|change| change.to == Content::Submodule);
    let present = Present { repo, now, base: &base };
    let there = present.those_like(&wanted).map_err(RestoreError::from)?;
    wanted.retain(|change| !there.contains(&change.path));
    let conflicts = present.conflicts(&wanted, &before).map_err(RestoreError::from)?;
    if !conflicts.is_empty() {
        return Err(refusal(found, &conflicts, &wanted));
    }
    let submodules = submodules_of(repo, found, attempt)?;
    let has_moved = attempt.record.inner.values().any(|inner| *inner == Inner::Moved);
    if wanted.is_empty() && submodules.is_empty() && !has_moved {
        return Err(nothing_to_bring(repo, found, attempt));
    }
    let over = LaidOver { from: base, to: attempt.commit.clone() };
    let extra = to_save(repo, over, &wanted, now, &submodules)?;
    let message = format!("undo of {}, files only", found.id);
    let saved = Snapshot::take_with(repo, &new_name(None), &message, now, &extra)
        .map_err(RestoreError::from)?;
    let failed = |error: SnapshotError| match error {
        SnapshotError::Io(source) => RestoreError::Io { source, saved_as: saved.name.clone() },
        other => other.into(),
    };
    write(repo, attempt, &wanted).map_err(failed)?;
    let save_as = SaveAs { name: &saved.name, message: "undo" };
    for submodule in &submodules {
        restore(&submodule.repo, &submodule.target, save_as)?;
    }
    let mut left_alone: BTreeSet<String> =
        inner.iter().map(|change| change.path.display().to_string()).collect();
    for (path, inner) in &attempt.record.inner {
        let is_back = match inner {
            Inner::Moved => moved::put_back(repo, &attempt.name, path)
                .map_err(SnapshotError::from)
                .map_err(RestoreError::from)?,
            Inner::Saved => submodules.iter().any(|submodule| submodule.path == *path),
            Inner::Clean { .. } | Inner::Absent => continue,
        };
        match is_back {
            true => left_alone.remove(path),
            false => left_alone.insert(path.clone()),
        };
    }
    let left_alone = left_alone.into_iter().collect();
    let touched = wanted.into_iter().map(|change| change.path).collect();
    Ok(Restored { saved, touched, left_alone, as_files: true, overwritten: Vec::new() })
}

/// Why nothing comes back: all of it is there, or it is where others work by now.
fn nothing_to_bring(repo: &Repo, found: &Discarded, attempt: &Snapshot) -> RollbackError {
    let is_kept = |path: &str| {
        let inside = Repo::inside(&repo.top().join(path));
        inside.is_some_and(|inside| Snapshot::load(&inside, &found.name).is_ok())
    };
    let inner = attempt.record.inner.iter().filter(|(_, inner)| **inner == Inner::Saved);
    let paths: Vec<&str> =
        inner.map(|(path, _)| path.as_str()).filter(|path| is_kept(path)).collect();
    let (id, name) = (found.id.clone(), found.name.clone());
    match paths.is_empty() {
        true => RollbackError::NothingMissing { id },
        false => RollbackError::InSubmodules { id, name, paths: paths.join(", ") },
    }
}

/// What the user can do instead. A file that the attempt had removed is not in its commit.
fn refusal(found: &Discarded, conflicts: &BTreeSet<PathBuf>, wanted: &[Change]) -> RollbackError {
    let named = |paths: &[&PathBuf]| {
        paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
    };
    let is_removal = |path: &&PathBuf| {
        wanted.iter().any(|change| change.path == **path && change.to == Content::Absent)
    };
    let all: Vec<&PathBuf> = conflicts.iter().collect();
    let (removed, changed): (Vec<&PathBuf>, Vec<&PathBuf>) = conflicts.iter().partition(is_removal);
    let name = &found.name;
    let mut advice = Vec::new();
    if !changed.is_empty() {
        advice.push(format!(
            "`git diff HEAD {name} -- <file>` compares one, and `git checkout {name} -- <file>` \
             takes the one that is kept"
        ));
    }
    if !removed.is_empty() {
        let removed = named(&removed);
        advice.push(format!("{removed} had been removed, and `git rm -- <file>` does that again"));
    }
    RollbackError::Conflicts { files: named(&all), advice: advice.join("; ") }
}

/// A submodule that goes back to its part of the attempt.
struct Submodule {
    path: String,
    repo: Repo,
    target: Target,
}

/// The submodules in which the attempt had worked, and nobody else since.
fn submodules_of(
    repo: &Repo,
    found: &Discarded,
    attempt: &Snapshot,
) -> Result<Vec<Submodule>, RollbackError> {
    let mut submodules = Vec::new();
    let worked_in = attempt.record.inner.iter().filter(|(_, inner)| **inner == Inner::Saved);
    for (path, _) in worked_in {
        let Some(inside) = Repo::inside(&repo.top().join(path)) else { continue };
        // One that was cloned anew does not have it.
        let Ok(part) = Snapshot::load(&inside, &found.name) else { continue };
        let now = Status::read(&inside)?;
        if part.record.left_at == Some(now.position()) && now.changed.is_empty() {
            let target = Target::Snapshot(Box::new(part));
            submodules.push(Submodule { path: path.clone(), repo: inside, target });
        }
    }
    Ok(submodules)
}

/// What the attempt's files are about to take the place of.
fn to_save(
    repo: &Repo,
    over: LaidOver,
    wanted: &[Change],
    now: &Status,
    submodules: &[Submodule],
) -> Result<Extra, RestoreError> {
    let mut inner = nested::at_checkpoint(repo, now).map_err(SnapshotError::from)?;
    inner.extend(submodules.iter().map(|submodule| (submodule.path.clone(), Inner::Saved)));
    Ok(Extra {
        files: wanted.iter().map(|change| change.path.clone()).collect(),
        replaced_by: now.head.clone(),
        // The difference to it is what an undo of this undo brings back.
        commits: vec![over.to.clone()],
        laid_over: Some(over),
        left_at: Some(now.position()),
        inner,
        left_alone: nested::names(&now.nested),
        ..Extra::default()
    })
}

/// What the agent had committed comes as git would check it out; the index is not touched.
fn write(repo: &Repo, attempt: &Snapshot, wanted: &[Change]) -> Result<(), SnapshotError> {
    let is_wanted: BTreeSet<&PathBuf> = wanted.iter().map(|change| &change.path).collect();
    let modes: Modes = attempt
        .modes
        .iter()
        .filter(|(path, _)| is_wanted.contains(path))
        .map(|(path, mode)| (path.clone(), *mode))
        .collect();
    for change in worktree::apply(repo, wanted, &modes)? {
        let mut object = OsString::from(format!("{}:", attempt.commit));
        object.push(&change.path);
        let content =
            repo.git().run(&["cat-file".as_ref(), "--filters".as_ref(), object.as_os_str()])?;
        worktree::put(repo.top(), change, &content)?;
    }
    Ok(())
}
