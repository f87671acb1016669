//! HEAD and the branch it names, moved back to where they were.

use std::collections::BTreeMap;

use super::command::GitError;
use super::position::Position;
use super::repo::Repo;
use super::snapshot::target::Target;
use super::status::Status;

/// Branches that are not checked out, with their tips; none for one that is not there.
type Tips = BTreeMap<String, Option<String>>;

/// What the reflog says, so that a person can see who moved the branch.
const REASON: &str = "ralph: return to a saved state";

/// Puts HEAD on the target's branch (or detaches it), and that branch on the target's commit.
/// A branch that the work went on meanwhile keeps its commits.
pub(super) fn move_to(
    repo: &Repo,
    target: &Target,
    now: &Status,
    others: &Tips,
) -> Result<(), GitError> {
    let git = repo.git();
    let branch = branch_of(target, now);
    match (&branch, target.head()) {
        (None, Some(commit)) => {
            git.run(&["update-ref", "--no-deref", "-m", REASON, "HEAD", commit, &before(now)])?;
        }
        (Some(branch), Some(commit)) => {
            let name = format!("refs/heads/{branch}");
            let before = match others.get(branch) {
                Some(tip) => tip.clone().unwrap_or_default(),
                None => before(now),
            };
            git.run(&["update-ref", "-m", REASON, &name, commit, &before])?;
            git.run(&["symbolic-ref", "-m", REASON, "HEAD", &name])?;
        }
        (Some(branch), None) => {
            let name = format!("refs/heads/{branch}");
            git.run(&["symbolic-ref", "-m", REASON, "HEAD", &name])?;
            git.run(&["update-ref", "-d", &name])?;
        }
        // A detached HEAD without a commit does not exist.
        (None, None) => {}
    }
    Ok(())
}

/// The commit that is expected to be checked out: if somebody commits between our look and our
/// move, the move fails instead of taking that commit away unseen. The same goes for the tips of
/// other branches.
fn before(now: &Status) -> String {
    // An empty text stands for a ref that is not there.
    now.head.clone().unwrap_or_default()
}

/// The branches that a return to the target moves although they are not checked out, with their
/// tips: they are recorded, so that the return can be undone, and their commits stay reachable.
pub(super) fn endangered_branches(
    repo: &Repo,
    target: &Target,
    now: &Status,
) -> Result<Tips, GitError> {
    let mut tips = BTreeMap::new();
    let moved = branch_of(target, now).into_iter().chain(target.branches().into_keys());
    for branch in moved.filter(|branch| Some(branch) != now.branch.as_ref()) {
        let name = format!("refs/heads/{branch}");
        let tip = match repo.git().line(&["rev-parse", "--quiet", "--verify", &name]) {
            Ok(tip) => Some(tip),
            // Exit code 1: there is no such branch.
            Err(error) if error.exit_code() == Some(1) => None,
            Err(error) => return Err(error),
        };
        tips.insert(branch, tip);
    }
    Ok(tips)
}

/// Moves the branches back that an earlier return has moved.
pub(super) fn move_branches(repo: &Repo, target: &Target, others: &Tips) -> Result<(), GitError> {
    for (branch, tip) in target.branches() {
        let name = format!("refs/heads/{branch}");
        let before = others.get(&branch).cloned().flatten();
        match (tip, before) {
            (Some(tip), before) => {
                let before = before.unwrap_or_default();
                repo.git().run(&["update-ref", "-m", REASON, &name, &tip, &before])?
            }
            (None, Some(before)) => repo.git().run(&["update-ref", "-d", &name, &before])?,
            (None, None) => Vec::new(),
        };
    }
    Ok(())
}

/// Where HEAD is once a target has been returned to.
pub(super) fn position(target: &Target, now: &Status) -> Position {
    Position { branch: branch_of(target, now), commit: target.head().map(str::to_owned) }
}

/// A bare commit says nothing about the branch: then HEAD stays on the one it is on.
fn branch_of(target: &Target, now: &Status) -> Option<String> {
    match target {
        Target::Snapshot(snapshot) => snapshot.record.branch.clone(),
        Target::Commit(_) => now.branch.clone(),
    }
}

#[cfg(test)]
mod tests {
    use test_support::TestRepo;

    use super::super::snapshot::take::Snapshot;
    use super::*;

    #[test]
    fn a_commit_that_was_made_since_we_looked_is_not_taken_away() {
        let test = TestRepo::new();
        let repo = Repo::open(test.root()).unwrap();
        let target = Target::Commit(test.head());
        test.commit_all("by the agent");
        let looked = Status::read(&repo).unwrap();
        test.commit_all("by hand, just now");
        let head = test.head();
        assert!(move_to(&repo, &target, &looked, &Tips::new()).unwrap_err().is_overtaken());
        assert_eq!(test.head(), head);
        test.git(["checkout", "-q", "--detach"]);
        let looked = Status { branch: None, ..looked };
        assert!(move_to(&repo, &target, &looked, &Tips::new()).unwrap_err().is_overtaken());
        assert_eq!(test.head(), head);
    }
    #[test]
    fn a_branch_that_is_not_checked_out_keeps_what_was_committed_since_we_looked() {
        let test = TestRepo::new();
        let repo = Repo::open(test.root()).unwrap();
        let snapshot = Snapshot::take(&repo, "refs/ralph/test", "on main").unwrap();
        let target = Target::Snapshot(Box::new(snapshot));
        test.git(["checkout", "-q", "-b", "other"]);
        let looked = Status::read(&repo).unwrap();
        let tips = endangered_branches(&repo, &target, &looked).unwrap();
        test.git(["checkout", "-q", "main"]);
        test.commit_all("by hand, just now");
        let head = test.head();
        test.git(["checkout", "-q", "other"]);
        assert!(move_to(&repo, &target, &looked, &tips).unwrap_err().is_overtaken());
        assert_eq!(test.git(["rev-parse", "main"]).trim(), head);
    }
}
