//! What git prints, read in one place: lists of paths, and the tree without files.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use ralph_core::git::{Git, GitError};

/// The paths of a list in which each ends with a NUL.
pub(crate) fn paths(listed: &[u8]) -> Vec<PathBuf> {
    let names = listed.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    names.map(|name| PathBuf::from(OsStr::from_bytes(name))).collect()
}

/// The tree without files: what is compared with where there is no commit yet.
pub(crate) fn empty_tree(git: &Git) -> Result<String, GitError> {
    git.line(&["hash-object", "-t", "tree", "-w", "/dev/null"])
}
