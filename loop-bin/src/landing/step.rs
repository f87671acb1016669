//! One move of the project's checkout along its branch: what is in its way, the index as it is to
//! be, and the files.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use ralph_base::fault;
use ralph_base::state;
use ralph_core::git::Git;

use super::checkout::{Checkout, Note};
use super::index_lock;
use super::loop_files::LoopFile;
use crate::exit::Failure;
use crate::git_output::{Difference, FileEntry, RAW, differences, listed, paths};

/// One move of the checkout along its branch.
pub(super) struct Step<'a> {
    place: &'a Checkout,
    note: &'a Note,
    files: &'a [LoopFile],
    /// The paths that differ between the two commits.
    pub(super) changed: Vec<Difference>,
    /// What is staged and not as in the old commit.
    staged: Vec<Difference>,
    /// Paths at which files or index are not as in the old commit, or git was told not to look.
    users: BTreeSet<PathBuf>,
}

impl<'a> Step<'a> {
    pub(super) fn of(
        place: &'a Checkout,
        note: &'a Note,
        files: &'a [LoopFile],
    ) -> Result<Self, Failure> {
        let base = place.base(note)?;
        let between = [&["diff-tree", "-r"], &RAW[..], &[&base, &note.new]].concat();
        let changed = differences(&place.git.run(&between)?);
        let (staged, users) = place.users_changes(&base)?;
        Ok(Self { place, note, files, changed, staged, users })
    }

    /// Plan and progress are brought along by a change to the user's own text, which they may be
    /// writing at this moment.
    fn is_loop_file(&self, one: &Difference) -> bool {
        self.note.loop_files.contains(&one.path)
    }

    /// Paths that are to change and hold something of the user's: where the file or what is staged
    /// is neither as it was nor as it is to be.
    pub(super) fn in_the_way(&self) -> Result<Vec<PathBuf>, Failure> {
        let is_suspect = |one: &&Difference| {
            let is_taken = one.old.is_absent() && self.is_taken(&one.path);
            (is_taken || self.users.contains(&one.path)) && !self.is_loop_file(one)
        };
        let suspects: Vec<&Difference> = self.changed.iter().filter(is_suspect).collect();
        if suspects.is_empty() {
            return Ok(Vec::new());
        }
        let is_other = |staged: &&Difference| {
            !suspects.iter().any(|one| one.path == staged.path && one.new == staged.new)
        };
        let staged: Vec<&Difference> = self.staged.iter().filter(is_other).collect();
        let not_old = self.differing(&suspects, |one| &one.old)?;
        let not_new = self.differing(&suspects, |one| &one.new)?;
        let is_held = |path: &PathBuf| {
            staged.iter().any(|one| one.path == *path)
                || not_old.contains(path) && not_new.contains(path)
        };
        Ok(suspects.iter().map(|one| one.path.clone()).filter(is_held).collect())
    }

    /// Those of the paths whose files are not what one side says.
    fn differing(
        &self,
        suspects: &[&Difference],
        side: impl Fn(&Difference) -> &FileEntry,
    ) -> Result<BTreeSet<PathBuf>, Failure> {
        // Another process may look at the same time.
        let index = self.place.scratch(&format!("index-look-{}", std::process::id()));
        state::remove_if_there(&index)?;
        let git = self.place.git.on_index(index.clone());
        let (absent, there): (Vec<&Difference>, Vec<&Difference>) =
            suspects.iter().partition(|one| side(one).is_absent());
        let entries: Vec<u8> = there.iter().flat_map(|one| side(one).line(&one.path)).collect();
        git.feed(&["update-index", "-z", "--index-info"], &entries)?;
        // Which entries are stale is the question; that some are is no failure.
        let _ = git.run(&["update-index", "-q", "--refresh"]);
        let mut found: BTreeSet<PathBuf> =
            paths(&git.run(&["diff-files", "-z", "--name-only"])?).into_iter().collect();
        state::remove_if_there(&index)?;
        let taken = absent.iter().filter(|one| self.is_taken(&one.path));
        found.extend(taken.map(|one| one.path.clone()));
        Ok(found)
    }

    /// Whether something is where no file is to be, apart from what goes.
    fn is_taken(&self, path: &Path) -> bool {
        let goes = |other: &Path| {
            other != path && self.changed.iter().any(|one| one.path == other && one.new.is_absent())
        };
        if self.place.holds_more(path, &goes) {
            return true;
        }
        let mut folders = path.ancestors().skip(1).filter(|folder| !folder.as_os_str().is_empty());
        folders.any(|folder| {
            let metadata = self.place.top.join(folder).symlink_metadata();
            metadata.is_ok_and(|metadata| !metadata.is_dir()) && !goes(folder)
        })
    }

    /// The index as it is to be, ready to take the place of the user's.
    pub(super) fn index(&self) -> Result<PathBuf, Failure> {
        let mut entries = Vec::new();
        for one in &self.changed {
            let file = self.files.iter().find(|file| file.path == one.path);
            let staged = self.staged.iter().find(|staged| staged.path == one.path);
            let entry = match (file, staged) {
                (Some(file), Some(staged)) if staged.new != one.new => {
                    self.place.with_change(file, &staged.new)?
                }
                _ => one.new.clone(),
            };
            entries.extend(entry.line(&one.path));
        }
        let index = self.place.copy_of_index("index-next")?;
        let git = self.place.git.on_index(index.clone());
        git.feed(&["update-index", "-z", "--index-info"], &entries)?;
        Ok(index)
    }

    /// Brings index and files along. The index first: a git that reads the branch and the index
    /// between the two would take our change for one that the user has taken back.
    pub(super) fn bring(&self, next: &Path) -> Result<(), Failure> {
        let index = self.place.git_dir.join("index");
        index_lock::make_index(next, &index)?;
        fault::point("follow.moved");
        let copy = self.place.copy_of_index("index-files")?;
        self.bring_files(&self.place.git.on_index(copy.clone()))?;
        self.bring_loop_files()?;
        fault::point("follow.files");
        Ok(index_lock::make_index(&copy, &index)?)
    }

    fn bring_files(&self, git: &Git) -> Result<(), Failure> {
        let changed = || self.changed.iter().filter(|one| !self.is_loop_file(one));
        let gone = changed().filter(|one| one.new.is_absent() && !one.old.is_link());
        for gone in gone {
            state::remove_if_there(self.place.top.join(&gone.path))?;
            self.place.remove_empty_folders(&gone.path);
        }
        let written = changed().filter(|one| !one.new.is_absent() && !one.new.is_link());
        let (added, modified): (Vec<&Difference>, Vec<&Difference>) =
            written.partition(|one| one.old.is_absent());
        let checkout = ["checkout-index", "-q", "-u", "-z", "--stdin"];
        if !modified.is_empty() {
            let names = listed(modified.iter().map(|one| &one.path));
            git.feed(&[&checkout[..], &["-f"]].concat(), &names)?;
        }
        if !added.is_empty() {
            // Never over a file that the user has made just now.
            let _ = git.feed(&checkout, &listed(added.iter().map(|one| &one.path)));
        }
        Ok(())
    }

    /// The user's own text of plan and progress gets the same change.
    fn bring_loop_files(&self) -> io::Result<()> {
        for file in self.files {
            let path = self.place.top.join(&file.path);
            let Ok(path) = camino::Utf8PathBuf::from_path_buf(path) else { continue };
            file.bring_to(&path)?;
        }
        Ok(())
    }
}
