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

use super::diff::{self, Change, Content};
use crate::git::paths::{folders, joined};
use crate::git::repo::Repo;
use crate::git::snapshot::error::SnapshotError;
use crate::git::snapshot::inventory::{Inventory, Modes, look};

/// The work tree, of which only what was saved may be removed or overwritten.
#[derive(Debug, Clone, Copy)]
pub(in crate::git) struct Worktree<'a> {
    pub(in crate::git) repo: &'a Repo,
    /// What was on disk when it was saved.
    pub(in crate::git) saved: &'a Inventory,
}

impl Worktree<'_> {
    /// Writes files as the bytes they were, and gives all that are in `modes` their exact mode again,
    /// also those whose content did not change. Names those that were written meanwhile and stay.
    pub(in crate::git) fn write(
        &self,
        changes: &[&Change],
        modes: &Modes,
    ) -> Result<Vec<PathBuf>, SnapshotError> {
        let mut stay = Vec::new();
        diff::read_each(self.repo.git(), changes, |change, content| {
            if !self.is_saved(&change.path)? {
                stay.push(change.path.clone());
                return Ok(());
            }
            write(&self.clear_the_way(&change.path)?, &change.to, content)
        })?;
        for (path, mode) in modes.iter().filter_map(|(path, mode)| Some((path, (*mode)?))) {
            let full = self.repo.top().join(path);
            let is_other = fs_err::symlink_metadata(&full)
                .is_ok_and(|found| found.is_file() && found.mode() & 0o7777 != mode);
            if is_other {
                fs_err::set_permissions(&full, std::fs::Permissions::from_mode(mode))?;
            }
        }
        Ok(stay)
    }

    /// Lets git write files that were committed, by way of the index, which holds them by now: git
    /// notes there how large they became, so that a file whose line endings it converts is not
    /// taken for a changed one. Names those that were written meanwhile and stay.
    pub(in crate::git) fn check_out(
        &self,
        changes: &[&Change],
    ) -> Result<Vec<PathBuf>, SnapshotError> {
        let (mut names, mut stay) = (Vec::new(), Vec::new());
        for Change { path, .. } in changes {
            if self.is_saved(path)? {
                self.clear_the_way(path)?;
                names.extend(joined([path]));
            } else {
                stay.push(path.clone());
            }
        }
        if !names.is_empty() {
            let args = ["checkout-index", "--force", "-u", "-z", "--stdin"];
            self.repo.git().feed(&args, &names)?;
        }
        Ok(stay)
    }

    /// Removes a file, unless it was written meanwhile, and the folders that become empty by that;
    /// tells whether it is gone.
    pub(in crate::git) fn remove(&self, path: &Path) -> io::Result<bool> {
        let top = self.repo.top();
        if !self.is_saved(path)? {
            return Ok(false);
        }
        if look(top, path)?.is_some() {
            fs_err::remove_file(top.join(path))?;
        }
        for folder in folders(path) {
            if top.join(folder).is_symlink() || fs_err::remove_dir(top.join(folder)).is_err() {
                break;
            }
        }
        Ok(true)
    }

    /// Whether nothing is there but what was saved.
    fn is_saved(&self, path: &Path) -> io::Result<bool> {
        let now = look(self.repo.top(), path)?;
        Ok(now.is_none() || self.saved.get(path) == Some(&now))
    }

    /// Makes the folders around a path real folders, and the path itself anything but a folder. All
    /// that is removed for that was saved, because it was [`in_the_way`].
    fn clear_the_way(&self, path: &Path) -> io::Result<PathBuf> {
        let top = self.repo.top();
        let mut files = BTreeSet::new();
        collect_in_the_way(top, path, &mut files)?;
        for file in files {
            if !self.remove(&file)? {
                let file = top.join(file);
                let message = format!("{} stands in the way and is not saved", file.display());
                return Err(io::Error::other(message));
            }
        }
        let full = top.join(path);
        if fs_err::symlink_metadata(&full).is_ok_and(|found| found.is_dir()) {
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
    let mut found = BTreeSet::new();
    for path in paths {
        collect_in_the_way(top, path, &mut found)?;
    }
    match found.iter().find(|path| path.ends_with(".git")) {
        Some(inner) => {
            let path = inner.parent().unwrap_or(inner).display().to_string();
            Err(SnapshotError::InTheWay { path })
        }
        None => Ok(found),
    }
}

fn collect_in_the_way(top: &Path, path: &Path, found: &mut BTreeSet<PathBuf>) -> io::Result<()> {
    let is_folder =
        |path: &Path| fs_err::symlink_metadata(top.join(path)).map(|found| found.is_dir());
    let is_other = |folder: &&Path| is_folder(folder).is_ok_and(|is_folder| !is_folder);
    found.extend(folders(path).filter(is_other).map(Path::to_owned));
    if is_folder(path).unwrap_or(false) {
        collect_files(top, path, found)?;
    }
    Ok(())
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
    for entry in fs_err::read_dir(folder)? {
        remove_empty(&entry?.path())?;
    }
    fs_err::remove_dir(folder)
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
