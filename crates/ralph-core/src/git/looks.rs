//! What a file looks like from outside: where it is the same, nobody has written or replaced it.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// A file's number, length and the time of its last change, which nobody can set by hand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Looks {
    inode: u64,
    length: u64,
    changed: (i64, i64),
}

impl Looks {
    /// Of a file as it is now, or of a link itself; none if there is none.
    pub fn of(path: &Path) -> Option<Self> {
        let found = fs_err::symlink_metadata(path).ok()?;
        let changed = (found.ctime(), found.ctime_nsec());
        Some(Self { inode: found.ino(), length: found.len(), changed })
    }
}
