//! Git's own lock on the index of the project's checkout.
//!
//! The lock file contains a mark of ours, so the next start can take over a lock that a killed loop
//! left and never touches one of another process. It is not taken while another git runs in the
//! project: some commands (`git stash`) take the lock several times, and would fail halfway.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ralph_base::state;
use sandbox::system;

/// How long to wait for another process to release the index; after that, the work waits instead.
const PATIENCE: Duration = Duration::from_secs(5);
const PULSE: Duration = Duration::from_millis(10);

/// The content of our lock file.
const OURS: &[u8] = b"held by ralph-loop\n";

/// The lock on the index; dropping it releases the index.
pub(super) struct IndexLock {
    path: PathBuf,
}

impl IndexLock {
    /// Takes the index lock in a git folder; `None` if another process keeps it.
    pub(super) fn take(git_dir: &Path, top: &Path) -> io::Result<Option<Self>> {
        Self::take_within(git_dir, top, PATIENCE)
    }

    fn take_within(git_dir: &Path, top: &Path, patience: Duration) -> io::Result<Option<Self>> {
        let begun = Instant::now();
        loop {
            let is_late = begun.elapsed() >= patience;
            let is_free = || is_late || !is_git_at_work(top);
            // Checked before, so that no running git fails halfway, and again after: a git that
            // started during the first check may be past the index and about to move HEAD. One that
            // starts after the second check fails at once and changes nothing.
            if is_free()
                && let Some(lock) = Self::create(git_dir)?
                && is_free()
            {
                return Ok(Some(lock));
            }
            // A lock that is already older than that is not waited for again at every landing.
            if is_late || is_older(&path_in(git_dir), patience) {
                return Ok(None);
            }
            std::thread::sleep(PULSE);
        }
    }

    /// Creates the lock file; `None` if another process holds the lock. The file appears with its
    /// content, so that a lock left by a killed loop can be recognized.
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

    /// Takes over the lock that a killed loop left, if any; the caller must hold the lock of the
    /// only running loop. Waits for processes that the killed loop started.
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

/// Whether the lock file was written by a loop.
pub(super) fn is_left(git_dir: &Path) -> bool {
    fs_err::read(path_in(git_dir)).is_ok_and(|content| content == OURS)
}

/// The path of git's lock file for the index.
pub(super) fn path_in(git_dir: &Path) -> PathBuf {
    git_dir.join("index.lock")
}

fn is_older(path: &Path, patience: Duration) -> bool {
    let since = path.metadata().and_then(|metadata| metadata.modified()).ok();
    since.and_then(|since| since.elapsed().ok()).is_some_and(|age| age >= patience)
}

/// Whether a git of another process is running in a folder, as far as the system shows it.
fn is_git_at_work(top: &Path) -> bool {
    let mut processes = system::processes().into_iter().flatten();
    let is_in = |folder: PathBuf| folder.starts_with(top);
    processes.any(|process| system::folder_of(process.pid, "git").is_some_and(is_in))
}

#[cfg(test)]
mod tests {
    use test_support::Scratch;

    use super::*;

    #[test]
    fn a_lock_is_waited_for_and_left_alone_if_it_is_not_released() {
        let scratch = Scratch::new();
        let (folder, lock) = (scratch.root().as_std_path(), scratch.file("index.lock", ""));
        let take = |patience| IndexLock::take_within(folder, folder, patience).unwrap();
        assert!(take(PULSE * 5).is_none());
        assert_eq!(scratch.read("index.lock"), "");
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(PULSE * 5);
                fs_err::remove_file(lock).unwrap();
            });
            assert!(take(Duration::from_secs(60)).is_some());
        });
        assert!(!scratch.path("index.lock").exists(), "free again");
    }
}
