//! What is on disk at the paths that a snapshot takes: kind, size and exact mode.

use std::collections::BTreeMap;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::git::paths::folders;

/// The exact mode of each path that a snapshot took from disk; none for a path that was looked at
/// and was not there.
pub(in crate::git) type Modes = BTreeMap<PathBuf, Option<u32>>;

/// One path as it is on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::git) struct Entry {
    pub(in crate::git) kind: Kind,
    /// The permission bits; zero for what is gone.
    pub(in crate::git) mode: u32,
}

/// What a path is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::git) enum Kind {
    /// A regular file.
    File {
        /// Its size.
        length: u64,
    },
    /// A symlink.
    Link,
    /// Nothing, or something that no tree can hold.
    Gone,
}

/// Paths relative to the top of the work tree, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::git) struct Inventory {
    entries: BTreeMap<PathBuf, Entry>,
}

impl Inventory {
    /// Looks at each path.
    pub(in crate::git) fn take<'a>(
        top: &Path,
        paths: impl Iterator<Item = &'a PathBuf>,
    ) -> io::Result<Self> {
        let entries = paths.map(|path| Ok((path.clone(), look(top, path)?)));
        Ok(Self { entries: entries.collect::<io::Result<_>>()? })
    }

    pub(in crate::git) fn iter(&self) -> impl Iterator<Item = (&PathBuf, &Entry)> {
        self.entries.iter()
    }

    /// The exact mode of each path; none for what is known to be absent.
    pub(in crate::git) fn modes(&self) -> Modes {
        let mode = |entry: &Entry| (entry.kind != Kind::Gone).then_some(entry.mode);
        self.entries.iter().map(|(path, entry)| (path.clone(), mode(entry))).collect()
    }
}

/// A path behind a symlink is gone for git: following it would save a file of another place.
fn look(top: &Path, path: &Path) -> io::Result<Entry> {
    let gone = Entry { kind: Kind::Gone, mode: 0 };
    if folders(path).any(|folder| top.join(folder).is_symlink()) {
        return Ok(gone);
    }
    let metadata = match fs_err::symlink_metadata(top.join(path)) {
        Ok(metadata) => metadata,
        Err(error) if is_absence(&error) => return Ok(gone),
        Err(error) => return Err(error),
    };
    let mode = metadata.mode() & 0o7777;
    Ok(if metadata.is_file() {
        Entry { kind: Kind::File { length: metadata.len() }, mode }
    } else if metadata.is_symlink() {
        Entry { kind: Kind::Link, mode }
    } else {
        gone
    })
}

/// A parent that is a file means that the path is not there, just as a missing one does.
pub(in crate::git) fn is_absence(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// `<octal mode> <path>`, or `- <path>` for what is absent, each ended by NUL, because names may
/// hold anything else.
pub(in crate::git) fn render_modes(modes: &Modes) -> Vec<u8> {
    let mut text = Vec::new();
    for (path, mode) in modes {
        let mode = mode.map_or("-".to_owned(), |mode| format!("{mode:o}"));
        text.extend_from_slice(mode.as_bytes());
        text.push(b' ');
        text.extend_from_slice(path.as_os_str().as_bytes());
        text.push(0);
    }
    text
}

/// The reverse of [`render_modes`]; none if the text is not of that form.
pub(in crate::git) fn parse_modes(text: &[u8]) -> Option<Modes> {
    let lines = text.split(|byte| *byte == 0).filter(|line| !line.is_empty());
    let parse = |line: &[u8]| {
        let space = line.iter().position(|byte| *byte == b' ')?;
        let (mode, path) = line.split_at_checked(space)?;
        let mode = match mode {
            b"-" => None,
            octal => Some(u32::from_str_radix(std::str::from_utf8(octal).ok()?, 8).ok()?),
        };
        Some((PathBuf::from(std::ffi::OsStr::from_bytes(path.get(1..)?)), mode))
    };
    lines.map(parse).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_survive_any_name() {
        let odd = PathBuf::from(std::ffi::OsStr::from_bytes(b"a \xff\n\"b"));
        let modes = Modes::from([(odd, Some(0o600)), ("gone".into(), None), ("x".into(), Some(0))]);
        assert_eq!(parse_modes(&render_modes(&modes)), Some(modes));
        assert_eq!(parse_modes(b"64x a\0"), None);
        assert_eq!(parse_modes(b"nospace\0"), None);
    }
}
