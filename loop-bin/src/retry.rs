//! `ralph-loop retry`: reopens a story, and says what its next attempt begins with.

use std::process::ExitCode;

use camino::Utf8Path;
use clap::Args;
use ralph_base::env::Env;
use ralph_base::state;
use ralph_core::git::{Git, Repo};
use ralph_core::plan::State;

use crate::exit::Failure;
use crate::git_output::base_of;
use crate::here;
use crate::landing::resolve;
use crate::run::start::{run_dir, take_lock};
use crate::saved::{self, Account, SavedAttempt};
use crate::terminal::say;

/// Reopen a story that was set aside or done; say what to begin with, or how
#[derive(Debug, Args)]
pub(crate) struct Retry {
    /// The story's id
    story: String,
    /// Begin with the work of this attempt, such as US-001/2
    #[arg(long, value_name = "ID")]
    from: Option<String>,
    /// What the agent should know this time
    #[arg(long, value_name = "TEXT", default_value = "")]
    hint: String,
}

impl Retry {
    pub(crate) fn run(&self, env: &Env) -> Result<ExitCode, Failure> {
        let project = here::project(env)?;
        let config = here::config(&project, env, &[])?;
        let plan = here::plan(&project, env, &config)?;
        let repo = Repo::open(project.root())?;
        // A run has its own word for which stories it gave up.
        let _lock = take_lock(&run_dir(&repo)?, "ralph-loop retry")?;
        let found = plan.story(&self.story).ok_or_else(|| {
            let (path, story) = (plan.path(), &self.story);
            Failure::because(format!(
                "{path} has no story {story}; `ralph-loop status` names those that are blocked"
            ))
        })?;
        let (story, is_open) = (&found.id, found.state == State::Open);
        let begins = self.from.is_some() || !self.hint.trim().is_empty();
        let newest = saved::newest(saved::all(repo.git(), Some(story))?);
        let is_asked = newest.is_none_or(|newest| newest.outcome.as_deref() == Some(saved::RETRY));
        if is_open && !begins && is_asked {
            return Err(Failure::because(format!(
                "{story} is open already; the next run works on it (use --hint or --from to say how)"
            )));
        }
        let from = self.from.as_deref().map(|id| saved::find(repo.git(), id)).transpose()?;
        if let Some(other) = from.as_ref().filter(|from| !from.story.eq_ignore_ascii_case(story)) {
            return Err(Failure::because(format!(
                "{} is an attempt at {}, not at {story}; `ralph-loop attempts {story}` lists those",
                other.id, other.story
            )));
        }
        // Also where the plan is open here: the one that counts may be that of another branch.
        begin_with(repo.git(), project.root(), story, from.as_ref(), &self.hint)?;
        if !is_open {
            state::replace_users(plan.path(), &plan.reopen(story)?)?;
        }
        let begins = from.map(|from| format!(", with the work of {}", from.id)).unwrap_or_default();
        say(format!("{story} is open; the next `ralph-loop` works on it{begins}."));
        Ok(ExitCode::SUCCESS)
    }
}

/// An attempt that the next one goes on with: the work to begin with, and what a person says.
fn begin_with(
    git: &Git,
    root: &Utf8Path,
    story: &str,
    from: Option<&SavedAttempt>,
    hint: &str,
) -> Result<(), Failure> {
    let base = match from {
        Some(from) => from.base.clone(),
        None => resolve(git, "HEAD")?,
    };
    let tree = match from.map(|from| &from.commit).or(base.as_ref()) {
        Some(commit) => git.line(&["rev-parse", "--verify", &format!("{commit}^{{tree}}")])?,
        None => base_of(git, None)?,
    };
    let number = saved::number_after(&saved::all(git, Some(story))?);
    let why = format!("asked for by a person\n{hint}");
    let session = from.and_then(|from| from.session.as_deref());
    let account =
        Account { story, number, outcome: saved::RETRY, why: &why, session, ..Account::default() };
    let parents: Vec<&str> = base.as_deref().into_iter().collect();
    saved::keep(git, root, &tree, &parents, &account)?;
    Ok(())
}
