//! Differences between two trees, and paths in git's input and output.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::{Git, GitError};

/// The mode of a missing file.
const ABSENT: &str = "000000";

/// The new state of a path, between two trees or between HEAD and the index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) path: PathBuf,
    /// The file mode in git's notation.
    pub(super) mode: String,
    /// The object id.
    pub(super) object: String,
    /// Whether it is or was a submodule; submodules are never touched.
    pub(super) is_inner: bool,
}

impl Change {
    /// Returns the line for `update-index -z --index-info`.
    pub(super) fn line(&self) -> Vec<u8> {
        let mode = if self.is_absent() { "0" } else { &self.mode };
        let head = format!("{mode} {}\t", self.object);
        [head.as_bytes(), self.path.as_os_str().as_bytes(), b"\0"].concat()
    }

    /// Returns whether the path is to be absent.
    pub(super) fn is_absent(&self) -> bool {
        self.mode == ABSENT
    }
}

/// Returns the paths that differ between two commits or trees.
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

/// The maximum number of paths in one git call.
const MOST_NAMED: usize = 500;

/// Returns the state of these paths in a commit, as changes that would produce it.
pub(super) fn in_tree(git: &Git, commit: &str, paths: &[PathBuf]) -> Result<Vec<Change>, GitError> {
    let mut known = HashMap::new();
    for some in paths.chunks(MOST_NAMED) {
        let mut args = ["ls-tree", "-z", "--full-tree", commit, "--"].map(OsStr::new).to_vec();
        args.extend(some.iter().map(|path| path.as_os_str()));
        let output = git.run(&args)?;
        // `<mode> <type> <object>`, a tab and `<path>`, each ended by NUL.
        for record in output.split(|byte| *byte == 0) {
            let Some(tab) = record.iter().position(|byte| *byte == b'\t') else { continue };
            let (header, path) = record.split_at(tab);
            let header = String::from_utf8_lossy(header).into_owned();
            if let [mode, kind, object] = header.split(' ').collect::<Vec<_>>().as_slice()
                && *kind != "tree"
            {
                let path = as_path(path.get(1..).unwrap_or_default());
                known.insert(path, ((*mode).to_owned(), (*object).to_owned()));
            }
        }
    }
    let change = |path: &PathBuf| {
        let (mode, object) =
            known.remove(path).unwrap_or_else(|| (ABSENT.to_owned(), String::new()));
        let is_inner = mode == "160000";
        Change { path: path.clone(), mode, object, is_inner }
    };
    Ok(paths.iter().map(change).collect())
}

/// Splits a list of NUL-terminated paths.
pub(super) fn split(list: &[u8]) -> impl Iterator<Item = PathBuf> {
    list.split(|byte| *byte == 0).filter(|name| !name.is_empty()).map(as_path)
}

/// Converts a name to a path.
pub(super) fn as_path(name: &[u8]) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(name))
}

/// Quotes a name, which may begin with a quote or contain separators.
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

/// Returns the parent folders of a path within the tree, innermost first.
pub(super) fn folders(path: &Path) -> impl Iterator<Item = &Path> {
    path.ancestors().skip(1).filter(|folder| !folder.as_os_str().is_empty())
}

/// Converts paths to text for messages and records.
pub(super) fn shown<'p>(paths: impl IntoIterator<Item = &'p PathBuf>) -> Vec<String> {
    paths.into_iter().map(|path| path.to_string_lossy().into_owned()).collect()
}
