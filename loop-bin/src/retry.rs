//! `ralph-loop retry`: reopens stories, and says what their next attempts begin with.

use std::process::ExitCode;

use camino::Utf8Path;
use clap::Args;
use ralph_base::env::Env;
use ralph_base::state::{self, StoryKey, plan_name};
use ralph_core::git::{Git, Repo};
use ralph_core::plan::{Plan, State};

use crate::board::resolve;
use crate::exit::Failure;
use crate::git_output::base_of;
use crate::here;
use crate::plan_choice::{PlanChoice, plan_with_work};
use crate::run::start::{run_dir, take_lock};
use crate::saved::{self, Account, SavedAttempt};
use crate::terminal::say;

/// Reopen stories that were set aside or are done, optionally with a hint or an earlier attempt
#[derive(Debug, Args)]
pub(crate) struct Retry {
    #[command(flatten)]
    choice: PlanChoice,
    /// The stories' ids
    #[arg(required = true, value_name = "STORY")]
    stories: Vec<String>,
    /// Start from the work of this attempt, such as US-001/2
    #[arg(long, value_name = "ID")]
    from: Option<String>,
    /// What the agent should know this time
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    hint: String,
}

impl Retry {
    pub(crate) fn run(&self, env: &Env) -> Result<ExitCode, Failure> {
        let project = here::project(env)?;
        let config = self.choice.config(env, &project)?;
        // The plan that counts may be that of another branch than the one that is checked out.
        let counts = plan_with_work(env, &project, &config)?;
        let mut plan = here::plan(&project, env, &config)?;
        let repo = Repo::open(project.root())?;
        // A run has its own word for which stories it gave up.
        let _lock = take_lock(&run_dir(&repo)?, "ralph-loop retry")?;
        let from = self.from.as_deref().map(|id| saved::find(repo.git(), id)).transpose()?;
        let name = plan_name(project.root(), plan.path());
        // All of them before the first is reopened.
        let found = self.stories.iter().map(|id| self.find(repo.git(), &counts, id, from.as_ref()));
        for story in found.collect::<Result<Vec<String>, Failure>>()? {
            begin_with(repo.git(), project.root(), (&name, &story), from.as_ref(), &self.hint)?;
            if plan.story(&story).is_some_and(|story| story.state != State::Open) {
                plan = Plan::parse(plan.path(), plan.reopen(&story)?, &config.plan)?;
                state::replace_users(plan.path(), plan.bytes())?;
            }
            let begins = from.iter().map(|from| format!(", starting from {}", from.id));
            let begins: String = begins.collect();
            say(format!("{story} is open again; the next `ralph-loop` run works on it{begins}."));
        }
        Ok(ExitCode::SUCCESS)
    }

    /// The id of a story as the plan has it, if it can be reopened.
    fn find(
        &self,
        git: &Git,
        plan: &Plan,
        id: &str,
        from: Option<&SavedAttempt>,
    ) -> Result<String, Failure> {
        let found = plan.story(id).ok_or_else(|| {
            let path = plan.path();
            Failure::because(format!(
                "{path} has no story {id}; run `ralph-loop status` to see the blocked stories"
            ))
        })?;
        let story = &found.id;
        let begins = self.from.is_some() || !self.hint.trim().is_empty();
        let newest = saved::newest(saved::all(git, Some(story))?);
        let is_asked = newest.is_none_or(|newest| newest.outcome.as_deref() == Some(saved::RETRY));
        if found.state == State::Open && !begins && is_asked {
            return Err(Failure::because(format!(
                "{story} is already open; the next run works on it (guide it with --hint or --from)"
            )));
        }
        if let Some(other) = from.filter(|from| !from.story.eq_ignore_ascii_case(story)) {
            return Err(Failure::because(format!(
                "{} is an attempt at {}, not at {story}; see `ralph-loop attempts {story}`",
                other.id, other.story
            )));
        }
        Ok(story.clone())
    }
}

/// An attempt that the next one goes on with: the work to begin with, and what a person says.
fn begin_with(
    git: &Git,
    root: &Utf8Path,
    (plan, story): (&str, &str),
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
    let key = StoryKey::new(plan, story);
    let number = saved::number_after(&saved::at_story(git, &key)?);
    let why = format!("requested by a person\n{hint}");
    let session = from.and_then(|from| from.session.as_deref());
    let account =
        Account { key, number, outcome: saved::RETRY, why: &why, session, ..Account::default() };
    let parents: Vec<&str> = base.as_deref().into_iter().collect();
    saved::keep(git, root, &tree, &parents, &account)?;
    Ok(())
}
