//! `ralph-loop attempts`: lists the attempts that are kept, shows one, or brings one into the tree or
//! onto a branch.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use ralph_base::env::Env;
use ralph_core::git::{Git, GitError, Repo};

use crate::exit::Failure;
use crate::git_output::base_of;
use crate::here;
use crate::saved::{self, SavedAttempt};
use crate::terminal::{say, say_as_it_is};

/// List the attempts that are kept, show one, or take one into your tree or a branch
///
/// Without an argument: lists every attempt that is kept, newest first. With a story's id: its
/// attempts. With an attempt's id (US-001/2): why it failed, and its changes.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Attempts {
    /// A story, or one attempt
    #[arg(value_name = "STORY|ID")]
    of: Option<String>,
    #[command(subcommand)]
    take: Option<Take>,
}

#[derive(Debug, Subcommand)]
enum Take {
    /// Bring the changes of an attempt into your tree, or onto a branch
    ///
    /// Brings the changes of an attempt into your tree, uncommitted. Nothing of yours is overwritten:
    /// where the changes do not fit, nothing is changed.
    ///
    /// With --branch: makes a branch of the attempt, and leaves your tree alone.
    Take {
        /// The attempt, such as US-001/2
        id: String,
        /// Make this branch of it instead
        #[arg(long, value_name = "NAME")]
        branch: Option<String>,
    },
}

impl Attempts {
    pub(crate) fn run(&self, env: &Env) -> Result<ExitCode, Failure> {
        let project = here::project(env)?;
        let repo = Repo::open(project.root())?;
        match (&self.take, &self.of) {
            (Some(Take::Take { id, branch: Some(branch) }), _) => {
                take_branch(repo.git(), id, branch)
            }
            (Some(Take::Take { id, branch: None }), _) => take(repo.git(), id),
            (None, Some(id)) if id.contains('/') => show(repo.git(), id),
            (None, Some(story)) if saved::all(repo.git(), Some(story))?.is_empty() => {
                let plan = here::plan(&project, env, &here::config(&project, env, &[])?)?;
                if plan.story(story).is_none() {
                    let path = here::shown(plan.path());
                    return Err(Failure::because(format!("{path} has no story {story}")));
                }
                list(repo.git(), Some(story))
            }
            (None, story) => list(repo.git(), story.as_deref()),
        }?;
        Ok(ExitCode::SUCCESS)
    }
}

fn list(git: &Git, story: Option<&str>) -> Result<(), Failure> {
    let all = saved::all(git, story)?;
    if all.is_empty() {
        let of = story.map(|story| format!(" at {story}")).unwrap_or_default();
        say(format!(
            "No attempt{of} is kept: nothing was tried yet, no attempt changed a file, or those of \
             finished stories were removed ([workspace] keep)."
        ));
        return Ok(());
    }
    let width = all.iter().map(|attempt| attempt.id.len()).max().unwrap_or(0);
    for attempt in &all {
        let outcome = attempt.outcome.as_deref().unwrap_or("landed");
        let cost = attempt.cost_usd.map(|cost| format!("  ${cost:.2}")).unwrap_or_default();
        let SavedAttempt { id, at, .. } = attempt;
        say(format!("{id:width$}  {at}  {outcome:<11}{cost}  {}", attempt.why));
    }
    let failed = all.iter().find(|attempt| attempt.outcome.is_some());
    if let Some(SavedAttempt { id, story, .. }) = failed {
        say(format!(
            "\nShow one:      ralph-loop attempts {id}\n\
             Take it:       ralph-loop attempts take {id}\n\
             Try it again:  ralph-loop retry {story} --from {id}"
        ));
    }
    Ok(())
}

fn show(git: &Git, id: &str) -> Result<(), Failure> {
    let attempt = saved::find(git, id)?;
    let outcome = attempt.outcome.as_deref().unwrap_or("landed");
    say(format!("{}  {outcome}  {}", attempt.id, attempt.at));
    say(format!("{}\n{}", attempt.why, attempt.details));
    let args = ["diff", "--no-ext-diff", "--no-color", "--stat", "--patch"];
    say_as_it_is(&String::from_utf8_lossy(&changes(git, &args, &attempt)?));
    Ok(())
}

/// The changes of an attempt, as git prints them.
fn changes(git: &Git, args: &[&str], attempt: &SavedAttempt) -> Result<Vec<u8>, GitError> {
    let base = base_of(git, attempt.base.as_deref())?;
    git.run(&[args, &[&base, &attempt.commit]].concat())
}

fn take_branch(git: &Git, id: &str, branch: &str) -> Result<(), Failure> {
    let attempt = saved::find(git, id)?;
    git.run(&["branch", "--no-track", "--", branch, &attempt.commit])?;
    say(format!("{branch} is {}; look at it with `git switch {branch}`", attempt.id));
    Ok(())
}

/// As a patch that git applies wholly or not at all.
fn take(git: &Git, id: &str) -> Result<(), Failure> {
    let attempt = saved::find(git, id)?;
    let args = ["diff-tree", "-p", "--binary", "--full-index", "--no-renames"];
    let patch = changes(git, &args, &attempt)?;
    let id = attempt.id;
    if patch.is_empty() {
        say(format!("{id} changed nothing."));
        return Ok(());
    }
    match git.feed(&["apply", "--whitespace=nowarn"], &patch) {
        Ok(_) => {
            say(format!("The changes of {id} are in your tree, uncommitted; see `git status`."));
            Ok(())
        }
        Err(GitError::Failed { stderr, .. }) => {
            let said = stderr.lines().next().unwrap_or_default();
            Err(Failure::because(format!(
                "the changes of {id} do not fit into your tree: {said}; nothing was changed; \
                 `ralph-loop attempts take {id} --branch NAME` puts them on a branch of their own"
            )))
        }
        Err(error) => Err(error.into()),
    }
}
