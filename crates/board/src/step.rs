//! One step of the project's checkout along its branch: obstacles, the new index, and the files.

use std::collections::BTreeMap;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use camino::Utf8PathBuf;
use nix::errno::Errno;
use nix::unistd::{AccessFlags, access};
use ralph_base::state;
use ralph_core::git::Git;

use super::cause::Cause;
use super::checkout::{Checkout, duplicate, is_there};
use super::loop_files::LoopFile;
use ralph_project::failure::Failure;
use work_copy::copy_index;
use work_copy::git_output::{
    Difference, EDITED, FileEntry, file_of, index_entries, listed, naming, paths,
};

/// The flags that make git ignore changes of a file, and their tags in `ls-files -v`.
const FLAGS: [(&str, &str, [char; 2]); 2] = [
    ("--skip-worktree", "--no-skip-worktree", ['S', 's']),
    ("--assume-unchanged", "--no-assume-unchanged", ['h', 's']),
];

/// The entries of an index, with their tags in `ls-files -v`.
type Index = BTreeMap<PathBuf, (FileEntry, char)>;

/// One step of the checkout along its branch.
pub(super) struct Step<'a> {
    place: &'a Checkout,
    new: &'a str,
    files: &'a [LoopFile],
    /// The paths that differ between the two commits.
    changed: Vec<Difference>,
    /// The stamp of the file at each of them, taken before git was asked.
    seen: Vec<Option<Stamp>>,
    /// Those where the user's file or index differs from the old commit, with the staged entry.
    users: BTreeMap<PathBuf, FileEntry>,
    /// Those with each of the flags, in the order of `FLAGS`.
    flagged: [Vec<PathBuf>; 2],
    /// Those that a sparse checkout leaves out, so they have no file.
    left_out: Vec<PathBuf>,
    /// What prevents the files from following, as far as that can be determined.
    pub(super) obstacle: Option<Cause>,
    /// Git with a copy of the index.
    git: Git,
}

impl<'a> Step<'a> {
    /// Examines the checkout. In the copy of the index, everything that the user has changed gets
    /// the entry of the new commit: those files are not written, and they are obstacles unless they
    /// already match the new commit.
    pub(super) fn of(
        place: &'a Checkout,
        (old, new): (Option<&str>, &'a str),
        files: &'a [LoopFile],
        copy: PathBuf,
    ) -> Result<Self, Failure> {
        state::remove_if_there(&copy)?;
        if is_there(&place.index()) {
            copy_index(&place.index(), &copy)?;
        }
        let (git, changed) = (place.git.on_index(copy), place.changed(old, new)?);
        let seen = changed.iter().map(|one| stamp(&place.top.join(&one.path))).collect();
        let (users, flagged, left_out, obstacle) = Default::default();
        let mut step =
            Self { place, new, files, changed, seen, users, flagged, left_out, obstacle, git };
        if !step.git.run(&["ls-files", "-z", "--unmerged"])?.is_empty() {
            step.obstacle = Some(Cause::Busy("a conflict resolution"));
        }
        let mut index = step.index()?;
        if step.unflag(&index)? {
            index = step.index()?;
        }
        step.find_users(index, &step.edited()?);
        if let Some(refused) = step.changed.iter().find_map(|one| step.refused(one)) {
            step.obstacle.get_or_insert(refused);
        }
        if step.users.is_empty() {
            return Ok(step);
        }
        let entries = step.users().flat_map(|(one, _)| one.new.line(&one.path));
        step.update(&["--index-info"], &entries.collect::<Vec<u8>>())?;
        let edited = step.edited()?;
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

    /// Runs a git command on the changed paths and returns its output.
    fn about_changed(&self, command: &[&str]) -> Result<Vec<u8>, Failure> {
        let paths = self.changed.iter().map(|one| &one.path);
        Ok(self.git.run(&naming(command, paths))?)
    }

    /// Reads the entries of the changed paths from the copy of the index.
    fn index(&self) -> Result<Index, Failure> {
        Ok(index_entries(&self.about_changed(&["ls-files", "-z", "-v", "--stage"])?))
    }

    /// Returns the changed paths whose files differ from the copy of the index.
    fn edited(&self) -> Result<Vec<PathBuf>, Failure> {
        Ok(paths(&self.about_changed(&EDITED)?))
    }

    /// Clears the flags on changed files, so that git checks them; returns whether there were any.
    /// Files that a sparse checkout leaves out do not exist, and stay flagged.
    fn unflag(&mut self, index: &Index) -> Result<bool, Failure> {
        let flagged = FLAGS.map(|(_, _, shown)| {
            let is_flagged =
                |path: &&PathBuf| index.get(*path).is_some_and(|(_, tag)| shown.contains(tag));
            let flagged = self.changed.iter().map(|one| &one.path).filter(is_flagged).cloned();
            flagged.partition(|path| is_there(&self.place.top.join(path)))
        });
        let [(skipped, left_out), (assumed, _)]: [(Vec<_>, Vec<_>); 2] = flagged;
        (self.flagged, self.left_out) = ([skipped, assumed], left_out);
        for ((_, unset, _), flagged) in FLAGS.iter().zip(&self.flagged) {
            self.update(&[unset, "--stdin"], &listed(flagged))?;
        }
        Ok(self.flagged.iter().any(|flagged| !flagged.is_empty()))
    }

    fn find_users(&mut self, mut index: Index, edited: &[PathBuf]) {
        for one in &self.changed {
            let staged = index.remove(&one.path).map(|(entry, _)| entry);
            let staged = staged.unwrap_or_else(|| FileEntry::absent_like(&one.old));
            let is_added = one.old.is_absent() && self.is_taken(&one.path);
            if is_added || staged != one.old || edited.contains(&one.path) {
                self.users.insert(one.path.clone(), staged);
            }
        }
    }

    fn loop_file(&self, path: &Path) -> Option<&LoopFile> {
        self.files.iter().find(|file| file.path == path)
    }

    fn users(&self) -> impl Iterator<Item = (&Difference, &FileEntry)> {
        self.changed.iter().filter_map(|one| Some((one, self.users.get(&one.path)?)))
    }

    /// Whether the new commit deletes the path.
    fn goes(&self, path: &Path) -> bool {
        self.changed.iter().any(|one| one.path == path && one.new.is_absent())
    }

    /// Whether something that the step does not delete occupies a path.
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

    /// Whether a folder contains any file that the step does not delete.
    fn holds_more(&self, folder: &Path) -> bool {
        let Ok(entries) = fs_err::read_dir(self.place.top.join(folder)) else { return false };
        let mut inside = entries.flatten().map(|entry| (folder.join(entry.file_name()), entry));
        inside.any(|(path, entry)| match entry.file_type() {
            Ok(kind) if kind.is_dir() => self.holds_more(&path),
            _ => !self.goes(&path),
        })
    }

    /// Returns the permission error that a change would meet, as far as that can be checked: git
    /// deletes a file and creates a new one, so the folder has to be writable.
    fn refused(&self, one: &Difference) -> Option<Cause> {
        if one.new.is_link() || self.users.contains_key(&one.path) {
            return None;
        }
        let path = self.place.top.join(&one.path);
        let folder = path.ancestors().skip(1).find(|folder| folder.is_dir())?;
        let refused = |path: &Path, how| Some((path.to_owned(), access(path, how).err()?));
        // A read-only file can be replaced, but an immutable one cannot.
        let immutable =
            || refused(&path, AccessFlags::W_OK).filter(|(_, why)| *why == Errno::EPERM);
        let found = refused(folder, AccessFlags::W_OK | AccessFlags::X_OK).or_else(immutable);
        found.map(|(path, why)| Cause::Refused(path, why.desc()))
    }

    /// Makes backups of all files that the step changes.
    pub(super) fn prepare(&self) -> Result<(), Failure> {
        fs_err::create_dir_all(self.place.kept_as(""))?;
        for (at, one) in self.changed.iter().enumerate() {
            let path = self.place.top.join(&one.path);
            if path.symlink_metadata().is_ok_and(|metadata| !metadata.is_dir()) {
                duplicate(&path, &self.place.kept_as(at))?;
                if self.users.contains_key(&one.path)
                    && let (Some(file), Ok(text)) = (self.loop_file(&one.path), fs_err::read(&path))
                {
                    fs_err::write(self.place.text_for(at), file.in_users_text(&text))?;
                }
            }
        }
        if is_there(&self.place.index()) {
            duplicate(&self.place.index(), &self.place.kept_as("index"))?;
        }
        Ok(())
    }

    /// Writes the files and the copy of the index. Old files are deleted first, if they are
    /// unchanged since they were examined: git only writes a file that does not exist.
    pub(super) fn write_files(&self) -> Result<(), Failure> {
        let all = self.changed.iter().zip(&self.seen);
        let ours: Vec<_> = all.filter(|(one, _)| !self.users.contains_key(&one.path)).collect();
        let (gone, there): (Vec<_>, Vec<_>) =
            ours.iter().map(|(one, _)| *one).partition(|one| one.new.is_absent());
        let (links, files): (Vec<_>, Vec<_>) = there.into_iter().partition(|one| one.new.is_link());
        let is_written = |one: &&&Difference| !self.left_out.contains(&one.path);
        let written = listed(files.iter().filter(is_written).map(|one| &one.path));
        let entries = ours.iter().flat_map(|(one, _)| one.new.line(&one.path)).collect::<Vec<u8>>();
        // The checksum of the index, slow for a large one, is added when the files are written.
        let skip: &[&str] = if written.is_empty() { &[] } else { &["-c", "index.skipHash=true"] };
        self.git.feed(&[skip, &["update-index", "-z", "--index-info"]].concat(), &entries)?;
        let place = |one: &Difference| self.place.top.join(&one.path);
        if let Some((one, _)) = ours.iter().find(|(one, seen)| stamp(&place(one)) != **seen) {
            let path = one.path.display();
            return Err(Failure::because(format!("{path} changed while the work landed")));
        }
        for (one, _) in ours.iter().filter(|(_, seen)| seen.is_some()) {
            state::remove_if_there(place(one))?;
        }
        for one in gone {
            let _ = fs_err::remove_dir(place(one));
            self.place.remove_empty_folders(&one.path);
        }
        links.into_iter().try_for_each(|one| fs_err::create_dir_all(place(one)))?;
        files.iter().for_each(|one| remove_empty(&place(one)));
        if !written.is_empty() {
            self.git.feed(&["checkout-index", "-z", "-u", "--stdin"], &written)?;
        }
        if self.place.git_dir.join("info/sparse-checkout").exists() {
            // Git removes new files that are not part of a sparse checkout.
            let again = ["-c", "submodule.recurse=false", "read-tree", "-m", "-u"];
            self.git.run(&[&again[..], &[self.new, self.new]].concat())?;
        }
        Ok(())
    }

    /// Applies the loop's change to the user's own files that git has not written.
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

    /// Restores what the user had staged of the loop's files, with the loop's change, and the
    /// user's flags; then the copy replaces the index.
    pub(super) fn write_index(&self) -> Result<(), Failure> {
        let mut entries = Vec::new();
        for (one, staged) in self.users().filter(|(one, staged)| **staged != one.new) {
            if let (Some(file), true) = (self.loop_file(&one.path), *staged != one.old) {
                entries.extend(self.with_change(file, staged)?.line(&one.path));
            }
        }
        self.update(&["--index-info"], &entries)?;
        let [skipped, assumed] = &self.flagged;
        for ((set, _, _), flagged) in
            FLAGS.iter().zip([&[&skipped[..], &self.left_out].concat(), assumed])
        {
            let flagged = listed(flagged.iter().filter(|path| !self.goes(path)));
            self.update(&[set, "--stdin"], &flagged)?;
        }
        if !self.users.is_empty() {
            // It is no error if some files differ from the index.
            let _ = self.git.run(&["update-index", "-q", "--refresh"]);
        }
        Ok(fs_err::rename(self.place.next(), self.place.index())?)
    }

    fn update(&self, how: &[&str], input: &[u8]) -> Result<(), Failure> {
        if !input.is_empty() {
            self.git.feed(&[&["update-index", "-z"], how].concat(), input)?;
        }
        Ok(())
    }

    /// Returns the user's staged entry of a loop file with the loop's change applied. A file that
    /// the user removed from the index stays removed.
    fn with_change(&self, file: &LoopFile, staged: &FileEntry) -> Result<FileEntry, Failure> {
        if staged.is_absent() {
            return Ok(staged.clone());
        }
        let text = file.change.apply(&self.place.git.run(&["cat-file", "blob", &staged.id])?);
        Ok(file_of(&self.place.git, &text)?)
    }
}

/// The inode, length and modification time of a file, which show whether it was written or
/// replaced. A new hard link changes none of these.
type Stamp = (u64, u64, i64, i64);

/// Returns the stamp of a file, if there is one.
fn stamp(path: &Path) -> Option<Stamp> {
    let found = path.symlink_metadata().ok().filter(|metadata| !metadata.is_dir())?;
    Some((found.ino(), found.len(), found.mtime(), found.mtime_nsec()))
}

/// Removes a folder that contains no files, and its subfolders.
fn remove_empty(folder: &Path) {
    let Ok(entries) = fs_err::read_dir(folder) else { return };
    let folders =
        entries.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    folders.for_each(|entry| remove_empty(&entry.path()));
    let _ = fs_err::remove_dir(folder);
}
