//! What must change on disk to get from one tree to another.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use crate::git::command::{Git, GitError};

/// One path that differs between two trees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::git) struct Change {
    pub(in crate::git) path: PathBuf,
    /// What it becomes.
    pub(in crate::git) to: Content,
}

/// What a path holds in a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::git) enum Content {
    /// Nothing.
    Absent,
    /// A file.
    File { object: String, executable: bool },
    /// A symlink.
    Link { object: String },
    /// A submodule, which is never touched.
    Submodule,
}

/// The paths in which two commits differ.
pub(in crate::git) fn between(git: &Git, from: &str, to: &str) -> Result<Vec<Change>, GitError> {
    let args = ["diff-tree", "-r", "-z", "--raw", "--no-renames", "--full-index", from, to, "--"];
    Ok(parse(&git.run(&args)?))
}

/// All paths of a commit, as if it were compared with nothing.
pub(in crate::git) fn all_of(git: &Git, commit: &str) -> Result<Vec<Change>, GitError> {
    let output = git.run(&["ls-tree", "-r", "-z", "--full-tree", commit])?;
    let entries = output.split(|byte| *byte == 0).filter(|entry| !entry.is_empty());
    Ok(entries.filter_map(parse_tree_entry).collect())
}

/// `:<mode> <mode> <object> <object> <letter>` and `<path>`, each ended by NUL.
fn parse(output: &[u8]) -> Vec<Change> {
    let mut fields = output.split(|byte| *byte == 0);
    let mut changes = Vec::new();
    while let (Some(header), Some(path)) = (fields.next(), fields.next()) {
        let header = String::from_utf8_lossy(header).into_owned();
        let words: Vec<&str> = header.split(' ').collect();
        if let [_, mode, _, object, _] = words.as_slice() {
            changes.push(Change { path: as_path(path), to: content(mode, object) });
        }
    }
    changes
}

/// `<mode> <type> <object>\t<path>`
fn parse_tree_entry(entry: &[u8]) -> Option<Change> {
    let tab = entry.iter().position(|byte| *byte == b'\t')?;
    let (header, path) = entry.split_at_checked(tab)?;
    let header = std::str::from_utf8(header).ok()?;
    let mut words = header.split(' ');
    let (mode, _, object) = (words.next()?, words.next()?, words.next()?);
    Some(Change { path: as_path(path.get(1..)?), to: content(mode, object) })
}

fn content(mode: &str, object: &str) -> Content {
    let object = object.to_owned();
    match mode {
        "000000" => Content::Absent,
        "120000" => Content::Link { object },
        "160000" => Content::Submodule,
        _ => Content::File { object, executable: mode == "100755" },
    }
}

fn as_path(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(bytes))
}
