//! The project's checkout: its files, its index, and the note about a move that is under way.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use ralph_base::state;
use ralph_core::git::{Git, GitError};
use serde::{Deserialize, Serialize};

use super::loop_files::{Change, LoopFile};
use crate::exit::Failure;
use crate::git_output::{
    Difference, FileEntry, RAW, base_of, differences, file_of, paths, text_at,
};
use crate::workspace::in_place::overlooked;
use crate::workspace::{Source, copy_index};

/// What is going on, for whoever comes after a crash.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Note {
    pub(super) branch: String,
    pub(super) old: Option<String>,
    pub(super) new: String,
    /// The loop's own files, which are brought along by themselves.
    pub(super) loop_files: Vec<PathBuf>,
}

/// The project's checkout.
pub(super) struct Checkout {
    pub(super) git: Git,
    pub(super) top: PathBuf,
    pub(super) git_dir: PathBuf,
}

impl Checkout {
    pub(super) fn of(source: &Source) -> Self {
        let top = source.top.clone().into_std_path_buf();
        Self { git: source.git(), top, git_dir: source.git_dir.clone() }
    }

    pub(super) fn note_path(&self) -> PathBuf {
        self.git_dir.join("ralph/following.json")
    }

    pub(super) fn scratch(&self, name: &str) -> PathBuf {
        self.git_dir.join("ralph").join(name)
    }

    pub(super) fn save(&self, note: &Note) -> io::Result<()> {
        let path = camino::Utf8PathBuf::from_path_buf(self.note_path())
            .map_err(|path| io::Error::other(format!("{} is not UTF-8", path.display())))?;
        state::replace(&path, &serde_json::to_vec(note)?)
    }

    pub(super) fn forget(&self) -> io::Result<()> {
        state::remove_if_there(self.note_path())
    }

    /// What the new commit is compared with.
    pub(super) fn base(&self, note: &Note) -> Result<String, GitError> {
        base_of(&self.git, note.old.as_deref())
    }

    /// What is staged and not as in the old commit; and the paths at which file or index are not as in
    /// it, or at which git was told not to look.
    pub(super) fn users_changes(
        &self,
        base: &str,
    ) -> Result<(Vec<Difference>, BTreeSet<PathBuf>), Failure> {
        let staged = [&["diff-index", "--cached"], &RAW[..], &[base]].concat();
        let staged = differences(&self.git.run(&staged)?);
        let modified = paths(&self.git.run(&["diff-files", "-z", "--name-only"])?);
        let mut users: BTreeSet<PathBuf> = modified.into_iter().collect();
        users.extend(staged.iter().map(|one| one.path.clone()));
        users.extend(overlooked(&self.git)?);
        Ok((staged, users))
    }

    /// Whether a file is there, or a folder with any, that does not go.
    pub(super) fn holds_more(&self, path: &Path, goes: &dyn Fn(&Path) -> bool) -> bool {
        match self.top.join(path).symlink_metadata() {
            Err(_) => false,
            Ok(metadata) if !metadata.is_dir() => !goes(path),
            Ok(_) => {
                let entries = fs_err::read_dir(self.top.join(path)).into_iter().flatten().flatten();
                let mut inside = entries.map(|entry| path.join(entry.file_name()));
                inside.any(|path| self.holds_more(&path, goes))
            }
        }
    }

    /// What the user has staged of a file of the loop's, with the loop's change. One that the user
    /// took out of the index stays out.
    pub(super) fn with_change(
        &self,
        file: &LoopFile,
        staged: &FileEntry,
    ) -> Result<FileEntry, Failure> {
        if staged.is_absent() {
            return Ok(staged.clone());
        }
        let text = file.change.apply(&self.git.run(&["cat-file", "blob", &staged.id])?);
        Ok(file_of(&self.git, &text)?)
    }

    pub(super) fn copy_of_index(&self, name: &str) -> io::Result<PathBuf> {
        let (index, copy) = (self.git_dir.join("index"), self.scratch(name));
        state::remove_if_there(&copy)?;
        if index.exists() {
            copy_index(&index, &copy)?;
        }
        Ok(copy)
    }

    pub(super) fn remove_empty_folders(&self, path: &Path) {
        for folder in path.ancestors().skip(1).filter(|folder| !folder.as_os_str().is_empty()) {
            if fs_err::remove_dir(self.top.join(folder)).is_err() {
                return;
            }
        }
    }

    /// The loop's files as the two commits have them. A text that is the user's own gets its change
    /// from whoever finishes the landing.
    pub(super) fn loop_files(&self, note: &Note) -> Vec<LoopFile> {
        let file = |path: &PathBuf| {
            let before = note.old.as_deref().and_then(|old| text_at(&self.git, old, path));
            let after = text_at(&self.git, &note.new, path)?;
            Some(LoopFile { path: path.clone(), before, after, change: Change::AsOnDisk })
        };
        note.loop_files.iter().filter_map(file).collect()
    }
}
