//! What became of the branch while an agent was at work, in words: somebody may have committed or
//! renamed something at the same time, and should know where it is.

use ralph_core::git::Position;
use ralph_core::settle::{Attempt, first_few};

use super::stage::Stage;

/// How many commits are named.
const NAMED: usize = 3;

impl Stage {
    /// That another branch is checked out than the one on which the attempt began.
    pub(super) fn tell_of_branch_left(&self, attempt: &Attempt) {
        let Some(now) = Position::of(&self.repo).filter(|now| now.branch != attempt.branch) else {
            return;
        };
        let began = attempt.position();
        let (began, now) = (began.branch_name(), now.branch_name());
        self.view.warn(format!(
            "{}: {now} is checked out instead of {began} since the agent worked; the loop goes back \
             to {began}",
            attempt.story
        ));
    }

    /// The commits since the attempt began, newest first, that a rollback takes off the branch; none
    /// on a branch that has no commit any more.
    pub(super) fn commits_since(&self, attempt: &Attempt) -> Option<String> {
        let head = attempt.head.as_ref().map(|head| format!("^{head}"));
        let range = ["log", "--format=%h %s", "HEAD"].into_iter().chain(head.as_deref());
        let listed = self.repo.git().run(&range.collect::<Vec<_>>()).ok()?;
        let listed = String::from_utf8_lossy(&listed).into_owned();
        (!listed.is_empty()).then(|| first_few(listed.lines(), NAMED))
    }
}
