//! Uncommitted work that was there when an attempt began, and that the attempt took out of the tree
//! although it succeeded: by `git checkout -- file`, `rm` or `git stash`, for instance.
//!
//! A rollback would bring it back. A commit goes on without it, so it is kept for undo. A file that
//! was edited further, or moved, is the attempt's work, and nothing is lost.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::unreturned::{Part, Unreturned, keep_part};
use crate::git::repo::Repo;
use crate::git::restore::as_they_were::Present;
use crate::git::restore::diff::{self, Change, Content};
use crate::git::snapshot::take::{Snapshot, SnapshotError};
use crate::git::status::Status;

/// Keeps what is neither in the tree nor committed any more, of what a checkpoint's snapshot had
/// uncommitted; none if nothing is missing. The files `but` do not count.
pub(crate) fn keep_taken_out(
    repo: &Repo,
    checkpoint: &Snapshot,
    but: &[PathBuf],
) -> Result<Option<Unreturned>, SnapshotError> {
    let base = repo.base(checkpoint.record.head.as_deref())?;
    let mut had = diff::between(repo.git(), &base, &checkpoint.commit)?;
    had.retain(|change| {
        let is_users = !repo.is_untouched(&change.path) && !but.contains(&change.path);
        is_users && change.to != Content::Submodule
    });
    if had.is_empty() {
        return Ok(None);
    }
    let now = Status::read(repo)?;
    let mut files = missing(&Present { repo, now: &now, base: &base }, checkpoint, had)?;
    if files.is_empty() {
        return Ok(None);
    }
    files.sort();
    let why = "uncommitted work that an attempt took out of the tree";
    let part = Part { files: &files, why, onto: now.head.as_deref() };
    let kept = keep_part(repo, checkpoint, part)?;
    Ok(Some(Unreturned { id: kept.id().to_owned(), name: kept.name, files }))
}

/// Those of the changes of which nothing is left: the file is what it was before them, or is gone.
fn missing(
    present: &Present<'_>,
    checkpoint: &Snapshot,
    mut had: Vec<Change>,
) -> Result<Vec<PathBuf>, SnapshotError> {
    let Present { repo, now, base } = present;
    let there = present.those_like(&had)?;
    had.retain(|change| !there.contains(&change.path));
    if had.is_empty() {
        return Ok(Vec::new());
    }
    let before = diff::between(repo.git(), &checkpoint.commit, base)?;
    let before = before.into_iter().map(|change| (change.path, change.to)).collect();
    let others = present.conflicts(&had, &before)?;
    let is_gone = |change: &Change| {
        change.to != Content::Absent && is_no_file(&repo.top().join(&change.path))
    };
    had.retain(|change| !others.contains(&change.path) || is_gone(change));
    if let (Some(head), false) = (&now.head, had.is_empty()) {
        let committed = diff::between(repo.git(), base, head)?;
        let contents: BTreeSet<&str> = committed.iter().filter_map(object).collect();
        had.retain(|change| object(change).is_none_or(|object| !contents.contains(object)));
    }
    Ok(had.into_iter().map(|change| change.path).collect())
}

fn is_no_file(path: &Path) -> bool {
    fs_err::symlink_metadata(path).map_or(true, |found| found.is_dir())
}

/// What a file holds, by name: under another path it was moved.
fn object(change: &Change) -> Option<&str> {
    match &change.to {
        Content::File { object, .. } | Content::Link { object } => Some(object),
        Content::Absent | Content::Submodule => None,
    }
}
