//! Chooses the plan for commands that only read.

use std::io;

use camino::Utf8Path;
use clap::Args;
use ralph_base::env::Env;
use ralph_base::state::{Lock, StoryKey, plan_name};
use ralph_core::git::{Git, Repo};
use ralph_core::plan::{self, Options, Plan, State};
use ralph_project::config::{Config, Flag};
use ralph_project::project::Project;
use run_history::RunHistory;

use crate::exit::Failure;
use crate::here;
use crate::record::{RunRecord, plan_of_run, run_dir};
use board::Books;
use board::{Waiting, resolve};
use work_copy::Source;
use work_copy::git_output::text_at;

/// The plan options of the command line.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct PlanChoice {
    /// The plan to read; defaults to that of the current or last run, or the first one found
    #[arg(long, value_name = "PATH")]
    pub(crate) plan: Option<String>,
    /// Number of the PRD-N folder to use
    #[arg(long, value_name = "N")]
    pub(crate) prd: Option<u32>,
    /// Use the git server that fleet tasks work on, instead of this project
    #[arg(long, value_name = "REMOTE")]
    pub(crate) fleet: Option<String>,
}

impl PlanChoice {
    /// Chooses a plan by its path.
    pub(crate) fn of(plan: &Utf8Path) -> Self {
        Self { plan: Some(plan.to_string()), ..Self::default() }
    }

    /// The settings for reading that plan.
    pub(crate) fn config(&self, env: &Env, project: &Project) -> Result<Config, Failure> {
        let plan = self.plan.clone().map(|plan| Flag::new("loop.plan", plan));
        let prd = self.prd.map(|prd| Flag::new("loop.prd", prd.to_string()));
        let mut flags = with_plan_of_run(plan.into_iter().chain(prd).collect(), project)?;
        let config = here::config(project, env, &flags)?;
        if !config.run.plan.is_empty() || config.run.prd > 0 {
            return Ok(config);
        }
        flags.extend(plan_of_last_run(project, &config)?);
        here::config(project, env, &flags)
    }
}

/// The plan of the last run, if it has stories left; the last run's messages refer to it.
fn plan_of_last_run(project: &Project, config: &Config) -> io::Result<Option<Flag>> {
    let run_dir = project.run_dir().map(|dir| dir.of_run());
    let record = run_dir.map_or(Ok(None), |dir| RunRecord::load(&dir))?;
    let is_left = |plan: &Plan| plan.counts().open + plan.counts().blocked > 0;
    let plan = record.and_then(|it| plan::load(&it.plan, &config.plan).ok()).filter(is_left);
    Ok(plan.map(|plan| Flag::new("loop.plan", plan.path().as_str())))
}

/// The plan including the last run's work: if that is not in the user's files, the plan on the branch
/// with the work.
pub(crate) fn plan_with_work(
    env: &Env,
    project: &Project,
    config: &Config,
) -> Result<Plan, Failure> {
    let plan = here::plan(project, env, config)?;
    let Ok(repo) = Repo::open(project.root()) else { return Ok(plan) };
    let (run_dir, source) = (run_dir(&repo)?, Source::of(project, &repo)?);
    let Some(record) = RunRecord::load(&run_dir)? else { return Ok(plan) };
    let is_merged_there = !record.process.server.is_empty();
    let elsewhere = Waiting::find(&source, &record.target)?.filter(|_| !is_merged_there);
    let elsewhere = elsewhere.map(|waiting| format!("refs/heads/{}", waiting.branch));
    let mut plan = match elsewhere {
        Some(name) => {
            let tip = resolve(&source.git(), &name)?;
            let books = Books::of(plan.path(), project, config, &source, &run_dir);
            books.load_at(tip.as_deref(), false)?
        }
        None => plan,
    };
    for story in done_on_server(&source, &record.process.server, &plan, config)? {
        // Merged on the server, though the user has not pulled yet.
        if plan.story(&story).is_some_and(|story| story.state != State::Done) {
            plan = Plan::parse(plan.path(), plan.tick(&story)?, &config.plan)?;
        }
    }
    if is_merged_there {
        plan = with_given_up(plan, project, repo.git(), &config.plan)?;
    }
    if Lock::holder(&run_dir.lock()).is_some() && record.plan == plan.path() {
        // Stories given up are committed with the next commit; until then they are only in the run's record.
        for story in record.tally.set_aside_in(&plan_name(project.root(), plan.path())) {
            if plan.story(&story).is_some_and(|story| story.state == State::Open) {
                plan = Plan::parse(plan.path(), plan.block(&story)?, &config.plan)?;
            }
        }
    }
    Ok(plan)
}

/// Marks stories as blocked that a run with `--pr story` has given up. The user's file does not have them, so
/// that `git pull` accepts what was merged.
pub(crate) fn with_given_up(
    mut plan: Plan,
    project: &Project,
    git: &Git,
    options: &Options,
) -> Result<Plan, Failure> {
    let mut history = RunHistory::open(project.root(), project.own_state())?;
    history.add_attempts(git)?;
    let name = plan_name(project.root(), plan.path());
    let open = plan.stories().iter().filter(|story| story.state == State::Open);
    let given_up = open.filter(|story| history.gave_up(&StoryKey::new(&name, &story.id)));
    for story in given_up.map(|story| story.id.clone()).collect::<Vec<_>>() {
        plan = Plan::parse(plan.path(), plan.block(&story)?, options)?;
    }
    Ok(plan)
}

/// The stories that are done in the server's plan, if the last run's work is merged there.
fn done_on_server(
    source: &Source,
    server: &str,
    plan: &Plan,
    config: &Config,
) -> Result<Vec<String>, Failure> {
    let (git, path) = (source.git(), source.below_top(plan.path()).unwrap_or_default());
    let tip = if server.is_empty() { None } else { resolve(&git, server)? };
    let text = tip.and_then(|tip| text_at(&git, &tip, path.as_std_path()));
    let Some(text) = text else { return Ok(Vec::new()) };
    let theirs = Plan::parse(plan.path(), text, &config.plan)?;
    let done = theirs.stories().iter().filter(|story| story.state == State::Done);
    Ok(done.map(|story| story.id.clone()).collect())
}

/// Selects the plan of the run in progress, unless another plan is named.
pub(crate) fn with_plan_of_run(mut flags: Vec<Flag>, project: &Project) -> io::Result<Vec<Flag>> {
    if !flags.iter().any(|flag| ["loop.plan", "loop.prd"].contains(&flag.key.as_str())) {
        flags.extend(plan_of_run(project)?.map(|plan| Flag::new("loop.plan", plan)));
    }
    Ok(flags)
}
