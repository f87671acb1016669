//! Removes folders despite permissions that an agent took away, and pipes on which git would block.

use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::Path;

use fs_err as fs;

/// Removes a file or folder, if it exists; a link is removed, not followed.
pub fn remove_all(path: &Path) -> io::Result<()> {
    let metadata = match fs::symlink_metadata(path) {
        Err(error) if is_absent(&error) => return Ok(()),
        other => other?,
    };
    if !metadata.is_dir() {
        return fs::remove_file(path);
    }
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            make_readable(path);
            fs::remove_dir_all(path)
        }
        // Another process may still write into it, or remove parts of it.
        Err(error) if error.kind() == io::ErrorKind::NotFound => remove_all(path),
        other => other,
    }
}

/// Whether the error means that nothing exists at the path.
fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Removes pipes on which git would block: in git folders, and those named `.git*` in a work tree;
/// or `all` pipes and sockets, which git does not list. Returns whether any are left. Makes folders
/// readable that are not.
pub(super) fn remove_pipes(folder: &Path, is_git: bool, all: bool) -> bool {
    let mut are_left = false;
    let entries = fs::read_dir(folder).or_else(|_| {
        make_readable(folder);
        fs::read_dir(folder)
    });
    for entry in entries.into_iter().flatten().flatten() {
        let Ok(kind) = entry.file_type() else { continue };
        let is_special = kind.is_fifo() || kind.is_socket();
        if !is_git && !kind.is_dir() && !is_special {
            continue;
        }
        let (path, name) = (entry.path(), entry.file_name());
        let is_gits = is_git || name.as_bytes().starts_with(b".git");
        if kind.is_dir() {
            are_left |= remove_pipes(&path, is_git || name == ".git", all);
        } else if is_special && (all || kind.is_fifo() && is_gits)
            || is_git && path.metadata().is_ok_and(|found| found.file_type().is_fifo())
        {
            let _ = fs::remove_file(path);
        } else {
            are_left |= is_special;
        }
    }
    are_left
}

/// Restores our own permissions on everything in a folder, whatever an agent removed; returns
/// whether any were missing.
pub(super) fn make_readable(path: &Path) -> bool {
    let Ok(metadata) = fs::symlink_metadata(path) else { return false };
    let (mode, is_folder) = (metadata.permissions().mode(), metadata.is_dir());
    let wanted = if is_folder { 0o700 } else { 0o600 };
    let mut changed = mode & wanted != wanted && !metadata.is_symlink();
    if changed {
        // If this fails, the caller gets the error when it reads the file.
        let _ = fs::set_permissions(path, std::fs::Permissions::from_mode(mode | wanted));
    }
    if is_folder {
        for entry in fs::read_dir(path).into_iter().flatten().flatten() {
            changed |= make_readable(&entry.path());
        }
    }
    changed
}
