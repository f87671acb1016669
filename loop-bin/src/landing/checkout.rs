//! The project's checkout, and one move of it along its branch: what is in its way, the index as it is
//! to be, the files, and the note about a move that is under way.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

use ralph_base::fault;
use ralph_base::state;
use ralph_core::git::Git;
use serde::{Deserialize, Serialize};

use super::loop_files::{Change, LoopFile};
use crate::exit::Failure;
use crate::git_output::{
    Difference, FileEntry, RAW, base_of, differences, file_of, index_entries, listed, paths,
    text_at,
};
use crate::workspace::{Source, copy_index};

/// Paths of which git is asked by name; where more change, it is asked about all there are.
const MOST_NAMED: usize = 200;

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

    fn scratch(&self, name: &str) -> PathBuf {
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

    /// What is staged at the paths that change and not as in the old commit; and those of them at
    /// which file or index are not as in it, or at which git was told not to look.
    fn users_changes(
        &self,
        changed: &[Difference],
    ) -> Result<(Vec<Difference>, BTreeSet<PathBuf>), Failure> {
        let list = ["ls-files", "-z", "-v", "--stage", "--cached", "--modified"].map(OsStr::new);
        let mut args = list.to_vec();
        if changed.len() <= MOST_NAMED {
            args.push(OsStr::new("--"));
            args.extend(changed.iter().map(|one| one.path.as_os_str()));
        }
        let found = index_entries(&self.git.run(&args)?);
        let (mut staged, mut users) = (Vec::new(), BTreeSet::new());
        for one in changed {
            let here = found.get(&one.path);
            let absent = || FileEntry::absent_like(&one.old);
            let entry = here.map_or_else(absent, |(entry, _)| entry.clone());
            let is_staged = entry != one.old;
            if is_staged || here.is_some_and(|(_, may_differ)| *may_differ) {
                users.insert(one.path.clone());
            }
            if is_staged {
                staged.push(Difference { new: entry, ..one.clone() });
            }
        }
        Ok((staged, users))
    }

    /// Whether a file is there, or a folder with any, that does not go.
    fn holds_more(&self, path: &Path, goes: &dyn Fn(&Path) -> bool) -> bool {
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
    fn with_change(&self, file: &LoopFile, staged: &FileEntry) -> Result<FileEntry, Failure> {
        if staged.is_absent() {
            return Ok(staged.clone());
        }
        let text = file.change.apply(&self.git.run(&["cat-file", "blob", &staged.id])?);
        Ok(file_of(&self.git, &text)?)
    }

    fn copy_of_index(&self, name: &str) -> io::Result<PathBuf> {
        let (index, copy) = (self.git_dir.join("index"), self.scratch(name));
        state::remove_if_there(&copy)?;
        if index.exists() {
            copy_index(&index, &copy)?;
        }
        Ok(copy)
    }

    fn remove_empty_folders(&self, path: &Path) {
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

/// One move of the checkout along its branch.
pub(super) struct Step<'a> {
    place: &'a Checkout,
    note: &'a Note,
    files: &'a [LoopFile],
    /// The paths that differ between the two commits.
    changed: Vec<Difference>,
    /// Those of them at which the file, or what is staged, stays as it is: it is the user's by now.
    pub(super) kept: Vec<PathBuf>,
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
        let base = base_of(&place.git, note.old.as_deref())?;
        let between = [&["diff-tree", "-r"], &RAW[..], &[&base, &note.new]].concat();
        let changed = differences(&place.git.run(&between)?);
        let (staged, users) = place.users_changes(&changed)?;
        Ok(Self { place, note, files, changed, kept: Vec::new(), staged, users })
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
                (_, Some(staged)) if self.kept.contains(&one.path) => staged.new.clone(),
                _ => one.new.clone(),
            };
            entries.extend(entry.line(&one.path));
        }
        let index = self.place.copy_of_index("index-next")?;
        let git = self.place.git.on_index(index.clone());
        git.feed(&["update-index", "-z", "--index-info"], &entries)?;
        Ok(index)
    }

    /// Brings index and files along, under the lock. The index first: a git that reads the branch and the index
    /// between the two would take our change for one that the user has taken back.
    pub(super) fn bring(&self, next: &Path) -> Result<(), Failure> {
        let index = self.place.git_dir.join("index");
        fs_err::rename(next, &index)?;
        fault::point("follow.moved");
        let copy = self.place.copy_of_index("index-files")?;
        self.bring_files(&self.place.git.on_index(copy.clone()))?;
        self.bring_loop_files()?;
        fault::point("follow.files");
        Ok(fs_err::rename(&copy, &index)?)
    }

    fn bring_files(&self, git: &Git) -> Result<(), Failure> {
        let is_left = |one: &&Difference| self.is_loop_file(one) || self.kept.contains(&one.path);
        let changed = || self.changed.iter().filter(|one| !is_left(one));
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
