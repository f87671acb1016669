//! Removing a folder whatever an agent did to its permissions.

use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use fs_err as fs;

/// Removes a file or a folder, if it is there; a link is removed, not followed.
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

/// Whether nothing is there, and nothing can be.
fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Gives us every permission in a folder that is ours, whatever an agent took away; whether any was
/// missing.
pub(super) fn make_readable(path: &Path) -> bool {
    let Ok(metadata) = fs::symlink_metadata(path) else { return false };
    let (mode, is_folder) = (metadata.permissions().mode(), metadata.is_dir());
    let wanted = if is_folder { 0o700 } else { 0o600 };
    let mut changed = mode & wanted != wanted && !metadata.is_symlink();
    if changed {
        // What cannot be changed is found by whoever goes on.
        let _ = fs::set_permissions(path, std::fs::Permissions::from_mode(mode | wanted));
    }
    if is_folder {
        for entry in fs::read_dir(path).into_iter().flatten().flatten() {
            changed |= make_readable(&entry.path());
        }
    }
    changed
}
