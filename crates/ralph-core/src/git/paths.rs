//! Names of files as git reads and writes them: bytes, which need not be UTF-8.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The paths in a list of names that are each ended by NUL.
pub(super) fn split(list: &[u8]) -> impl Iterator<Item = PathBuf> {
    list.split(|byte| *byte == 0).filter(|name| !name.is_empty()).map(as_path)
}

/// A name as a path.
pub(super) fn as_path(name: &[u8]) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(name))
}

/// In quotes: a name may begin with a quote or hold anything that separates names.
pub(super) fn quoted(name: &[u8]) -> Vec<u8> {
    let mut text = vec![b'"'];
    for byte in name {
        match byte {
            b'"' | b'\\' => text.extend([b'\\', *byte]),
            b'\n' => text.extend(b"\\n"),
            other => text.push(*other),
        }
    }
    text.push(b'"');
    text
}

/// The folders around a path within the tree, from the inside out.
pub(super) fn folders(path: &Path) -> impl Iterator<Item = &Path> {
    path.ancestors().skip(1).filter(|folder| !folder.as_os_str().is_empty())
}

/// For messages and records.
pub(super) fn shown<'p>(paths: impl IntoIterator<Item = &'p PathBuf>) -> Vec<String> {
    paths.into_iter().map(|path| path.to_string_lossy().into_owned()).collect()
}
