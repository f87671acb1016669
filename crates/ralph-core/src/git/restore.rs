//! A rollback: the repository returns to a saved state.
//!
//! The order is what keeps work safe. First everything that could be overwritten or removed is
//! saved as a snapshot, and read back; then a note is left in the git folder, so that an interrupted
//! rollback is finished by the next one. HEAD moves, unless another process was faster; only then
//! files and index are changed, and last of all files go that the target does not have: only those
//! that were saved, and that the target's own ignore rules, which are in place by then, do not hide.

use std::collections::BTreeSet;
use std::io;
use std::path::PathBuf;

use super::diff::{self, Change, shown, split};
use super::files::{Inventory, Worktree, in_the_way, set_modes};
use super::snapshot::{DISCARDED, Record, Snapshot};
use super::{GitError, Repo, SnapshotError, Status};
use ralph_base::fault;
use ralph_base::state::{self, RESTORE_NOTE, stamp};

/// What the reflog says, so that a person can see who moved HEAD.
const REASON: &str = "ralph: return to a saved state";

/// What a rollback did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restored {
    /// What was there before; its ref keeps it.
    pub saved: Snapshot,
    /// What was left alone: submodules and repositories inside this one, and files that another
    /// process wrote meanwhile.
    pub left_alone: Vec<String>,
}

impl Repo {
    /// Returns to a branch at a commit, with nothing else in the tree but what is ours and what git
    /// ignores. Whatever was there is saved first; none if there was nothing.
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
            // One without files.
            None => Snapshot::as_is(self.git(), self.top(), None, [])?.0,
        };
        let (head, branch) = (tip.map(str::to_owned), Some(branch.to_owned()));
        let record = Record { head, branch, ..Record::default() };
        let target = Snapshot { name: String::new(), index: commit.clone(), commit, record };
        restore(self, &target, &format!("{DISCARDED}{}", stamp()), why).map(Some)
    }
}

/// Saves what is there under the ref `name` and then returns files, index and HEAD to the target.
pub(super) fn restore(
    repo: &Repo,
    target: &Snapshot,
    name: &str,
    why: &str,
) -> Result<Restored, SnapshotError> {
    repo.refuse_if_busy()?;
    // A lock that is only found afterwards would leave half a rollback.
    refresh_index(repo)?;
    let mut status = Status::read(repo)?;
    refuse_elsewhere(repo, target, &status)?;
    // A bare commit says nothing about the branch: then HEAD stays on the one it is on.
    let branch =
        if target.is_bare() { status.branch.clone() } else { target.record.branch.clone() };
    let tip = match &branch {
        Some(name) if branch != status.branch => repo.resolve(&format!("refs/heads/{name}"))?,
        _ => None,
    };
    let from = repo.base(status.head.as_deref())?;
    let (inner, files): (Vec<Change>, Vec<Change>) =
        diff::between(repo.git(), &from, &target.commit)?.into_iter().partition(|c| c.is_inner);
    // All that might be overwritten or removed although git does not call it changed.
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

/// Names the files that stay.
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
    // Ignore rules of the attempt go first: they would hide others.
    for are_rules in [true, false] {
        let untracked = untracked(repo)?;
        let is_removed = |path: &&PathBuf| {
            // Another loop does not tell which of them are the user's.
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

/// Files that git does not know, by the rules and the index that are in place now.
fn untracked(repo: &Repo) -> Result<BTreeSet<PathBuf>, GitError> {
    let args = ["ls-files", "-z", "--others", "--exclude-standard", "--full-name"];
    Ok(split(&repo.git().run(&args)?).collect())
}

/// Moves HEAD to a commit on a branch, unless another process committed since we looked. `tip` is
/// where a branch is that is not checked out yet.
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

/// So that plumbing which trusts file times does not call restored files changed. Waits for the lock,
/// whether there is something to write or not.
fn refresh_index(repo: &Repo) -> Result<(), GitError> {
    // Not quietly: then it would not say that another process holds the index, and we not wait.
    match repo.git().run(&["update-index", "--refresh", "--force-write-index"]) {
        // It exits with 1 when something really is changed.
        Err(error) if error.exit_code() == Some(1) => Ok(()),
        other => other.map(drop),
    }
}

/// A bare commit of another loop is only meant for the line of history it is in.
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

/// Whether a rollback was interrupted, so that the next one has something to do.
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
    fn a_commit_that_was_made_since_we_looked_is_not_taken_away() {
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
