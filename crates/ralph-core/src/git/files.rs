//! Files of the work tree: inspected, written and removed one by one.
//!
//! `git reset` is not used, for three reasons: uncommitted files must be restored byte for byte,
//! without filters; ignored files must stay; and nothing may be written through a symlink that
//! leads out of the tree. Only committed files are checked out by git, with its filters.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use fs_err::os::unix::fs::OpenOptionsExt;

use super::diff::{Change, folders};
use super::{Repo, SnapshotError, objects};
use ralph_base::state::open_regular;

/// The state on disk of paths relative to the top of the work tree; `None` if a path does not exist
/// or is not a file or symlink.
pub(super) type Inventory = BTreeMap<PathBuf, Option<Entry>>;

/// A file or symlink on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) is_link: bool,
    /// The permission bits.
    pub(super) mode: u32,
    pub(super) length: u64,
    inode: u64,
    written: (i64, i64),
}

/// Returns the file at a path. A path behind a symlink counts as missing, as it does for git.
pub(super) fn entry_at(top: &Path, path: &Path) -> io::Result<Option<Entry>> {
    use io::ErrorKind::{NotADirectory, NotFound};
    if folders(path).any(|folder| top.join(folder).is_symlink()) {
        return Ok(None);
    }
    let found = match fs_err::symlink_metadata(top.join(path)) {
        Ok(found) if found.is_file() || found.is_symlink() => found,
        Err(error) if !matches!(error.kind(), NotFound | NotADirectory) => return Err(error),
        _ => return Ok(None),
    };
    Ok(Some(Entry {
        is_link: found.is_symlink(),
        mode: found.mode() & 0o7777,
        length: found.len(),
        inode: found.ino(),
        written: (found.mtime(), found.mtime_nsec()),
    }))
}

/// Returns the state of the paths on disk, and the unreadable paths: files that are not in the
/// inventory are neither saved nor removed.
pub(super) fn inventory(
    top: &Path,
    paths: impl IntoIterator<Item = PathBuf>,
) -> (Inventory, Vec<PathBuf>) {
    let (mut found, mut unreadable) = (Inventory::new(), Vec::new());
    for path in paths {
        match entry_at(top, &path) {
            Ok(Some(entry)) if !entry.is_link && open_regular(top.join(&path)).is_err() => {
                unreadable.push(path);
            }
            Ok(entry) => drop(found.insert(path, entry)),
            Err(_) => unreadable.push(path),
        }
    }
    (found, unreadable)
}

/// The work tree, in which only saved files may be removed or overwritten.
pub(super) struct Worktree<'a> {
    pub(super) repo: &'a Repo,
    /// The state on disk when it was saved.
    pub(super) saved: &'a Inventory,
    /// The files that were written in the meantime, and stay.
    pub(super) stay: BTreeSet<PathBuf>,
}

impl Worktree<'_> {
    /// Writes files with their saved bytes.
    pub(super) fn write(&mut self, changes: &[&Change]) -> Result<(), SnapshotError> {
        let repo = self.repo;
        let objects: Vec<&str> = changes.iter().map(|change| change.object.as_str()).collect();
        objects::read(repo.git(), &objects, |at, content| {
            let (Some(change), Some(content)) = (changes.get(at), content) else {
                return Err(io::Error::other(format!("git has no {:?}", objects.get(at))));
            };
            if self.may_change(&change.path)? {
                write(&make_room(repo.top(), &change.path)?, change.mode.as_str(), content)?;
            }
            Ok(())
        })?;
        Ok(())
    }

    /// Lets git write committed files from the index, which already lists them: git also updates
    /// the file sizes there, so that a file with converted line endings does not count as changed.
    pub(super) fn check_out(&mut self, changes: &[&Change]) -> Result<(), SnapshotError> {
        let mut names = Vec::new();
        for Change { path, .. } in changes {
            if self.may_change(path)? {
                make_room(self.repo.top(), path)?;
                names.extend([path.as_os_str().as_bytes(), b"\0"].concat());
            }
        }
        if !names.is_empty() {
            let args = ["checkout-index", "--force", "-u", "-z", "--stdin"];
            self.repo.git().feed(&args, &names)?;
        }
        Ok(())
    }

    /// Removes a file, and the folders that become empty.
    pub(super) fn remove(&mut self, path: &Path) -> io::Result<()> {
        let top = self.repo.top();
        if !self.may_change(path)? {
            return Ok(());
        }
        if entry_at(top, path)?.is_some() {
            match fs_err::remove_file(top.join(path)) {
                // The file is in another user's folder.
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                    self.stay.insert(path.to_owned());
                    return Ok(());
                }
                removed => removed?,
            }
        }
        for folder in folders(path) {
            if top.join(folder).is_symlink() || fs_err::remove_dir(top.join(folder)).is_err() {
                break;
            }
        }
        Ok(())
    }

    /// Returns whether the path is absent or in its saved state; else marks it to stay.
    fn may_change(&mut self, path: &Path) -> io::Result<bool> {
        let now = entry_at(self.repo.top(), path)?;
        let is_saved = now.is_none() || self.saved.get(path) == Some(&now);
        if !is_saved {
            self.stay.insert(path.to_owned());
            return Ok(false);
        }
        open_folders(self.repo.top(), path);
        Ok(true)
    }
}

/// Makes the parent folders of a path writable, where an attempt made them read-only.
fn open_folders(top: &Path, path: &Path) {
    for folder in folders(path).map(|folder| top.join(folder)) {
        if let Ok(found) = fs_err::symlink_metadata(&folder)
            && found.is_dir()
            && found.mode() & 0o300 != 0o300
        {
            // Errors are ignored here; the operation that follows reports them.
            let open = std::fs::Permissions::from_mode(found.mode() | 0o700);
            let _ = fs_err::set_permissions(&folder, open);
        }
    }
}

/// Restores the permission bits of files.
pub(super) fn set_modes(top: &Path, modes: &BTreeMap<String, u32>) -> io::Result<()> {
    for (path, mode) in modes {
        if entry_at(top, Path::new(path))?.is_some_and(|now| !now.is_link && now.mode != *mode) {
            fs_err::set_permissions(top.join(path), std::fs::Permissions::from_mode(*mode))?;
        }
    }
    Ok(())
}

/// Returns the files that block writing these paths: a file or link where a folder is needed, or
/// the files in a folder where a file is needed.
pub(super) fn in_the_way<'a>(
    top: &Path,
    paths: impl Iterator<Item = &'a PathBuf>,
) -> Result<BTreeSet<PathBuf>, SnapshotError> {
    let is_folder =
        |path: &Path| fs_err::symlink_metadata(top.join(path)).map(|found| found.is_dir());
    let mut found = BTreeSet::new();
    for path in paths {
        let is_other = |folder: &&Path| is_folder(folder).is_ok_and(|is_folder| !is_folder);
        found.extend(folders(path).filter(is_other).map(Path::to_owned));
        if is_folder(path).unwrap_or(false) {
            collect_files(top, path, &mut found)?;
        }
    }
    Ok(found)
}

/// Collects the files below a folder; refuses a nested repository, which is not ours to move.
fn collect_files(
    top: &Path,
    folder: &Path,
    found: &mut BTreeSet<PathBuf>,
) -> Result<(), SnapshotError> {
    if top.join(folder).join(".git").exists() {
        return Err(SnapshotError::Refused(format!(
            "{} is a nested git repository and is in the way; move it elsewhere first",
            folder.display()
        )));
    }
    for entry in fs_err::read_dir(top.join(folder))? {
        let entry = entry?;
        let path = folder.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            collect_files(top, &path, found)?;
        } else {
            found.insert(path);
        }
    }
    Ok(())
}

/// Creates the parent folders of a path; removes a folder in its place, which must hold no files.
fn make_room(top: &Path, path: &Path) -> io::Result<PathBuf> {
    let full = top.join(path);
    if fs_err::symlink_metadata(&full).is_ok_and(|found| found.is_dir()) {
        remove_empty(&full)?;
    }
    full.parent().map_or(Ok(()), fs_err::create_dir_all)?;
    Ok(full)
}

/// Removes a folder that contains only folders; fails at the first file.
fn remove_empty(folder: &Path) -> io::Result<()> {
    for entry in fs_err::read_dir(folder)? {
        remove_empty(&entry?.path())?;
    }
    fs_err::remove_dir(folder)
}

/// Writes a temporary file and renames it, so that a crash leaves either the old or the new file.
fn write(full: &Path, mode: &str, content: &mut dyn Read) -> io::Result<()> {
    // A fixed name, so that a long file name cannot exceed the limit.
    let temporary = full.with_file_name(format!(".ralph-restore-{}", std::process::id()));
    let _ = fs_err::remove_file(&temporary);
    if mode == "120000" {
        let mut target = Vec::new();
        content.read_to_end(&mut target)?;
        fs_err::os::unix::fs::symlink(std::ffi::OsString::from_vec(target), &temporary)?;
    } else {
        let mode = if mode == "100755" { 0o777 } else { 0o666 };
        let mut options = fs_err::OpenOptions::new();
        options.write(true).create_new(true).mode(mode);
        io::copy(content, &mut options.open(&temporary)?)?;
    }
    fs_err::rename(&temporary, full)
}
