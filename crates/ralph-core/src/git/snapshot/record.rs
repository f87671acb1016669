//! What a snapshot holds besides a tree.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::git::paths::shown;
use crate::git::status::{Position, Status};

/// The version of the format.
pub(super) const VERSION: u32 = 1;

/// What a tree cannot hold, as JSON.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(in crate::git) struct SnapshotRecord {
    /// The version of this format.
    pub(in crate::git) version: u32,
    /// The commit that was checked out.
    pub(in crate::git) head: Option<String>,
    /// The branch that was checked out; none if HEAD was detached.
    pub(in crate::git) branch: Option<String>,
    /// Submodules and repositories inside that had work of their own.
    pub(in crate::git) left_alone: Vec<String>,
    /// The loop's run that made it; only that loop's sessions may be rolled back to it.
    pub(in crate::git) run: Option<String>,
    /// Branches that were not checked out and were moved afterwards, with their tips; none for a
    /// branch that was not there.
    pub(in crate::git) branches: BTreeMap<String, Option<String>>,
    /// The commit whose files took the place of these.
    pub(in crate::git) replaced_by: Option<String>,
    /// Where HEAD was then.
    pub(in crate::git) left_at: Option<Position>,
    /// Whose files took the place of these, if it was no commit that did: those of an attempt.
    pub(in crate::git) laid_over: Option<LaidOver>,
}

/// The files of an attempt that an undo laid over others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::git) struct LaidOver {
    /// What the attempt began with.
    pub(in crate::git) from: String,
    /// The attempt.
    pub(in crate::git) to: String,
}

impl SnapshotRecord {
    /// What is known of the tree as it is.
    pub(in crate::git) fn of(status: &Status) -> Self {
        Self {
            version: VERSION,
            head: status.head.clone(),
            branch: status.branch.clone(),
            left_alone: shown(&status.nested),
            ..Self::default()
        }
    }
}

/// How a snapshot is named.
#[derive(Debug, Clone, Copy)]
pub(in crate::git) struct SaveAs<'a> {
    /// The ref.
    pub(in crate::git) name: &'a str,
    /// The commit's message.
    pub(in crate::git) message: &'a str,
}
