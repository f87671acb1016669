//! The user's own work that could not come back after a run, because the loop changed the same
//! files, or that an attempt took out of the tree: kept as a discarded attempt is, so that undo lists,
//! shows and restores it.

use std::path::PathBuf;

use super::brought::Brought;
use crate::git::repo::Repo;
use crate::git::restore::as_they_were::Present;
use crate::git::restore::procedure::{RestoreError, SaveAs};
use crate::git::rollback::{Discarded, REFS, RollbackError, discarded};
use crate::git::snapshot::take::{Snapshot, SnapshotError};
use crate::git::status::Status;

/// Ends the id of such work; no story's id can hold the first character.
const MARK: &str = "+aside";

/// How long the time is with which an id begins, up to its second.
const SECOND: usize = "20261115-163007".len();

/// How many files a message names.
const NAMED: usize = 5;

/// Work of the user's that waits to be brought back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreturned {
    /// What the user types to get it back.
    pub id: String,
    /// The ref that keeps it.
    pub name: String,
    /// The files, relative to the top of the work tree.
    pub files: Vec<PathBuf>,
}

/// Keeps these files of work that was set aside. To do it again after a crash makes no second one.
pub fn keep_unreturned(
    repo: &Repo,
    aside: &Snapshot,
    files: &[PathBuf],
) -> Result<Snapshot, SnapshotError> {
    let why = "uncommitted work of yours that the loop changed as well";
    keep_part(repo, aside, Part { files, why, onto: aside.record.head.as_deref() })
}

/// Some files of a snapshot.
#[derive(Debug, Clone, Copy)]
pub(in crate::git) struct Part<'a> {
    pub(super) files: &'a [PathBuf],
    /// What they are, for lists.
    pub(super) why: &'a str,
    /// The commit as which these files were before, so that undo lays them over it.
    pub(super) onto: Option<&'a str>,
}

pub(in crate::git) fn keep_part(
    repo: &Repo,
    snapshot: &Snapshot,
    part: Part<'_>,
) -> Result<Snapshot, SnapshotError> {
    let Part { files, why, onto } = part;
    let named: Vec<String> = files.iter().take(NAMED).map(|p| p.display().to_string()).collect();
    let more = if files.len() > NAMED { " and more" } else { "" };
    let named = named.join(", ").replace('\n', " ");
    let message = format!("{why}: {named}{more}");
    let mut name = format!("{REFS}/{}{MARK}", snapshot.id());
    let mut again = 1;
    while let Some(kept) = found(repo, &name)? {
        if kept.modes.keys().eq(files.iter()) {
            return Ok(kept);
        }
        again += 1;
        name = format!("{REFS}/{}-{again}{MARK}", snapshot.id());
    }
    snapshot.part_of(repo, SaveAs { name: &name, message: &message }, files, onto)
}

fn found(repo: &Repo, name: &str) -> Result<Option<Snapshot>, SnapshotError> {
    match Snapshot::load(repo, name) {
        Err(SnapshotError::Gone { .. }) => Ok(None),
        other => other.map(Some),
    }
}

/// Such work that was not brought back, newest first; what is in the tree as it was is passed over,
/// whoever put it there.
pub fn unreturned(repo: &Repo) -> Result<Vec<Unreturned>, RollbackError> {
    let all = discarded(repo)?;
    let waiting = all.iter().filter(|kept| kept.id.ends_with(MARK) && !is_back(&all, kept));
    let mut found = Vec::new();
    for kept in waiting {
        // One that cannot be read is told of by an undo of it.
        let Ok(snapshot) = Snapshot::load(repo, &kept.name) else { continue };
        let Brought { base, changes: mut wanted } = Brought::by(repo, &snapshot)?;
        let now = Status::read(repo)?;
        let present = Present { repo, now: &now, base: &base };
        let there = present.those_like(&wanted).map_err(RestoreError::from)?;
        wanted.retain(|change| !there.contains(&change.path));
        let files: Vec<PathBuf> = wanted.into_iter().map(|change| change.path).collect();
        if !files.is_empty() {
            found.push(Unreturned { id: kept.id.clone(), name: kept.name.clone(), files });
        }
    }
    Ok(found)
}

/// Whether it was brought back by an undo that was not undone in turn: what an undo took out of the
/// tree is kept, and says of what it was an undo. Ids sort by time, so this comes to an end.
fn is_back(all: &[Discarded], kept: &Discarded) -> bool {
    all.iter().any(|other| {
        let of = other.why.strip_prefix("undo of ").map(|of| of.trim_end_matches(", files only"));
        of == Some(&kept.id) && is_later(other, kept) && !is_back(all, other)
    })
}

/// Ids begin with their time; below the second those of such work are not comparable with others.
fn is_later(other: &Discarded, kept: &Discarded) -> bool {
    match kept.id.ends_with(MARK) && !other.id.ends_with(MARK) {
        true => second_of(other) >= second_of(kept),
        false => other.id > kept.id,
    }
}

fn second_of(kept: &Discarded) -> &str {
    kept.id.get(..SECOND).unwrap_or(&kept.id)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(undone: &[(&str, &str)], expected: bool) {
        let named = |(id, why): &(&str, &str)| Discarded {
            id: (*id).to_owned(),
            why: (*why).to_owned(),
            ..Discarded::default()
        };
        let all: Vec<Discarded> = undone.iter().map(named).collect();
        assert_eq!(is_back(&all, &named(&("0", ""))), expected, "{undone:?}");
    }

    #[test]
    fn an_undo_within_the_same_second_counts() {
        let (kept, undone) = ("20261115-163007-4324+aside", "20261115-163007-123");
        let why = format!("undo of {kept}, files only");
        let named = |id: &str, why: &str| Discarded {
            id: id.to_owned(),
            why: why.to_owned(),
            ..Discarded::default()
        };
        assert!(is_back(&[named(undone, &why)], &named(kept, "")));
    }

    #[test]
    fn work_is_back_unless_its_undo_was_undone() {
        check(&[("1", "2 tests failed")], false);
        check(&[("1", "undo of 0, files only")], true);
        check(&[("1", "undo of 0, files only"), ("2", "undo of 1, files only")], false);
        check(&[("1", "undo of 0, files only"), ("2", "undo of 1"), ("3", "undo of 2")], true);
        check(&[("1", "undo of 00")], false);
        check(&[("0", "undo of 0")], false);
    }
}
