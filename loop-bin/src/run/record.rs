//! The constants of a run, and its record on disk, which the next start reads after a crash, and
//! `status` at any time.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use camino::{Utf8Path, Utf8PathBuf};
use ralph_base::env::Env;
use ralph_base::state::{self, Journal, Lock, Marks, RunDir, StateDir, StoryKey, plan_name};
use ralph_core::plan::{Format, Plan};
use ralph_project::client::Client;
use ralph_project::config::{Config, Flag};
use ralph_project::dialect::Dialect;
use ralph_project::failed_before::FailedBefore;
use ralph_project::loop_progress::LoopProgress;
use ralph_project::project::Project;
use ralph_project::under_way::Attempt;
use run_history::{Forecast, LOOP, Tally};
use serde::{Deserialize, Serialize};

use super::decide::Discarding;
use crate::terminal::say;
use client::ClientOptions;
use client::signals::Interrupts;

/// The version of the file format.
const VERSION: u32 = 4;

/// The state of a run on disk.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct RunRecord {
    pub(crate) version: u32,
    #[serde(flatten)]
    pub(crate) process: RunProcess,
    pub(crate) plan: Utf8PathBuf,
    /// The branch on which the work lands.
    pub(crate) target: String,
    /// Whether the run writes the plan instead of working through it.
    pub(crate) planning: bool,
    pub(crate) tally: Tally,
    /// The state of each slot, by name.
    pub(crate) slots: BTreeMap<String, SlotRecord>,
    /// What the run is waiting for, if anything.
    pub(crate) pause: Option<Pause>,
    /// Why it ended; `None` while it runs, or if it was killed.
    pub(crate) finish: Option<String>,
    /// Details of the reason.
    pub(crate) reason: Option<String>,
    /// Why waiting work could not be rebased onto its branch.
    pub(crate) rebase_problem: Option<String>,
    /// The failures in each check before the first story, if they are ignored.
    pub(crate) failed_before: BTreeMap<String, FailedBefore>,
}

/// The process of a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct RunProcess {
    /// The run's name.
    pub(crate) run: String,
    /// The folder in which the record was written. In a copy of that folder the record belongs to another
    /// project, and so do its processes.
    pub(crate) folder: Utf8PathBuf,
    pub(crate) pid: u32,
    /// When it started (RFC 3339, UTC).
    pub(crate) started_at: String,
    pub(crate) elapsed_s: f64,
    /// Whether it was asked to stop.
    pub(crate) interrupted: bool,
    /// The remote-tracking ref on which the work is merged, if it is merged on a server.
    pub(crate) server: String,
    /// The name of the run that this one continues.
    pub(crate) continues: Option<String>,
}

/// The state of a slot.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct SlotRecord {
    /// The story in progress.
    pub(crate) story: Option<StoryKey>,
    /// Set while its attempt is being discarded, which has been counted already.
    pub(crate) discarding: Option<Discarding>,
    /// The session's tokens that have been counted, and where its part of the log starts.
    pub(crate) session_tokens: u64,
    pub(crate) session_log: u64,
}

/// A pause of the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Pause {
    pub(crate) why: String,
    /// RFC 3339, UTC.
    pub(crate) until: String,
}

impl RunRecord {
    /// An empty record of this process.
    pub(crate) fn new() -> Self {
        let process = RunProcess { pid: std::process::id(), ..RunProcess::default() };
        Self { version: VERSION, process, ..Self::default() }
    }

    /// The last run's record; `None` if there is none, or if it belongs to another project.
    pub(crate) fn load(run_dir: &RunDir) -> io::Result<Option<Self>> {
        Ok(Self::read(run_dir)?.filter(|record| record.is_of(run_dir)))
    }

    /// Whether the record belongs to another project, of which this one's folder is a copy.
    pub(crate) fn is_of_another(run_dir: &RunDir) -> io::Result<bool> {
        Ok(Self::read(&run_dir.of_run())?.is_some_and(|record| !record.is_of(run_dir)))
    }

    fn read(run_dir: &RunDir) -> io::Result<Option<Self>> {
        state::read_record(&run_dir.record(), VERSION)
    }

    fn is_of(&self, run_dir: &RunDir) -> bool {
        // A record without a folder counts as ours. If its folder is gone, the project has been moved.
        let folder = &self.process.folder;
        folder == run_dir.in_git() || !folder.exists()
    }

    /// The project's folder when the record was written, and now.
    pub(crate) fn folders(run_dir: &RunDir) -> io::Result<Option<(Utf8PathBuf, Utf8PathBuf)>> {
        let project = |folder: &Utf8Path| folder.ancestors().nth(2).map(Utf8Path::to_owned);
        let then = Self::read(&run_dir.of_run())?.and_then(|it| project(&it.process.folder));
        Ok(then.zip(project(run_dir.in_git())))
    }

    /// Saves the record. A power cut can only lose the run's elapsed time.
    pub(crate) fn save(&self, run_dir: &RunDir) -> io::Result<()> {
        state::replace_unsynced(&run_dir.record(), &serde_json::to_vec_pretty(self)?)
    }

    /// The stories in progress.
    pub(crate) fn stories(&self) -> impl Iterator<Item = (&String, &StoryKey)> {
        self.slots.iter().filter_map(|(name, slot)| Some((name, slot.story.as_ref()?)))
    }
}

/// The plan of the run in progress, if any.
pub(crate) fn plan_of_run(project: &Project) -> io::Result<Option<String>> {
    let Some(run_dir) = project.run_dir().map(|dir| dir.of_run()) else { return Ok(None) };
    if Lock::holder(&run_dir.lock()).is_none() {
        return Ok(None);
    }
    Ok(RunRecord::load(&run_dir)?.map(|record| record.plan.into_string()))
}

/// The folders of all slots, past and present, of runs with one or several workers.
pub(crate) fn slot_dirs(run_dir: &RunDir) -> Vec<RunDir> {
    let several = run_dir.workers().into_iter().map(|(_, folder)| folder);
    [run_dir.of_run()].into_iter().chain(several).collect()
}

/// The unfinished attempts of a run; none if that run belongs to another project.
pub(crate) fn attempts_left(run_dir: &RunDir) -> io::Result<Vec<(RunDir, Attempt)>> {
    if RunRecord::is_of_another(run_dir)? {
        return Ok(Vec::new());
    }
    let folders = RunRecord::folders(run_dir)?;
    let mut left = Vec::new();
    for folder in slot_dirs(run_dir) {
        let Some(mut attempt) = Attempt::load(&folder)? else { continue };
        for path in [&mut attempt.plan, &mut attempt.progress, &mut attempt.work] {
            if let Some((from, to)) = &folders
                && let Ok(rest) = path.strip_prefix(from)
            {
                *path = to.join(rest);
            }
        }
        left.push((folder, attempt));
    }
    Ok(left)
}

/// Whether an unfinished attempt worked in this folder.
pub(crate) fn is_work_left_in(folder: &Utf8Path, run_dir: &RunDir) -> io::Result<bool> {
    Ok(attempts_left(run_dir)?.iter().any(|(_, left)| left.work == *folder))
}

/// The constants of a run, shared with the attempts' threads.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) flags: Vec<Flag>,
    pub(crate) project: Project,
    pub(crate) config: Config,
    /// The forecast for one story.
    pub(crate) forecast: Forecast,
    /// The PATH for programs.
    pub(crate) path: String,
    /// Options for the agent in addition to its command line.
    pub(crate) options: ClientOptions,
    /// Options for other agents, once they have been determined.
    pub(crate) others: Mutex<BTreeMap<String, ClientOptions>>,
    pub(crate) interrupts: Interrupts,
    /// The run's name.
    pub(crate) run: String,
    pub(crate) run_dir: RunDir,
    pub(crate) clock: Clock,
    /// Keeps other loops out while the run lasts.
    pub(crate) _lock: Lock,
}

/// The journal, marked with a run and a story; with `--json`, its lines are printed too.
pub(crate) fn journal(
    state: &StateDir,
    config: &Config,
    run: &str,
    story: Option<&StoryKey>,
) -> Journal {
    let marks = Marks {
        run: Some(run.to_owned()),
        plan_name: story.map(|key| key.plan.clone()),
        story: story.map(|key| key.story.clone()),
        session: None,
    };
    let journal = Journal::new(state, LOOP).marked(marks);
    if !config.run.json_events {
        return journal;
    }
    journal.echoed(|line| say(String::from_utf8_lossy(line)))
}

/// Measures a run's time, including the time before a crash.
#[derive(Debug)]
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
        journal(self.state(), &self.config, run, story)
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
