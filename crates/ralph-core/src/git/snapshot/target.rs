//! A state to return to, and what is known of it.

use std::collections::BTreeMap;

use super::error::SnapshotError;
use super::inventory::Modes;
use super::take::Snapshot;
use crate::git::repo::Repo;
use crate::git::staged::Staged;

/// A state to return to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// A snapshot: files, modes, what was staged and branch, exactly.
    Snapshot(Box<Snapshot>),
    /// A commit, written down by another loop: tracked files and HEAD go back to it.
    /// Which new files are the user's cannot be known, so files that git does not track stay.
    Commit(String),
}

impl Target {
    /// The snapshot behind a ref.
    pub fn load(repo: &Repo, name: &str) -> Result<Self, SnapshotError> {
        Ok(Self::Snapshot(Box::new(Snapshot::load(repo, name)?)))
    }

    /// The loop's run that made it, if one did.
    pub fn run(&self) -> Option<&str> {
        self.snapshot().and_then(|snapshot| snapshot.record.run.as_deref())
    }

    pub(in crate::git) fn snapshot(&self) -> Option<&Snapshot> {
        match self {
            Self::Snapshot(snapshot) => Some(snapshot),
            Self::Commit(_) => None,
        }
    }

    /// Submodules and repositories inside that had work of their own when it was saved.
    pub(in crate::git) fn left_alone(&self) -> &[String] {
        self.snapshot().map_or(&[], |snapshot| &snapshot.record.left_alone)
    }

    /// Branches that are to be moved back, though they are not checked out.
    pub(in crate::git) fn branches(&self) -> BTreeMap<String, Option<String>> {
        self.snapshot().map(|snapshot| snapshot.record.branches.clone()).unwrap_or_default()
    }

    /// The commit whose tree the files become.
    pub(in crate::git) fn tree(&self) -> &str {
        match self {
            Self::Snapshot(snapshot) => &snapshot.commit,
            Self::Commit(commit) => commit,
        }
    }

    /// The commit that is to be checked out; none in a repository without commits.
    pub(in crate::git) fn head(&self) -> Option<&str> {
        match self {
            Self::Snapshot(snapshot) => snapshot.record.head.as_deref(),
            Self::Commit(commit) => Some(commit),
        }
    }

    /// What is to be staged.
    pub(in crate::git) fn staged(&self) -> Staged {
        self.snapshot().map(|snapshot| snapshot.staged.clone()).unwrap_or_default()
    }

    /// The files that must come back exactly as they were on disk, and those that were absent.
    pub(in crate::git) fn modes(&self) -> &Modes {
        static NONE: Modes = BTreeMap::new();
        self.snapshot().map_or(&NONE, |snapshot| &snapshot.modes)
    }
}
