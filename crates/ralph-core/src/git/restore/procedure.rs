//! Returns the repository to a saved state: rollback and undo are both this one act.
//!
//! The order is what keeps work safe. First everything that could be overwritten or removed is
//! saved as a snapshot; then a note is left in the git folder, so that an interrupted restore is
//! finished by the next one; only then files, HEAD and index are changed.

use std::collections::BTreeSet;
use std::io;
use std::path::PathBuf;

use super::diff::{self, Change, Content};
use super::nested::Nested;
use super::note;
use super::worktree;
use crate::fault;
use crate::git::command::GitError;
use crate::git::head;
use crate::git::ignore::hidden;
use crate::git::ignore::rules;
use crate::git::repo::Repo;
use crate::git::snapshot::access::OpenedFolders;
use crate::git::snapshot::flags::Flags;
use crate::git::snapshot::index;
use crate::git::snapshot::take::{Extra, Snapshot, SnapshotError};
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
    /// Whether only files were laid over what is checked out; HEAD and index were not touched.
    pub as_files: bool,
    /// Files that were overwritten though they were not as they had been left; only an undo has any.
    pub overwritten: Vec<PathBuf>,
}

/// How a restore is recorded.
#[derive(Debug, Clone, Copy)]
pub struct SaveAs<'a> {
    /// The ref for what is there now.
    pub name: &'a str,
    /// Its message.
    pub message: &'a str,
}

/// Why the state could not be restored; what was there is saved or was not touched.
#[derive(Debug, thiserror::Error)]
pub enum RestoreError {
    /// Saving failed, so nothing was changed.
    #[error(transparent)]
    Save(#[from] SnapshotError),
    /// A git command failed after the state was saved.
    #[error("{source}; what was there is kept as {saved_as}, and the next start tries again")]
    Git {
        /// Git's failure.
        source: GitError,
        /// The ref that holds everything.
        saved_as: String,
    },
    /// A file could not be written or removed after the state was saved.
    #[error("{source}; what was there is kept as {saved_as}, and the next start tries again")]
    Io {
        /// The file and the system's reason.
        source: io::Error,
        /// The ref that holds everything.
        saved_as: String,
    },
}

/// How often a restore is begun again because somebody commits at the same time.
const MOST_TRIES: usize = 20;

/// Saves what is there and then returns files, index and HEAD to the target. What somebody commits
/// meanwhile is saved as well, under a ref of its own.
pub fn restore(
    repo: &Repo,
    target: &Target,
    save_as: SaveAs<'_>,
) -> Result<Restored, RestoreError> {
    let mut first = None;
    for again in 1..MOST_TRIES {
        let name =
            if again == 1 { save_as.name.to_owned() } else { format!("{}-{again}", save_as.name) };
        match restore_once(repo, target, SaveAs { name: &name, ..save_as }) {
            Err(Overtaken::Yes(saved)) => first = first.or(Some(saved)),
            Err(Overtaken::No(error)) => return Err(error),
            Ok(restored) => {
                let saved = first.map_or(restored.saved, |first| *first);
                return Ok(Restored { saved, ..restored });
            }
        }
    }
    let message = "somebody commits all the time; nothing was rolled back";
    Err(SnapshotError::Io(io::Error::other(message)).into())
}

/// Whether somebody committed in the middle of a restore, after this snapshot was taken.
enum Overtaken {
    Yes(Box<Snapshot>),
    No(RestoreError),
}

impl<E: Into<RestoreError>> From<E> for Overtaken {
    fn from(error: E) -> Self {
        Self::No(error.into())
    }
}

fn restore_once(repo: &Repo, target: &Target, save_as: SaveAs<'_>) -> Result<Restored, Overtaken> {
    repo.refuse_if_busy().map_err(SnapshotError::from)?;
    // Before anything is touched: a lock that is only found afterwards leaves half a restore.
    index::wait_until_free(repo).map_err(SnapshotError::from)?;
    let status = Status::read(repo).map_err(SnapshotError::from)?;
    refuse_elsewhere(repo, target, &status)?;
    let committed = differing(repo, target, &status).map_err(SnapshotError::from)?;
    let mut nested = Nested::plan(repo, target, &status, &committed)?;
    let extra = Extra {
        inner: nested.record(repo),
        left_alone: nested.left_alone.clone(),
        ..endangered(repo, target, &status, &committed)?
    };
    let saved = Snapshot::take_with(repo, save_as.name, save_as.message, &status, &extra)?;
    fault::point("restore.saved");
    let mut act = || -> Result<Vec<PathBuf>, SnapshotError> {
        note::leave(repo, target, &status)?;
        fault::point("restore.note-left");
        nested.take_away(repo, target, save_as)?;
        let changes = changes(repo, target, &saved, &status)?;
        let _opened = OpenedFolders::around(repo.top(), changes.iter().map(|change| &change.path));
        let committed = worktree::apply(repo, &changes, &target.modes())?;
        fault::point("restore.files-changed");
        head::move_to(repo, target, &status, &saved.record.branches)?;
        head::move_branches(repo, target, &saved.record.branches)?;
        fault::point("restore.head-moved");
        put_index(repo, target, &status)?;
        fault::point("restore.index-put");
        worktree::check_out(repo, &committed)?;
        worktree::make_readable(repo, status.changed.iter(), &target.modes())?;
        fault::point("restore.checked-out");
        nested.bring_back(repo, target, save_as)?;
        target.own_rules(repo).put_back(repo)?;
        refresh_index(repo)?;
        note::remove(repo)?;
        fault::point("restore.note-removed");
        Ok(changes.into_iter().map(|change| change.path).collect())
    };
    match act() {
        Ok(touched) => {
            let left_alone = nested.left_alone;
            let (as_files, overwritten) = (false, Vec::new());
            Ok(Restored { saved, touched, left_alone, as_files, overwritten })
        }
        Err(SnapshotError::Git(source)) if source.is_overtaken() => {
            Err(Overtaken::Yes(Box::new(saved)))
        }
        Err(SnapshotError::Git(source)) => {
            Err(RestoreError::Git { source, saved_as: saved.name }.into())
        }
        Err(SnapshotError::Io(source)) => {
            Err(RestoreError::Io { source, saved_as: saved.name }.into())
        }
        Err(other) => Err(other.into()),
    }
}

/// All that the restore might overwrite or remove although git does not call it changed: files
/// that differ between the two commits, files of the target that git ignores by now, whatever
/// stands in their way, files that only the present rules hide, and commits that only the
/// target's branch leads to.
fn endangered(
    repo: &Repo,
    target: &Target,
    status: &Status,
    committed: &[Change],
) -> Result<Extra, SnapshotError> {
    let mut files: BTreeSet<PathBuf> = target.modes().into_keys().collect();
    // A submodule is no file: to look for one would note that it is gone.
    let is_file = |change: &&Change| {
        change.to != Content::Submodule && !repo.top().join(&change.path).join(".git").exists()
    };
    files.extend(committed.iter().filter(is_file).map(|change| change.path.clone()));
    let written = || files.iter().chain(&status.changed);
    let is_snapshot = matches!(target, Target::Snapshot(_));
    let rules_differ = is_snapshot && hidden::are_rules_other(repo, target, written())?;
    let in_the_way = worktree::in_the_way(repo.top(), written())?;
    if rules_differ {
        files.extend(hidden::hidden(repo, target)?);
    }
    files.extend(in_the_way);
    files.retain(|path| !repo.is_untouched(path));
    let branches = head::endangered_branches(repo, target, status)?;
    let mut commits: Vec<String> = branches.values().flatten().cloned().collect();
    commits.push(target.tree().to_owned());
    commits.retain(|commit| Some(commit) != status.head.as_ref());
    commits.sort_unstable();
    commits.dedup();
    // Where a special index takes the place of an ordinary one, only the file brings it back.
    let with_index =
        matches!(target, Target::Snapshot(snapshot) if snapshot.record.index_time.is_some());
    let replaced_by = Some(target.tree().to_owned());
    let left_at = Some(head::position(target, status));
    Ok(Extra { files, commits, branches, replaced_by, left_at, with_index, ..Extra::default() })
}

/// What differs between the commit that is checked out and that of the target.
pub(in crate::git) fn differing(
    repo: &Repo,
    target: &Target,
    status: &Status,
) -> Result<Vec<Change>, GitError> {
    match (status.head.as_deref(), target.head()) {
        (Some(from), Some(to)) if from != to => diff::between(repo.git(), from, to),
        (Some(only), None) => {
            let all = diff::all_of(repo.git(), only)?.into_iter();
            Ok(all.map(|change| Change { to: Content::Absent, ..change }).collect())
        }
        (None, Some(only)) => diff::all_of(repo.git(), only),
        _ => Ok(Vec::new()),
    }
}

/// What must change on disk.
fn changes(
    repo: &Repo,
    target: &Target,
    saved: &Snapshot,
    status: &Status,
) -> Result<Vec<Change>, SnapshotError> {
    let modes = target.modes();
    let mut changes = diff::between(repo.git(), &saved.commit, target.tree())?;
    changes.retain(|change| !repo.is_untouched(&change.path));
    let removed = |change: &&Change| change.to == Content::Absent;
    let stay = match target {
        Target::Snapshot(_) => {
            // Where the target knew a path and knew it to be absent, there is no doubt.
            let in_doubt = |change: &&Change| removed(change) && !modes.contains_key(&change.path);
            let in_doubt: Vec<&PathBuf> =
                changes.iter().filter(in_doubt).map(|change| &change.path).collect();
            if in_doubt.is_empty() {
                BTreeSet::new()
            } else {
                rules::Rules::of(repo, target.tree(), &target.own_rules(repo))?
                    .ignored(in_doubt.into_iter())?
            }
        }
        Target::Commit(_) => {
            let tracked = tracked_files(repo, status)?;
            let paths = changes.iter().filter(removed).map(|change| change.path.clone());
            paths.filter(|path| !tracked.contains(path)).collect()
        }
    };
    changes.retain(|change| !(removed(&change) && stay.contains(&change.path)));
    changes.retain(|change| change.to != Content::Submodule);
    Ok(changes)
}

/// What git tracks now, in the index or in HEAD.
fn tracked_files(repo: &Repo, status: &Status) -> Result<BTreeSet<PathBuf>, GitError> {
    let listed = repo.git().run(&["ls-files", "-z", "--full-name"])?;
    let mut tracked: BTreeSet<PathBuf> = rules::paths_in(&listed).collect();
    if let Some(head) = &status.head {
        tracked.extend(diff::all_of(repo.git(), head)?.into_iter().map(|change| change.path));
    }
    Ok(tracked)
}

fn put_index(repo: &Repo, target: &Target, now: &Status) -> Result<(), SnapshotError> {
    let raw = match target {
        Target::Snapshot(snapshot) => snapshot.index(repo)?,
        Target::Commit(_) => None,
    };
    match (raw, target.head()) {
        (Some(index), _) => index.put_back(repo)?,
        // A special index is forgotten as a whole: an entry that was only intended would outlive
        // a reset if the file is empty.
        (None, Some(head)) if now.staged => {
            let flags = Flags::read(repo)?;
            repo.git().run(&["read-tree", head])?;
            flags.set_again(repo)?;
        }
        (None, Some(head)) => drop(repo.git().run(&["read-tree", "--reset", head])?),
        (None, None) => drop(repo.git().run(&["read-tree", "--empty"])?),
    }
    Ok(())
}

/// So that plumbing which trusts file times does not call restored files changed.
fn refresh_index(repo: &Repo) -> Result<(), GitError> {
    // Not quietly: then it would not say that somebody else holds the index, and we not wait.
    match repo.git().run(&["update-index", "--refresh"]) {
        // It exits with 1 when something really is changed.
        Err(error) if error.exit_code() == Some(1) => Ok(()),
        other => other.map(drop),
    }
}

/// A bare commit of somebody else's loop is only meant for the line of history it is in.
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

#[cfg(test)]
mod tests {
    use test_support::TestRepo;

    use super::*;

    #[test]
    fn somebody_elses_lock_is_waited_for_up_to_the_last_step() {
        let test = TestRepo::new();
        let repo = Repo::open(test.root()).unwrap();
        test.write(".git/index.lock", "");
        let error = refresh_index(&repo).unwrap_err();
        assert!(matches!(error, GitError::Locked { .. }), "{error}");
    }
}
