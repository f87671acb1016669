//! HEAD and the branch it names, moved back to where they were.

use std::collections::BTreeMap;

use super::command::GitError;
use super::repo::Repo;
use super::restore::Target;
use super::status::Status;

/// What the reflog says, so that a person can see who moved the branch.
const REASON: &str = "ralph: return to a saved state";

/// Puts HEAD on the target's branch (or detaches it), and that branch on the target's commit.
/// A branch that the work went on meanwhile keeps its commits.
pub(super) fn move_to(repo: &Repo, target: &Target, now: &Status) -> Result<(), GitError> {
    let git = repo.git();
    let branch = branch_of(target, now);
    match (&branch, target.head()) {
        (None, Some(commit)) => {
            git.run(&["update-ref", "--no-deref", "-m", REASON, "HEAD", commit, &before(now)])?;
        }
        (Some(branch), Some(commit)) => {
            let name = format!("refs/heads/{branch}");
            let is_current = Some(branch) == now.branch.as_ref();
            let before = before(now);
            let expected = is_current.then_some(before.as_str());
            let args = ["update-ref", "-m", REASON, &name, commit];
            git.run(&args.into_iter().chain(expected).collect::<Vec<_>>())?;
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
/// move, the move fails instead of taking that commit away unseen.
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
) -> Result<BTreeMap<String, Option<String>>, GitError> {
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
pub(super) fn move_branches(repo: &Repo, target: &Target) -> Result<(), GitError> {
    for (branch, tip) in target.branches() {
        let name = format!("refs/heads/{branch}");
        match tip {
            Some(tip) => repo.git().run(&["update-ref", "-m", REASON, &name, &tip])?,
            None => repo.git().run(&["update-ref", "-d", &name])?,
        };
    }
    Ok(())
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
        assert!(move_to(&repo, &target, &looked).unwrap_err().is_overtaken());
        assert_eq!(test.head(), head);
        test.git(["checkout", "-q", "--detach"]);
        let looked = Status { branch: None, ..looked };
        assert!(move_to(&repo, &target, &looked).unwrap_err().is_overtaken());
        assert_eq!(test.head(), head);
    }
}
