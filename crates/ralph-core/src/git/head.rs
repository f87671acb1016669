//! HEAD and the branch it names, moved back to where they were.

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
            git.run(&["update-ref", "--no-deref", "-m", REASON, "HEAD", commit])?;
        }
        (Some(branch), Some(commit)) => {
            let name = format!("refs/heads/{branch}");
            git.run(&["update-ref", "-m", REASON, &name, commit])?;
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

/// The tip of the target's branch, if HEAD is elsewhere now: moving the branch back would leave
/// its newer commits without a name.
pub(super) fn endangered_commits(
    repo: &Repo,
    target: &Target,
    now: &Status,
) -> Result<Vec<String>, GitError> {
    let Some(branch) = branch_of(target, now).filter(|branch| Some(branch) != now.branch.as_ref())
    else {
        return Ok(Vec::new());
    };
    let name = format!("refs/heads/{branch}");
    match repo.git().line(&["rev-parse", "--quiet", "--verify", &name]) {
        Ok(tip) if Some(&tip) != now.head.as_ref() => Ok(vec![tip]),
        // Exit code 1: the branch was removed, so there is nothing to keep.
        Err(error) if error.exit_code() != Some(1) => Err(error),
        _ => Ok(Vec::new()),
    }
}

/// A bare commit says nothing about the branch: then HEAD stays on the one it is on.
fn branch_of(target: &Target, now: &Status) -> Option<String> {
    match target {
        Target::Snapshot(snapshot) => snapshot.record.branch.clone(),
        Target::Commit(_) => now.branch.clone(),
    }
}
