//! A copy of the work tree for as long as something runs that may remove files: a check, for instance.
//! If it did, the copy stays, listed as discarded attempts are; else it is forgotten.

use crate::git::command::GitError;
use crate::git::repo::Repo;
use crate::git::rollback::new_name;
use crate::git::snapshot::take::{Extra, Snapshot, SnapshotError};
use crate::git::status::Status;
use crate::state::Id;

/// Such a copy.
#[derive(Debug)]
pub(crate) struct SafeCopy(Snapshot);

impl SafeCopy {
    /// Of the tree in the state that was read just now.
    pub(crate) fn take(
        repo: &Repo,
        status: &Status,
        story: Option<&Id>,
        message: &str,
    ) -> Result<Self, SnapshotError> {
        let extra = Extra { left_at: Some(status.position()), ..Extra::default() };
        Snapshot::take_with(repo, &new_name(story), message, status, &extra).map(Self)
    }

    /// What undo knows it by.
    pub(crate) fn id(&self) -> &str {
        self.0.id()
    }

    /// It was not needed.
    pub(crate) fn forget(self, repo: &Repo) -> Result<(), GitError> {
        self.0.forget(repo)
    }
}
