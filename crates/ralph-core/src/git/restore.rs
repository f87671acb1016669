//! Rollback: returns the repository to a saved state.
//!
//! The order keeps work safe. First everything that could be overwritten or removed is saved as a
//! snapshot and verified; then a note in the git folder lets the next rollback finish an
//! interrupted one. HEAD moves, unless another process moved it first; then files and index are
//! changed, and finally files that the target lacks are removed, but only if they were saved and
//! the target's own ignore rules, already restored, do not match them.

use std::collections::BTreeSet;
use std::io;
use std::path::PathBuf;

use super::diff::{self, Change, shown, split};
use super::files::{Inventory, Worktree, in_the_way, set_modes};
use super::snapshot::{DISCARDED, Record, Snapshot};
use super::{GitError, Repo, SnapshotError, Status};
use ralph_base::fault;
use ralph_base::state::{self, RESTORE_NOTE, stamp};

/// The reflog message, so that a person can see who moved HEAD.
const REASON: &str = "ralph: return to a saved state";

/// The result of a rollback.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restored {
    /// The state before the rollback; its ref keeps it.
    pub saved: Snapshot,
    /// Paths that were left alone: submodules, nested repositories, and files that another process
    /// wrote in the meantime.
    pub left_alone: Vec<String>,
}

impl Repo {
    /// Returns to a branch at a commit, and removes all other files except our own and ignored
    /// ones. The previous state is saved first; `None` if nothing had to change.
    pub fn return_to(
        &self,
        branch: &str,
        tip: Option<&str>,
        why: &str,
    ) -> Result<Option<Restored>, SnapshotError> {
        self.quit_operation()?;
        let status = Status::read(self)?;
        let is_there = status.head.as_deref() == tip && status.branch.as_deref() == Some(branch);
        if is_there && status.is_clean(self) && !is_interrupted(self) {
            return Ok(None);
        }
        let commit = match tip {
            Some(tip) => tip.to_owned(),
            // A commit without files.
            None => Snapshot::as_is(self.git(), self.top(), None, [])?.0,
        };
        let (head, branch) = (tip.map(str::to_owned), Some(branch.to_owned()));
        let record = Record { head, branch, ..Record::default() };
        let target = Snapshot { name: String::new(), index: commit.clone(), commit, record };
        restore(self, &target, &format!("{DISCARDED}{}", stamp()), why).map(Some)
    }
}

/// Saves the current state under the ref `name`, then returns files, index and HEAD to the target.
pub(super) fn restore(
    repo: &Repo,
    target: &Snapshot,
    name: &str,
    why: &str,
) -> Result<Restored, SnapshotError> {
    repo.refuse_if_busy()?;
    // Finding a lock later would leave half a rollback.
    refresh_index(repo)?;
    let mut status = Status::read(repo)?;
    refuse_elsewhere(repo, target, &status)?;
    // A bare commit has no branch: HEAD stays on the current one.
    let branch =
        if target.is_bare() { status.branch.clone() } else { target.record.branch.clone() };
    let tip = match &branch {
        Some(name) if branch != status.branch => repo.resolve(&format!("refs/heads/{name}"))?,
        _ => None,
    };
    let from = repo.base(status.head.as_deref())?;
    let (inner, files): (Vec<Change>, Vec<Change>) =
        diff::between(repo.git(), &from, &target.commit)?.into_iter().partition(|c| c.is_inner);
    // All files that might be overwritten or removed although git does not report them as changed.
    status.changed.extend(files.into_iter().map(|change| change.path));
    let written = status.changed.iter().filter(|path| !repo.is_untouched(path));
    let in_the_way = in_the_way(repo.top(), written)?;
    status.changed.extend(in_the_way);
    let replaced_by = [&target.commit].into_iter().chain(&tip).cloned().collect();
    let record = Record { replaced_by, ..Record::default() };
    let (saved, taken) = Snapshot::save(repo, name, why, &status, record)?;
    saved.read_back(repo)?;
    fault::point("restore.saved");
    leave_note(repo)?;
    fault::point("restore.note-left");
    let head = target.record.head.as_deref();
    if let Err(error) = move_head(repo, &status, branch.as_deref(), head, tip.as_deref()) {
        state::remove_if_there(note(repo))?;
        saved.forget(repo)?;
        return Err(error.into());
    }
    fault::point("restore.head-moved");
    match return_files(repo, target, &status, &saved, &taken) {
        Ok(stay) => {
            let mut left_alone: BTreeSet<PathBuf> = status.nested.into_iter().chain(stay).collect();
            left_alone.extend(inner.into_iter().map(|change| change.path));
            left_alone.retain(|path| !repo.is_untouched(path));
            Ok(Restored { saved, left_alone: shown(&left_alone) })
        }
        Err(error) => {
            Err(SnapshotError::Unfinished { source: Box::new(error), saved_as: saved.name })
        }
    }
}

/// Returns files and index to the target; returns the files that were left in place.
fn return_files(
    repo: &Repo,
    target: &Snapshot,
    status: &Status,
    saved: &Snapshot,
    taken: &Inventory,
) -> Result<BTreeSet<PathBuf>, SnapshotError> {
    let git = repo.git();
    let mut changes = diff::between(git, &saved.commit, &target.commit)?;
    changes.retain(|change| !change.is_inner && !repo.is_untouched(&change.path));
    let uncommitted = target.uncommitted(repo)?;
    let uncommitted: BTreeSet<&PathBuf> = uncommitted.iter().map(|change| &change.path).collect();
    let (absent, present): (Vec<&Change>, Vec<&Change>) =
        changes.iter().partition(|change| change.is_absent());
    let (exact, committed): (Vec<&Change>, Vec<&Change>) =
        present.iter().partition(|change| uncommitted.contains(&change.path));
    let mut tree = Worktree { repo, saved: taken, stay: BTreeSet::new() };
    for path in in_the_way(repo.top(), present.iter().map(|change| &change.path))? {
        tree.remove(&path)?;
    }
    if let Some(path) = tree.stay.first() {
        let message = format!("{} is in the way and has changed", path.display());
        return Err(io::Error::other(message).into());
    }
    match &target.record.head {
        Some(head) => git.run(&["read-tree", "--reset", head])?,
        None => git.run(&["read-tree", "--empty"])?,
    };
    fault::point("restore.index-written");
    tree.check_out(&committed)?;
    fault::point("restore.checked-out");
    tree.write(&exact)?;
    set_modes(repo.top(), &target.record.modes)?;
    fault::point("restore.files-written");
    // The attempt's ignore rules are removed first: they would hide other files.
    for are_rules in [true, false] {
        let untracked = untracked(repo)?;
        let is_removed = |path: &&PathBuf| {
            // Another loop does not record which files are the user's.
            let is_kept = target.is_bare() && status.untracked.contains(path);
            (uncommitted.contains(path) || untracked.contains(*path)) && !is_kept
        };
        let paths = absent.iter().map(|change| &change.path);
        let paths = paths.filter(|path| path.ends_with(".gitignore") == are_rules);
        for path in paths.filter(is_removed) {
            tree.remove(path)?;
        }
    }
    fault::point("restore.files-removed");
    git.run(&["read-tree", "--reset", &target.index])?;
    let ours = status.staged.iter().filter(|change| repo.is_untouched(&change.path));
    let ours: Vec<u8> = ours.flat_map(Change::line).collect();
    if !ours.is_empty() {
        git.feed(&["update-index", "--add", "-z", "--index-info"], &ours)?;
    }
    refresh_index(repo)?;
    state::remove_if_there(note(repo))?;
    fault::point("restore.note-removed");
    Ok(tree.stay)
}

/// Returns the untracked files, by the ignore rules and the index now in place.
fn untracked(repo: &Repo) -> Result<BTreeSet<PathBuf>, GitError> {
    let args = ["ls-files", "-z", "--others", "--exclude-standard", "--full-name"];
    Ok(split(&repo.git().run(&args)?).collect())
}

/// Moves HEAD to a commit on a branch, unless another process committed since `from` was read.
/// `tip` is the current commit of a branch that is not checked out yet.
fn move_head(
    repo: &Repo,
    from: &Status,
    branch: Option<&str>,
    commit: Option<&str>,
    tip: Option<&str>,
) -> Result<(), GitError> {
    let git = repo.git();
    let update = ["update-ref", "-m", REASON];
    let old = from.head.as_deref();
    let Some(branch) = branch.filter(|branch| Some(*branch) != from.branch.as_deref()) else {
        let args = match (commit, old) {
            (Some(new), _) if branch.is_none() && from.branch.is_some() => {
                ["--no-deref", "HEAD", new]
            }
            (Some(new), _) => ["HEAD", new, old.unwrap_or_default()],
            (None, Some(old)) => ["-d", "HEAD", old],
            (None, None) => return Ok(()),
        };
        return git.run(&[&update[..], &args].concat()).map(drop);
    };
    // Git refuses to move a branch that is checked out in another work tree.
    match (commit, tip) {
        (Some(new), _) => drop(git.run(&["branch", "--force", "--no-track", branch, new])?),
        (None, Some(_)) => drop(git.run(&["branch", "-D", branch])?),
        (None, None) => {}
    }
    git.run(&["symbolic-ref", "-m", REASON, "HEAD", &format!("refs/heads/{branch}")]).map(drop)
}

/// Refreshes the index, so that plumbing that trusts file times does not report restored files as
/// changed. Waits for the lock even if there is nothing to write.
fn refresh_index(repo: &Repo) -> Result<(), GitError> {
    // Not with `-q`, which hides that another process holds the index, so we would not wait.
    match repo.git().run(&["update-index", "--refresh", "--force-write-index"]) {
        // Exit code 1 means that a file really is changed.
        Err(error) if error.exit_code() == Some(1) => Ok(()),
        other => other.map(drop),
    }
}

/// Refuses a bare commit of another loop that is not an ancestor of HEAD.
fn refuse_elsewhere(repo: &Repo, target: &Snapshot, status: &Status) -> Result<(), SnapshotError> {
    let Some(head) = status.head.as_ref().filter(|_| target.is_bare()) else { return Ok(()) };
    match repo.git().run(&["merge-base", "--is-ancestor", &target.commit, head]) {
        Ok(_) => Ok(()),
        Err(error) if error.exit_code() == Some(1) => Err(SnapshotError::Refused(format!(
            "the checkpoint {} is not in the history of {}",
            target.commit,
            status.branch.as_ref().unwrap_or(head)
        ))),
        Err(error) => Err(error.into()),
    }
}

/// Returns whether a rollback was interrupted, so that the next one must finish it.
pub(super) fn is_interrupted(repo: &Repo) -> bool {
    note(repo).exists()
}

fn leave_note(repo: &Repo) -> io::Result<()> {
    let path = note(repo);
    path.parent().map_or(Ok(()), fs_err::create_dir_all)?;
    fs_err::write(path, "a rollback is under way\n")
}

fn note(repo: &Repo) -> PathBuf {
    repo.git_dir().join(RESTORE_NOTE)
}

#[cfg(test)]
mod tests {
    use test_support::TestRepo;

    use super::*;

    #[test]
    fn a_commit_made_after_the_status_was_read_is_kept() {
        for detached in [false, true] {
            let test = TestRepo::new();
            let repo = Repo::open(test.root()).unwrap();
            if detached {
                test.git(["checkout", "-q", "--detach"]);
            }
            let target = test.head();
            test.commit_all("by the agent");
            let status = Status::read(&repo).unwrap();
            test.commit_all("by hand, just now");
            let head = test.head();
            let branch = status.branch.as_deref();
            move_head(&repo, &status, branch, Some(&target), None).unwrap_err();
            assert_eq!(test.head(), head);
        }
    }
}
