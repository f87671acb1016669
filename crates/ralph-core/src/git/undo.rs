//! Undo: what a discarded attempt had changed is laid over the tree, as files.
//!
//! Nothing is overwritten that is not in a commit: a file must be as the rollback left it, or already
//! as the attempt had it. HEAD, index and all other files stay as they are.

use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use super::changed::made_on_disk;
use super::diff::{self, Change};
use super::files::{Inventory, Worktree, in_the_way, look, set_modes};
use super::paths::{shown, split};
use super::repo::Repo;
use super::rollback::{Discarded, PATIENCE, find};
use super::snapshot::Snapshot;
use super::snapshot_error::SnapshotError;
use crate::state::{self, Lock, StateDir};

/// Brings back a discarded attempt, all of it or nothing; names the files that this changed.
pub fn undo(repo: &Repo, state: &StateDir, id: &str) -> Result<Vec<PathBuf>, SnapshotError> {
    let _lock = Lock::take_within(&state.rollback_lock(), "undoing a rollback", PATIENCE)?;
    let attempt = Snapshot::load(repo, &find(repo, id)?.name)?;
    let base = base(repo, &attempt)?;
    let mut changes = diff::between(repo.git(), &base, &attempt.commit)?;
    changes.retain(|change| !change.is_inner && !repo.is_untouched(&change.path));
    let made = made_on_disk(repo, &changes.iter().collect::<Vec<_>>(), &attempt.record.modes)?;
    changes.retain(|change| !made.contains(&change.path));
    let seen = changes.iter().map(|change| &change.path);
    let seen = seen.map(|path| Ok((path.clone(), look(repo.top(), path)?)));
    let seen: Inventory = seen.collect::<std::io::Result<_>>()?;
    let mut before = diff::between(repo.git(), &attempt.commit, &base)?;
    before.retain(|change| seen.contains_key(&change.path));
    let (absent, present): (Vec<&Change>, Vec<&Change>) =
        changes.iter().partition(|change| change.is_absent());
    let mut conflicts = in_the_way(repo.top(), present.iter().map(|change| &change.path))?;
    conflicts.retain(|path| !absent.iter().any(|change| change.path == *path));
    conflicts.extend(differing(repo, &before, &attempt)?);
    if !conflicts.is_empty() {
        let (files, name) = (shown(&conflicts).join(", "), attempt.name);
        return Err(SnapshotError::Conflicts { files, name });
    }
    let mut tree = Worktree { repo, saved: &seen, stay: BTreeSet::new() };
    for change in absent {
        tree.remove(&change.path)?;
    }
    tree.write(&present)?;
    let mut modes = attempt.record.modes;
    modes.retain(|path, _| present.iter().any(|change| change.path.as_os_str() == path.as_str()));
    set_modes(repo.top(), &modes)?;
    Ok(seen.keys().filter(|path| !tree.stay.contains(*path)).cloned().collect())
}

/// What a discarded attempt had changed, its commits included, as a patch against what took its
/// place.
pub fn changes_of(repo: &Repo, attempt: &Discarded) -> Result<String, SnapshotError> {
    let attempt = Snapshot::load(repo, &attempt.name)?;
    let base = base(repo, &attempt)?;
    let args = ["diff", "--no-ext-diff", "--stat", "--patch", &base, &attempt.commit, "--"];
    Ok(repo.git().line(&args)?)
}

/// What took its place.
fn base(repo: &Repo, attempt: &Snapshot) -> Result<String, SnapshotError> {
    let record = &attempt.record;
    let base = record.replaced_by.first().or(record.head.as_ref());
    Ok(repo.base(base.map(String::as_str))?)
}

/// The files that are not on disk as they are to be, neither byte by byte nor in git's eyes, to which
/// line endings, for instance, do not matter.
fn differing(
    repo: &Repo,
    files: &[Change],
    attempt: &Snapshot,
) -> Result<Vec<PathBuf>, SnapshotError> {
    let made = made_on_disk(repo, &files.iter().collect::<Vec<_>>(), &attempt.record.modes)?;
    let (absent, present): (Vec<&Change>, Vec<&Change>) =
        files.iter().filter(|c| !made.contains(&c.path)).partition(|c| c.is_absent());
    let mut entries = Vec::new();
    for Change { mode, object, path, .. } in present {
        let name = path.as_os_str().as_bytes();
        entries.extend([format!("{mode} {object}\t").as_bytes(), name, b"\0"].concat());
    }
    // An index of its own, which knows of no file what the user told git about it.
    let index = repo.git_dir().join("ralph/undo-index");
    let git = repo.git().on_index(index.clone());
    state::remove_if_there(&index)?;
    index.parent().map_or(Ok(()), fs_err::create_dir_all)?;
    git.feed(&["update-index", "--add", "-z", "--index-info"], &entries)?;
    let listed = git.run(&["diff", "--no-ext-diff", "--name-only", "--no-renames", "-z"])?;
    state::remove_if_there(&index)?;
    Ok(split(&listed).chain(absent.iter().map(|change| change.path.clone())).collect())
}
