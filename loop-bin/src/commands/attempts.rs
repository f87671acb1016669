//! `ralph-loop attempts`: lists saved attempts, shows one, or applies one to the tree or to a
//! branch.

use std::io::{self, IsTerminal};
use std::process::ExitCode;

use clap::Args;
use ralph_base::env::Env;
use ralph_base::state::StoryKey;
use ralph_core::git::{Git, GitError, Repo};

use run_history::saved::{retry_command, tried};
use run_history::words::dollars;
use run_history::{Attempt, RunHistory};

use super::Subcommand;
use crate::boards::fleet;
use crate::exit::Failure;
use crate::here;
use crate::plan_choice::PlanChoice;
use crate::saved::{self, SavedAttempt};
use crate::terminal::{say, say_as_it_is};

pub(super) const COMMAND: Subcommand = Subcommand {
    name: "attempts",
    args: Attempts::augment_args,
    run: |call| call.parsed::<Attempts>()?.run(call.env),
};

/// List or show saved attempts, or apply one to your tree or a branch
///
/// Without an argument: lists all saved attempts, newest first. With a story's id: lists the attempts
/// at that story. With an attempt's id (US-001/2): shows why it failed, and its changes.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Attempts {
    /// A story or an attempt
    #[arg(value_name = "STORY|ID")]
    of: Option<String>,
    /// Use the git server that fleet tasks work on, instead of this project
    #[arg(long, value_name = "REMOTE")]
    fleet: Option<String>,
    #[command(subcommand)]
    take: Option<Action>,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    Take(Take),
}

pub(super) const TAKE: Subcommand = Subcommand {
    name: "take",
    // People type `take` alone.
    args: |command| Take::augment_args(command).hide(true),
    run: |call| call.parsed::<Take>()?.run(call.env),
};

/// Apply the changes of an attempt to your tree, or put them on a branch
///
/// Applies the changes of an attempt to your tree, uncommitted. Your work is never overwritten: if
/// the changes conflict with it, nothing is changed.
///
/// With --branch: creates a branch from the attempt, and does not touch your tree.
#[derive(Debug, Args)]
pub(crate) struct Take {
    /// The attempt, such as US-001/2
    id: String,
    /// Create this branch from it instead
    #[arg(long, value_name = "NAME")]
    branch: Option<String>,
}

impl Take {
    pub(crate) fn run(&self, env: &Env) -> Result<ExitCode, Failure> {
        let repo = Repo::open(here::project(env)?.root())?;
        match &self.branch {
            Some(branch) => take_branch(repo.git(), &self.id, branch),
            None => take(repo.git(), &self.id),
        }?;
        Ok(ExitCode::SUCCESS)
    }
}

impl Attempts {
    pub(crate) fn run(&self, env: &Env) -> Result<ExitCode, Failure> {
        let (env, _server) = &fleet::enter(env, self.fleet.as_deref())?;
        if let Some(Action::Take(take)) = &self.take {
            return take.run(env);
        }
        let project = here::project(env)?;
        let repo = Repo::open(project.root())?;
        let history = RunHistory::open(project.root(), project.own_state())?;
        match &self.of {
            Some(id) if is_attempt(repo.git(), id)? => {
                let shown = show(repo.git(), id);
                // An attempt that changed nothing is not saved.
                if shown.is_ok() || history.attempts(Some(id)).next().is_none() {
                    return shown.map(|()| ExitCode::SUCCESS);
                }
                list(repo.git(), Some(id), &history)
            }
            Some(story) if saved::called(repo.git(), story)?.is_empty() => {
                let plan =
                    here::plan(&project, env, &PlanChoice::default().config(env, &project)?)?;
                if plan.story(story).is_none() {
                    let path = here::shown(plan.path());
                    return Err(Failure::because(format!(
                        "{path} has no story {story}; `ralph-loop stories` lists them"
                    )));
                }
                list(repo.git(), Some(story), &history)
            }
            story => list(repo.git(), story.as_deref(), &history),
        }?;
        fleet::say_remote(self.fleet.as_deref());
        Ok(ExitCode::SUCCESS)
    }
}

/// Whether an id names an attempt rather than a story.
fn is_attempt(git: &Git, id: &str) -> Result<bool, Failure> {
    let is_story = |one: &SavedAttempt| one.is_at(&StoryKey::parse(id).unwrap_or_default());
    Ok(id.contains('/') && !saved::called(git, id)?.iter().any(is_story))
}

fn list(git: &Git, story: Option<&str>, history: &RunHistory) -> Result<(), Failure> {
    let all = match story {
        Some(story) => saved::called(git, story)?,
        None => tried(git)?,
    };
    if all.is_empty() {
        let tried: Vec<String> = history.attempts(story).map(Attempt::in_words).collect();
        let of = story.map(|story| format!(" at {story}")).unwrap_or_default();
        let why = if tried.is_empty() {
            "nothing has been tried yet"
        } else {
            "these attempts left no changes"
        };
        let end = if tried.is_empty() { "." } else { ":" };
        say(format!("There are no saved attempts{of}; {why}{end}"));
        tried.iter().rev().for_each(say);
        if let (Some(story), false) = (story, tried.is_empty()) {
            say(format!("\nShow what the agent did:  ralph-loop logs {story}"));
        }
        return Ok(());
    }
    let width = all.iter().map(|attempt| attempt.id.len()).max().unwrap_or(0);
    for attempt in &all {
        let outcome = attempt.outcome.as_deref().unwrap_or("landed");
        let cost =
            attempt.cost_usd.map(|cost| format!("  {:>6}", dollars(cost))).unwrap_or_default();
        let SavedAttempt { id, at, .. } = attempt;
        say(format!("{id:width$}  {at}  {outcome:<11}{cost}  {}", attempt.why));
    }
    let has_landed =
        |key: &StoryKey| all.iter().any(|one| one.key == *key && one.outcome.is_none());
    let mut failed: Vec<&SavedAttempt> = all.iter().filter(|one| one.outcome.is_some()).collect();
    failed.sort_by_key(|one| has_landed(&one.key));
    if let Some(SavedAttempt { id, key, .. }) = failed.first() {
        say(format!(
            "\nShow one:  ralph-loop attempts {id}\nApply it:  ralph-loop attempts take {id}"
        ));
        if !has_landed(key) {
            let retry = retry_command(key, id.starts_with(&key.plan));
            say(format!("Retry it:  {retry} --from {id}"));
        }
    }
    Ok(())
}

fn show(git: &Git, id: &str) -> Result<(), Failure> {
    let attempt = saved::find(git, id)?;
    let outcome = attempt.outcome.as_deref().unwrap_or("landed");
    say(format!("{}  {outcome}  {}", attempt.id, attempt.at));
    let args = ["diff", "--no-ext-diff", "--no-color", "--stat", "--patch"];
    let changes = attempt.changes(git, &args)?;
    let text =
        format!("{}\n{}\n{}", attempt.why, attempt.details, String::from_utf8_lossy(&changes));
    // An agent's text may contain terminal control sequences.
    let is_command = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
    say_as_it_is(&if io::stdout().is_terminal() { text.replace(is_command, "") } else { text });
    Ok(())
}

fn take_branch(git: &Git, id: &str, branch: &str) -> Result<(), Failure> {
    let attempt = saved::find(git, id)?;
    git.run(&["branch", "--no-track", "--", branch, &attempt.commit])?;
    say(format!("created {branch} from {}; switch to it with `git switch {branch}`", attempt.id));
    Ok(())
}

/// Applies it as a patch: git applies all of it or nothing.
fn take(git: &Git, id: &str) -> Result<(), Failure> {
    let attempt = saved::find(git, id)?;
    let args = ["diff-tree", "-p", "--binary", "--full-index", "--no-renames"];
    let patch = attempt.changes(git, &args)?;
    let id = attempt.id;
    if patch.is_empty() {
        say(format!("{id} changed nothing."));
        return Ok(());
    }
    match git.feed(&["apply", "--whitespace=nowarn"], &patch) {
        Ok(_) => {
            say(format!("The changes from {id} are in your tree, uncommitted; see `git status`."));
            Ok(())
        }
        Err(GitError::Failed { stderr, .. }) => {
            let said = stderr.lines().next().unwrap_or_default();
            Err(Failure::because(format!(
                "the changes from {id} conflict with your tree: {said}; nothing was changed; to \
                 put them on a branch instead, run `ralph-loop attempts take {id} --branch NAME`"
            )))
        }
        Err(error) => Err(error.into()),
    }
}
