//! One step of the project's checkout along its branch: what is in its way, the index as it is to be, and
//! the files.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use ralph_base::state;
use ralph_core::git::Git;

use super::checkout::{Checkout, duplicate, is_there};
use super::loop_files::LoopFile;
use crate::exit::Failure;
use crate::git_output::{Difference, FileEntry, base_of, file_of, index_entries, listed, paths};
use crate::workspace::copy_index;

/// What git calls the flags by which users have it overlook a file, and how `ls-files -v` shows them.
const FLAGS: [(&str, &[char]); 2] =
    [("--skip-worktree", &['S', 's']), ("--assume-unchanged", &['h', 's'])];

/// One step of the checkout along its branch.
pub(super) struct Step<'a> {
    place: &'a Checkout,
    trees: [String; 2],
    files: &'a [LoopFile],
    /// The paths that differ between the two commits.
    changed: Vec<Difference>,
    /// What the index had, with the tags of `ls-files -v`.
    found: BTreeMap<PathBuf, (FileEntry, String)>,
    /// The changed paths that are not as in the old commit, or may not be.
    suspects: BTreeSet<PathBuf>,
    /// Those at which the file is not as in the new commit.
    not_new: BTreeSet<PathBuf>,
    /// What would be overwritten.
    pub(super) in_the_way: Vec<PathBuf>,
    /// Git on a copy of the index.
    git: Git,
}

impl<'a> Step<'a> {
    /// Examines what is there, on a copy of the index.
    pub(super) fn of(
        place: &'a Checkout,
        (old, new): (Option<&str>, &str),
        files: &'a [LoopFile],
        copy: PathBuf,
    ) -> Result<Self, Failure> {
        fs_err::create_dir_all(place.scratch(""))?;
        state::remove_if_there(&copy)?;
        if is_there(&place.index()) {
            copy_index(&place.index(), &copy)?;
        }
        let git = place.git.on_index(copy);
        refresh(&git);
        let list = ["ls-files", "-z", "-v", "--stage", "--cached", "--modified"];
        let found = index_entries(&git.run(&list)?);
        let trees = [base_of(&place.git, old)?, new.to_owned()];
        let changed = place.changed(old, new)?;
        let (suspects, not_new, in_the_way) = Default::default();
        let mut step =
            Self { place, trees, files, changed, found, suspects, not_new, in_the_way, git };
        let suspects: Vec<&Difference> =
            step.changed.iter().filter(|one| step.is_suspect(one)).collect();
        let not_old = step.differing(&suspects, |one| &one.old)?;
        let not_new = step.differing(&suspects, |one| &one.new)?;
        let is_held = |one: &&&Difference| {
            let staged = step.staged(one);
            let is_staged = staged != one.old && staged != one.new;
            (is_staged || not_old.contains(&one.path) && not_new.contains(&one.path))
                && !step.is_loop_file(&one.path)
        };
        let in_the_way = suspects.iter().filter(is_held).map(|one| one.path.clone()).collect();
        let suspects = suspects.iter().map(|one| one.path.clone()).collect();
        (step.suspects, step.not_new, step.in_the_way) = (suspects, not_new, in_the_way);
        Ok(step)
    }

    pub(super) fn is_unmerged(&self) -> bool {
        self.found.values().any(|(_, tags)| tags.contains('M'))
    }

    /// The loop's own files in which the user has other text than the old commit.
    pub(super) fn kept(&self) -> Vec<PathBuf> {
        self.suspects.iter().filter(|path| self.is_loop_file(path)).cloned().collect()
    }

    fn is_loop_file(&self, path: &Path) -> bool {
        self.files.iter().any(|file| file.path == path)
    }

    fn staged(&self, one: &Difference) -> FileEntry {
        let entry = self.found.get(&one.path).map(|(entry, _)| entry.clone());
        entry.unwrap_or_else(|| FileEntry::absent_like(&one.old))
    }

    fn is_suspect(&self, one: &Difference) -> bool {
        let tags = self.found.get(&one.path).map_or("H", |(_, tags)| tags);
        // A file that a sparse checkout leaves out; git knows what to do.
        let is_left_out = tags == "S" && !is_there(&self.place.top.join(&one.path));
        let is_added = one.old.is_absent() && self.is_taken(&one.path);
        is_added || self.staged(one) != one.old || tags != "H" && !is_left_out
    }

    /// Those of the paths whose files are not what one side says.
    fn differing(
        &self,
        suspects: &[&Difference],
        side: impl Fn(&Difference) -> &FileEntry,
    ) -> Result<BTreeSet<PathBuf>, Failure> {
        if suspects.is_empty() {
            return Ok(BTreeSet::new());
        }
        // Another process may look at the same time.
        let index = self.place.scratch(&format!("index-compare-{}", std::process::id()));
        state::remove_if_there(&index)?;
        let git = self.place.git.on_index(index.clone());
        let (absent, there): (Vec<&Difference>, Vec<&Difference>) =
            suspects.iter().partition(|one| side(one).is_absent());
        let entries: Vec<u8> = there.iter().flat_map(|one| side(one).line(&one.path)).collect();
        git.feed(&["update-index", "-z", "--index-info"], &entries)?;
        refresh(&git);
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
        if self.holds_more(path, &goes) {
            return true;
        }
        let mut folders = path.ancestors().skip(1).filter(|folder| !folder.as_os_str().is_empty());
        folders.any(|folder| {
            let metadata = self.place.top.join(folder).symlink_metadata();
            metadata.is_ok_and(|metadata| !metadata.is_dir()) && !goes(folder)
        })
    }

    /// Whether a file is there, or a folder with any, that does not go.
    fn holds_more(&self, path: &Path, goes: &dyn Fn(&Path) -> bool) -> bool {
        match self.place.top.join(path).symlink_metadata() {
            Err(_) => false,
            Ok(metadata) if !metadata.is_dir() => !goes(path),
            Ok(_) => {
                let entries = fs_err::read_dir(self.place.top.join(path));
                let mut inside = entries.into_iter().flatten().flatten();
                inside.any(|entry| self.holds_more(&path.join(entry.file_name()), goes))
            }
        }
    }

    /// Makes the copy of the index ready, keeps every file that changes, and lets git say whether it
    /// would go.
    pub(super) fn prepare(&self) -> Result<(), Failure> {
        let suspects = self.changed.iter().filter(|one| self.suspects.contains(&one.path));
        // A file that is there already is not written again, and nor are the loop's with other text.
        let entry = |one: &Difference| {
            let is_old = self.not_new.contains(&one.path) && !self.is_loop_file(&one.path);
            if is_old { &one.old } else { &one.new }.line(&one.path)
        };
        self.stage(&suspects.flat_map(entry).collect::<Vec<u8>>())?;
        fs_err::create_dir_all(self.place.kept_as(""))?;
        for (at, one) in self.changed.iter().enumerate() {
            let path = self.place.top.join(&one.path);
            if path.symlink_metadata().is_ok_and(|metadata| !metadata.is_dir()) {
                duplicate(&path, &self.place.kept_as(&at.to_string()))?;
            }
        }
        if is_there(&self.place.index()) {
            duplicate(&self.place.index(), &self.place.kept_as("index"))?;
        }
        // Another name for a file changes a time that git looks at.
        refresh(&self.git);
        self.read_tree(&["-n"])
    }

    /// Writes the files, and the copy of the index with them.
    pub(super) fn write_files(&self) -> Result<(), Failure> {
        self.read_tree(&[])
    }

    fn read_tree(&self, how: &[&str]) -> Result<(), Failure> {
        let args = ["-c", "submodule.recurse=false", "read-tree", "-m", "-u"];
        let trees = self.trees.each_ref().map(String::as_str);
        Ok(self.git.run(&[&args[..], how, &trees].concat()).map(drop)?)
    }

    /// Makes the loop's change in the user's own text, where git has not written it.
    pub(super) fn write_texts(&self) -> io::Result<()> {
        let is_changed = |path: &Path| self.changed.iter().any(|one| one.path == path);
        for file in self.files {
            let path = self.place.top.join(&file.path);
            let Ok(path) = camino::Utf8PathBuf::from_path_buf(path) else { continue };
            if self.suspects.contains(&file.path) || !is_changed(&file.path) {
                file.bring_to(&path)?;
            }
        }
        Ok(())
    }

    /// Puts back what the user had staged of the loop's files, with the same change, and the user's
    /// flags; then the copy takes the place of the index.
    pub(super) fn write_index(&self) -> Result<(), Failure> {
        let mut entries = Vec::new();
        let mut flagged = FLAGS.map(|_| Vec::new());
        for one in self.changed.iter().filter(|one| self.suspects.contains(&one.path)) {
            let staged = self.staged(one);
            let file = self.files.iter().find(|file| file.path == one.path);
            if let Some(file) = file
                && staged != one.old
                && staged != one.new
            {
                entries.extend(self.with_change(file, &staged)?.line(&one.path));
            }
            let tags = self.found.get(&one.path).map_or("", |(_, tags)| tags);
            for ((_, marks), flagged) in FLAGS.iter().zip(&mut flagged) {
                if tags.contains(*marks) && !one.new.is_absent() {
                    flagged.push(&one.path);
                }
            }
        }
        self.stage(&entries)?;
        for ((flag, _), flagged) in FLAGS.iter().zip(flagged) {
            self.git.feed(&["update-index", flag, "-z", "--stdin"], &listed(flagged))?;
        }
        let next = self.place.next();
        Ok(fs_err::rename(next, self.place.index())?)
    }

    fn stage(&self, entries: &[u8]) -> Result<(), Failure> {
        Ok(self.git.feed(&["update-index", "-z", "--index-info"], entries).map(drop)?)
    }

    /// What the user has staged of a file of the loop's, with the loop's change. One that the user
    /// took out of the index stays out.
    fn with_change(&self, file: &LoopFile, staged: &FileEntry) -> Result<FileEntry, Failure> {
        if staged.is_absent() {
            return Ok(staged.clone());
        }
        let text = file.change.apply(&self.place.git.run(&["cat-file", "blob", &staged.id])?);
        Ok(file_of(&self.place.git, &text)?)
    }
}

/// Has git look at all files. That some are not as in the index is no failure.
fn refresh(git: &Git) {
    let _ = git.run(&["update-index", "-q", "--refresh"]);
}
