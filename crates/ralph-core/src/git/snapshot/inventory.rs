//! What is on disk at the paths that a snapshot takes: kind, size and exact mode.

use std::collections::BTreeMap;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::git::paths::{as_path, folders};

/// The exact mode of each path that a snapshot took from disk; none for a path that was looked at
/// and was not there.
pub(in crate::git) type Modes = BTreeMap<PathBuf, Option<u32>>;

/// What paths, relative to the top of the work tree, are on disk; none for nothing, or for something
/// that no tree can hold.
pub(in crate::git) type Inventory = BTreeMap<PathBuf, Option<Entry>>;

/// A file or a symlink as it is on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::git) struct Entry {
    pub(in crate::git) is_link: bool,
    /// The permission bits.
    pub(in crate::git) mode: u32,
    pub(in crate::git) length: u64,
    inode: u64,
    written: (i64, i64),
}

/// Looks at each path.
pub(in crate::git) fn look_at<'a>(
    top: &Path,
    paths: impl Iterator<Item = &'a PathBuf>,
) -> io::Result<Inventory> {
    paths.map(|path| Ok((path.clone(), look(top, path)?))).collect()
}

/// A path behind a symlink is gone for git: following it would save a file of another place.
pub(in crate::git) fn look(top: &Path, path: &Path) -> io::Result<Option<Entry>> {
    if folders(path).any(|folder| top.join(folder).is_symlink()) {
        return Ok(None);
    }
    let found = match fs_err::symlink_metadata(top.join(path)) {
        Ok(found) if found.is_file() || found.is_symlink() => found,
        Err(error) if !is_absence(&error) => return Err(error),
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

/// A parent that is a file means that the path is not there, just as a missing one does.
fn is_absence(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// `<octal mode> <path>`, or `- <path>` for what is absent, each ended by NUL, because names may
/// hold anything else.
pub(super) fn render_modes(modes: &Modes) -> Vec<u8> {
    let mut text = Vec::new();
    for (path, mode) in modes {
        let mode = mode.map_or("-".to_owned(), |mode| format!("{mode:o}"));
        text.extend([mode.as_bytes(), b" ", path.as_os_str().as_bytes(), b"\0"].concat());
    }
    text
}

/// The reverse of [`render_modes`]; none if the text is not of that form.
pub(super) fn parse_modes(text: &[u8]) -> Option<Modes> {
    let lines = text.split(|byte| *byte == 0).filter(|line| !line.is_empty());
    let parse = |line: &[u8]| {
        let space = line.iter().position(|byte| *byte == b' ')?;
        let (mode, path) = line.split_at_checked(space)?;
        let mode = match mode {
            b"-" => None,
            octal => Some(u32::from_str_radix(std::str::from_utf8(octal).ok()?, 8).ok()?),
        };
        Some((as_path(path.get(1..)?), mode))
    };
    lines.map(parse).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_survive_any_name() {
        let odd = as_path(b"a \xff\n\"b");
        let modes = Modes::from([(odd, Some(0o600)), ("gone".into(), None), ("x".into(), Some(0))]);
        assert_eq!(parse_modes(&render_modes(&modes)), Some(modes));
        assert_eq!(parse_modes(b"64x a\0"), None);
        assert_eq!(parse_modes(b"nospace\0"), None);
    }
}
