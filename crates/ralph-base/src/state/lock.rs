//! A lock that the kernel releases when its holder exits, so no clean-up is ever needed.
//!
//! The lock file is never deleted, because deleting it would let two holders lock two files of
//! the same name. It names the holder, for the error message of the next process.

use std::fs::{File, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::time::{Duration, Instant};

use camino::{Utf8Path, Utf8PathBuf};
use serde::{Deserialize, Serialize};

use super::{read, write};
use crate::linux;

/// The length of a holder's description, padded with spaces.
const HOLDER_LENGTH: usize = 160;

/// How long a lock may outlive its holder: a child that was just forked shares the lock until it
/// executes its own program.
const AFTERLIFE: Duration = Duration::from_secs(2);

/// Who holds a lock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// The process id.
    pub pid: u32,
    /// What the process is doing.
    pub doing: String,
    /// When it took the lock, as RFC 3339 in UTC.
    pub since: String,
}

/// A lock that we hold; dropping it releases the lock.
#[derive(Debug)]
pub struct Lock {
    file: File,
}

/// A lock that another process holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    /// The lock file.
    pub path: Utf8PathBuf,
    /// The holder, if it has already written its description.
    pub by: Option<Holder>,
}

/// Why a lock could not be taken.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Another process holds it.
    #[error("{} is held by {}", .0.path, describe(.0.by.as_ref()))]
    Held(Held),
    /// The lock file cannot be opened or locked.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl Lock {
    /// Takes the lock without waiting, or returns its holder.
    pub fn take(path: &Utf8Path, doing: &str) -> Result<Self, LockError> {
        Self::take_within(path, doing, Duration::ZERO)
    }

    /// Takes the lock, waiting for at most `patience`.
    pub fn take_within(
        path: &Utf8Path,
        doing: &str,
        patience: Duration,
    ) -> Result<Self, LockError> {
        let begun = Instant::now();
        let mut options = File::options();
        options.read(true).write(true).create(true).truncate(false);
        let mut file = write::prepared(path)?.open(&mut options)?;
        loop {
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) => {
                    let by = read_holder(&mut file);
                    let is_dead = |holder: &Holder| !linux::is_alive(holder.pid.cast_signed());
                    let is_orphan = by.as_ref().is_some_and(is_dead);
                    let may_end_soon = is_orphan && begun.elapsed() < AFTERLIFE;
                    if begun.elapsed() >= patience && !may_end_soon {
                        return Err(LockError::Held(Held { path: path.to_owned(), by }));
                    }
                    std::thread::sleep(Duration::from_millis(5));
                }
                Err(TryLockError::Error(error)) => return Err(error.into()),
            }
        }
        write_holder(&mut file, doing);
        crate::fault::point("lock.taken");
        Ok(Self { file })
    }

    /// Returns the holder of the lock at `path`, if there is one, without taking the lock.
    pub fn holder(path: &Utf8Path) -> Option<Held> {
        let mut file = read::open_regular(path).ok()?;
        let is_held = matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock));
        is_held.then(|| Held { path: path.to_owned(), by: read_holder(&mut file) })
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Explicit, because a child that inherited the descriptor would keep the lock alive.
        let _ = self.file.unlock();
    }
}

/// Best effort: on a full disk the lock still holds, only its description is missing.
fn write_holder(file: &mut File, doing: &str) {
    let holder =
        Holder { pid: std::process::id(), doing: doing.to_owned(), since: super::journal::now() };
    let mut text = serde_json::to_vec(&holder).unwrap_or_default();
    // Padded to a fixed length, so that the file need not be truncated: file systems flush a file
    // to disk at once if it was truncated and rewritten.
    text.resize(text.len().max(HOLDER_LENGTH), b' ');
    let _ = file.seek(SeekFrom::Start(0));
    let _ = file.write_all(&text);
}

fn read_holder(file: &mut File) -> Option<Holder> {
    let mut text = Vec::new();
    file.seek(SeekFrom::Start(0)).ok()?;
    file.take(4096).read_to_end(&mut text).ok()?;
    // The rest of a longer description may follow.
    serde_json::Deserializer::from_slice(&text).into_iter().next()?.ok()
}

fn describe(by: Option<&Holder>) -> String {
    let Some(Holder { pid, doing, since }) = by else { return "another process".to_owned() };
    format!("process {pid} ({doing}, since {since})")
}

#[cfg(test)]
mod tests {
    use test_support::Scratch;

    use super::*;

    #[test]
    fn the_error_names_the_holder_of_the_lock() {
        let scratch = Scratch::new();
        let path = scratch.file("lock", [0xff, 0xfe, 0]);
        let first = Lock::take(&path, "working on US-001").unwrap();
        let error = Lock::take(&path, "me too").unwrap_err().to_string();
        assert!(error.contains(&std::process::id().to_string()), "{error}");
        assert!(error.contains("working on US-001"), "{error}");
        assert_eq!(Lock::holder(&path).unwrap().by.unwrap().pid, std::process::id());
        drop(first);
        assert_eq!(Lock::holder(&path), None);
        Lock::take(&path, "now me").unwrap();
    }

    #[test]
    fn a_waiter_gets_the_lock_when_it_is_released() {
        let scratch = Scratch::new();
        let path = scratch.path("lock");
        let first = Lock::take(&path, "first").unwrap();
        std::thread::scope(|scope| {
            let waiter =
                scope.spawn(|| Lock::take_within(&path, "second", Duration::from_secs(20)));
            drop(first);
            waiter.join().unwrap().unwrap();
        });
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a process that is gone is needed")]
    fn a_lock_that_briefly_outlives_its_holder_is_waited_for() {
        let scratch = Scratch::new();
        let path = scratch.path("lock");
        drop(Lock::take(&path, "killed").unwrap());
        let mut dead = std::process::Command::new("true").spawn().unwrap();
        dead.wait().unwrap();
        let described = scratch.read("lock");
        let (own, gone) = (std::process::id().to_string(), dead.id().to_string());
        let blanks = " ".repeat(HOLDER_LENGTH);
        scratch.file("lock", &(described.trim_end().replacen(&own, &gone, 1) + &blanks));
        let inherited = fs_err::OpenOptions::new().append(true).open(&path).unwrap();
        inherited.file().try_lock().unwrap();
        std::thread::scope(|scope| {
            let next = scope.spawn(|| Lock::take(&path, "the next one").map(drop));
            std::thread::sleep(Duration::from_millis(100));
            drop(inherited);
            next.join().unwrap().unwrap();
        });
    }

    #[test]
    fn a_symlink_is_neither_followed_nor_truncated() {
        let scratch = Scratch::new();
        let outside = scratch.file("outside", "precious");
        scratch.dir(".ralph");
        let path = scratch.path(".ralph/lock");
        fs_err::os::unix::fs::symlink(outside, &path).unwrap();
        let error = Lock::take(&path, "x").unwrap_err().to_string();
        assert!(error.contains("is a symlink"), "{error}");
        assert_eq!(scratch.read("outside"), "precious");
    }
}
