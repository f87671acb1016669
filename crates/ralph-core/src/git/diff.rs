//! What differs between two trees.

use std::path::PathBuf;

use super::command::Git;
use super::error::GitError;
use super::paths::as_path;

/// What a path becomes on the way from one tree to another, or from HEAD to the index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) path: PathBuf,
    /// As git writes modes.
    pub(super) mode: String,
    /// What git keeps of it.
    pub(super) object: String,
    /// Whether it is a submodule, or was one: those are never touched.
    pub(super) is_inner: bool,
}

impl Change {
    /// Whether nothing is to be there.
    pub(super) fn is_absent(&self) -> bool {
        self.mode == "000000"
    }
}

/// The paths in which two commits or trees differ.
pub(super) fn between(git: &Git, from: &str, to: &str) -> Result<Vec<Change>, GitError> {
    let args = ["diff-tree", "-r", "-z", "--raw", "--no-renames", "--full-index", from, to, "--"];
    let output = git.run(&args)?;
    // `:<mode> <mode> <object> <object> <letter>` and `<path>`, each ended by NUL.
    let mut fields = output.split(|byte| *byte == 0);
    let mut changes = Vec::new();
    while let (Some(header), Some(path)) = (fields.next(), fields.next()) {
        let header = String::from_utf8_lossy(header);
        if let [was, mode, _, object, _] = header.split(' ').collect::<Vec<_>>().as_slice() {
            changes.push(Change {
                path: as_path(path),
                mode: (*mode).to_owned(),
                object: (*object).to_owned(),
                is_inner: was.ends_with("160000") || *mode == "160000",
            });
        }
    }
    Ok(changes)
}
