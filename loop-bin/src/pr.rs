//! `ralph-loop pr`: pushes the branch and opens a pull request with the report as its text.

use std::collections::BTreeSet;
use std::process::ExitCode;

use clap::Args;
use ralph_base::env::Env;
use ralph_base::state::{Event, Journal, Marks, plan_name};
use ralph_core::git::{Git, Repo, Status};
use ralph_core::plan::Plan;
use ralph_project::config::{Config, PullRequests};
use run_history::{LOOP, Report};
use work_copy::text_path;

use crate::exit::Failure;
use crate::forge::{Forge, PullRequest, default_branch, remote_of};
use crate::here;
use crate::plan_choice::{PlanChoice, plan_with_work};
use crate::report::report_on;
use crate::run::RunRecord;
use crate::run::start::run_dir;
use crate::terminal::{counted, say};

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
        let address = open(&repo, &branch, &plan, &report, self.draft)?;
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

/// Whether a run ends with a pull request.
pub(crate) fn is_wanted(config: &Config) -> bool {
    match config.finish.pr {
        PullRequests::None => config.finish.pull_request,
        which => which == PullRequests::Run,
    }
}

/// The remote and the forge for a branch's pull request; an error says what is missing.
pub(crate) fn way(repo: &Repo, branch: &str) -> Result<(String, Forge), Failure> {
    let git = repo.git();
    let (remote, url) = remote_of(git, branch)?;
    if branch == default_branch(git, &remote) {
        return Err(Failure::because(format!(
            "{branch} is the branch that a pull request would be merged into; give the work a branch \
             of its own with `git switch -c ralph/work`, and start the next run with \
             `--branch 'ralph/{{plan}}'`"
        )));
    }
    let forge = Forge::of(&url, text_path(repo.top())?)?;
    Ok((remote, forge))
}

/// Pushes the branch and opens the pull request; returns its address.
pub(crate) fn open(
    repo: &Repo,
    branch: &str,
    plan: &Plan,
    report: &Report,
    draft: bool,
) -> Result<String, Failure> {
    let (git, root) = (repo.git(), text_path(repo.top())?);
    let (remote, forge) = way(repo, branch)?;
    let body = report.markdown()?;
    let stories = stories_in(git, &remote, branch)?;
    let only = stories.first().filter(|_| stories.len() == 1).and_then(|id| plan.story(id));
    let title = only.map_or_else(
        || {
            let stories = counted(stories.len(), "story", "stories");
            format!("{stories} of {}", plan_name(root, plan.path()))
        },
        |story| story.title.clone(),
    );
    git.run(&["push", "--set-upstream", &remote, branch])?;
    let is_draft = draft || plan.counts().blocked > 0;
    forge.open(root, &PullRequest { branch, title: &title, body: &body, is_draft, replaces: true })
}

/// The stories whose commits are in the branch's pull request.
fn stories_in(git: &Git, remote: &str, branch: &str) -> Result<BTreeSet<String>, Failure> {
    let (tip, base) = (format!("refs/heads/{branch}"), default_branch(git, remote));
    let base = format!("^refs/remotes/{remote}/{base}");
    let format = "--format=%(trailers:key=Ralph-Story,valueonly=true)";
    // The base branch may never have been fetched.
    let said = git.line(&["log", "--ignore-missing", format, &tip, &base])?;
    Ok(said.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect())
}
