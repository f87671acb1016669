//! `ralph-loop pr`: pushes the branch and opens a pull request with the report as its text.

use std::process::ExitCode;

use clap::Args;
use ralph_base::env::Env;
use ralph_base::state::{Event, Journal, Marks};
use ralph_core::git::{Git, Repo, Status};
use run_history::LOOP;

use super::Subcommand;
use crate::exit::Failure;
use crate::forge::{default_branch, pull_request, remote_of};
use crate::here;
use crate::plan_choice::{PlanChoice, plan_with_work};
use crate::record::{RunRecord, run_dir};
use crate::report::report_on;
use crate::terminal::say;

pub(super) const COMMAND: Subcommand = Subcommand {
    name: "pr",
    args: Pr::augment_args,
    run: |call| call.parsed::<Pr>()?.run(call.env),
};

/// Push the current branch and open a pull request, with the report as its text
///
/// Uses `gh` or `glab`, whichever is installed. It is a draft if stories are blocked. One that the branch
/// has already is updated.
#[derive(Debug, Args)]
pub(crate) struct Pr {
    #[command(flatten)]
    choice: PlanChoice,
    /// Open it as a draft
    #[arg(long)]
    draft: bool,
}

impl Pr {
    pub(crate) fn run(&self, env: &Env) -> Result<ExitCode, Failure> {
        let project = here::project(env)?;
        let plan = plan_with_work(env, &project, &self.choice.config(env, &project)?)?;
        let repo = Repo::open(project.root())?;
        let record = RunRecord::load(&run_dir(&repo)?)?.unwrap_or_default();
        let target = record.target.as_str();
        let runs = if target.is_empty() { "all".to_owned() } else { format!("on {target}") };
        let report = report_on(env, &project, &self.choice, &runs)?;
        let branch = branch_with(repo.git(), target, Status::read(&repo)?.branch)?;
        let address = pull_request::open(&repo, &branch, &plan, &report, self.draft)?;
        say(address.as_str());
        let marks = Marks { run: Some(record.process.run), ..Marks::default() };
        let event = Event::PullRequest { address: Some(address), why: None };
        Journal::new(project.own_state(), LOOP).marked(marks).append(&event)?;
        Ok(ExitCode::SUCCESS)
    }
}

/// The branch that the last run landed on, or the current branch if that has the run's commits and is not the one
/// that pull requests are merged into.
fn branch_with(git: &Git, target: &str, current: Option<String>) -> Result<String, Failure> {
    let is_better = |current: &String| {
        let has_work = || git.run(&["merge-base", "--is-ancestor", target, current]).is_ok();
        let remote = remote_of(git, current).unwrap_or_default().0;
        target.is_empty() || (has_work() && default_branch(git, &remote) != *current)
    };
    let known = Some(target.to_owned()).filter(|target| !target.is_empty());
    current.filter(is_better).or(known).ok_or_else(|| {
        Failure::because("no branch is checked out; switch to the one with the work first")
    })
}
