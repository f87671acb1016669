//! Git's own lock on the index of the project's checkout.
//!
//! It says whose it is: so the next start can free one that a killed loop left, and never touches one
//! that another process holds.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ralph_core::state;

/// How long another process may hold the index before the work waits instead.
const PATIENCE: Duration = Duration::from_secs(5);
const PULSE: Duration = Duration::from_millis(10);

/// What the file holds.
const OURS: &[u8] = b"held by ralph-loop\n";

/// The lock; dropped, the index is free again.
pub(super) struct IndexLock {
    path: PathBuf,
}

impl IndexLock {
    /// Takes the lock on the index in a git folder; none if another process keeps it.
    pub(super) fn take(git_dir: &Path) -> io::Result<Option<Self>> {
        let path = path_in(git_dir);
        let begun = Instant::now();
        loop {
            match fs_err::OpenOptions::new().write(true).create_new(true).open(&path) {
                Ok(mut file) => {
                    let lock = Self { path };
                    file.write_all(OURS)?;
                    return Ok(Some(lock));
                }
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                Err(_) if begun.elapsed() >= PATIENCE => return Ok(None),
                Err(_) => std::thread::sleep(PULSE),
            }
        }
    }

    /// Makes a file the index, and frees it.
    pub(super) fn commit(self, next: &Path, index: &Path) -> io::Result<()> {
        fs_err::File::open(next)?.sync_all()?;
        fs_err::rename(next, index)
    }

    /// Frees what a killed loop left; whoever calls this holds the lock that only one loop has.
    pub(super) fn free_stale(git_dir: &Path) -> io::Result<()> {
        let path = path_in(git_dir);
        match fs_err::read(&path) {
            Ok(content) if content == OURS => state::remove_if_there(&path),
            _ => Ok(()),
        }
    }
}

impl Drop for IndexLock {
    fn drop(&mut self) {
        let _ = state::remove_if_there(&self.path);
    }
}

/// Where git looks for it.
pub(super) fn path_in(git_dir: &Path) -> PathBuf {
    git_dir.join("index.lock")
}
