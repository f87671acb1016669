//! The commit of a story, with the user's git hooks; what they change is checked as well.

use std::time::Duration;

use ralph_project::checks::{Check, RUN_MARK};
use ralph_project::config::Config;
use ralph_project::under_way::Attempt;

use super::begin::start_of;
use super::check::Passed;
use crate::exit::Failure;
use crate::landing::{self, LoopFile, Made, Refusal, Story};
use crate::run::Run;
use crate::run::decide::Landing;

/// How often git hooks may put the files of one story in order.
const MOST_FORMATTINGS: usize = 2;

/// What a check or a commit may take even when the run's time is used up.
pub(in crate::run) const LEAST_TIME: Duration = Duration::from_secs(10);

impl Run {
    /// Makes the commit. Git hooks that put files in order and refuse get one of what they left, once
    /// that has passed the checks as well; what they change in the commit itself is checked too.
    /// The message is that of the story unless it is given.
    pub(in crate::run) fn commit(
        &mut self,
        attempt: &Attempt,
        message: Option<&str>,
        passed: Passed,
        files: &[LoopFile],
    ) -> Result<Result<(Made, Passed), Landing>, Failure> {
        let mut passed = passed;
        for _ in 0..=MOST_FORMATTINGS {
            let texts: Vec<_> =
                files.iter().map(|file| (file.path.clone(), file.after.clone())).collect();
            let wanted = self.workspace.with_files(&texts)?;
            self.workspace.show_files(&texts)?;
            let message = message.map_or_else(|| self.message(attempt, &passed), str::to_owned);
            let limit = self.commit_limit();
            let stop = || self.context.is_interrupted();
            let git = self.workspace.git().with_var(RUN_MARK, &self.context.run);
            match landing::commit(&git, &wanted, &message, limit, &stop)? {
                Ok(made) if made.is_altered => return self.check_hooks_work(attempt, made, passed),
                Ok(made) => return Ok(Ok((made, passed))),
                Err(Refusal::Stopped) => {
                    let signal = self.context.interrupts.signal();
                    let stopped = Landing::Failed(Refusal::Stopped.to_string());
                    return Ok(Err(signal.map_or(stopped, Landing::Signalled)));
                }
                Err(refusal @ Refusal::Impossible(_)) => {
                    return Ok(Err(Landing::Impossible(refusal.to_string())));
                }
                Err(refusal @ Refusal::ByHook { .. }) => {
                    let now = self.workspace.stage(start_of(attempt), &self.books.ours())?;
                    if now.tree == passed.staged.tree {
                        return Ok(Err(Landing::Failed(refusal.to_string())));
                    }
                    passed = match self.check_work(attempt, now)? {
                        Ok(passed) => passed,
                        Err(landing) => return Ok(Err(landing)),
                    };
                }
            }
        }
        Ok(Err(Landing::Failed("git hooks change the files each time they refuse".to_owned())))
    }

    /// The user's git hooks changed what is committed, so the checks have not seen it.
    fn check_hooks_work(
        &mut self,
        attempt: &Attempt,
        made: Made,
        passed: Passed,
    ) -> Result<Result<(Made, Passed), Landing>, Failure> {
        let story = &attempt.story;
        self.context.view.line(format!("{story}: git hooks changed the commit; checking it again"));
        self.workspace.git().run(&["read-tree", "--reset", "-u", &made.commit])?;
        let checks = self.run_checks(attempt)?;
        if let Some(check) = checks.last().filter(|check| !check.passed()) {
            return Ok(Err(match self.not_passed(check) {
                Landing::Failed(why) => {
                    Landing::Failed(format!("after git hooks changed the commit, {why}"))
                }
                other => other,
            }));
        }
        Ok(Ok((made, Passed { checks, ..passed })))
    }

    fn message(&self, attempt: &Attempt, passed: &Passed) -> String {
        let Config { commit, .. } = &self.context.config;
        let checks: Vec<String> = passed.checks.iter().map(Check::name).collect();
        let story = Story {
            id: &attempt.story,
            title: &attempt.title,
            summary: self.report.summary.as_deref(),
            checks: &checks,
            attempt: attempt.number,
            cost_usd: self.report.cost_usd,
        };
        landing::message(&commit.message, &commit.kind, &story)
    }

    /// A commit may take as long as a check, and no longer than the run may; but a budget that the
    /// checks used up does not keep work from being committed that has passed them.
    pub(in crate::run) fn commit_limit(&self) -> Option<Duration> {
        let left = self.context.time_left().map(|left| left.max(LEAST_TIME));
        let check = self.context.config.verify.timeout.limit();
        check.into_iter().chain(left).min()
    }
}
