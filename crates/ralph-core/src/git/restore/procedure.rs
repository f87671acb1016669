//! Returns the repository to a saved state: rollback and undo are both this one act.
//!
//! The order is what keeps work safe. First everything that could be overwritten or removed is
//! saved as a snapshot, and read back; then a note is left in the git folder, so that an interrupted
//! restore is finished by the next one. HEAD moves, unless another process was faster; only then
//! files and index are changed, and last of all files go that the target does not have: only those
//! that were saved, and that the target's own ignore rules, which are in place by then, do not hide.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Instant;

use super::diff::{self, Change, Content};
use super::head::HeadMove;
use super::note;
use super::worktree::{self, Worktree};
use crate::fault;
use crate::git::error::GitError;
use crate::git::paths::{shown, split};
use crate::git::repo::Repo;
use crate::git::run::LOCK_PULSE;
use crate::git::snapshot::error::SnapshotError;
use crate::git::snapshot::record::{SaveAs, SnapshotRecord};
use crate::git::snapshot::take::{Extra, Snapshot};
use crate::git::snapshot::target::Target;
use crate::git::status::Status;

/// What a restore did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restored {
    /// What was there before; its ref brings it back.
    pub saved: Snapshot,
    /// The files that were written or removed, relative to the top of the work tree.
    pub touched: Vec<PathBuf>,
    /// Submodules and repositories inside this one, which were left alone.
    pub left_alone: Vec<String>,
    /// Files that stay as they are, because they were not saved: new ones that only the attempt's own
    /// ignore rules hid, and those that another process wrote meanwhile.
    pub not_saved: Vec<PathBuf>,
    /// Whether only files were laid over what is checked out; HEAD and index were not touched.
    pub as_files: bool,
    /// Files that were overwritten though they were not as they had been left; only an undo has any.
    pub overwritten: Vec<PathBuf>,
}

/// Why the state could not be restored; what was there is saved or was not touched.
#[derive(Debug, thiserror::Error)]
pub enum RestoreError {
    /// Nothing was changed, because it could not be saved, or is not ours to change.
    #[error("{0}; nothing was changed")]
    Refused(#[from] SnapshotError),
    /// Something failed after the state was saved.
    #[error("{source}; what was there is kept as {saved_as}, and the next rollback tries again")]
    Unfinished {
        /// What failed.
        source: Box<SnapshotError>,
        /// The ref that holds everything.
        saved_as: String,
    },
}

/// How often a restore is begun again because another process commits at the same time.
const MOST_TRIES: usize = 20;

/// Saves what is there and then returns files, index and HEAD to the target.
pub(in crate::git) fn restore(
    repo: &Repo,
    target: &Target,
    save_as: SaveAs<'_>,
) -> Result<Restored, RestoreError> {
    for _ in 1..MOST_TRIES {
        let prepared = Restore::prepare(repo, target, save_as)?;
        match prepared.act() {
            Ok((touched, not_saved)) => {
                let Restore { saved, left_alone, .. } = prepared;
                let (as_files, overwritten) = (false, Vec::new());
                return Ok(Restored {
                    saved,
                    touched,
                    left_alone,
                    not_saved,
                    as_files,
                    overwritten,
                });
            }
            // HEAD is the first to move, so nothing was touched yet.
            Err(SnapshotError::Git(error)) if error.is_overtaken() => {
                prepared.saved.forget(repo).map_err(SnapshotError::from)?;
            }
            Err(error) => {
                let (source, saved_as) = (Box::new(error), prepared.saved.name);
                return Err(RestoreError::Unfinished { source, saved_as });
            }
        }
    }
    let message = "another process commits all the time";
    Err(SnapshotError::Io(std::io::Error::other(message)).into())
}

/// A restore for which everything is saved.
struct Restore<'a> {
    repo: &'a Repo,
    target: &'a Target,
    status: Status,
    head: HeadMove,
    saved: Snapshot,
    left_alone: Vec<String>,
}

impl<'a> Restore<'a> {
    fn prepare(
        repo: &'a Repo,
        target: &'a Target,
        save_as: SaveAs<'_>,
    ) -> Result<Self, SnapshotError> {
        repo.refuse_if_busy()?;
        wait_for_index(repo)?;
        let status = Status::read(repo)?;
        refuse_elsewhere(repo, target, &status)?;
        let head = HeadMove::plan(repo, target, &status)?;
        let committed = differing(repo, target, &status)?;
        let record = SnapshotRecord {
            branches: head.others.clone(),
            replaced_by: Some(target.tree().to_owned()),
            left_at: Some(head.to.clone()),
            ..SnapshotRecord::of(&status)
        };
        let mut commits: BTreeSet<String> = head.others.values().flatten().cloned().collect();
        commits.insert(target.tree().to_owned());
        let files = endangered(repo, target, &status, &committed)?;
        let saved = Snapshot::take_with(repo, save_as, &status, record, Extra { files, commits })?;
        let mut left_alone: BTreeSet<PathBuf> = status.nested.iter().cloned().collect();
        left_alone.extend(committed.into_iter().filter(|c| is_inner(repo, c)).map(|c| c.path));
        left_alone.retain(|path| !repo.is_untouched(path));
        fault::point("restore.saved");
        Ok(Self { repo, target, status, head, saved, left_alone: shown(&left_alone) })
    }

    /// Names the files that were written or removed, and those that were not saved and stay.
    fn act(&self) -> Result<(Vec<PathBuf>, Vec<PathBuf>), SnapshotError> {
        let Self { repo, target, saved, .. } = self;
        note::leave(repo, target, &self.status)?;
        fault::point("restore.note-left");
        self.head.carry_out(repo)?;
        fault::point("restore.head-moved");
        let mut changes = diff::between(repo.git(), &saved.commit, target.tree())?;
        changes.retain(|change| !repo.is_untouched(&change.path));
        for inner in changes.iter().filter(|change| change.to == Content::Submodule) {
            make_folder(repo, inner)?;
        }
        let tree = Worktree { repo, saved: &saved.taken };
        let written = changes.iter().filter(|change| change.to.object().is_some());
        let (exact, committed): (Vec<&Change>, Vec<&Change>) =
            written.partition(|change| target.modes().contains_key(&change.path));
        let mut stay = tree.write(&exact, target.modes())?;
        fault::point("restore.files-written");
        target.staged().restore(repo, target.head(), &self.status.staged)?;
        fault::point("restore.index-written");
        stay.extend(tree.check_out(&committed)?);
        fault::point("restore.checked-out");
        let (removed, new) = self.removals(&changes, self.untracked()?);
        for path in &removed {
            if !tree.remove(path)? {
                stay.push(path.clone());
            }
        }
        fault::point("restore.files-removed");
        refresh_index(repo)?;
        note::remove(repo)?;
        fault::point("restore.note-removed");
        let written = exact.iter().chain(&committed).map(|change| change.path.clone());
        let touched = written.chain(removed).filter(|path| !stay.contains(path)).collect();
        Ok((touched, stay.into_iter().chain(new).collect()))
    }

    /// Files that git does not know, by the rules and the index that are in place now.
    fn untracked(&self) -> Result<BTreeSet<PathBuf>, GitError> {
        let args = ["ls-files", "-z", "--others", "--exclude-standard", "--full-name"];
        let listed = self.repo.git().run(&args)?;
        // A repository of its own is listed as a folder.
        Ok(split(&listed)
            .filter(|path| !path.as_os_str().as_encoded_bytes().ends_with(b"/"))
            .collect())
    }

    /// Of the files that the target does not have, those that go: what the target knew to be absent,
    /// and what was saved and is neither tracked nor ignored now. Then those that are new and stay.
    fn removals(
        &self,
        changes: &[Change],
        mut untracked: BTreeSet<PathBuf>,
    ) -> (Vec<PathBuf>, Vec<PathBuf>) {
        let is_known = |path: &PathBuf| self.target.modes().contains_key(path);
        let is_kept = |path: &PathBuf| {
            // Another loop does not tell which of them are the user's.
            matches!(self.target, Target::Commit(_)) && self.status.untracked.contains(path)
        };
        let gone = changes.iter().filter(|change| change.to == Content::Absent);
        let removed: Vec<PathBuf> = gone
            .map(|change| &change.path)
            .filter(|path| (is_known(path) || untracked.contains(*path)) && !is_kept(path))
            .cloned()
            .collect();
        untracked.retain(|path| !self.saved.modes.contains_key(path) && !is_known(path));
        untracked.retain(|path| !self.repo.is_untouched(path));
        (removed, untracked.into_iter().collect())
    }
}

/// All that the restore might overwrite or remove although git does not call it changed: files
/// that differ between the two commits, files of the target that git ignores by now, and whatever
/// stands in their way.
fn endangered(
    repo: &Repo,
    target: &Target,
    status: &Status,
    committed: &[Change],
) -> Result<BTreeSet<PathBuf>, SnapshotError> {
    let mut files: BTreeSet<PathBuf> = target.modes().keys().cloned().collect();
    files.extend(committed.iter().filter(|c| !is_inner(repo, c)).map(|c| c.path.clone()));
    let written = files.iter().chain(&status.changed).filter(|path| !repo.is_untouched(path));
    let in_the_way = worktree::in_the_way(repo.top(), written)?;
    files.extend(in_the_way);
    files.retain(|path| !repo.is_untouched(path));
    Ok(files)
}

/// Whether a change between commits is one of a submodule, which is no file: to look for one would
/// note that it is gone.
fn is_inner(repo: &Repo, change: &Change) -> bool {
    change.to == Content::Submodule
        || change.to == Content::Absent && repo.top().join(&change.path).join(".git").exists()
}

/// A submodule that is not checked out is an empty folder; one that is there is left alone.
fn make_folder(repo: &Repo, inner: &Change) -> Result<(), SnapshotError> {
    let full = repo.top().join(&inner.path);
    if fs_err::symlink_metadata(&full).is_err() {
        fs_err::create_dir_all(full)?;
    }
    Ok(())
}

/// What differs between the commit that is checked out and that of the target.
pub(in crate::git) fn differing(
    repo: &Repo,
    target: &Target,
    status: &Status,
) -> Result<Vec<Change>, GitError> {
    let (from, to) = (status.head.as_deref(), target.head());
    if from == to {
        return Ok(Vec::new());
    }
    diff::between(repo.git(), &repo.base(from)?, &repo.base(to)?)
}

/// Before anything is touched: a lock that is only found afterwards leaves half a restore.
fn wait_for_index(repo: &Repo) -> Result<(), GitError> {
    let lock = repo.git_dir().join("index.lock");
    let begun = Instant::now();
    while lock.exists() {
        if begun.elapsed() >= repo.git().patience().locks {
            let (seconds, lock) = (begun.elapsed().as_secs(), lock.display().to_string());
            return Err(GitError::Locked { seconds, lock });
        }
        std::thread::sleep(LOCK_PULSE);
    }
    Ok(())
}

/// So that plumbing which trusts file times does not call restored files changed.
fn refresh_index(repo: &Repo) -> Result<(), GitError> {
    // Not quietly: then it would not say that another process holds the index, and we not wait.
    match repo.git().run(&["update-index", "--refresh"]) {
        // It exits with 1 when something really is changed.
        Err(error) if error.exit_code() == Some(1) => Ok(()),
        other => other.map(drop),
    }
}

/// A bare commit of another loop is only meant for the line of history it is in.
fn refuse_elsewhere(repo: &Repo, target: &Target, status: &Status) -> Result<(), SnapshotError> {
    let (Target::Commit(commit), Some(head)) = (target, &status.head) else { return Ok(()) };
    match repo.git().run(&["merge-base", "--is-ancestor", commit, head]) {
        Ok(_) => Ok(()),
        Err(error) if error.exit_code() == Some(1) => Err(SnapshotError::Elsewhere {
            commit: commit.clone(),
            branch: status.branch.clone().unwrap_or_else(|| head.clone()),
        }),
        Err(error) => Err(error.into()),
    }
}
