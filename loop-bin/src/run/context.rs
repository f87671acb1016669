//! What never changes in a run: the project, its settings, and the run's name.

use std::time::{Duration, Instant};

use ralph_base::state::{self, Journal, Lock, Marks, RunDir, StateDir, StoryKey, plan_name};
use ralph_project::config::{Config, Flag};
use ralph_project::project::Project;
use run_history::{Forecast, LOOP};

use super::record::RunRecord;
use crate::terminal::say;
use client::ClientOptions;
use client::signals::Interrupts;

/// What never changes in a run. Attempts read it from their own threads.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) flags: Vec<Flag>,
    pub(crate) project: Project,
    pub(crate) config: Config,
    /// The user's file of settings as it was at the start.
    pub(crate) config_text: Option<Vec<u8>>,
    /// What one story is likely to take.
    pub(crate) forecast: Forecast,
    /// Where programs are looked for.
    pub(crate) path: String,
    /// What the agent gets besides its own command line.
    pub(crate) options: ClientOptions,
    pub(crate) interrupts: Interrupts,
    /// The run's name.
    pub(crate) run: String,
    pub(crate) run_dir: RunDir,
    pub(crate) clock: Clock,
    /// Keeps other loops out for as long as the run lives.
    pub(crate) _lock: Lock,
}

/// How long a run has taken, including the time before a crash.
#[derive(Debug)]
pub(crate) struct Clock {
    pub(crate) started_at: String,
    /// How long it had taken when it was killed.
    pub(crate) earlier: Duration,
    pub(crate) resumed: Instant,
}

impl Clock {
    /// That of a run which continues the last one, if that was killed.
    pub(crate) fn after(last: Option<&RunRecord>) -> Self {
        let last = last.filter(|record| record.finish.is_none() && !record.planning);
        let earlier = last.map_or(0.0, |record| record.process.elapsed_s);
        Self {
            started_at: last.map_or_else(state::now, |record| record.process.started_at.clone()),
            earlier: Duration::try_from_secs_f64(earlier).unwrap_or_default(),
            resumed: Instant::now(),
        }
    }
}

impl Context {
    /// The project's state.
    pub(crate) fn state(&self) -> &StateDir {
        self.project.own_state()
    }

    /// The journal, marked with the run and a story.
    pub(crate) fn journal(&self, run: &str, story: Option<&StoryKey>) -> Journal {
        let marks = Marks {
            run: Some(run.to_owned()),
            plan_name: story.map(|key| key.plan.clone()),
            story: story.map(|key| key.story.clone()),
            session: None,
        };
        let journal = Journal::new(self.state(), LOOP).marked(marks);
        if !self.config.run.json_events {
            return journal;
        }
        journal.echoed(|line| say(String::from_utf8_lossy(line)))
    }

    /// The key of a story in a plan of the project.
    pub(crate) fn key(&self, plan: &camino::Utf8Path, story: &str) -> StoryKey {
        StoryKey { plan: plan_name(self.project.root(), plan), story: story.to_owned() }
    }

    /// How long the run has taken.
    pub(crate) fn elapsed(&self) -> Duration {
        self.clock.earlier + self.clock.resumed.elapsed()
    }

    /// How long it is until the run's time is used up; none without such a limit.
    pub(crate) fn time_left(&self) -> Option<Duration> {
        let limit = self.config.limits.max_duration.limit();
        limit.map(|limit| limit.saturating_sub(self.elapsed()))
    }

    /// What is left of the run's time for checks and commits. A budget that is used up does not keep
    /// finished work from being checked.
    pub(crate) fn time_for_checks(&self) -> Option<Duration> {
        self.time_left().map(|left| left.max(LEAST_TIME))
    }

    /// How long a commit may take.
    pub(crate) fn check_limit(&self) -> Option<Duration> {
        let check = self.config.verify.timeout.limit();
        check.into_iter().chain(self.time_for_checks()).min()
    }

    /// Whether we are asked to end.
    pub(crate) fn is_interrupted(&self) -> bool {
        self.interrupts.signal().is_some()
    }
}

/// What a check or a commit may take even when the run's time is used up.
pub(crate) const LEAST_TIME: Duration = Duration::from_secs(10);
