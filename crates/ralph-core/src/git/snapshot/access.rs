//! Files that may not be read and folders that may not be changed, though they are ours: an attempt
//! left them so, or the user did. They are opened for as long as we need them.
//!
//! What belongs to somebody else cannot be opened; then the error names it and the remedy.

use std::collections::BTreeMap;
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// What the owner of a folder needs to list, enter and change it; and to list and enter it.
const ALL: u32 = 0o700;
const SEEN: u32 = 0o500;

/// What the owner of a file needs to read it.
const READ: u32 = 0o400;

/// Opens a file for reading, even if its mode does not let its owner; the mode is the same again
/// afterwards.
pub fn open_to_read(path: &Path) -> io::Result<fs_err::File> {
    let denied = match fs_err::File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => error,
        other => return other,
    };
    let mode = fs_err::symlink_metadata(path)?.mode() & 0o7777;
    set_mode(path, mode | READ).map_err(|_| unreadable(&denied))?;
    let opened = fs_err::File::open(path);
    set_mode(path, mode)?;
    opened.map_err(|_| unreadable(&denied))
}

/// Complains about a file that cannot be read, before anybody depends on it.
pub(in crate::git) fn check_readable(path: &Path, mode: u32) -> io::Result<()> {
    // Whoever may read it at all may do so here; only an unusual mode is worth a look.
    if mode & 0o444 == 0o444 { Ok(()) } else { open_to_read(path).map(drop) }
}

/// A file that its owner may not read looks changed to git for ever.
pub(in crate::git) fn make_readable(path: &Path) -> io::Result<()> {
    match fs_err::symlink_metadata(path) {
        Ok(found) if found.is_file() && found.mode() & READ == 0 => {
            set_mode(path, readable(found.mode() & 0o7777))
        }
        _ => Ok(()),
    }
}

/// The same mode, but one that lets the owner read.
pub(in crate::git) fn readable(mode: u32) -> u32 {
    if mode & READ == 0 { mode | 0o600 } else { mode }
}

/// The folder, and all folders in it.
pub(in crate::git) fn open_below(folder: &Path) -> io::Result<()> {
    let mode = fs_err::symlink_metadata(folder)?.mode() & 0o7777;
    if mode & ALL != ALL {
        set_mode(folder, mode | ALL)?;
    }
    for entry in fs_err::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            open_below(&entry.path())?;
        }
    }
    Ok(())
}

/// Folders that are ours to change for as long as this lives.
#[derive(Debug, Default)]
pub struct OpenedFolders {
    modes: BTreeMap<PathBuf, u32>,
}

impl OpenedFolders {
    /// The folders around these paths, which are relative to the top of a work tree. One that
    /// cannot be opened shows itself when somebody tries to change it.
    pub fn around<'a>(top: &Path, paths: impl Iterator<Item = &'a PathBuf>) -> Self {
        let mut seen = std::collections::BTreeSet::new();
        let mut opened = Self::default();
        for path in paths {
            let folders: Vec<&Path> = path.ancestors().skip(1).collect();
            // From the outside in: what is in a closed folder cannot even be looked at.
            for folder in folders.into_iter().rev().filter(|f| !f.as_os_str().is_empty()) {
                if seen.insert(folder) {
                    opened.open(top.join(folder));
                }
            }
        }
        opened
    }

    fn open(&mut self, folder: PathBuf) {
        let Ok(found) = fs_err::symlink_metadata(&folder) else { return };
        let mode = found.mode() & 0o7777;
        if found.is_dir() && mode & ALL != ALL && set_mode(&folder, mode | ALL).is_ok() {
            self.modes.insert(folder, mode);
        }
    }
}

impl Drop for OpenedFolders {
    /// A folder that nobody could look into stays open: git would call all that is in it removed.
    fn drop(&mut self) {
        let seen = self.modes.iter().rev().filter(|(_, mode)| **mode & SEEN == SEEN);
        for (folder, mode) in seen.filter(|(folder, _)| folder.is_dir()) {
            let _ = set_mode(folder, *mode);
        }
    }
}

fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    fs_err::set_permissions(path, std::fs::Permissions::from_mode(mode))
}

/// The error names the file already.
fn unreadable(denied: &io::Error) -> io::Error {
    let advice =
        "it belongs to another user: make it readable, move it away, or have git ignore it";
    io::Error::new(io::ErrorKind::PermissionDenied, format!("{denied}; {advice}"))
}
