//! By what a file that somebody has written meanwhile is known, without reading it.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// A file as it was at some instant; the time of its last change of any kind cannot be set by hand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    inode: u64,
    length: u64,
    changed: (i64, i64),
}

impl Stamp {
    /// The file, or link, as it is now; none if there is none.
    pub(super) fn of(path: &Path) -> Option<Self> {
        let metadata = fs_err::symlink_metadata(path).ok()?;
        let changed = (metadata.ctime(), metadata.ctime_nsec());
        Some(Self { inode: metadata.ino(), length: metadata.len(), changed })
    }
}
