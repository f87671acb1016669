//! One pull request for all the work of a run.

use std::collections::BTreeSet;

use super::{Forge, PullRequest, default_branch, remote_of};
use crate::exit::Failure;
use crate::receipts::advice;
use crate::terminal::counted;
use board::push_notes;
use ralph_base::state::plan_name;
use ralph_core::git::{Git, Repo};
use ralph_core::plan::Plan;
use ralph_project::config::{Config, PullRequests};
use run_history::Report;
use work_copy::text_path;

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
    let base = format!("refs/remotes/{remote}/{}", default_branch(git, &remote));
    let body = report.markdown()? + &advice(git, &base, &format!("refs/heads/{branch}"))?;
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
    if let Err(error) = push_notes(git, &remote) {
        log::warn!("the receipts could not be pushed: {error}");
    }
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
