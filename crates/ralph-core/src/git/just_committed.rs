//! What is known of the tree without a look at it: right after a commit of everything nothing is
//! changed, for as long as nobody had the time or the means to change anything.
//!
//! A look takes as long as `git add`, and between one story and the next it would be the third.

use std::time::{Duration, Instant};

use super::position::Position;
use super::repo::Repo;
use super::status::Status;

/// How long it is known. What somebody edits in between counts as edited while the agent works.
const KNOWN_FOR: Duration = Duration::from_secs(1);

/// A commit that was made of everything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JustCommitted {
    position: Position,
    staged_at: Instant,
}

impl JustCommitted {
    /// After a commit for which everything was staged at an instant. None if git hooks may have
    /// changed something since.
    pub(crate) fn note(repo: &Repo, commit: &str, staged_at: Instant) -> Option<Self> {
        let position = Position::of(repo)?;
        let is_there = position.commit.as_deref() == Some(commit);
        (is_there && repo.has_no_hooks()).then_some(Self { position, staged_at })
    }

    /// The status, if it is still known.
    pub(super) fn status(&self, repo: &Repo) -> Option<Status> {
        let now = Position::of(repo).filter(|now| *now == self.position)?;
        let is_fresh = self.staged_at.elapsed() < KNOWN_FOR;
        is_fresh.then(|| Status { head: now.commit, branch: now.branch, ..Status::default() })
    }
}

#[cfg(test)]
mod tests {
    use test_support::TestRepo;

    use super::*;

    fn check(prepare: impl FnOnce(&TestRepo), expected: bool) {
        let test = TestRepo::new();
        let repo = Repo::open(test.root()).unwrap();
        prepare(&test);
        let known = JustCommitted::note(&repo, &test.head(), Instant::now());
        let status = known.and_then(|known| known.status(&repo));
        assert_eq!(status.is_some(), expected);
        if let Some(status) = status {
            assert_eq!(status, Status::read(&repo).unwrap());
        }
    }

    #[test]
    fn a_commit_of_everything_leaves_nothing_to_look_for_unless_hooks_may_run() {
        check(|_| {}, true);
        check(|test| test.write(".git/hooks/post-commit", "#!/bin/sh\n"), false);
        check(|test| drop(test.git(["config", "core.hooksPath", "hooks"])), false);
        check(|test| drop(test.git(["config", "hook.x.event", "post-commit"])), false);
    }

    #[test]
    fn it_is_known_for_an_instant_and_where_head_still_is() {
        let test = TestRepo::new();
        let repo = Repo::open(test.root()).unwrap();
        let note = |at| JustCommitted::note(&repo, &test.head(), at);
        assert_eq!(note(Instant::now() - KNOWN_FOR).unwrap().status(&repo), None);
        let known = note(Instant::now()).unwrap();
        test.commit_all("moved");
        assert_eq!(known.status(&repo), None);
        assert_eq!(JustCommitted::note(&repo, &"0".repeat(40), Instant::now()), None);
    }
}
