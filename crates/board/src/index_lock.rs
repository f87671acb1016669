//! Git's own lock on the index of the project's checkout.
//!
//! It says whose it is: so the next start can take over one that a killed loop left, and never touches
//! one that another process holds. It is not taken while another git is at work in the project: some
//! commands (`git stash`) take the lock several times, and would fail halfway.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ralph_base::{linux, state};

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
    pub(super) fn take(git_dir: &Path, top: &Path) -> io::Result<Option<Self>> {
        Self::take_within(git_dir, top, PATIENCE)
    }

    fn take_within(git_dir: &Path, top: &Path, patience: Duration) -> io::Result<Option<Self>> {
        let begun = Instant::now();
        loop {
            let is_late = begun.elapsed() >= patience;
            let is_free = || is_late || !is_git_at_work(top);
            // Looked at before, so that no git fails halfway, and once more after: one that started
            // during the first look may be past the index and about to move HEAD. Whoever starts
            // after the second fails at once and does nothing.
            if is_free()
                && let Some(lock) = Self::create(git_dir)?
                && is_free()
            {
                return Ok(Some(lock));
            }
            // One that has been there for longer is not waited for anew at every landing.
            if is_late || is_older(&path_in(git_dir), patience) {
                return Ok(None);
            }
            std::thread::sleep(PULSE);
        }
    }

    /// None if another process holds it. It appears with its content, so that one which a killed loop
    /// left can be distinguished from all others.
    fn create(git_dir: &Path) -> io::Result<Option<Self>> {
        let mark = git_dir.join(format!("ralph-lock-{}", std::process::id()));
        fs_err::write(&mark, OURS)?;
        let path = path_in(git_dir);
        let linked = fs_err::hard_link(&mark, &path).or_else(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => Err(error),
            // A file system without hard links.
            _ => fs_err::File::create_new(&path)?.write_all(OURS),
        });
        state::remove_if_there(&mark)?;
        match linked {
            Ok(()) => Ok(Some(Self { path })),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The lock that a killed loop left, if it left one; whoever calls this holds the lock that only
    /// one loop has. What that loop started may still be at work for a moment.
    pub(super) fn left(git_dir: &Path, top: &Path) -> Option<Self> {
        if !is_left(git_dir) {
            return None;
        }
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE && is_git_at_work(top) {
            std::thread::sleep(PULSE);
        }
        Some(Self { path: path_in(git_dir) })
    }
}

impl Drop for IndexLock {
    fn drop(&mut self) {
        let _ = state::remove_if_there(&self.path);
    }
}

/// Whether the lock is one of a loop's.
pub(super) fn is_left(git_dir: &Path) -> bool {
    fs_err::read(path_in(git_dir)).is_ok_and(|content| content == OURS)
}

/// Where git looks for it.
pub(super) fn path_in(git_dir: &Path) -> PathBuf {
    git_dir.join("index.lock")
}

fn is_older(path: &Path, patience: Duration) -> bool {
    let since = path.metadata().and_then(|metadata| metadata.modified()).ok();
    since.and_then(|since| since.elapsed().ok()).is_some_and(|age| age >= patience)
}

/// Whether a git of another process is at work in a folder, as far as the system tells.
fn is_git_at_work(top: &Path) -> bool {
    let mut processes = linux::processes().into_iter().flatten();
    let is_in = |folder: PathBuf| folder.starts_with(top);
    processes.any(|process| linux::folder_of(process.pid, "git").is_some_and(is_in))
}

#[cfg(test)]
mod tests {
    use test_support::Scratch;

    use super::*;

    fn take(scratch: &Scratch, patience: Duration) -> Option<IndexLock> {
        let folder = scratch.root().as_std_path();
        IndexLock::take_within(folder, folder, patience).unwrap()
    }

    #[test]
    fn a_lock_that_goes_is_waited_for() {
        let scratch = Scratch::new();
        let lock = scratch.file("index.lock", "");
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(PULSE * 5);
                fs_err::remove_file(lock).unwrap();
            });
            assert!(take(&scratch, Duration::from_secs(60)).is_some());
        });
        assert!(!scratch.path("index.lock").exists(), "free again");
    }

    #[test]
    fn a_lock_that_stays_is_left_to_whoever_holds_it() {
        let scratch = Scratch::new();
        scratch.file("index.lock", "");
        assert!(take(&scratch, PULSE * 5).is_none());
        assert_eq!(scratch.read("index.lock"), "");
    }
}
