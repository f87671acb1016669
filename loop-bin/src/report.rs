//! `ralph-loop report`: the page of a run, written to a file or printed.

use std::process::ExitCode;

use camino::Utf8PathBuf;
use clap::Args;
use ralph_base::env::Env;
use ralph_base::state::Lock;
use ralph_core::git::Repo;
use ralph_project::project::Project;

use crate::board::Waiting;
use crate::exit::Failure;
use crate::here;
use crate::morning::{self, Page, Standing};
use crate::plan_choice::{PlanChoice, plan_with_work};
use crate::run::RunRecord;
use crate::run::start::run_dir;
use crate::terminal::{say, say_as_it_is};
use crate::workspace::Source;

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
        let page = page_of(env, &project, &self.choice, &self.run)?;
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
        misfit: record.rebase_problem,
        running: Lock::holder(&run_dir.lock()).map(|_| record.process.run),
        ..Standing::default()
    };
    let page = morning::page(project, &source, plan.as_ref(), &standing, which)?;
    page.ok_or_else(|| Failure::because("there is no run to report on yet; start one"))
}
