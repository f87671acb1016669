//! What an undo brings: the files in which an attempt differs from what took its place.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::git::command::GitError;
use crate::git::repo::Repo;
use crate::git::restore::diff::{self, Change, Content};
use crate::git::snapshot::take::{LaidOver, Record, Snapshot};

/// How many paths one git is asked about.
const AT_ONCE: usize = 500;

/// The difference between an attempt and what took its place.
#[derive(Debug)]
pub(in crate::git) struct Brought {
    /// What took its place, as a tree.
    pub(in crate::git) base: String,
    /// What the attempt makes of it.
    pub(in crate::git) changes: Vec<Change>,
}

impl Brought {
    /// By an undo of this attempt. Where the files of another were laid over it, only those count:
    /// the rest of the tree may be that of another branch by now.
    pub(in crate::git) fn by(repo: &Repo, attempt: &Snapshot) -> Result<Self, GitError> {
        let base = base_of(repo, &attempt.record)?;
        let mut changes = diff::between(repo.git(), &base, &attempt.commit)?;
        if let Some(LaidOver { from, to }) = &attempt.record.laid_over {
            let laid = diff::between(repo.git(), from, to)?;
            let laid: BTreeSet<PathBuf> = laid.into_iter().map(|change| change.path).collect();
            changes.retain(|change| laid.contains(&change.path));
        }
        changes.retain(|change| !repo.is_untouched(&change.path));
        Ok(Self { base, changes })
    }

    /// What took the attempt's place, file by file.
    pub(in crate::git) fn before(
        &self,
        repo: &Repo,
        attempt: &Snapshot,
    ) -> Result<BTreeMap<PathBuf, Content>, GitError> {
        let changes = diff::between(repo.git(), &attempt.commit, &self.base)?;
        Ok(changes.into_iter().map(|change| (change.path, change.to)).collect())
    }

    /// Those of some files that have nothing to do with it: it neither changes them nor anything
    /// above or below them.
    pub(in crate::git) fn unrelated(&self, files: &[PathBuf]) -> BTreeSet<PathBuf> {
        let changed: BTreeSet<&Path> = self.changes.iter().map(|c| c.path.as_path()).collect();
        let folders: BTreeSet<&Path> = changed.iter().flat_map(|path| path.ancestors()).collect();
        let is_unrelated = |path: &&PathBuf| {
            !folders.contains(path.as_path())
                && !path.ancestors().any(|folder| changed.contains(folder))
        };
        files.iter().filter(is_unrelated).cloned().collect()
    }

    /// The difference as a patch.
    pub(in crate::git) fn patch(
        &self,
        repo: &Repo,
        attempt: &Snapshot,
    ) -> Result<String, GitError> {
        let args =
            ["diff", "--no-ext-diff", "--stat", "--patch", &self.base, &attempt.commit, "--"];
        if attempt.record.laid_over.is_none() {
            return repo.git().line(&args);
        }
        let mut text = String::new();
        for some in self.changes.chunks(AT_ONCE) {
            let mut args: Vec<std::ffi::OsString> = args.map(Into::into).to_vec();
            args.insert(0, "--literal-pathspecs".into());
            args.extend(some.iter().map(|change| change.path.clone().into_os_string()));
            text.push_str(&repo.git().line(&args)?);
        }
        Ok(text)
    }
}

/// The tree against which an attempt's changes are counted.
fn base_of(repo: &Repo, attempt: &Record) -> Result<String, GitError> {
    let laid_over = attempt.laid_over.as_ref().map(|laid| &laid.to);
    let base = laid_over.or(attempt.replaced_by.as_ref()).or(attempt.head.as_ref());
    repo.base(base.map(String::as_str))
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
