//! HEAD and the branches that a return to a saved state moves.
//!
//! Before anything else is touched, and all at once: each branch moves only if it is where it was
//! when we looked, so that nothing is taken away that another process commits meanwhile.

use std::collections::BTreeMap;

use crate::git::error::GitError;
use crate::git::repo::Repo;
use crate::git::snapshot::error::SnapshotError;
use crate::git::snapshot::target::Target;
use crate::git::status::{Position, Status};

/// What the reflog says, so that a person can see who moved the branch.
const REASON: &str = "ralph: return to a saved state";

/// Branches with their tips; none for one that is not there.
type Tips = BTreeMap<String, Option<String>>;

/// How HEAD and branches are to be moved.
#[derive(Debug)]
pub(in crate::git) struct HeadMove {
    from: Position,
    /// Where HEAD is afterwards.
    pub(in crate::git) to: Position,
    /// Where branches are to be; the one that HEAD is on afterwards is among them.
    wanted: Tips,
    /// Where those that are not checked out are now: recorded, so that the move can be undone.
    pub(in crate::git) others: Tips,
}

impl HeadMove {
    /// To where a target has them. A bare commit says nothing about the branch: then HEAD stays on
    /// the one it is on.
    pub(in crate::git) fn plan(
        repo: &Repo,
        target: &Target,
        now: &Status,
    ) -> Result<Self, SnapshotError> {
        let branch = match target {
            Target::Snapshot(snapshot) => snapshot.record.branch.clone(),
            Target::Commit(_) => now.branch.clone(),
        };
        let to = Position { branch, commit: target.head().map(str::to_owned) };
        let mut wanted = target.branches();
        if let Some(branch) = &to.branch {
            wanted.insert(branch.clone(), to.commit.clone());
        }
        let mut others = Tips::new();
        for (branch, wanted) in &wanted {
            if Some(branch) != now.branch.as_ref() {
                let (tip, elsewhere) = look(repo, branch)?;
                let is_moved = tip != *wanted || Some(branch) == to.branch.as_ref();
                if let Some(place) = elsewhere.filter(|_| is_moved) {
                    return Err(SnapshotError::InAnotherTree { branch: branch.clone(), place });
                }
                others.insert(branch.clone(), tip);
            }
        }
        Ok(Self { from: now.position(), to, wanted, others })
    }

    /// Moves them, unless another process was faster.
    pub(in crate::git) fn carry_out(&self, repo: &Repo) -> Result<(), GitError> {
        let mut orders = String::new();
        for (branch, wanted) in &self.wanted {
            let tip = self.others.get(branch).unwrap_or(&self.from.commit);
            let order = match (wanted, tip) {
                (Some(new), Some(old)) if new == old => {
                    format!("verify refs/heads/{branch} {old}\n")
                }
                (Some(new), Some(old)) => format!("update refs/heads/{branch} {new} {old}\n"),
                (Some(new), None) => format!("create refs/heads/{branch} {new}\n"),
                (None, Some(old)) => format!("delete refs/heads/{branch} {old}\n"),
                (None, None) => continue,
            };
            orders.push_str(&order);
        }
        let detached = self.to.commit.as_ref().filter(|_| self.to.branch.is_none());
        if let (Some(new), None, Some(old)) = (detached, &self.from.branch, &self.from.commit) {
            orders.push_str(&format!("option no-deref\nupdate HEAD {new} {old}\n"));
        }
        let git = repo.git();
        if !orders.is_empty() {
            git.feed(&["update-ref", "-m", REASON, "--stdin"], orders.as_bytes())?;
        }
        if let (Some(new), Some(_)) = (detached, &self.from.branch) {
            // The branch that it leaves keeps what is committed on it.
            git.run(&["update-ref", "-m", REASON, "--no-deref", "HEAD", new])?;
        }
        if let Some(branch) = self.to.branch.as_ref().filter(|_| self.to.branch != self.from.branch)
        {
            let name = format!("refs/heads/{branch}");
            git.run(&["symbolic-ref", "-m", REASON, "HEAD", &name])?;
        }
        Ok(())
    }
}

/// Where a branch is, and the other work tree that has it checked out.
fn look(repo: &Repo, branch: &str) -> Result<(Option<String>, Option<String>), GitError> {
    let name = format!("refs/heads/{branch}");
    let format = "--format=%(refname)%00%(objectname)%00%(worktreepath)";
    let listed = repo.git().line(&["for-each-ref", format, &name])?;
    let found = listed.lines().find_map(|line| line.strip_prefix(&name)?.strip_prefix('\0'));
    let Some((tip, place)) = found.and_then(|found| found.split_once('\0')) else {
        return Ok((None, None));
    };
    Ok((Some(tip.to_owned()), Some(place.to_owned()).filter(|place| !place.is_empty())))
}

#[cfg(test)]
mod tests {
    use test_support::TestRepo;

    use super::*;
    use crate::git::snapshot::take::Snapshot;

    #[test]
    fn a_commit_that_was_made_since_we_looked_is_not_taken_away() {
        for detached in [false, true] {
            let test = TestRepo::new();
            let repo = Repo::open(test.root()).unwrap();
            if detached {
                test.git(["checkout", "-q", "--detach"]);
            }
            let target = Target::Commit(test.head());
            test.commit_all("by the agent");
            let planned = HeadMove::plan(&repo, &target, &Status::read(&repo).unwrap()).unwrap();
            test.commit_all("by hand, just now");
            let head = test.head();
            assert!(planned.carry_out(&repo).unwrap_err().is_overtaken());
            assert_eq!(test.head(), head);
        }
    }

    #[test]
    fn a_branch_that_is_not_checked_out_keeps_what_was_committed_since_we_looked() {
        let test = TestRepo::new();
        let repo = Repo::open(test.root()).unwrap();
        let snapshot = Snapshot::take(&repo, "refs/ralph/test", "on main").unwrap();
        let target = Target::Snapshot(Box::new(snapshot));
        test.git(["checkout", "-q", "-b", "other"]);
        let planned = HeadMove::plan(&repo, &target, &Status::read(&repo).unwrap()).unwrap();
        test.git(["checkout", "-q", "main"]);
        test.commit_all("by hand, just now");
        let head = test.head();
        test.git(["checkout", "-q", "other"]);
        assert!(planned.carry_out(&repo).unwrap_err().is_overtaken());
        assert_eq!(test.git(["rev-parse", "main"]).trim(), head);
    }
}
