//! The commit of a story, with the user's git hooks; what they change is checked as well.

use std::time::Duration;

use ralph_project::checks::{Check, RUN_MARK};
use ralph_project::config::Config;
use ralph_project::under_way::Attempt;

use super::begin::start_of;
use super::check::Passed;
use crate::landing::{self, LoopFile, Made, Refusal, Story};
use crate::run::Run;
use crate::run::decide::{NotLanded, WorkEnd};

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
    ) -> Result<(Made, Passed), NotLanded> {
        let mut passed = passed;
        for _ in 0..=MOST_FORMATTINGS {
            let texts: Vec<_> =
                files.iter().map(|file| (file.path.clone(), file.after.clone())).collect();
            let wanted = self.workspace.with_files(&texts)?;
            self.workspace.show_files(&texts)?;
            let message = message.map_or_else(|| self.message(attempt, &passed), str::to_owned);
            let limit = self.check_limit();
            let stop = || self.context.is_interrupted();
            let git = self.workspace.git().with_var(RUN_MARK, &self.context.run);
            match landing::commit(&git, &wanted, &message, limit, &stop)? {
                Ok(made) if made.is_altered => return self.check_hooks_work(attempt, made, passed),
                Ok(made) => return Ok((made, passed)),
                Err(Refusal::Stopped) => {
                    let signal = self.context.interrupts.signal();
                    let stopped = WorkEnd::failed(Refusal::Stopped.to_string());
                    return Err(signal.map_or(stopped, WorkEnd::LandingStopped).into());
                }
                Err(refusal @ Refusal::Impossible(_)) => {
                    return Err(WorkEnd::Impossible(refusal.to_string()).into());
                }
                Err(refusal @ Refusal::ByHook(_)) => {
                    let now = self.workspace.stage(start_of(attempt), &self.books.ours())?;
                    if now.tree == passed.staged.tree {
                        return Err(WorkEnd::failed(refusal.to_string()).into());
                    }
                    passed = self.check_work(attempt, now)?;
                }
            }
        }
        Err(WorkEnd::failed("git hooks change the files each time they refuse").into())
    }

    /// The user's git hooks changed what is committed, so the checks have not seen it.
    fn check_hooks_work(
        &mut self,
        attempt: &Attempt,
        made: Made,
        passed: Passed,
    ) -> Result<(Made, Passed), NotLanded> {
        let story = &attempt.story;
        self.context.view.line(format!("{story}: git hooks changed the commit; checking it again"));
        self.workspace.git().run(&["read-tree", "--reset", "-u", &made.commit])?;
        let checks = self.run_checks(attempt)?;
        if let Some(check) = checks.last().filter(|check| !check.passed()) {
            return Err(self.not_passed(check).into());
        }
        Ok((made, Passed { checks, ..passed }))
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

    /// What a check or a commit may take: no longer than the run may; but a budget that is used up does
    /// not keep work from being checked and committed.
    pub(in crate::run) fn check_limit(&self) -> Option<Duration> {
        let left = self.context.time_left().map(|left| left.max(LEAST_TIME));
        let check = self.context.config.verify.timeout.limit();
        check.into_iter().chain(left).min()
    }
}
