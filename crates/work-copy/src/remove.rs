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
            open_up(path);
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

/// Makes every folder below one that we may change.
fn open_up(folder: &Path) {
    // What cannot be changed is found by the removal that follows.
    let _ = fs::set_permissions(folder, std::fs::Permissions::from_mode(0o700));
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
        open_up(&entry.path());
    }
}
