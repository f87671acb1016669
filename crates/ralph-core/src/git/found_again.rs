//! A checkpoint whose file was removed or damaged while its attempt was under way: found again by
//! what the attempt knows of its beginning.

use std::io;

use super::checkpoint::{Checkpoint, CheckpointError};
use super::repo::Repo;
use super::snapshot::clean;
use super::snapshot::ledger::{self, CHECKPOINTS};
use super::snapshot::take::{Snapshot, SnapshotError};
use super::stamp::stamp;
use crate::state::StateDir;

/// Where an attempt began.
#[derive(Debug, Clone, Copy)]
pub struct Beginning<'a> {
    /// The loop's run.
    pub run: &'a str,
    /// The commit that was checked out.
    pub head: Option<&'a str>,
    /// The branch that was checked out.
    pub branch: Option<&'a str>,
}

impl Checkpoint {
    /// Writes the checkpoint of an attempt down again, if its file is not what it was; tells whether
    /// it did. Where no snapshot is left it is the commit with nothing uncommitted: then all that is
    /// in the tree counts as the attempt's, and a rollback keeps it.
    pub fn find_again(
        repo: &Repo,
        state: &StateDir,
        began: Beginning<'_>,
    ) -> Result<bool, CheckpointError> {
        match Self::load(state) {
            Ok(Some(found))
                if found.commit.as_deref() == began.head && found.snapshot.is_some() =>
            {
                return Ok(false);
            }
            Ok(_) | Err(CheckpointError::Unreadable { .. }) => {}
            // It is no text.
            Err(CheckpointError::Io(error)) if error.kind() == io::ErrorKind::InvalidData => {}
            Err(error) => return Err(error),
        }
        let snapshot = match newest(repo, began)? {
            Some(name) => Some(name),
            None => at_commit(repo, began)?,
        };
        if snapshot.is_none() && began.head.is_none() {
            return Ok(false);
        }
        let found = Self { commit: began.head.map(str::to_owned), snapshot };
        found.save(state)?;
        Ok(true)
    }
}

/// The newest snapshot that such an attempt can have begun with.
fn newest(repo: &Repo, began: Beginning<'_>) -> Result<Option<String>, SnapshotError> {
    let names = Checkpoint::names(repo)?;
    let is_its = |name: &&str| {
        Snapshot::load(repo, name).is_ok_and(|snapshot| {
            let record = snapshot.record;
            record.run.as_deref() == Some(began.run) && record.head.as_deref() == began.head
        })
    };
    Ok(names.lines().find(is_its).map(str::to_owned))
}

/// A ref of the commit itself; none if no name can tell what belongs to it.
fn at_commit(repo: &Repo, began: Beginning<'_>) -> Result<Option<String>, SnapshotError> {
    let Some(head) = began.head else { return Ok(None) };
    let stem = format!("{CHECKPOINTS}{}", stamp());
    let made = clean::make_at(repo, &stem, head, began.run, began.branch)?;
    Ok(made.inspect(|name| ledger::note(repo, name, head)))
}
