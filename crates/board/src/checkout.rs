//! The project's checkout: git operations in progress, the note about an unfinished step, and how
//! such a step is undone.

use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ralph_base::state;
use ralph_core::git::{Git, Patience};
use serde::{Deserialize, Serialize};

use super::refs::full;
use ralph_project::failure::Failure;
use work_copy::Source;
use work_copy::git_output::{Difference, base_of, differences_between};

/// Files in the git folder during an operation of several steps on the checked-out branch.
const STEPS: [(&str, &str); 6] = [
    ("rebase-merge", "a rebase"),
    ("rebase-apply", "a rebase or am"),
    ("MERGE_HEAD", "a merge"),
    ("CHERRY_PICK_HEAD", "a cherry-pick"),
    ("REVERT_HEAD", "a revert"),
    ("sequencer", "a cherry-pick or revert"),
];

/// Files in which git names the branches that it will move at the end of such an operation.
const NAMED: [&str; 4] = [
    "rebase-merge/head-name",
    "rebase-apply/head-name",
    "rebase-merge/update-refs",
    "BISECT_START",
];

/// How long to wait for the lock on a ref while we hold the lock on the index.
const REF_PATIENCE: Duration = Duration::from_secs(2);

/// The step in progress, recorded for recovery after a crash.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Note {
    pub(super) branch: String,
    pub(super) old: Option<String>,
    pub(super) new: String,
}

/// The project's checkout.
pub(super) struct Checkout {
    pub(super) git: Git,
    pub(super) top: PathBuf,
    pub(super) git_dir: PathBuf,
    shared: PathBuf,
}

impl Checkout {
    pub(super) fn of(source: &Source) -> Self {
        let Source { top, git_dir, shared, .. } = source.clone();
        let patience = Patience { locks: REF_PATIENCE, ..Patience::default() };
        Self { git: source.git().with_patience(patience), top: top.into(), git_dir, shared }
    }

    pub(super) fn scratch(&self, name: &str) -> PathBuf {
        self.git_dir.join(format!("ralph-{name}"))
    }

    /// The path of the new index.
    pub(super) fn next(&self) -> PathBuf {
        self.scratch("index-next")
    }

    pub(super) fn index(&self) -> PathBuf {
        self.git_dir.join("index")
    }

    /// The backup path of a file that a step replaces, by its position in the list of changes.
    pub(super) fn kept_as(&self, name: impl ToString) -> PathBuf {
        self.scratch("undo").join(name.to_string())
    }

    /// The path of the text that a step writes to the user's own copy of a file.
    pub(super) fn text_for(&self, at: usize) -> PathBuf {
        self.kept_as(format!("{at}.text"))
    }

    pub(super) fn note_path(&self) -> PathBuf {
        self.scratch("following.json")
    }

    pub(super) fn save(&self, note: &Note) -> io::Result<()> {
        let path = camino::Utf8PathBuf::from_path_buf(self.note_path())
            .map_err(|path| io::Error::other(format!("{} is not UTF-8", path.display())))?;
        state::replace(&path, &serde_json::to_vec(note)?)
    }

    pub(super) fn note(&self) -> Option<Note> {
        serde_json::from_slice(&fs_err::read(self.note_path()).ok()?).ok()
    }

    /// Removes a step's temporary files. The note goes first: without it there is nothing to undo.
    pub(super) fn clean(&self) -> io::Result<()> {
        state::remove_if_there(self.note_path())?;
        for name in ["index-next", "index-next.lock"] {
            state::remove_if_there(self.scratch(name))?;
        }
        match fs_err::remove_dir_all(self.scratch("undo")) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// The paths that differ between two commits.
    pub(super) fn changed(&self, old: Option<&str>, new: &str) -> Result<Vec<Difference>, Failure> {
        let base = base_of(&self.git, old)?;
        Ok(differences_between(&self.git, &base, new)?)
    }

    /// Returns the git operation in progress on a branch, in any work tree.
    pub(super) fn busy(&self, branch: &str, is_here: bool) -> Option<&'static str> {
        let step = STEPS.iter().find(|(file, _)| is_here && self.git_dir.join(file).exists());
        if let Some((_, what)) = step {
            return Some(what);
        }
        let linked =
            fs_err::read_dir(self.shared.join("worktrees")).into_iter().flatten().flatten();
        let mut trees = linked.map(|entry| entry.path()).chain([self.shared.clone()]);
        let full = full(branch);
        let is_named = |file: PathBuf| {
            let text = fs_err::read_to_string(file).unwrap_or_default();
            text.lines().any(|line| line == branch || line == full)
        };
        let is_busy = trees.any(|tree| NAMED.iter().any(|file| is_named(tree.join(file))));
        is_busy.then_some("a rebase or bisect")
    }

    /// Restores the files from before a step, and the index with `with_index`. A file that matches
    /// neither its previous state nor what the step writes has been changed by the user, and stays.
    /// A file that cannot be restored does not prevent the others from being restored.
    pub(super) fn undo(&self, note: &Note, with_index: bool) -> Result<(), Failure> {
        let changed = self.changed(note.old.as_deref(), &note.new)?;
        let all = || changed.iter().enumerate();
        let removed = all().map(|(at, one)| self.remove_written(at, one, &note.new));
        let removed = removed.fold(Ok(()), Result::and);
        let restored = all().map(|(at, one)| self.restore(at, one)).fold(Ok(()), Result::and);
        let index = if with_index { self.restore_index() } else { Ok(()) };
        Ok(removed.and(restored).and(index)?)
    }

    /// Removes a file that a step has written. An unchanged file may be in a read-only folder.
    fn remove_written(&self, at: usize, one: &Difference, commit: &str) -> io::Result<()> {
        let path = self.top.join(&one.path);
        if content(&path) != content(&self.kept_as(at)) && self.is_written(at, one, commit) {
            state::remove_if_there(path)?;
            self.remove_empty_folders(&one.path);
        }
        Ok(())
    }

    fn restore(&self, at: usize, one: &Difference) -> io::Result<()> {
        let (kept, path) = (self.kept_as(at), self.top.join(&one.path));
        if !one.old.is_link() {
            // An empty folder of a submodule.
            let _ = fs_err::remove_dir(&path);
        }
        if is_there(&path) {
            return Ok(());
        }
        if one.old.is_link() {
            return fs_err::create_dir_all(path);
        }
        if is_there(&kept) {
            fs_err::create_dir_all(path.parent().unwrap_or(&self.top))?;
            duplicate(&kept, &path)?;
        }
        Ok(())
    }

    fn restore_index(&self) -> io::Result<()> {
        let (kept, next) = (self.kept_as("index"), self.next());
        state::remove_if_there(&next)?;
        if !is_there(&kept) {
            return state::remove_if_there(self.index());
        }
        duplicate(&kept, &next)?;
        fs_err::rename(next, self.index())
    }

    /// Whether a file contains what a step writes there, or the beginning of it.
    fn is_written(&self, at: usize, one: &Difference, commit: &str) -> bool {
        let Some((_, found)) = content(&self.top.join(&one.path)) else { return false };
        if let Ok(text) = fs_err::read(self.text_for(at)) {
            return text == found;
        }
        let name = [commit.as_bytes(), b":", one.path.as_os_str().as_bytes()].concat();
        let args = ["cat-file".into(), "--filters".into(), OsString::from_vec(name)];
        self.git.run(&args).is_ok_and(|text| text.starts_with(&found))
    }

    pub(super) fn remove_empty_folders(&self, path: &Path) {
        let mut folders = path.ancestors().skip(1).filter(|folder| !folder.as_os_str().is_empty());
        while folders.next().is_some_and(|folder| fs_err::remove_dir(self.top.join(folder)).is_ok())
        {
        }
    }

    /// Removes the locks on the ref that a power cut left, if they belong to this step.
    pub(super) fn free_ref(&self, note: &Note) -> io::Result<()> {
        let lock = self.shared.join(full(&note.branch) + ".lock");
        if fs_err::read_to_string(&lock).is_ok_and(|text| text.trim_end() == note.new) {
            state::remove_if_there(lock)?;
            state::remove_if_there(self.git_dir.join("HEAD.lock"))?;
        }
        Ok(())
    }
}

/// Whether anything exists at a path, even a dangling link.
pub(super) fn is_there(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

/// The mode, with the file type, and the content of a file or link.
fn content(path: &Path) -> Option<(u32, Vec<u8>)> {
    let mode = path.symlink_metadata().ok()?.mode();
    let link = fs_err::read_link(path).map(|to| to.into_os_string().into_vec());
    Some((mode, link.or_else(|_| fs_err::read(path)).ok()?))
}

/// Hard-links a file to a second path, or copies it if that fails, as on another file system.
pub(super) fn duplicate(from: &Path, to: &Path) -> io::Result<()> {
    if fs_err::hard_link(from, to).is_ok() {
        return Ok(());
    }
    match fs_err::read_link(from) {
        Ok(target) => fs_err::os::unix::fs::symlink(target, to),
        Err(_) => fs_err::copy(from, to).map(drop),
    }
}
