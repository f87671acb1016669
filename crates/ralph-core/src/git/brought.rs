//! What an undo brings: the files in which an attempt differs from what took its place.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::error::GitError;
use super::repo::Repo;
use super::restore::diff::{self, Change, Content};
use super::restore::worktree;
use super::snapshot::error::SnapshotError;
use super::snapshot::record::LaidOver;
use super::snapshot::take::Snapshot;
use super::status::Status;

/// How many paths one git is asked about.
const AT_ONCE: usize = 500;

/// The difference between an attempt and what took its place.
#[derive(Debug)]
pub(super) struct Brought {
    /// What took its place, as a tree.
    pub(super) base: String,
    /// What the attempt makes of it.
    pub(super) changes: Vec<Change>,
}

impl Brought {
    /// By an undo of this attempt. Where the files of another were laid over it, only those count:
    /// the rest of the tree may be that of another branch by now.
    pub(super) fn by(repo: &Repo, attempt: &Snapshot) -> Result<Self, GitError> {
        let record = &attempt.record;
        let laid_over = record.laid_over.as_ref().map(|laid| &laid.to);
        let base = laid_over.or(record.replaced_by.as_ref()).or(record.head.as_ref());
        let base = repo.base(base.map(String::as_str))?;
        let mut changes = diff::between(repo.git(), &base, &attempt.commit)?;
        if let Some(LaidOver { from, to }) = &record.laid_over {
            let laid = diff::between(repo.git(), from, to)?;
            let laid: BTreeSet<PathBuf> = paths_of(laid).collect();
            changes.retain(|change| laid.contains(&change.path));
        }
        changes.retain(|change| !repo.is_untouched(&change.path));
        Ok(Self { base, changes })
    }

    /// What stands on disk where its files are to be written, but for what it removes.
    pub(super) fn in_the_way(&self, repo: &Repo) -> Result<BTreeSet<PathBuf>, SnapshotError> {
        let (written, others): (Vec<&Change>, Vec<&Change>) =
            self.changes.iter().partition(|change| change.to.object().is_some());
        let mut found =
            worktree::in_the_way(repo.top(), written.iter().map(|change| &change.path))?;
        for change in others {
            found.remove(&change.path);
        }
        Ok(found)
    }

    /// The changes that are not made on disk, and the conflicts: those of the files that are not as
    /// what took the attempt's place either, because work went on in them. `saved` is the tree as it
    /// is, of which git says `now`.
    pub(super) fn missing(
        &self,
        repo: &Repo,
        now: &Status,
        saved: &Snapshot,
    ) -> Result<(Vec<Change>, BTreeSet<PathBuf>), GitError> {
        // What git's filters make of a file on disk is not what a commit holds: where git calls it
        // unchanged, it is.
        let mut worked_in: BTreeSet<PathBuf> = now.changed.iter().cloned().collect();
        let head = repo.base(now.head.as_deref())?;
        worked_in.extend(paths_of(diff::between(repo.git(), &self.base, &head)?));
        let on_disk = diff::between(repo.git(), &self.base, &saved.commit)?;
        let on_disk: BTreeMap<PathBuf, Content> =
            on_disk.into_iter().map(|change| (change.path, change.to)).collect();
        let mut missing = self.changes.clone();
        missing.retain(|change| on_disk.get(&change.path) != Some(&change.to));
        let is_other = |change: &&Change| {
            let is_changed = worked_in.contains(&change.path) && on_disk.contains_key(&change.path);
            is_changed && change.to != Content::Submodule
        };
        let conflicts = missing.iter().filter(is_other).map(|change| change.path.clone()).collect();
        Ok((missing, conflicts))
    }

    /// Those of some files that have nothing to do with it: it neither changes them nor anything
    /// above or below them.
    pub(super) fn unrelated(&self, files: &[PathBuf]) -> BTreeSet<PathBuf> {
        let changed: BTreeSet<&Path> = self.changes.iter().map(|c| c.path.as_path()).collect();
        let folders: BTreeSet<&Path> = changed.iter().flat_map(|path| path.ancestors()).collect();
        let is_unrelated = |path: &&PathBuf| {
            !folders.contains(path.as_path())
                && !path.ancestors().any(|folder| changed.contains(folder))
        };
        files.iter().filter(is_unrelated).cloned().collect()
    }

    /// The difference as a patch.
    pub(super) fn patch(&self, repo: &Repo, attempt: &Snapshot) -> Result<String, GitError> {
        let args =
            ["diff", "--no-ext-diff", "--stat", "--patch", &self.base, &attempt.commit, "--"];
        let mut text = String::new();
        for some in self.changes.chunks(AT_ONCE) {
            let mut args: Vec<OsString> = args.map(Into::into).to_vec();
            args.extend(some.iter().map(|change| change.path.clone().into_os_string()));
            text.push_str(&repo.git().line(&args)?);
            text.push('\n');
        }
        Ok(text)
    }
}

fn paths_of(changes: Vec<Change>) -> impl Iterator<Item = PathBuf> {
    changes.into_iter().map(|change| change.path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_above_and_below_what_changes_are_related_to_it() {
        let change = |path: &str| Change { path: path.into(), to: Content::Absent };
        let changes = vec![change("a.txt"), change("folder/file"), change("link")];
        let brought = Brought { base: String::new(), changes };
        for (path, expected) in [
            ("a.txt", false),
            ("a.txt.orig", true),
            ("folder", false),
            ("folder/file", false),
            ("folder/other", true),
            ("link/inside/file", false),
            ("elsewhere/a.txt", true),
        ] {
            let found = brought.unrelated(&[path.into()]);
            assert_eq!(found.len() == 1, expected, "{path}");
        }
    }
}
