//! Which files are on disk as a tree has them? Asked before something is laid over them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::diff::{self, Change, Content};
use super::on_disk::is_as;
use super::worktree;
use crate::git::blobs;
use crate::git::repo::Repo;
use crate::git::snapshot::take::SnapshotError;
use crate::git::status::Status;

/// The work tree as it is, and the tree that it is compared with.
pub(in crate::git) struct Present<'a> {
    pub(in crate::git) repo: &'a Repo,
    pub(in crate::git) now: &'a Status,
    pub(in crate::git) base: &'a str,
}

impl Present<'_> {
    /// The files that are on disk, byte for byte, what the changes would make of them.
    pub(in crate::git) fn those_like(
        &self,
        changes: &[Change],
    ) -> Result<BTreeSet<PathBuf>, SnapshotError> {
        let top = self.repo.top();
        let (absent, others): (Vec<&Change>, Vec<&Change>) =
            changes.iter().partition(|change| change.to == Content::Absent);
        // A folder is nothing to git, and the files in it are looked at one by one.
        let is_gone = |change: &&&Change| {
            fs_err::symlink_metadata(top.join(&change.path)).map_or(true, |found| found.is_dir())
        };
        let mut like: BTreeSet<PathBuf> =
            absent.iter().filter(is_gone).map(|change| change.path.clone()).collect();
        let files: Vec<&Change> =
            others.into_iter().filter(|change| change.to != Content::Submodule).collect();
        blobs::read(self.repo, &files, |change, content| {
            // Whether it can be executed is all that a tree knows of a mode.
            let is_mode = |mode: u32| match change.to {
                Content::File { executable, .. } => (mode & 0o100 != 0) == executable,
                _ => true,
            };
            if is_as(&top.join(&change.path), &change.to, content, is_mode)? {
                like.insert(change.path.clone());
            }
            Ok(())
        })?;
        Ok(like)
    }

    /// The files that are not as they were `before`, and whatever stands where files are to be
    /// written.
    pub(in crate::git) fn conflicts(
        &self,
        wanted: &[Change],
        before: &BTreeMap<PathBuf, Content>,
    ) -> Result<BTreeSet<PathBuf>, SnapshotError> {
        let as_before: Vec<Change> = wanted
            .iter()
            .map(|change| Change {
                path: change.path.clone(),
                to: before.get(&change.path).cloned().unwrap_or(Content::Absent),
            })
            .collect();
        let same = self.those_like(&as_before)?;
        let unchanged = self.unchanged_since_base()?;
        let is_as_before = |change: &&Change| {
            same.contains(&change.path) || (change.to != Content::Absent && unchanged(&change.path))
        };
        let mut conflicts: BTreeSet<PathBuf> = as_before
            .iter()
            .filter(|change| !is_as_before(change))
            .map(|change| change.path.clone())
            .collect();
        let is_written = |change: &&Change| change.to != Content::Absent;
        let written = wanted.iter().filter(is_written).map(|change| &change.path);
        let mut in_the_way = worktree::in_the_way(self.repo.top(), written)?;
        for change in wanted.iter().filter(|change| change.to == Content::Absent) {
            in_the_way.remove(&change.path);
        }
        conflicts.extend(in_the_way);
        Ok(conflicts)
    }

    /// Whether git calls a file the same as in the base, whatever its filters make of the bytes.
    fn unchanged_since_base(&self) -> Result<impl Fn(&Path) -> bool, SnapshotError> {
        let changed: BTreeSet<&PathBuf> = self.now.changed.iter().collect();
        let committed: Option<BTreeSet<PathBuf>> = match &self.now.head {
            Some(head) => {
                let changes = diff::between(self.repo.git(), head, self.base)?;
                Some(changes.into_iter().map(|change| change.path).collect())
            }
            None => None,
        };
        Ok(move |path: &Path| {
            let is_in = |set: &BTreeSet<PathBuf>| set.contains(path);
            committed.as_ref().is_some_and(|set| !is_in(set))
                && !changed.iter().any(|changed| *changed == path)
        })
    }
}
