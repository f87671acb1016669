//! Removes folders despite permissions that an agent took away, and pipes on which git would block.

use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};

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
            fs::remove_dir_all(path).or_else(|_| remove_deep(path))
        }
        // Another process may still write into it, or remove parts of it.
        Err(error) if error.kind() == io::ErrorKind::NotFound => remove_all(path),
        Err(_) => remove_deep(path),
        removed => removed,
    }
}

/// Longer paths lead deeper than git, or anything that is given a path, can reach.
const LONGEST_PATH: usize = 3_500;

/// Removes a folder, however deep: the folders in each folder are moved to the top before it is removed.
fn remove_deep(top: &Path) -> io::Result<()> {
    let mut left = entries(top)?;
    let mut moved = 0;
    while let Some((path, is_folder)) = left.pop() {
        if !is_folder {
            fs::remove_file(path)?;
            continue;
        }
        for (inner, is_folder) in entries(&path)? {
            if is_folder {
                let to = top.join(format!(".ralph-going-{}-{moved}", std::process::id()));
                moved += 1;
                fs::rename(inner, &to)?;
                left.push((to, true));
            } else {
                fs::remove_file(inner)?;
            }
        }
        fs::remove_dir(path)?;
    }
    fs::remove_dir(top)
}

/// Returns what is in a folder, and whether each is a folder.
fn entries(folder: &Path) -> io::Result<Vec<(PathBuf, bool)>> {
    // If this fails, reading fails too.
    let _ = fs::set_permissions(folder, std::fs::Permissions::from_mode(0o700));
    fs::read_dir(folder)?
        .map(|entry| entry.and_then(|it| Ok((it.path(), it.file_type()?.is_dir()))))
        .collect()
}

/// Whether the error means that nothing exists at the path.
pub(super) fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Removes pipes on which git would block: in git folders, and those named `.git*` in a work tree;
/// or `all` pipes and sockets, which git does not list. Returns whether any are left. Makes folders
/// readable that are not, and removes those that are too deep.
pub(super) fn remove_pipes(folder: &Path, is_git: bool, all: bool) -> bool {
    let mut are_left = false;
    let entries = fs::read_dir(folder).or_else(|_| {
        make_readable(folder);
        fs::read_dir(folder)
    });
    // Listed at once: a folder that stays open on each level is one too many.
    let entries: Vec<_> = entries.into_iter().flatten().flatten().collect();
    for entry in entries {
        let Ok(kind) = entry.file_type() else { continue };
        let is_special = kind.is_fifo() || kind.is_socket();
        if !is_git && !kind.is_dir() && !is_special {
            continue;
        }
        let (path, name) = (entry.path(), entry.file_name());
        let is_gits = is_git || name.as_bytes().starts_with(b".git");
        if kind.is_dir() && path.as_os_str().len() > LONGEST_PATH {
            let _ = remove_deep(&path);
        } else if kind.is_dir() {
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
pub fn make_readable(path: &Path) -> bool {
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

#[cfg(test)]
mod tests {
    use ralph_base::linux::opened;
    use test_support::Scratch;

    use super::*;

    /// Makes a chain of folders that is longer than any path can be.
    fn dig(top: &Path, levels: usize) {
        let mut folder = fs::File::open(top).unwrap();
        for _ in 0..levels {
            let next = opened(&folder, top).join("deep");
            fs::create_dir(&next).unwrap();
            folder = fs::File::open(next).unwrap();
        }
        fs::write(opened(&folder, top).join("file"), "x").unwrap();
    }

    #[test]
    fn folders_that_no_path_reaches_are_removed() {
        let scratch = Scratch::new();
        let (copy, other) = (scratch.dir("copy"), scratch.dir("other"));
        dig(copy.as_std_path(), 6_000);
        dig(other.as_std_path(), 6_000);
        scratch.file("copy/deep/deep/kept", "x");
        assert!(!remove_pipes(copy.as_std_path(), false, true));
        let (mut folder, mut levels) = (copy.into_std_path_buf(), 0);
        while folder.join("deep").is_dir() {
            folder = folder.join("deep");
            levels += 1;
        }
        assert!(
            (2..2_000).contains(&levels) && fs::read_dir(folder).unwrap().count() == 0,
            "{levels}"
        );
        assert_eq!(scratch.read("copy/deep/deep/kept"), "x");
        remove_all(other.as_std_path()).unwrap();
        assert!(!other.exists());
    }
}
