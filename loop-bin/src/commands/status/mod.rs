//! `ralph-loop status`: the state of the run, and what needs the user's attention.

mod lines;
mod watch;

use std::collections::BTreeMap;
use std::process::ExitCode;

use askama::Template;
use clap::Args;
use ralph_base::env::Env;
use ralph_base::state::{RunDir, Scale};
use ralph_core::git::Repo;
use ralph_core::plan::StoryCounts;
use ralph_project::project::Project;
use run_history::RunHistory;
use serde::Serialize;

use super::Subcommand;
use crate::boards::fleet;
use crate::exit::Failure;
use crate::here;
use crate::plan_choice::{PlanChoice, plan_with_work};
use crate::record::{Pause, RunRecord, holder, run_dir};
use crate::report::{report_on, situation};
use crate::terminal::say;
use crate::terminal::scene::Scene;

pub(super) const COMMAND: Subcommand = Subcommand {
    name: "status",
    args: Status::augment_args,
    run: |call| call.parsed::<Status>()?.run(call.env),
};

/// Show run status and anything that needs your attention
#[derive(Debug, Args)]
pub(crate) struct Status {
    #[command(flatten)]
    choice: PlanChoice,
    /// An earlier run instead: last, its number, or all for a list
    #[arg(long, value_name = "last|N|all")]
    run: Option<String>,
    /// Show it until the run ends; in a pipe, one line whenever something changed
    #[arg(long, conflicts_with = "run")]
    watch: bool,
    /// Print the status as one JSON object
    #[arg(long)]
    json: bool,
}

/// The state of the plan and the run.
#[derive(Debug, Default, Serialize, Template)]
#[template(path = "status.txt", escape = "none")]
struct RunStatus {
    plan: Option<String>,
    plan_problem: Option<String>,
    stories: StoryCounts,
    #[serde(flatten)]
    now: Now,
    #[serde(flatten)]
    last: LastRun,
    /// Blocked stories that need a person, with their titles.
    blocked: Vec<(String, String)>,
    /// Stories whose pull requests are open, with the addresses.
    requested: Vec<(String, String)>,
    /// A branch with work that the user's own branch lacks, and the address of its pull request.
    #[serde(skip_serializing_if = "Option::is_none")]
    branch_requested: Option<(String, String)>,
    /// Everything that needs a person.
    waiting: Vec<String>,
}

/// The current activity.
#[derive(Debug, Default, Serialize)]
struct Now {
    /// The process id of a running loop.
    running: Option<u32>,
    /// The stories in progress, separated by commas.
    story: Option<String>,
    /// Whether `ralph-loop stop` asked it to stop after them.
    stopping: bool,
    /// Whether it was asked to stop at once, by Ctrl-C or `ralph-loop stop --now`.
    interrupted: bool,
    /// The loop's live view.
    now: Option<Scene>,
    /// The run's current pause.
    pause: Option<Pause>,
}

/// The last run, or the current one.
#[derive(Debug, Default, Serialize)]
struct LastRun {
    iteration: u64,
    commits: usize,
    /// How many of those were not checked.
    unchecked: usize,
    /// `None` if unknown.
    cost_usd: Option<f64>,
    tokens: u64,
    /// What landed and what it cost, as text.
    #[serde(skip)]
    account: String,
    /// How it ended; `None` if it is running or was killed.
    last_finish: Option<String>,
    /// The end as text.
    #[serde(skip)]
    ending: String,
    /// More about the end.
    last_reason: Option<String>,
    /// Its sandbox, as text.
    sandbox: Option<String>,
    /// How many landed stories should be reviewed.
    to_review: usize,
    /// The stories that landed, each `proven`, `checked`, `to review`, `unchecked` or, if reopened,
    /// `blocked`.
    landed: BTreeMap<String, &'static str>,
    /// What is worth a second look.
    review: Vec<String>,
}

impl Status {
    pub(crate) fn run(&self, env: &Env) -> Result<ExitCode, Failure> {
        let (env, _server) = &fleet::enter(env, self.choice.fleet.as_deref())?;
        let project = here::project(env)?;
        if self.watch {
            return watch::until_the_end(self.json, &|| self.collect(env, &project));
        }
        let (text, json) = match self.run.as_deref() {
            None => {
                let status = self.collect(env, &project)?;
                (status.render()?, serde_json::to_string_pretty(&status))
            }
            Some("all") => {
                let history = RunHistory::open(project.root(), project.own_state())?;
                let json = serde_json::to_string_pretty(&history.runs_json());
                (history.run_lines().join("\n"), json)
            }
            Some(which) => {
                let report = report_on(env, &project, &self.choice, which)?;
                (report.lines()?, serde_json::to_string_pretty(&report))
            }
        };
        let answer = if self.json { json? } else { text.trim_end().to_owned() };
        if !answer.is_empty() {
            say(answer);
        }
        if !self.json {
            fleet::say_remote(self.choice.fleet.as_deref());
        }
        Ok(ExitCode::SUCCESS)
    }

    /// Collects the current state.
    fn collect(&self, env: &Env, project: &Project) -> Result<RunStatus, Failure> {
        // Before the journal: the end of a run that has just finished is then in the journal.
        let now = Now::read(project)?;
        let config = self.choice.config(env, project)?;
        let plan = plan_with_work(env, project, &config);
        // An unreadable journal must not hide the rest.
        let mut history = RunHistory::open(project.root(), project.own_state()).unwrap_or_default();
        let situation = situation(project, &mut history, plan.as_ref().ok())?;
        // The tasks of a fleet count as one run.
        let run = history.find(if self.choice.fleet.is_some() { "all" } else { "last" });
        let needs = history.needs(run.as_ref(), &situation);
        // A run that found nothing to do has already reported that.
        let newest = if self.choice.fleet.is_none() { history.runs().last() } else { None };
        let last = run.as_ref().map(|run| {
            let (cost, review) = (history.cost(run), history.review(run));
            let newest = newest.unwrap_or(run);
            LastRun {
                iteration: run.iterations,
                commits: run.done(),
                unchecked: run.unchecked().len(),
                cost_usd: cost.cost_usd,
                tokens: cost.tokens,
                account: format!("{}, {}", run.account(), cost.with_tokens()),
                last_finish: newest.finish.clone(),
                last_reason: newest.reason.clone(),
                sandbox: run.sandbox.clone(),
                to_review: review.names(Scale::ToReview).len(),
                landed: history.landed_states(run, &needs, &review),
                review: review.lines(),
                ending: newest.ending(false),
            }
        });
        let requested = history.requests_of_stories().into_iter();
        let requested = requested.map(|(key, address, _)| (key.story.clone(), address.to_owned()));
        let waits_on = situation.waiting.iter().map(|(_, branch)| branch);
        let of_branch = waits_on.filter_map(|name| Some((name, history.request_of(name)?)));
        let mut status = RunStatus {
            stories: history.counts(),
            requested: requested.collect(),
            branch_requested: of_branch.map(|(name, it)| (name.clone(), it.to_owned())).next(),
            now,
            last: last.unwrap_or_default(),
            waiting: needs.lines(),
            blocked: needs.stories.into_iter().map(|story| (story.name, story.title)).collect(),
            ..RunStatus::default()
        };
        match plan {
            Ok(plan) => status.plan = Some(plan.path().to_string()),
            Err(error) => status.plan_problem = Some(error.to_string()),
        }
        Ok(status)
    }
}

impl Now {
    fn read(project: &Project) -> Result<Self, Failure> {
        let mut now = Self::default();
        let Ok(repo) = Repo::open(project.root()) else { return Ok(now) };
        let run_dir = run_dir(&repo)?;
        let holder = holder(&run_dir);
        now.running = holder.as_ref().and_then(|held| held.by.as_ref()).map(|by| by.pid);
        now.now = now.running.and_then(|_| view_of(&run_dir));
        let Some(record) = RunRecord::load(&run_dir)? else { return Ok(now) };
        let stop = fs_err::read_to_string(run_dir.stop_request()).unwrap_or_default();
        now.stopping = holder.is_some() && stop == record.process.run;
        // Until a run writes its first record, the last run's is there.
        if now.running == Some(record.process.pid) {
            now.interrupted = record.process.interrupted;
            let stories: Vec<&str> = record.stories().map(|(_, key)| key.story.as_str()).collect();
            now.story = Some(stories.join(", ")).filter(|stories| !stories.is_empty());
            now.pause = record.pause;
        }
        Ok(now)
    }
}

/// The saved view of a project's loop; `None` if it cannot be read.
fn view_of(run_dir: &RunDir) -> Option<Scene> {
    serde_json::from_slice(&fs_err::read(run_dir.live()).ok()?).ok()
}
