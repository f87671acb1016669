//! The constants of a run, its clock and its journal.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use camino::Utf8Path;
use ralph_base::env::Env;
use ralph_base::state::{self, Echo, Journal, Lock, Marks, RunDir, StateDir, StoryKey, plan_name};
use ralph_core::plan::{Format, Plan};
use ralph_project::client::Client;
use ralph_project::config::{Config, Flag};
use ralph_project::dialect::Dialect;
use ralph_project::loop_progress::LoopProgress;
use ralph_project::project::Project;
use ralph_project::under_way::Attempt;
use run_history::{Forecast, LOOP};

use super::attempt::verify::Verifiers;
use super::observe::Audience;
use crate::record::RunRecord;
use crate::terminal::say;
use client::ClientOptions;
use client::signals::Interrupts;

/// The constants of a run, shared with the attempts' threads.
#[derive(Debug, Clone)]
pub(crate) struct Context {
    pub(crate) flags: Vec<Flag>,
    pub(crate) project: Project,
    pub(crate) config: Config,
    /// Whether checks are looked for after each landing, because there were none.
    pub(crate) seeks_checks: bool,
    /// What looks at finished work.
    pub(crate) verifiers: Verifiers,
    /// Who hears of each event, and how.
    pub(crate) audience: Audience,
    pub(crate) echo: Option<Echo>,
    /// The forecast for one story.
    pub(crate) forecast: Forecast,
    /// The PATH for programs.
    pub(crate) path: String,
    /// Options for the agent in addition to its command line.
    pub(crate) options: ClientOptions,
    /// Options for other agents, once they have been determined.
    pub(crate) others: Arc<Mutex<BTreeMap<String, ClientOptions>>>,
    pub(crate) interrupts: Interrupts,
    /// The run's name.
    pub(crate) run: String,
    pub(crate) run_dir: RunDir,
    pub(crate) clock: Clock,
    /// Keeps other loops out while the run lasts.
    pub(crate) _lock: Arc<Lock>,
}

/// Tells each line of the journal to those who listen; with `--json`, it is printed too.
pub(crate) fn echo(config: &Config, audience: Audience) -> Option<Echo> {
    let is_printed = config.run.json_events;
    let is_heard = is_printed || !audience.is_empty();
    is_heard.then(|| {
        Echo::new(move |line| {
            if is_printed {
                say(String::from_utf8_lossy(line));
            }
            audience.iter().for_each(|listener| listener.hear(line));
        })
    })
}

/// The journal, marked with a run and a story.
pub(crate) fn journal(
    state: &StateDir,
    echo: Option<Echo>,
    run: &str,
    story: Option<&StoryKey>,
) -> Journal {
    let marks = Marks {
        run: Some(run.to_owned()),
        plan_name: story.map(|key| key.plan.clone()),
        story: story.map(|key| key.story.clone()),
        session: None,
    };
    Journal::new(state, LOOP).marked(marks).echoed(echo)
}

/// Measures a run's time, including the time before a crash.
#[derive(Debug, Clone)]
pub(crate) struct Clock {
    pub(crate) started_at: String,
    /// The time that it had taken when it was killed.
    pub(crate) earlier: Duration,
    pub(crate) resumed: Instant,
}

impl Clock {
    /// Continues the last run's clock if that run was killed or has the same name.
    pub(crate) fn after(last: Option<&RunRecord>, run: &str) -> Self {
        let is_continued = |record: &&RunRecord| {
            record.process.run == run || record.finish.is_none() && !record.planning
        };
        let last = last.filter(is_continued);
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
        journal(self.state(), self.echo.clone(), run, story)
    }

    /// The key of a story in one of the project's plans.
    pub(crate) fn key(&self, plan: &Utf8Path, story: &str) -> StoryKey {
        StoryKey { plan: plan_name(self.project.root(), plan), story: story.to_owned() }
    }

    /// The name of an attempt's agent; `None` if it is unknown.
    pub(crate) fn agent_name(&self, attempt: &Attempt) -> Option<&'static str> {
        let own = || Client::find(&self.config.agent.command).map(|client| client.dialect);
        Dialect::find(&attempt.agent).or_else(own).map(|agent| agent.name)
    }

    /// The agent's name, with its model if one was chosen.
    pub(crate) fn agent_in_words(&self, attempt: &Attempt) -> Option<String> {
        let (name, model) = (self.agent_name(attempt)?, self.model_of(attempt));
        Some(if model.is_empty() { name.to_owned() } else { format!("{name} ({model})") })
    }

    /// The model of an attempt: the one that its agent reports or, if it reports none, the chosen one.
    pub(crate) fn model_in_words<'a>(&'a self, attempt: &'a Attempt, reported: &'a str) -> &'a str {
        if reported.is_empty() { self.model_of(attempt) } else { reported }
    }

    /// The model chosen for an attempt; empty if none was.
    pub(crate) fn model_of<'a>(&'a self, attempt: &'a Attempt) -> &'a str {
        let is_own = attempt.model.is_empty() && attempt.agent.is_empty();
        if is_own { &self.config.agent.model } else { &attempt.model }
    }

    /// The command line of an attempt's agent, and its options.
    pub(crate) fn agent_of(&self, attempt: &Attempt) -> (String, ClientOptions) {
        let Some(agent) = Dialect::find(&attempt.agent) else {
            return (self.config.agent.command.clone(), self.options.clone());
        };
        let mut known = self.others.lock().unwrap_or_else(PoisonError::into_inner);
        let options = known.entry(agent.name.to_owned()).or_insert_with(|| {
            let mut config = self.config.clone();
            config.agent.command = agent.start.to_owned();
            ClientOptions::find(&Env::process(), &self.project, &config).0
        });
        (agent.start.to_owned(), options.clone())
    }

    /// The time that the run has taken.
    pub(crate) fn elapsed(&self) -> Duration {
        self.clock.earlier + self.clock.resumed.elapsed()
    }

    /// The time until the run's limit; `None` without a limit.
    pub(crate) fn time_left(&self) -> Option<Duration> {
        let limit = self.config.limits.max_duration.limit();
        limit.map(|limit| limit.saturating_sub(self.elapsed()))
    }

    /// The run's remaining time for checks and commits. It is never zero, so that finished work can still
    /// be checked.
    pub(crate) fn time_for_checks(&self) -> Option<Duration> {
        self.time_left().map(|left| left.max(LEAST_TIME))
    }

    /// The time limit of a commit.
    pub(crate) fn check_limit(&self) -> Option<Duration> {
        let check = self.config.verify.timeout.limit();
        check.into_iter().chain(self.time_for_checks()).min()
    }

    /// Whether a signal has arrived.
    pub(crate) fn is_interrupted(&self) -> bool {
        self.interrupts.signal().is_some()
    }
}

/// The least time for a check or a commit, even after the run's limit.
pub(crate) const LEAST_TIME: Duration = Duration::from_secs(10);

/// Updates iteration, maximum and status in the `progress.txt` of a feature list, if there
/// is one.
pub(super) fn update_loop_progress(
    plan: &Plan,
    (iteration, most): (u64, u64),
    status: &str,
) -> io::Result<()> {
    let path = StateDir::loop_progress_beside(plan.path());
    if !path.is_file() || plan.format() != Format::FeatureList {
        return Ok(());
    }
    let before = state::read(&path)?;
    let known = LoopProgress::parse(&before);
    let mut new = LoopProgress::set(&before, "Iteration", &iteration.to_string());
    // A user's value is kept for later runs, even if a flag overrides it in this one.
    if known.max_iterations.is_none() {
        new = LoopProgress::set(&new, "Max Iterations", &most.to_string());
    }
    if known.status.as_deref() != Some("COMPLETE") || status != "IN_PROGRESS" {
        new = LoopProgress::set(&new, "Status", status);
    }
    state::replace_users(&path, &new)
}
