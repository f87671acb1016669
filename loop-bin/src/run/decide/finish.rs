//! Why a run ended, and its last lines: what is done, what needs a person, and how to continue.

use ralph_base::state::Event;
use run_history::{Needs, words};
use serde::{Deserialize, Serialize};

use client::signals::Signal;

/// Why the run ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) enum Finish {
    Complete,
    MaxIterations,
    NoChanges,
    /// The remaining stories need a person.
    Blocked(String),
    Manual(Signal),
    /// Stopped by `ralph-loop stop`, after the story in progress.
    Stopped,
    Error(String),
    /// Checks failed before the first story.
    RedBaseline(String),
    /// A lifecycle script stopped the run, or delayed it for too long.
    HookAbort(String),
    Budget(String),
}

impl Finish {
    /// The end that a script asked for.
    pub(crate) fn stopped_by(script: &str) -> Self {
        Self::HookAbort(format!("the {script} script stopped the loop"))
    }

    /// The reason, if there is more to report than the type.
    pub(crate) fn reason(&self) -> Option<&str> {
        match self {
            Self::Error(why)
            | Self::RedBaseline(why)
            | Self::Budget(why)
            | Self::Blocked(why)
            | Self::HookAbort(why) => Some(why),
            Self::Stopped => Some("stopped by `ralph-loop stop`"),
            _ => None,
        }
    }

    /// How important it is: of several ends, the one with the highest rank is shown.
    pub(crate) fn rank(&self) -> u8 {
        match self {
            Self::Manual(_) => 9,
            Self::Error(_) | Self::RedBaseline(_) => 8,
            Self::HookAbort(_) => 7,
            Self::Budget(_) => 6,
            Self::NoChanges => 5,
            Self::MaxIterations => 4,
            Self::Stopped => 3,
            Self::Blocked(_) => 2,
            Self::Complete => 1,
        }
    }

    /// The journal's event.
    pub(crate) fn event(&self) -> Event {
        let (finish_type, reason) = (self.word().to_owned(), self.reason().map(str::to_owned));
        Event::LoopFinished { finish_type, reason }
    }

    /// The documented exit code; `incomplete` if stories remain and the user asked for that code.
    pub(crate) fn exit_code(&self, incomplete: bool) -> u8 {
        match self {
            Self::Complete | Self::MaxIterations | Self::Stopped if incomplete => 7,
            Self::Complete | Self::MaxIterations | Self::Stopped => 0,
            Self::Error(_) => 1,
            Self::HookAbort(_) => 3,
            Self::NoChanges => 4,
            Self::Budget(_) => 6,
            Self::Blocked(_) => 8,
            Self::RedBaseline(_) => 9,
            Self::Manual(Signal::Interrupt) => 130,
            Self::Manual(Signal::Terminate) => 143,
        }
    }

    /// The finish type for display.
    fn label(&self) -> &'static str {
        match self {
            Self::MaxIterations => "iteration limit",
            Self::NoChanges => "no changes",
            Self::Manual(_) => "interrupted",
            Self::Stopped => "stopped",
            Self::HookAbort(_) => "stopped by a script",
            _ => self.word(),
        }
    }

    /// The documented finish type.
    pub(crate) fn word(&self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::MaxIterations => "max_iterations",
            Self::NoChanges => "no_changes",
            Self::Blocked(_) => "blocked",
            Self::Manual(_) | Self::Stopped => "manual",
            Self::Error(_) | Self::RedBaseline(_) => "error",
            Self::HookAbort(_) => "hook_abort",
            Self::Budget(_) => "budget",
        }
    }
}

/// Everything that the last lines show.
#[derive(Debug, Clone)]
pub(crate) struct Ending<'a> {
    pub(crate) finish: &'a Finish,
    /// What the run did, and its time and cost.
    pub(crate) account: String,
    /// The state of the plan; `None` in planning mode, or if the plan cannot be read.
    pub(crate) remains: Option<String>,
    /// The number of open stories.
    pub(crate) open: usize,
    pub(crate) needs: Needs,
    /// How many landed stories should be reviewed, and why, in one line for each reason.
    pub(crate) to_review: usize,
    pub(crate) review: Vec<String>,
    /// Checks that failed before the first story, and still fail.
    pub(crate) still_red: Vec<String>,
    /// Changes that other processes made to plan and settings.
    pub(crate) changes: Vec<String>,
    /// The command for another such run.
    pub(crate) again: String,
}

impl Ending<'_> {
    /// The last lines, in order.
    pub(crate) fn last_lines(&self) -> Vec<String> {
        let mut lines = vec![format!("finished ({}): {}", self.finish.label(), self.account)];
        let needed = words::needed(self.needs.count(), self.to_review);
        lines.extend(self.remains.as_ref().map(|remains| format!("{remains}; {needed}")));
        if !self.still_red.is_empty() {
            lines.push(format!("still failing (ignored): {}", self.still_red.join(", ")));
        }
        lines.extend(self.changes.clone());
        lines.extend(self.review.iter().map(|story| format!("review: {story}")));
        lines.extend(self.needs.lines().iter().map(|need| format!("needs you: {need}")));
        lines.extend(self.what_goes_on());
        lines
    }

    fn what_goes_on(&self) -> Option<String> {
        let again = &self.again;
        let is_stuck = matches!(self.finish, Finish::Blocked(_) | Finish::NoChanges);
        // Whether another run would find work without any change by the user.
        let can_go_on = self.open > 0 && !is_stuck;
        if let (Some(story), false) = (self.needs.stories.first(), can_go_on) {
            let retry = story.retry();
            return Some(format!("reopen it with `{retry} --hint \"…\"`, then run {again}"));
        }
        Some(match self.finish {
            Finish::Complete => return None,
            Finish::MaxIterations | Finish::Stopped => format!("to continue, run {again}"),
            Finish::Manual(_) => format!("to continue where it was interrupted, run {again}"),
            Finish::NoChanges => {
                format!("no story made any changes; edit the plan or the prompt, then run {again}")
            }
            Finish::Blocked(_) => format!("once the plan has a story to work on, run {again}"),
            Finish::HookAbort(why) => format!("{why}; to continue, run {again}"),
            Finish::Budget(_) => {
                format!("to continue, run {again}; --max-cost and --max-duration start over")
            }
            Finish::RedBaseline(_) => {
                format!(
                    "no agent was started and nothing was spent; once the checks pass, run {again}"
                )
            }
            Finish::Error(_) => {
                format!("fix the problem, then run {again}; `ralph-loop doctor` checks for others")
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use ralph_base::state::StoryKey;
    use run_history::BlockedStory;

    use super::*;

    fn needs(ids: &[&str]) -> Needs {
        let blocked = |id: &&str| BlockedStory {
            key: StoryKey::new("PRD-1", id),
            name: (*id).to_owned(),
            title: "Log in".to_owned(),
            why: "gave up after 3 failed attempts".to_owned(),
            ..BlockedStory::default()
        };
        Needs { stories: ids.iter().map(blocked).collect(), others: Vec::new() }
    }

    /// The end of a run with an open story.
    fn ending(finish: &Finish) -> Ending<'_> {
        Ending {
            finish,
            account: "1 story landed in 1 iteration".to_owned(),
            remains: Some("1 of 2 stories in 3 plans done, 1 left".to_owned()),
            open: 1,
            needs: needs(&[]),
            to_review: 0,
            review: Vec::new(),
            still_red: Vec::new(),
            changes: Vec::new(),
            again: "`ralph-loop --agent x`".to_owned(),
        }
    }

    #[test]
    fn every_end_of_a_run_says_how_to_continue() {
        let ends = [
            (Finish::Complete, 0, &[][..]),
            (Finish::MaxIterations, 2, &["US-003"]),
            (Finish::Manual(Signal::Interrupt), 2, &[]),
            (Finish::NoChanges, 1, &["US-002", "US-003"]),
            (Finish::NoChanges, 1, &[]),
            (Finish::Blocked("x".into()), 1, &["US-003"]),
            (Finish::Blocked("x".into()), 2, &[]),
            (Finish::stopped_by("started"), 1, &[]),
            (Finish::Budget("x".into()), 1, &[]),
            (Finish::Error("x".into()), 1, &[]),
        ];
        let shown = ends.map(|(finish, open, blocked)| {
            let ending = Ending { open, needs: needs(blocked), ..ending(&finish) };
            let lines = ending.last_lines();
            let count = lines.iter().filter(|line| line.starts_with("needs you: ")).count();
            format!("finished ({}): {count} needed: {}", finish.label(), lines.last().unwrap())
        });
        insta::assert_snapshot!(shown.join("\n"), @r#"
        finished (complete): 0 needed: 1 of 2 stories in 3 plans done, 1 left; nothing needs you
        finished (iteration limit): 1 needed: to continue, run `ralph-loop --agent x`
        finished (interrupted): 0 needed: to continue where it was interrupted, run `ralph-loop --agent x`
        finished (no changes): 2 needed: reopen it with `ralph-loop retry US-002 --hint "…"`, then run `ralph-loop --agent x`
        finished (no changes): 0 needed: no story made any changes; edit the plan or the prompt, then run `ralph-loop --agent x`
        finished (blocked): 1 needed: reopen it with `ralph-loop retry US-003 --hint "…"`, then run `ralph-loop --agent x`
        finished (blocked): 0 needed: once the plan has a story to work on, run `ralph-loop --agent x`
        finished (stopped by a script): 0 needed: the started script stopped the loop; to continue, run `ralph-loop --agent x`
        finished (budget): 0 needed: to continue, run `ralph-loop --agent x`; --max-cost and --max-duration start over
        finished (error): 0 needed: fix the problem, then run `ralph-loop --agent x`; `ralph-loop doctor` checks for others
        "#);
    }

    #[test]
    fn everything_that_needs_a_person_is_listed() {
        let mut needs = needs(&["US-007"]);
        needs.others.push("1 commit waits on feature/x: …".to_owned());
        let ending = Ending {
            needs,
            to_review: 1,
            review: vec!["US-001: tests weakened: 1 test skipped (a.py)".into()],
            still_red: vec!["`npm test`".into(), "`tsc`".into()],
            changes: vec!["US-003: ticked by another process during the run; not verified".into()],
            ..ending(&Finish::MaxIterations)
        };
        insta::assert_snapshot!(ending.last_lines().join("\n"), @r"
        finished (iteration limit): 1 story landed in 1 iteration
        1 of 2 stories in 3 plans done, 1 left; 2 things need you
        still failing (ignored): `npm test`, `tsc`
        US-003: ticked by another process during the run; not verified
        review: US-001: tests weakened: 1 test skipped (a.py)
        needs you: 1 commit waits on feature/x: …
        needs you: US-007 is blocked: Log in (gave up after 3 failed attempts); see what was tried with `ralph-loop logs US-007`; tick it if it is done, or reopen it with `ralph-loop retry US-007`
        to continue, run `ralph-loop --agent x`
        ");
    }
}
