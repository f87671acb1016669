//! `ralph-loop status`: where the run stands, and what waits for the user.

mod lines;
mod watch;

use std::collections::BTreeMap;
use std::process::ExitCode;

use clap::Args;
use ralph_base::env::Env;
use ralph_base::state::{Id, Lock, RunDir};
use ralph_core::git::Repo;
use ralph_core::plan::{Plan, State, StoryCounts};
use ralph_project::project::Project;
use ralph_project::under_way::Attempt;
use serde::Serialize;

use crate::board::{UNCHECKED, Waiting};
use crate::exit::Failure;
use crate::history::PastRun;
use crate::plan_choice::{PlanChoice, plan_with_work};
use crate::report::page_of;
use crate::run::RunRecord;
use crate::run::look_for_recovery;
use crate::run::record::Pause;
use crate::run::start::run_dir;
use crate::terminal::{Scene, printable, say};
use crate::workspace::Source;
use crate::{here, history, morning, saved};

/// Show run status and anything that needs your attention
#[derive(Debug, Default, Args)]
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

/// Where the run stands.
#[derive(Debug, Default, Serialize)]
struct Report {
    /// The process that runs the loop, if one does.
    running: Option<u32>,
    plan: Option<String>,
    plan_problem: Option<String>,
    stories: StoryCounts,
    /// The story under way, several with a comma between, and the iteration.
    story: Option<String>,
    /// The stories under way, one by one.
    workers: Vec<UnderWay>,
    iteration: u64,
    /// Whether `ralph-loop stop` asked it to end after that.
    stopping: bool,
    /// Whether it was asked to end now, by Ctrl-C or `ralph-loop stop --now`.
    interrupted: bool,
    /// What goes on now, as the loop shows it.
    now: Option<Scene>,
    /// What the run waits for now, if it does.
    pause: Option<Pause>,
    commits: u64,
    /// How many of those no check has seen.
    unchecked: usize,
    /// None if nothing is known of it.
    cost_usd: Option<f64>,
    tokens: u64,
    /// How the last run ended; none if it runs, or was killed.
    last_finish: Option<String>,
    /// What there is to say about that.
    last_reason: Option<String>,
    /// What others did to plan and settings during the run.
    meanwhile: Vec<String>,
    /// What to look at twice in what the last run landed.
    twice: Vec<String>,
    /// Stories that wait for a person, with their titles.
    blocked: Vec<(String, String)>,
    /// Which stories wait for each of those.
    kept_waiting: BTreeMap<String, Vec<String>>,
    /// What only a person can do.
    waiting: Vec<String>,
}

/// A story that is worked on.
#[derive(Debug, Serialize)]
struct UnderWay {
    /// By which of several workers.
    worker: Option<String>,
    story: String,
    /// Which attempt, as `attempts` counts them; none before it begins.
    attempt: Option<u64>,
    since: Option<String>,
}

impl Status {
    pub(crate) fn run(&self, env: &Env) -> Result<ExitCode, Failure> {
        if self.watch {
            let project = here::project(env)?;
            return watch::until_the_end(self.json, &|| self.look(env, &project));
        }
        let answer = self.answer(env)?;
        if !answer.is_empty() {
            say(answer);
        }
        Ok(ExitCode::SUCCESS)
    }

    /// What it shows at once.
    pub(crate) fn answer(&self, env: &Env) -> Result<String, Failure> {
        let project = here::project(env)?;
        if let Some(which) = &self.run {
            return self.past(env, &project, which);
        }
        let report = self.look(env, &project)?;
        if self.json {
            return Ok(serde_json::to_string_pretty(&report)?);
        }
        Ok(report.lines().join("\n"))
    }

    /// Where the run stands now.
    fn look(&self, env: &Env, project: &Project) -> Result<Report, Failure> {
        let config = self.choice.config(env, project)?;
        let mut report = Report::default();
        match plan_with_work(env, project, &config) {
            Ok(plan) => report.look_at(&plan),
            Err(error) => report.plan_problem = Some(error.to_string()),
        }
        let past = history::of(project.own_state()).unwrap_or_default();
        report.look_around(project, &past)?;
        report.waiting.extend(look_for_recovery(project)?);
        report.twice = past.last().map(morning::remarks).unwrap_or_default();
        Ok(report)
    }

    fn past(&self, env: &Env, project: &Project, which: &str) -> Result<String, Failure> {
        let runs = morning::runs(project)?;
        if which == "all" {
            let lines: Vec<String> = runs.iter().map(|run| run.told()).collect();
            let json = || serde_json::to_string_pretty(&runs);
            return Ok(if self.json { json()? } else { lines.join("\n") });
        }
        let page = page_of(env, project, &self.choice, which)?;
        let json = || serde_json::to_string_pretty(&page);
        Ok(if self.json { json()? } else { morning::told(&page).join("\n") })
    }
}

impl Report {
    fn look_at(&mut self, plan: &Plan) {
        self.plan = Some(plan.path().to_string());
        self.stories = plan.counts();
        let blocked = plan.stories().iter().filter(|story| story.state == State::Blocked);
        self.blocked.extend(blocked.map(|story| (story.id.clone(), story.title.clone())));
        for (id, _) in &self.blocked {
            let waits = plan.stories().iter().filter(|story| {
                story.state == State::Open && story.depends.iter().any(|other| other == id)
            });
            self.kept_waiting.insert(id.clone(), waits.map(|story| story.id.clone()).collect());
        }
    }

    fn look_around(&mut self, project: &Project, past: &[PastRun]) -> Result<(), Failure> {
        let state = project.own_state();
        let Ok(repo) = Repo::open(project.root()) else { return Ok(()) };
        let run_dir = run_dir(&repo)?;
        let holder = Lock::holder(&run_dir.lock());
        self.running = holder.as_ref().and_then(|held| held.by.as_ref()).map(|by| by.pid);
        self.now = self.running.and_then(|_| Scene::load(&run_dir));
        if let Some(record) = RunRecord::load(&run_dir)? {
            let tally = &record.tally;
            self.iteration = tally.run.iteration;
            self.commits = tally.run.commits;
            self.cost_usd = tally.known_cost();
            self.tokens = tally.run.spent.tokens;
            self.meanwhile = tally.changes_by_others();
            self.last_finish = record.finish.clone();
            self.last_reason = record.reason.clone();
            let waiting = Waiting::find(&Source::of(project, &repo)?, &record.target)?;
            let since = format!("--since={}", record.process.started_at);
            let grep = format!("--grep=^Ralph-Checks: {UNCHECKED}$");
            let commits = repo.git().line(&["log", "--format=%h", &since, &grep, "--branches"]);
            self.unchecked = commits.map_or(0, |commits| commits.lines().count());
            self.waiting
                .extend(waiting.map(|waiting| waiting.told(record.rebase_problem.as_deref())));
            if record.finish.is_none() && holder.is_none() {
                self.waiting.push("the last run was killed; `ralph-loop` continues it".into());
            }
            let stop = fs_err::read_to_string(run_dir.stop_request()).unwrap_or_default();
            self.stopping = holder.is_some() && stop == record.process.run;
            // Between its start and its first record, a run shows that of the last one.
            if self.running == Some(record.process.pid) {
                self.look_at_work(&run_dir, record)?;
            }
        }
        self.look_at_blocked(&repo, past)?;
        if let Ok(requests) = fs_err::read_dir(state.merge_requests()) {
            let paths = requests.flatten().map(|entry| entry.path().display().to_string());
            self.waiting.extend(paths.map(|path| format!("merge request: {path}")));
        }
        Ok(())
    }

    /// What is worked on and waited for now.
    fn look_at_work(&mut self, run_dir: &RunDir, record: RunRecord) -> Result<(), Failure> {
        self.interrupted = record.process.interrupted;
        self.pause.clone_from(&record.pause);
        let is_one = record.slots.len() <= 1;
        for (name, key) in record.stories() {
            let story = key.story.clone();
            let slot = Id::parse(name).map_err(Failure::usage)?;
            let folder = if is_one { run_dir.clone() } else { run_dir.of_worker(&slot) };
            let attempt = Attempt::load(&folder)?.filter(|attempt| attempt.story == story);
            let (attempt, since) = attempt.map(|attempt| (attempt.number, attempt.began)).unzip();
            let worker = if is_one { None } else { Some(name.clone()) };
            self.workers.push(UnderWay { worker, story, attempt, since });
        }
        let stories: Vec<&str> = self.workers.iter().map(|one| one.story.as_str()).collect();
        if !stories.is_empty() {
            self.story = Some(stories.join(", "));
        }
        Ok(())
    }

    /// Why each blocked story is: as the journal has it or, where that is gone, its last attempt.
    fn look_at_blocked(&mut self, repo: &Repo, past: &[PastRun]) -> Result<(), Failure> {
        let reasons = history::set_aside(past);
        for (story, title) in &self.blocked {
            let last = saved::tried(repo.git(), Some(story))?.into_iter().next();
            let shows = last.as_ref().map_or_else(String::new, |_| {
                format!("; see what was tried with `ralph-loop attempts {story}`")
            });
            let why = reasons.get(story).cloned().or(last.map(|attempt| attempt.why));
            let why = why.map_or_else(String::new, |why| format!(" ({})", printable(&why)));
            let waits = self.kept_waiting.get(story).filter(|waits| !waits.is_empty());
            let waits = waits.map_or_else(String::new, |ids| {
                let verb = if ids.len() == 1 { "waits" } else { "wait" };
                format!("; {} {verb} for it", ids.join(", "))
            });
            self.waiting.push(format!(
                "{story} is blocked: {title}{why}{waits}{shows}; reopen it with `ralph-loop retry \
                 {story}`"
            ));
        }
        Ok(())
    }
}
