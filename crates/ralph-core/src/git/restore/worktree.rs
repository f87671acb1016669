//! Files of the work tree, written and removed one by one.
//!
//! Not left to `git reset`, for three reasons: files that were uncommitted must come back byte for
//! byte, without filters; ignored files must stay; and nothing may be written through a symlink
//! that leads out of the tree. Only files that were committed are checked out by git, because
//! they are what git's filters make of them.

use std::collections::BTreeSet;
use std::io::{self, Read};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use fs_err::os::unix::fs::OpenOptionsExt;

use super::blobs;
use super::diff::{Change, Content};
use crate::git::paths::{folders, joined};
use crate::git::repo::Repo;
use crate::git::snapshot::error::SnapshotError;
use crate::git::snapshot::inventory::{Modes, is_absence};

/// The work tree, of which only what was saved may be removed.
#[derive(Debug, Clone, Copy)]
pub(in crate::git) struct Worktree<'a> {
    pub(in crate::git) repo: &'a Repo,
    pub(in crate::git) saved: &'a Modes,
}

impl Worktree<'_> {
    /// Writes files as the bytes they were, and gives all that are in `modes` their exact mode again,
    /// also those whose content did not change.
    pub(in crate::git) fn write(
        &self,
        changes: &[&Change],
        modes: &Modes,
    ) -> Result<(), SnapshotError> {
        blobs::read(self.repo, changes, |change, content| {
            let full = self.clear_the_way(&change.path)?;
            write(&full, &change.to, content)
        })?;
        for (path, mode) in modes.iter().filter_map(|(path, mode)| Some((path, (*mode)?))) {
            let full = self.repo.top().join(path);
            let is_other = fs_err::symlink_metadata(&full)
                .is_ok_and(|found| found.is_file() && found.mode() & 0o7777 != mode);
            if is_other {
                fs_err::set_permissions(&full, std::fs::Permissions::from_mode(mode))?;
            }
        }
        Ok(())
    }

    /// Lets git write files that were committed, by way of the index, which holds them by now: git
    /// notes there how large they became, so that a file whose line endings it converts is not
    /// taken for a changed one.
    pub(in crate::git) fn check_out(&self, changes: &[&Change]) -> Result<(), SnapshotError> {
        for change in changes {
            self.clear_the_way(&change.path)?;
        }
        let names = joined(changes.iter().map(|change| &change.path));
        if !names.is_empty() {
            let args = ["checkout-index", "--force", "-u", "-z", "--stdin"];
            self.repo.git().feed(&args, &names)?;
        }
        Ok(())
    }

    /// Removes a file that was saved, and the folders that become empty by it.
    pub(in crate::git) fn remove(&self, path: &Path) -> io::Result<()> {
        let top = self.repo.top();
        // A path behind a symlink is not in the tree; removing it would remove a file elsewhere.
        if folders(path).any(|folder| top.join(folder).is_symlink()) {
            return Ok(());
        }
        if !self.saved.get(path).is_some_and(Option::is_some) {
            let path = top.join(path);
            let message = format!("{} was not saved, so it is not removed", path.display());
            return Err(io::Error::other(message));
        }
        match fs_err::remove_file(top.join(path)) {
            Err(error) if !is_absence(&error) && error.kind() != io::ErrorKind::IsADirectory => {
                return Err(error);
            }
            _ => {}
        }
        for folder in folders(path) {
            if fs_err::remove_dir(top.join(folder)).is_err() {
                break;
            }
        }
        Ok(())
    }

    /// Makes the folders around a path real folders, and the path itself anything but a folder. All
    /// that is removed for that was saved, because it was [`in_the_way`].
    fn clear_the_way(&self, path: &Path) -> io::Result<PathBuf> {
        let top = self.repo.top();
        for parent in folders(path).collect::<Vec<_>>().into_iter().rev() {
            if fs_err::symlink_metadata(top.join(parent)).is_ok_and(|found| !found.is_dir()) {
                self.remove(parent)?;
            }
        }
        let full = top.join(path);
        if fs_err::symlink_metadata(&full).is_ok_and(|found| found.is_dir()) {
            let mut files = BTreeSet::new();
            collect_files(top, path, &mut files)?;
            files.iter().try_for_each(|file| self.remove(file))?;
            remove_empty(&full)?;
        }
        full.parent().map_or(Ok(()), fs_err::create_dir_all)?;
        Ok(full)
    }
}

/// What stands where these paths are to be written: a file or link where a folder is needed, or
/// the files in a folder where a file is needed.
pub(in crate::git) fn in_the_way<'a>(
    top: &Path,
    paths: impl Iterator<Item = &'a PathBuf>,
) -> Result<BTreeSet<PathBuf>, SnapshotError> {
    let is_folder =
        |path: &Path| fs_err::symlink_metadata(top.join(path)).map(|found| found.is_dir());
    let mut found = BTreeSet::new();
    for path in paths {
        found.extend(
            folders(path)
                .filter(|folder| is_folder(folder).is_ok_and(|is_folder| !is_folder))
                .map(Path::to_owned),
        );
        if is_folder(path).unwrap_or(false) {
            collect_files(top, path, &mut found)?;
        }
    }
    match found.iter().find(|path| path.file_name().is_some_and(|name| name == ".git")) {
        Some(inner) => {
            let path = inner.parent().unwrap_or(inner).display().to_string();
            Err(SnapshotError::InTheWay { path })
        }
        None => Ok(found),
    }
}

/// The files in a folder; of a repository nothing but its git folder, as if that were a file.
fn collect_files(top: &Path, folder: &Path, found: &mut BTreeSet<PathBuf>) -> io::Result<()> {
    if top.join(folder).join(".git").exists() {
        found.insert(folder.join(".git"));
        return Ok(());
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

/// Removes a folder with nothing but folders in it; the first file in it is an error.
fn remove_empty(folder: &Path) -> io::Result<()> {
    for entry in fs_err::read_dir(folder).into_iter().flatten() {
        remove_empty(&entry?.path())?;
    }
    match fs_err::remove_dir(folder) {
        // With the last file in it.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// Writes beside and renames, so that a crash leaves the old file or the new one.
fn write(full: &Path, to: &Content, content: &mut dyn Read) -> io::Result<()> {
    // A name of our own, which no long name can make too long.
    let temporary = full.with_file_name(format!(".ralph-restore-{}", std::process::id()));
    let _ = fs_err::remove_file(&temporary);
    match to {
        Content::Link { .. } => {
            let mut target = Vec::new();
            content.read_to_end(&mut target)?;
            let target = std::ffi::OsString::from_vec(target);
            fs_err::os::unix::fs::symlink(target, &temporary)?;
        }
        Content::File { executable, .. } => {
            let mode = if *executable { 0o777 } else { 0o666 };
            let mut options = fs_err::OpenOptions::new();
            options.write(true).create_new(true).mode(mode);
            io::copy(content, &mut options.open(&temporary)?)?;
        }
        Content::Absent | Content::Submodule => return Ok(()),
    }
    fs_err::rename(&temporary, full)
}
