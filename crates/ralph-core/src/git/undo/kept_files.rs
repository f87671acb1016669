//! Uncommitted files that no checkpoint holds, because a rollback leaves their folders alone: a copy
//! of them as a snapshot, there while an agent is at work.
//!
//! Whether something became of them is told by their looks, so that a copy costs nothing but a look
//! at each file. A copy that turns out to be needed gets a name for good.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::git::command::GitError;
use crate::git::looks::Looks;
use crate::git::repo::Repo;
use crate::git::restore::as_they_were::Present;
use crate::git::restore::diff::{self, Change, Content};
use crate::git::restore::worktree;
use crate::git::snapshot::inventory::Modes;
use crate::git::snapshot::ledger;
use crate::git::snapshot::take::{Extra, Snapshot, SnapshotError};
use crate::git::stamp::stamp;
use crate::git::status::Status;

/// Where copies are kept.
const REFS: &str = "refs/ralph/left-out/";

/// Ends the name of one that is there for a run only.
const FOR_A_RUN: &str = "+run";

/// Larger files are not copied: settings and notes are small, and programs can be installed again.
const LARGEST: u64 = 1024 * 1024;

/// How many files are copied, and how many bytes in all.
const MOST: usize = 500;
const MOST_BYTES: u64 = 8 * 1024 * 1024;

/// A copy of some files.
#[derive(Debug, Clone)]
pub struct KeptFiles {
    snapshot: Snapshot,
    looks: BTreeMap<PathBuf, Option<Looks>>,
}

/// What became of the files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fate {
    /// Those that are not there any more.
    pub gone: Vec<PathBuf>,
    /// Those that are other files now.
    pub changed: Vec<PathBuf>,
}

impl KeptFiles {
    /// Copies those of the files, relative to the top, that are there and small; none if no file is.
    pub fn take(repo: &Repo, files: &[PathBuf]) -> Result<Option<Self>, SnapshotError> {
        let mut room = MOST_BYTES;
        let mut looks = BTreeMap::new();
        for file in files {
            let path = repo.top().join(file);
            let Some(size) = size_of(&path).filter(|size| *size <= LARGEST.min(room)) else {
                continue;
            };
            if looks.len() == MOST {
                break;
            }
            room -= size;
            looks.insert(file.clone(), Looks::of(&path));
        }
        if looks.is_empty() {
            return Ok(None);
        }
        let status = Status { head: repo.head()?, ..Status::default() };
        let extra = Extra { files: looks.keys().cloned().collect(), ..Extra::default() };
        let name = format!("{REFS}{}{FOR_A_RUN}", stamp());
        let message = "uncommitted files that are part of no commit and no rollback";
        let snapshot = Snapshot::take_with(repo, &name, message, &status, &extra)?;
        Ok(Some(Self { snapshot, looks }))
    }

    /// The copies that a run left which was killed, oldest first.
    pub fn left(repo: &Repo) -> Result<Vec<Self>, SnapshotError> {
        let names = repo.git().line(&["for-each-ref", "--format=%(refname)", REFS])?;
        let mut left = Vec::new();
        for name in names.lines().filter(|name| name.ends_with(FOR_A_RUN)) {
            let snapshot = Snapshot::load(repo, name)?;
            let looks = snapshot.modes.keys().map(|path| (path.clone(), None)).collect();
            left.push(Self { snapshot, looks });
        }
        Ok(left)
    }

    /// Whether nobody touched any of the files since.
    pub fn is_as_it_is(&self, repo: &Repo) -> bool {
        self.looks.iter().all(|(path, looks)| *looks == Looks::of(&repo.top().join(path)))
    }

    /// What became of the files; of those that nobody touched no git is asked.
    pub fn fate(&self, repo: &Repo) -> Result<Fate, SnapshotError> {
        if self.is_as_it_is(repo) {
            return Ok(Fate::default());
        }
        let mut changes = self.changes(repo)?;
        let (now, base) = (Status::default(), self.snapshot.commit.as_str());
        let same = Present { repo, now: &now, base }.those_like(&changes)?;
        changes.retain(|change| !same.contains(&change.path));
        let is_there = |path: &PathBuf| size_of(&repo.top().join(path)).is_some();
        let (changed, gone) = changes.into_iter().map(|change| change.path).partition(is_there);
        Ok(Fate { gone, changed })
    }

    /// Puts some of the files back as they were.
    pub fn put_back(&self, repo: &Repo, files: &[PathBuf]) -> Result<(), SnapshotError> {
        let mut changes = self.changes(repo)?;
        changes.retain(|change| files.contains(&change.path));
        let modes: Modes = self.snapshot.modes.clone();
        worktree::apply(repo, &changes, &modes).map(drop)
    }

    /// Gives the copy a name that nobody removes but the user, and tells it.
    pub fn keep_for_good(&self, repo: &Repo) -> Result<String, GitError> {
        let name = self.snapshot.name.trim_end_matches(FOR_A_RUN);
        repo.git().run(&["update-ref", name, &self.snapshot.commit])?;
        ledger::note(repo, name, &self.snapshot.commit);
        Ok(name.to_owned())
    }

    /// Forgets the copy: its files are there, or it has another name.
    pub fn forget(self, repo: &Repo) -> Result<(), GitError> {
        self.snapshot.forget(repo)
    }

    /// What makes the files of the copy out of those of the commit that was checked out.
    fn changes(&self, repo: &Repo) -> Result<Vec<Change>, GitError> {
        let base = repo.base(self.snapshot.record.head.as_deref())?;
        let mut changes = diff::between(repo.git(), &base, &self.snapshot.commit)?;
        changes.retain(|change| change.to != Content::Absent);
        Ok(changes)
    }
}

/// How large a file or a link is; none if it is neither, or is not there.
fn size_of(path: &Path) -> Option<u64> {
    let found = fs_err::symlink_metadata(path).ok()?;
    (found.is_file() || found.is_symlink()).then_some(found.len())
}
