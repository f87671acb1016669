//! The index file as it is, for snapshots of a repository in which something is staged.
//!
//! Kept as bytes, because only the file itself holds everything: staged contents, conflicts,
//! intended additions and the flags of entries.

use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::take::SnapshotError;
use crate::git::command::GitError;
use crate::git::repo::Repo;

/// How long we wait for somebody else's lock on the index.
const PATIENCE: Duration = Duration::from_secs(10);

/// An index file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::git) struct RawIndex {
    pub(in crate::git) content: Vec<u8>,
    /// When the file was last written, in seconds and nanoseconds. Git compares file times with
    /// it to know which entries it must not trust, so it is restored together with the content.
    pub(in crate::git) time: (i64, u32),
}

impl RawIndex {
    /// Reads the index; none if there is no index file yet.
    pub(in crate::git) fn read(repo: &Repo) -> Result<Option<Self>, SnapshotError> {
        let path = repo.git_dir().join("index");
        let metadata = match fs_err::metadata(&path) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let time = (metadata.mtime(), u32::try_from(metadata.mtime_nsec()).unwrap_or(0));
        let content = fs_err::read(&path)?;
        if is_split(repo) {
            return Self { content, time }.unsplit(repo).map(Some);
        }
        Ok(Some(Self { content, time }))
    }

    /// A split index refers to a second file that git may remove; a copy is made whole.
    fn unsplit(self, repo: &Repo) -> Result<Self, SnapshotError> {
        let copy = repo.git_dir().join(format!("ralph-index-{}", std::process::id()));
        let whole = (|| {
            write_with_time(&copy, &self)?;
            let git = repo.git().on_index(copy.clone());
            git.run(&["update-index", "--no-split-index"])?;
            Ok(Self { content: fs_err::read(&copy)?, time: self.time })
        })();
        let _ = fs_err::remove_file(&copy);
        whole
    }

    /// Puts the file back, by git's own protocol: whoever makes `index.lock` may write.
    pub(in crate::git) fn put_back(&self, repo: &Repo) -> io::Result<()> {
        let lock = repo.git_dir().join("index.lock");
        let deadline = Instant::now() + PATIENCE;
        while let Err(error) = write_with_time(&lock, self) {
            if error.kind() != io::ErrorKind::AlreadyExists || Instant::now() >= deadline {
                return Err(error);
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        fs_err::rename(&lock, repo.git_dir().join("index"))
    }
}

/// Waits until nobody holds the index.
pub(in crate::git) fn wait_until_free(repo: &Repo) -> Result<(), GitError> {
    let lock = repo.git_dir().join("index.lock");
    let deadline = Instant::now() + PATIENCE;
    while lock.exists() {
        if Instant::now() >= deadline {
            let lock = lock.display().to_string();
            return Err(GitError::Locked { seconds: PATIENCE.as_secs(), lock });
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    Ok(())
}

/// Makes the index what is checked out; files stay as they are. Not by `git reset`, which writes the
/// branch as well, though it does not move, and fails if somebody commits at that moment.
pub fn unstage_all(repo: &Repo) -> Result<(), GitError> {
    let args: &[&str] = match repo.head()? {
        Some(_) => &["read-tree", "--reset", "HEAD"],
        None => &["read-tree", "--empty"],
    };
    repo.git().run(args).map(drop)
}

pub(in crate::git) fn is_split(repo: &Repo) -> bool {
    fs_err::read_dir(repo.git_dir()).is_ok_and(|entries| {
        entries
            .flatten()
            .any(|entry| entry.file_name().as_encoded_bytes().starts_with(b"sharedindex."))
    })
}

/// Whatever fails after the file was made, the file goes again: it may be somebody's lock.
fn write_with_time(path: &Path, index: &RawIndex) -> io::Result<()> {
    let file = fs_err::OpenOptions::new().write(true).create_new(true).open(path)?;
    let written = fill(file, index);
    if written.is_err() {
        let _ = fs_err::remove_file(path);
    }
    written
}

fn fill(mut file: fs_err::File, index: &RawIndex) -> io::Result<()> {
    file.write_all(&index.content)?;
    file.sync_all()?;
    let (seconds, nanoseconds) = index.time;
    let since = Duration::new(u64::try_from(seconds).unwrap_or(0), nanoseconds);
    let time = UNIX_EPOCH.checked_add(since).unwrap_or_else(SystemTime::now);
    file.file().set_modified(time)
}

#[cfg(test)]
mod tests {
    use test_support::TestRepo;

    use super::*;

    #[test]
    fn what_is_staged_goes_while_somebody_else_moves_the_branch() {
        let test = TestRepo::new();
        test.write("new.txt", "staged\n");
        test.git(["add", "new.txt"]);
        // As while a commit is being written.
        for lock in [".git/HEAD.lock", ".git/refs/heads/main.lock"] {
            test.write(lock, "");
        }
        unstage_all(&Repo::open(test.root()).unwrap()).unwrap();
        assert_eq!(test.git(["status", "--porcelain"]), "?? new.txt\n");
    }
}
