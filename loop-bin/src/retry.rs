//! `ralph-loop retry`: reopens a story, and says what its next attempt begins with.

use camino::Utf8Path;
use clap::{Arg, ArgMatches, Command};
use ralph_base::env::Env;
use ralph_base::state::{self, Lock};
use ralph_core::git::{Git, Repo};
use ralph_core::plan::State;

use crate::exit::{Failure, Success};
use crate::git_output::base_of;
use crate::here;
use crate::landing::resolve;
use crate::run::RETRY;
use crate::run::start::{run_dir, take_lock};
use crate::saved::{self, Account, SavedAttempt};
use crate::terminal::say;

/// What was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Request {
    story: String,
    from: Option<String>,
    hint: String,
}

/// Why a story is not reopened.
#[derive(Debug, thiserror::Error)]
enum NotReopened {
    #[error("{plan} has no story {story}; `ralph-loop status` names those that are blocked")]
    Unknown { plan: String, story: String },
    #[error("{story} is open already; the next run works on it (use --hint or --from to say how)")]
    Open { story: String },
    #[error(
        "{id} is an attempt at {other}, not at {story}; `ralph-loop attempts {story}` lists those"
    )]
    OfAnother { id: String, other: String, story: String },
}

/// The subcommand.
pub(crate) fn command() -> Command {
    Command::new("retry")
        .about("Reopen a story that was set aside or done; say what to begin with, or how")
        .arg(Arg::new("story").value_name("STORY").required(true).help("The story's id"))
        .arg(
            Arg::new("from")
                .long("from")
                .value_name("ID")
                .help("Begin with the work of this attempt, such as US-001/2"),
        )
        .arg(
            Arg::new("hint")
                .long("hint")
                .value_name("TEXT")
                .default_value("")
                .help("What the agent should know this time"),
        )
}

impl Request {
    /// From the command line.
    pub(crate) fn from_matches(matches: &ArgMatches) -> Self {
        let text = |name| matches.get_one::<String>(name).cloned();
        Self {
            story: text("story").unwrap_or_default(),
            from: text("from"),
            hint: text("hint").unwrap_or_default(),
        }
    }
}

/// Does it.
pub(crate) fn run(env: &Env, request: &Request) -> Result<Success, Failure> {
    let project = here::project(env)?;
    let config = here::config(&project, env, &[])?;
    let plan = here::plan(&project, env, &config)?;
    let repo = Repo::open(project.root())?;
    let run_dir = run_dir(&repo)?;
    // A run has its own word for which stories it gave up.
    let _lock: Lock = take_lock(&run_dir, "ralph-loop retry")?;
    let found = plan.story(&request.story).cloned().ok_or_else(|| NotReopened::Unknown {
        plan: plan.path().to_string(),
        story: request.story.clone(),
    })?;
    let is_open = found.state == State::Open;
    let story = found.id;
    if is_open && request.from.is_none() && request.hint.trim().is_empty() {
        return Err(NotReopened::Open { story }.into());
    }
    let from = request.from.as_deref().map(|id| saved::find(repo.git(), id)).transpose()?;
    if let Some(other) = from.as_ref().filter(|from| !from.story.eq_ignore_ascii_case(&story)) {
        let (id, other) = (other.id.clone(), other.story.clone());
        return Err(NotReopened::OfAnother { id, other, story }.into());
    }
    if from.is_some() || !request.hint.trim().is_empty() {
        begin_with(repo.git(), project.root(), &story, from.as_ref(), &request.hint)?;
    }
    if !is_open {
        state::replace_users(plan.path(), &plan.reopen(&story)?)?;
    }
    let begins = from.map(|from| format!(", with the work of {}", from.id)).unwrap_or_default();
    say(format!("{story} is open; the next `ralph-loop` works on it{begins}."));
    Ok(Success::Done)
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
    let account = Account { story, number, outcome: RETRY, why: &why, ..Account::default() };
    let parents: Vec<&str> = base.as_deref().into_iter().collect();
    saved::keep(git, root, &tree, &parents, &account)?;
    Ok(())
}
