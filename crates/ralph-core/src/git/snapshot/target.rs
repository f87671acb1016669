//! A state to return to, and what is known of it.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::inventory::Modes;
use super::take::{Snapshot, SnapshotError};
use crate::git::ignore::own_rules::OwnRules;
use crate::git::repo::Repo;
use crate::git::stamp::instant_of;

/// A state to return to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// A snapshot: files, modes, index and branch, exactly.
    Snapshot(Box<Snapshot>),
    /// A commit, written down by somebody else's loop: tracked files and HEAD go back to it.
    /// Which new files are the user's cannot be known, so files that git does not track stay.
    Commit(String),
}

impl Target {
    /// The snapshot behind a ref.
    pub fn load(repo: &Repo, name: &str) -> Result<Self, SnapshotError> {
        Ok(Self::Snapshot(Box::new(Snapshot::load(repo, name)?)))
    }

    /// Repositories inside that had work of their own when it was saved, or cannot be named.
    pub fn left_alone(&self) -> &[String] {
        match self {
            Self::Snapshot(snapshot) => &snapshot.record.left_alone,
            Self::Commit(_) => &[],
        }
    }

    /// The loop's run that made it, if one did.
    pub fn run(&self) -> Option<&str> {
        match self {
            Self::Snapshot(snapshot) => snapshot.record.run.as_deref(),
            Self::Commit(_) => None,
        }
    }

    /// Branches that are to be moved back, though they are not checked out.
    pub(in crate::git) fn branches(&self) -> BTreeMap<String, Option<String>> {
        match self {
            Self::Snapshot(snapshot) => snapshot.record.branches.clone(),
            Self::Commit(_) => BTreeMap::new(),
        }
    }

    /// The ref behind it; empty if there is none.
    pub(in crate::git) fn name(&self) -> &str {
        match self {
            Self::Snapshot(snapshot) => &snapshot.name,
            Self::Commit(_) => "",
        }
    }

    /// The commit whose tree the files become.
    pub(in crate::git) fn tree(&self) -> &str {
        match self {
            Self::Snapshot(snapshot) => &snapshot.commit,
            Self::Commit(commit) => commit,
        }
    }

    /// The repository's own ignore rules as they were; as they are now where that is not known.
    pub(in crate::git) fn own_rules(&self, repo: &Repo) -> OwnRules {
        match self {
            Self::Snapshot(snapshot) => snapshot.record.own_rules(repo),
            Self::Commit(_) => OwnRules::read(repo),
        }
    }

    /// When it was saved, as its name tells; none if there is no name.
    pub(in crate::git) fn saved_at(&self) -> Option<Timestamp> {
        self.name().split(['/', '+']).find_map(instant_of)
    }

    /// The commit that is to be checked out; none in a repository without commits.
    pub(in crate::git) fn head(&self) -> Option<&str> {
        match self {
            Self::Snapshot(snapshot) => snapshot.record.head.as_deref(),
            Self::Commit(commit) => Some(commit),
        }
    }

    /// The files that must come back exactly as they were on disk, and those that were absent.
    pub(in crate::git) fn modes(&self) -> Modes {
        match self {
            Self::Snapshot(snapshot) => snapshot.modes.clone(),
            Self::Commit(_) => Modes::new(),
        }
    }
}
