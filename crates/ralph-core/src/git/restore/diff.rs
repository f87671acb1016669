//! What must change on disk to get from one tree to another.

use std::io::{self, Read};
use std::path::PathBuf;

use crate::git::command::Git;
use crate::git::error::GitError;
use crate::git::objects;
use crate::git::paths::as_path;
use crate::git::snapshot::error::SnapshotError;

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

impl Content {
    /// The object that holds its bytes.
    pub(in crate::git) fn object(&self) -> Option<&str> {
        match self {
            Self::File { object, .. } | Self::Link { object } => Some(object),
            Self::Absent | Self::Submodule => None,
        }
    }
}

/// The paths in which two commits or trees differ.
pub(in crate::git) fn between(git: &Git, from: &str, to: &str) -> Result<Vec<Change>, GitError> {
    let args = ["diff-tree", "-r", "-z", "--raw", "--no-renames", "--full-index", from, to, "--"];
    Ok(parse(&git.run(&args)?))
}

/// Hands the content of each change, as git stores it, to `take`, in order.
pub(in crate::git) fn read_each(
    git: &Git,
    changes: &[&Change],
    mut take: impl FnMut(&Change, &mut dyn Read) -> io::Result<()> + Send,
) -> Result<(), SnapshotError> {
    let object = |change: &&Change| change.to.object().unwrap_or_default().as_bytes().to_vec();
    let objects: Vec<Vec<u8>> = changes.iter().map(object).collect();
    objects::read(git, &objects, |at, content| match (changes.get(at), content) {
        (Some(change), Some(content)) => take(change, content),
        (change, _) => Err(io::Error::other(format!("git does not have {change:?}"))),
    })??;
    Ok(())
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

fn content(mode: &str, object: &str) -> Content {
    let object = object.to_owned();
    match mode {
        "000000" => Content::Absent,
        "120000" => Content::Link { object },
        "160000" => Content::Submodule,
        _ => Content::File { object, executable: mode == "100755" },
    }
}
