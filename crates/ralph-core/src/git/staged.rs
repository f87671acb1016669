//! What is staged: where the index is not that of HEAD. Kept with a snapshot and restored with it.
//!
//! Only the entries that differ, as git itself lists and reads them: the rest of the index, and what
//! the user told git about other files, stays as it is.

use std::path::PathBuf;

use super::error::GitError;
use super::paths::{joined, split};
use super::repo::Repo;

/// Entries of an index.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::git) struct Staged {
    /// As `git update-index -z --index-info` reads them.
    entries: Vec<u8>,
    /// The contents that only the index holds.
    objects: Vec<String>,
    /// Files without content that are only meant to be added some time (`git add -N`).
    intended: Vec<PathBuf>,
}

impl Staged {
    /// As a snapshot keeps it: entries, and files that are meant to be added.
    pub(in crate::git) fn load(entries: Vec<u8>, intended: &[u8]) -> Self {
        Self { entries, objects: Vec::new(), intended: split(intended).collect() }
    }

    /// The reverse of [`Self::load`].
    pub(in crate::git) fn save(&self) -> (Vec<u8>, Vec<u8>) {
        (self.entries.clone(), joined(&self.intended))
    }

    /// The contents that only the index holds.
    pub(in crate::git) fn objects(&self) -> &[String] {
        &self.objects
    }

    /// A file that is meant to be added.
    pub(in crate::git) fn intend(&mut self, path: PathBuf) {
        self.intended.push(path);
    }

    /// An entry as `git status` has it; a mode of zeros stands for one that was removed.
    pub(in crate::git) fn add(&mut self, mode: &[u8], object: &[u8], path: &[u8]) {
        self.push(mode, object, b"0", path);
    }

    /// A conflict: up to three entries of one name, in the place of any other.
    pub(in crate::git) fn conflict(&mut self, modes: &[&[u8]], objects: &[&[u8]], path: &[u8]) {
        let nothing: Vec<u8> = objects.first().map(|id| vec![b'0'; id.len()]).unwrap_or_default();
        self.push(b"0", &nothing, b"0", path);
        for ((mode, object), stage) in modes.iter().zip(objects).zip([b"1", b"2", b"3"]) {
            if *mode != b"000000" {
                self.push(mode, object, stage, path);
            }
        }
    }

    fn push(&mut self, mode: &[u8], object: &[u8], stage: &[u8], path: &[u8]) {
        let entry = [mode, b" ", object, b" ", stage, b"\t", path, b"\0"];
        self.entries.extend(entry.concat());
        // The commit of a submodule is in another repository.
        if mode.starts_with(b"1") && mode != b"160000" {
            self.objects.push(String::from_utf8_lossy(object).into_owned());
        }
    }

    /// Makes the index that of a commit, none for one without files, with these entries, where `now`
    /// is staged. The files are on disk as they are to be.
    pub(in crate::git) fn restore(
        &self,
        repo: &Repo,
        head: Option<&str>,
        now: &Self,
    ) -> Result<(), GitError> {
        let git = repo.git();
        if !now.intended.is_empty() {
            // Of one that is empty, git would think that it is in the commit already.
            let args = ["update-index", "--force-remove", "-z", "--stdin"];
            git.feed(&args, &joined(&now.intended))?;
        }
        match head {
            Some(head) => git.run(&["read-tree", "--reset", head])?,
            None => git.run(&["read-tree", "--empty"])?,
        };
        if !self.entries.is_empty() {
            git.feed(&["update-index", "-z", "--index-info"], &self.entries)?;
        }
        let is_there = |path: &&PathBuf| repo.top().join(path).symlink_metadata().is_ok();
        let intended = joined(self.intended.iter().filter(is_there));
        if !intended.is_empty() {
            let args = ["add", "--intent-to-add", "--force", "--pathspec-from-file=-"];
            git.feed(&[&args[..], &["--pathspec-file-nul"]].concat(), &intended)?;
        }
        Ok(())
    }
}
