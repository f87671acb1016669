//! `ralph-loop report`: the page of a run, written to a file or printed.

use std::process::ExitCode;

use camino::Utf8PathBuf;
use clap::Args;
use ralph_base::env::Env;
use ralph_base::state::Lock;
use ralph_core::git::Repo;
use ralph_project::config::Config;
use ralph_project::project::Project;

use crate::exit::Failure;
use crate::fleet::{machines, of_project};
use crate::landing::Waiting;
use crate::morning::{self, Page, Standing};
use crate::plan_choice::{PlanChoice, plan_with_work};
use crate::run::RunRecord;
use crate::run::books::Books;
use crate::run::start::run_dir;
use crate::terminal::{say, say_as_it_is};
use crate::workspace::Source;
use crate::{here, history};

/// Report on a run: what needs you, what was done, what it cost
///
/// Writes one HTML file that needs no network, and prints its path. Runs write it too when they end.
#[derive(Debug, Args)]
pub(crate) struct Report {
    #[command(flatten)]
    choice: PlanChoice,
    /// The run: last, a number as in `status --run all`, or all
    #[arg(long, value_name = "last|N|all", default_value = "last")]
    run: String,
    /// The last run of a fleet, from its git remote; defaults to the setting `loop.fleet`
    #[arg(long, value_name = "REMOTE", conflicts_with = "run")]
    fleet: Option<String>,
    /// The branch on which the fleet lands its work; defaults to the one that is checked out
    #[arg(long, value_name = "NAME")]
    branch: Option<String>,
    /// Print Markdown, for a pull request
    #[arg(long, conflicts_with = "json")]
    markdown: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Write the HTML page to this file
    #[arg(long, value_name = "FILE", conflicts_with_all = ["json", "markdown"])]
    output: Option<Utf8PathBuf>,
}

impl Report {
    pub(crate) fn run(&self, env: &Env) -> Result<ExitCode, Failure> {
        let project = here::project(env)?;
        let config = self.choice.config(env, &project)?;
        let set = Some(config.run.fleet.clone()).filter(|remote| !remote.is_empty());
        let page = match self.fleet.clone().or(set).filter(|_| self.run == "last") {
            Some(remote) => {
                page_of_fleet(env, &project, &config, (&remote, self.branch.as_deref()))?
            }
            None if self.branch.is_some() => {
                return Err(Failure::usage("--branch is that of a fleet; add --fleet REMOTE"));
            }
            None => page_of(env, &project, &self.choice, &self.run)?,
        };
        if self.json {
            say_as_it_is(&serde_json::to_string_pretty(&page)?);
        } else if self.markdown {
            say_as_it_is(&morning::markdown(&page)?);
        } else {
            say(morning::write(&project, &page, self.output.as_deref())?.as_str());
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// The page of what all machines of a fleet have done in their last run.
fn page_of_fleet(
    env: &Env,
    project: &Project,
    config: &Config,
    (remote, branch): (&str, Option<&str>),
) -> Result<Page, Failure> {
    let repo = Repo::open(project.root())?;
    let (run_dir, source) = (run_dir(&repo)?, Source::of(project, &repo)?);
    let server = of_project(env, Some(remote), branch.or(Some(&config.run.branch)))?;
    server.look()?;
    server.look_at_journals()?;
    server.take_attempts()?;
    let mut runs = Vec::new();
    for machine in machines(&server)? {
        let mut of_machine = history::read(machine.journal(&server).as_slice())?;
        for run in &mut of_machine {
            let workers = run.attempts.iter_mut().map(|attempt| &mut attempt.worker);
            let workers = workers.chain(run.waits.iter_mut().map(|wait| &mut wait.worker));
            workers.for_each(|worker| *worker = Some(machine.name.clone()));
        }
        runs.extend(of_machine);
    }
    let path = here::plan(project, env, config)?.path().to_owned();
    let mut books = Books::of(&path, project, config, &source, &run_dir);
    books.is_servers = true;
    let plan = books.load_at(server.tip()?.as_deref(), false).ok();
    if runs.iter().any(|run| !run.attempts.is_empty()) {
        // One that came too late has done nothing.
        runs.retain(|run| !run.attempts.is_empty());
    }
    // The last one to end says how the fleet's run ended.
    runs.sort_by(|one, other| one.ended_at.cmp(&other.ended_at));
    let began = runs.iter().map(|run| run.started_at.clone()).min().unwrap_or_default();
    for run in &mut runs {
        // Where the plan is on that machine says nothing here.
        (run.plan, run.started_at) = (path.to_string(), began.clone());
    }
    let standing = Standing { runs: Some((server.branch.clone(), runs)), ..Standing::default() };
    let page = morning::page(project, &source, plan.as_ref(), &standing, "all")?;
    let none = format!("no machine has worked on {} of {remote} yet", server.branch);
    page.ok_or_else(|| Failure::because(none))
}

/// The page of a run.
pub(crate) fn page_of(
    env: &Env,
    project: &Project,
    choice: &PlanChoice,
    which: &str,
) -> Result<Page, Failure> {
    let plan = plan_with_work(env, project, &choice.config(env, project)?).ok();
    let repo = Repo::open(project.root())?;
    let (run_dir, source) = (run_dir(&repo)?, Source::of(project, &repo)?);
    let record = RunRecord::load(&run_dir)?.unwrap_or_default();
    let standing = Standing {
        waiting: Waiting::find(&source, &record.target)?,
        misfit: record.misfit,
        is_in_fleet: record.machine.is_some(),
        running: Lock::holder(&run_dir.lock()).map(|_| record.run),
        ..Standing::default()
    };
    let page = morning::page(project, &source, plan.as_ref(), &standing, which)?;
    page.ok_or_else(|| Failure::because("there is no run to report on yet; start one"))
}
