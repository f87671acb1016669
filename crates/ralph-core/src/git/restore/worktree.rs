//! Files of the work tree, written and removed one by one.
//!
//! Not left to `git reset`, for three reasons: files that were uncommitted must come back byte for
//! byte, without filters; ignored files must stay; and nothing may be written through a symlink
//! that leads out of the tree. Only files that were committed are checked out by git, because
//! they are what git's filters make of them.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::diff::{Change, Content};
use crate::git::blobs;
use crate::git::command::GitError;
use crate::git::ignore::rules::joined;
use crate::git::repo::Repo;
use crate::git::retry::retried;
use crate::git::snapshot::access;
use crate::git::snapshot::inventory::{Modes, is_absence};
use crate::git::snapshot::take::SnapshotError;

/// How often files are checked out while somebody else writes them as well.
const MOST_TRIES: usize = 5;

/// Makes the changes on disk, and returns those that are left for [`check_out`]. The files in
/// `modes` come back as the bytes they were; all others come as git checks them out.
pub(in crate::git) fn apply<'a>(
    repo: &Repo,
    changes: &'a [Change],
    modes: &Modes,
) -> Result<Vec<&'a Change>, SnapshotError> {
    let (removals, writes): (Vec<&Change>, Vec<&Change>) =
        changes.iter().partition(|change| change.to == Content::Absent);
    // Removals first: a folder may have to become a file, and a link a folder.
    for change in &removals {
        remove(repo.top(), &change.path)?;
    }
    let (exact, committed): (Vec<&Change>, Vec<&Change>) =
        writes.into_iter().partition(|change| modes.contains_key(&change.path));
    blobs::read(repo, &exact, |change, content| {
        write(repo.top(), change, content, modes.get(&change.path).copied().flatten())
    })?;
    set_modes(repo.top(), modes)?;
    Ok(committed)
}

/// Lets git write files that were committed, by way of the index, which holds them by now: git
/// notes there how large they became, so that a file whose line endings it converts is not taken
/// for a changed one.
pub(in crate::git) fn check_out(repo: &Repo, changes: &[&Change]) -> Result<(), SnapshotError> {
    if changes.is_empty() {
        return Ok(());
    }
    let names = joined(changes.iter().map(|change| &change.path));
    let mut kept = Vec::new();
    for change in changes {
        kept.push(kept_mode(&repo.top().join(&change.path)));
        clear_the_way(repo.top(), &change.path)?;
    }
    let args = ["checkout-index", "--force", "-u", "-z", "--stdin"];
    // Git removes a file and makes it anew; who writes it between the two has made it first.
    let will_pass = |error: &GitError| matches!(error, GitError::Failed { stderr, .. } if stderr.contains("File exists"));
    retried(MOST_TRIES, will_pass, || repo.git().feed(&args, &names))?;
    for (change, mode) in changes.iter().zip(kept) {
        if let (Content::File { executable, .. }, Some(mode)) = (&change.to, mode) {
            let permissions = std::fs::Permissions::from_mode(with_execution(mode, *executable));
            fs_err::set_permissions(repo.top().join(&change.path), permissions)?;
        }
    }
    Ok(())
}

/// Gives every file its exact mode again, also those whose content did not change.
fn set_modes(top: &Path, modes: &Modes) -> io::Result<()> {
    for (path, mode) in modes.iter().filter_map(|(path, mode)| Some((path, (*mode)?))) {
        let full = top.join(path);
        match fs_err::symlink_metadata(&full) {
            Ok(found) if found.is_file() && found.mode() & 0o7777 != mode => {
                fs_err::set_permissions(&full, std::fs::Permissions::from_mode(mode))?;
            }
            _ => {}
        }
    }
    Ok(())
}

/// Committed files that an attempt made unreadable: their content need not have changed.
pub(in crate::git) fn make_readable<'a>(
    repo: &Repo,
    paths: impl Iterator<Item = &'a PathBuf>,
    modes: &Modes,
) -> io::Result<()> {
    let mut committed = paths.filter(|path| !modes.contains_key(*path) && !repo.is_untouched(path));
    committed.try_for_each(|path| access::make_readable(&repo.top().join(path)))
}

/// What stands where these paths are to be written: a file or link where a folder is needed, or
/// the files in a folder where a file is needed.
pub(in crate::git) fn in_the_way<'a>(
    top: &Path,
    paths: impl Iterator<Item = &'a PathBuf>,
) -> io::Result<BTreeSet<PathBuf>> {
    let mut found = BTreeSet::new();
    for path in paths {
        for parent in path.ancestors().skip(1).filter(|parent| parent.parent().is_some()) {
            let there = fs_err::symlink_metadata(top.join(parent));
            if there.is_ok_and(|metadata| !metadata.is_dir()) {
                found.insert(parent.to_owned());
            }
        }
        if fs_err::symlink_metadata(top.join(path)).is_ok_and(|metadata| metadata.is_dir()) {
            collect_files(top, path, &mut found)?;
        }
    }
    Ok(found)
}

fn collect_files(top: &Path, folder: &Path, found: &mut BTreeSet<PathBuf>) -> io::Result<()> {
    // A repository of its own is moved as a whole.
    if top.join(folder).join(".git").exists() {
        return Ok(());
    }
    access::open_below(&top.join(folder))?;
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

/// Removes a file and the folders that become empty by it.
fn remove(top: &Path, path: &Path) -> io::Result<()> {
    if !is_below_real_folders(top, path) {
        return Ok(());
    }
    match fs_err::remove_file(top.join(path)) {
        Err(error) if !is_absence(&error) && error.kind() != io::ErrorKind::IsADirectory => {
            return Err(error);
        }
        _ => {}
    }
    for parent in path.ancestors().skip(1).filter(|parent| parent.parent().is_some()) {
        if fs_err::remove_dir(top.join(parent)).is_err() {
            break;
        }
    }
    Ok(())
}

/// A path behind a symlink is not in the tree; removing it would remove a file elsewhere.
fn is_below_real_folders(top: &Path, path: &Path) -> bool {
    let parents = path.ancestors().skip(1).filter(|parent| parent.parent().is_some());
    parents.into_iter().all(|parent| !top.join(parent).is_symlink())
}

/// Writes beside and renames, so that a crash leaves the old file or the new one.
fn write(top: &Path, change: &Change, content: &[u8], mode: Option<u32>) -> io::Result<()> {
    let full = top.join(&change.path);
    clear_the_way(top, &change.path)?;
    let temporary = temporary_beside(&full);
    let _ = fs_err::remove_file(&temporary);
    match &change.to {
        Content::Link { .. } => {
            fs_err::os::unix::fs::symlink(std::ffi::OsStr::from_bytes(content), &temporary)?;
        }
        Content::File { .. } => {
            let mut file =
                fs_err::OpenOptions::new().write(true).create_new(true).open(&temporary)?;
            file.write_all(content)?;
            if let Some(mode) = mode {
                file.set_permissions(std::fs::Permissions::from_mode(mode))?;
            }
        }
        Content::Absent | Content::Submodule => return Ok(()),
    }
    fs_err::rename(&temporary, &full)
}

/// Writes one file with these bytes; one that is there keeps its mode as far as the change lets it.
pub(in crate::git) fn put(top: &Path, change: &Change, content: &[u8]) -> io::Result<()> {
    let full = top.join(&change.path);
    let kept = kept_mode(&full);
    write(top, change, content, None)?;
    if let Content::File { executable, .. } = &change.to {
        let mode = kept.or_else(|| kept_mode(&full)).unwrap_or(0o644);
        let permissions = std::fs::Permissions::from_mode(with_execution(mode, *executable));
        fs_err::set_permissions(full, permissions)?;
    }
    Ok(())
}

/// A name of our own, which no long name can make too long.
fn temporary_beside(full: &Path) -> PathBuf {
    full.with_file_name(format!(".ralph-restore-{}", std::process::id()))
}

/// A file that is there keeps its mode, so that a private file does not become readable to all.
fn kept_mode(full: &Path) -> Option<u32> {
    let metadata = fs_err::symlink_metadata(full).ok().filter(std::fs::Metadata::is_file)?;
    Some(access::readable(metadata.mode() & 0o7777))
}

/// Whoever may read may execute, as git does it.
fn with_execution(mode: u32, executable: bool) -> u32 {
    if executable { mode | ((mode & 0o444) >> 2) } else { mode & !0o111 }
}

/// Makes the parents of a path real folders, and the path itself anything but a folder. All that
/// is removed here was saved before, because it was [`in_the_way`].
fn clear_the_way(top: &Path, path: &Path) -> io::Result<()> {
    let parents: Vec<&Path> = path.ancestors().skip(1).collect();
    for parent in parents.into_iter().rev() {
        let full = top.join(parent);
        if fs_err::symlink_metadata(&full).is_ok_and(|metadata| !metadata.is_dir()) {
            fs_err::remove_file(&full)?;
        }
    }
    let full = top.join(path);
    if let Some(parent) = full.parent() {
        fs_err::create_dir_all(parent)?;
    }
    if fs_err::symlink_metadata(&full).is_ok_and(|metadata| metadata.is_dir()) {
        if full.join(".git").exists() {
            let message =
                format!("{} is a repository of its own and stands in the way", full.display());
            return Err(io::Error::other(message));
        }
        access::open_below(&full)?;
        fs_err::remove_dir_all(&full)?;
    }
    Ok(())
}
