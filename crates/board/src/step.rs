//! One step of the project's checkout along its branch: what is in its way, the index as it is to be, and
//! the files.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use camino::Utf8PathBuf;
use ralph_base::state;
use ralph_core::git::Git;

use super::cause::Cause;
use super::checkout::{Checkout, duplicate, is_there};
use super::loop_files::LoopFile;
use ralph_project::failure::Failure;
use work_copy::copy_index;
use work_copy::git_output::{
    Difference, FileEntry, base_of, file_of, index_entries, listed, paths,
};

/// The flags by which users have git overlook a file, and how `ls-files -v` shows them.
const FLAGS: [(&str, &str, [char; 2]); 2] = [
    ("--skip-worktree", "--no-skip-worktree", ['S', 's']),
    ("--assume-unchanged", "--no-assume-unchanged", ['h', 's']),
];

/// What an index has, with the tags of `ls-files -v`.
type Index = BTreeMap<PathBuf, (FileEntry, String)>;

/// One step of the checkout along its branch.
pub(super) struct Step<'a> {
    place: &'a Checkout,
    trees: [String; 2],
    files: &'a [LoopFile],
    /// The paths that differ between the two commits.
    changed: Vec<Difference>,
    /// Those at which the user's file or index is not as in the old commit, with what is staged.
    users: BTreeMap<PathBuf, FileEntry>,
    /// Those with each of the flags.
    flagged: [Vec<PathBuf>; 2],
    /// What keeps the files from following, as far as can be seen.
    pub(super) obstacle: Option<Cause>,
    /// Git on a copy of the index.
    git: Git,
}

impl<'a> Step<'a> {
    /// Examines what is there. In the copy of the index, all that the user has changed becomes as in the
    /// new commit: then git does not write those files, and they are in the way unless they are as in
    /// the new commit, too.
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
        let (trees, changed) = ([base_of(&git, old)?, new.to_owned()], place.changed(old, new)?);
        let (users, flagged, obstacle) = Default::default();
        let mut step = Self { place, trees, files, changed, users, flagged, obstacle, git };
        let mut index = step.index()?;
        if step.unflag(&index)? {
            index = step.index()?;
        }
        step.find_users(index);
        let entries = step.users().flat_map(|(one, _)| one.new.line(&one.path));
        step.update(&["--index-info"], &entries.collect::<Vec<u8>>())?;
        let edited = paths(&step.git.run(&["diff-files", "-z", "--name-only"])?);
        let is_in_the_way = |(one, staged): &(&Difference, &FileEntry)| {
            let is_staged = **staged != one.old && **staged != one.new;
            let is_there = one.new.is_absent() && step.is_taken(&one.path);
            (is_staged || is_there || edited.contains(&one.path))
                && step.loop_file(&one.path).is_none()
        };
        let in_the_way = step.users().filter(is_in_the_way).map(|(one, _)| one.path.clone());
        let in_the_way: Vec<PathBuf> = in_the_way.collect();
        if !in_the_way.is_empty() {
            step.obstacle.get_or_insert(Cause::InTheWay(in_the_way));
        }
        Ok(step)
    }

    fn index(&self) -> Result<Index, Failure> {
        let list = ["ls-files", "-z", "-v", "--stage", "--cached", "--modified"];
        Ok(index_entries(&self.git.run(&list)?))
    }

    /// Has git look at files that it was told to overlook; returns whether there are any. Those that a
    /// sparse checkout leaves out are not there, and stay so.
    fn unflag(&mut self, index: &Index) -> Result<bool, Failure> {
        self.flagged = FLAGS.map(|(_, _, shown)| {
            let is_flagged = |path: &&PathBuf| {
                index.get(*path).is_some_and(|(_, tags)| tags.contains(shown))
                    && is_there(&self.place.top.join(path))
            };
            self.changed.iter().map(|one| &one.path).filter(is_flagged).cloned().collect()
        });
        for ((_, unset, _), flagged) in FLAGS.iter().zip(&self.flagged) {
            self.update(&[unset, "--stdin"], &listed(flagged))?;
        }
        Ok(self.flagged.iter().any(|flagged| !flagged.is_empty()))
    }

    fn find_users(&mut self, mut index: Index) {
        if index.values().any(|(_, tags)| tags.contains('M')) {
            self.obstacle = Some(Cause::Busy("a conflict resolution"));
        }
        for one in &self.changed {
            let absent = || (FileEntry::absent_like(&one.old), String::new());
            let (staged, tags) = index.remove(&one.path).unwrap_or_else(absent);
            let is_added = one.old.is_absent() && self.is_taken(&one.path);
            if is_added || staged != one.old || tags.contains('C') {
                self.users.insert(one.path.clone(), staged);
            }
        }
    }

    /// The loop's own files in which the user has other text than the old commit.
    pub(super) fn kept(&self) -> Vec<PathBuf> {
        self.users.keys().filter(|path| self.loop_file(path).is_some()).cloned().collect()
    }

    fn loop_file(&self, path: &Path) -> Option<&LoopFile> {
        self.files.iter().find(|file| file.path == path)
    }

    fn users(&self) -> impl Iterator<Item = (&Difference, &FileEntry)> {
        self.changed.iter().filter_map(|one| Some((one, self.users.get(&one.path)?)))
    }

    /// Whether the path is gone in the new commit.
    fn goes(&self, path: &Path) -> bool {
        self.changed.iter().any(|one| one.path == path && one.new.is_absent())
    }

    /// Whether something is where no file is to be, apart from what goes.
    fn is_taken(&self, path: &Path) -> bool {
        let is_file = |path: &Path| {
            let metadata = self.place.top.join(path).symlink_metadata();
            metadata.is_ok_and(|metadata| !metadata.is_dir())
        };
        let mut folders = path.ancestors().skip(1);
        is_file(path)
            || self.holds_more(path)
            || folders.any(|folder| is_file(folder) && !self.goes(folder))
    }

    /// Whether a folder has any file that does not go.
    fn holds_more(&self, folder: &Path) -> bool {
        let Ok(entries) = fs_err::read_dir(self.place.top.join(folder)) else { return false };
        let mut inside = entries.flatten().map(|entry| (folder.join(entry.file_name()), entry));
        inside.any(|(path, entry)| match entry.file_type() {
            Ok(kind) if kind.is_dir() => self.holds_more(&path),
            _ => !self.goes(&path),
        })
    }

    /// Keeps every file that changes, and lets git say whether it would go.
    pub(super) fn prepare(&self) -> Result<(), Failure> {
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
        let written = |path: &Path| {
            !self.users.contains_key(path) && self.changed.iter().any(|one| one.path == path)
        };
        for file in self.files.iter().filter(|file| !written(&file.path)) {
            if let Ok(path) = Utf8PathBuf::from_path_buf(self.place.top.join(&file.path)) {
                file.bring_to(&path)?;
            }
        }
        Ok(())
    }

    /// Puts back what the user had staged of the loop's files, with the same change, and the user's
    /// flags; then the copy takes the place of the index.
    pub(super) fn write_index(&self) -> Result<(), Failure> {
        let mut entries = Vec::new();
        for (one, staged) in self.users().filter(|(one, staged)| **staged != one.new) {
            if let (Some(file), true) = (self.loop_file(&one.path), *staged != one.old) {
                entries.extend(self.with_change(file, staged)?.line(&one.path));
            }
        }
        self.update(&["--index-info"], &entries)?;
        for ((set, _, _), flagged) in FLAGS.iter().zip(&self.flagged) {
            let flagged = listed(flagged.iter().filter(|path| !self.goes(path)));
            self.update(&[set, "--stdin"], &flagged)?;
        }
        Ok(fs_err::rename(self.place.next(), self.place.index())?)
    }

    fn update(&self, how: &[&str], input: &[u8]) -> Result<(), Failure> {
        if !input.is_empty() {
            self.git.feed(&[&["update-index", "-z"], how].concat(), input)?;
            refresh(&self.git);
        }
        Ok(())
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
