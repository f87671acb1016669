//! By what a file that somebody has written meanwhile is known, without reading it.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// A file as it was at some instant; the time of its last change of any kind cannot be set by hand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    inode: u64,
    length: u64,
    changed: (i64, i64),
    written: (i64, i64),
    mode: u32,
}

impl Stamp {
    /// The file, or link, as it is now; none if there is none.
    pub(super) fn of(path: &Path) -> Option<Self> {
        let metadata = fs_err::symlink_metadata(path).ok()?;
        let changed = (metadata.ctime(), metadata.ctime_nsec());
        let written = (metadata.mtime(), metadata.mtime_nsec());
        let (inode, length, mode) = (metadata.ino(), metadata.len(), metadata.mode());
        Some(Self { inode, length, changed, written, mode })
    }

    /// Whether its owner may not read it, so that to save it changes its mode for a moment.
    pub(super) fn is_closed(&self) -> bool {
        self.mode & 0o400 == 0
    }

    /// Whether it is a folder, which is nothing to git.
    pub(super) fn is_folder(&self) -> bool {
        self.mode & 0o170_000 == 0o040_000
    }

    /// Whether a later one is of the same content, as far as can be told without the time of its
    /// last change of any kind.
    pub(super) fn is_same_file(&self, later: &Self) -> bool {
        Self { changed: later.changed, ..*self } == *later
    }
}
