//! `ralph-loop retry`: reopens stories, and sets what their next attempts start with.

use std::process::ExitCode;

use camino::Utf8Path;
use clap::Args;
use ralph_base::env::Env;
use ralph_base::state::{self, Lock, StoryKey, plan_name};
use ralph_core::git::{Git, Repo};
use ralph_core::plan::{self, Options, Plan, State};
use ralph_project::project::Project;

use super::Subcommand;
use crate::boards::fleet::{self, Server};
use crate::exit::Failure;
use crate::here;
use crate::plan_choice::{PlanChoice, plan_with_work};
use crate::record::{RunRecord, run_dir, take_lock};
use crate::saved::{self, Account, SavedAttempt};
use crate::terminal::say;
use board::{commit_plainly, resolve};
use work_copy::git_output::base_of;

pub(super) const COMMAND: Subcommand = Subcommand {
    name: "retry",
    args: Retry::augment_args,
    run: |call| call.parsed::<Retry>()?.run(call.env),
};

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
    /// Reopens one story with a hint.
    pub(crate) fn answered(choice: PlanChoice, story: &str, hint: String) -> Self {
        Self { choice, stories: vec![story.to_owned()], from: None, hint }
    }

    pub(crate) fn run(&self, env: &Env) -> Result<ExitCode, Failure> {
        let (env, server) = &fleet::enter(env, self.choice.fleet.as_deref())?;
        let project = here::project(env)?;
        let first = self.stories.first().map_or("", String::as_str);
        let config = for_story(&self.choice, &project, first)?.config(env, &project)?;
        // The plan with the run's work may be on another branch than the checked-out one.
        let counts = plan_with_work(env, &project, &config)?;
        let mut plan = here::plan(&project, env, &config)?;
        let (repo, name) = (Repo::open(project.root())?, plan_name(project.root(), plan.path()));
        // A run in progress has its own list of blocked stories, so it gets a request.
        let run_dir = run_dir(&repo)?;
        let is_running = Lock::holder(&run_dir.lock()).is_some();
        let lock = || take_lock(&run_dir, "ralph-loop retry");
        let _lock = if is_running { None } else { Some(lock()?) };
        let from = self.from.as_deref().map(|id| saved::find(repo.git(), id)).transpose()?;
        // Find all stories before reopening the first.
        let found = self.stories.iter().map(|id| {
            let key = StoryKey::parse(id).filter(|key| key.plan == name);
            let key = key.unwrap_or_else(|| StoryKey::new(&name, id));
            self.find(repo.git(), &counts, &key, from.as_ref())
        });
        for story in found.collect::<Result<Vec<String>, Failure>>()? {
            let key = StoryKey::new(&name, &story);
            let record = if is_running { RunRecord::load(&run_dir)? } else { None };
            if record.is_some_and(|record| record.stories().any(|(_, other)| *other == key)) {
                let how = "wait for its attempt to end, or send the agent a message with `ralph-loop tell`";
                return Err(Failure::Locked(format!("{story} is being worked on; {how}").into()));
            }
            begin_with(repo.git(), project.root(), key, from.as_ref(), &self.hint)?;
            if plan.story(&story).is_some_and(|story| story.state != State::Open) {
                plan = Plan::parse(plan.path(), plan.reopen(&story)?, &config.plan)?;
                state::replace_users(plan.path(), plan.bytes())?;
            }
            if is_running {
                state::append_line(&run_dir.retries(), format!("{name}/{story}").as_bytes())?;
            }
            let who = if is_running { "current run" } else { "next `ralph-loop` run" };
            let begins = from.iter().map(|from| format!(", starting from {}", from.id));
            let begins: String = begins.collect();
            say(format!("{story} is open again; the {who} will work on it{begins}."));
        }
        server.as_ref().map_or(Ok(()), publish_retry)?;
        Ok(ExitCode::SUCCESS)
    }

    /// The story's id as the plan spells it, if it can be reopened.
    fn find(
        &self,
        git: &Git,
        plan: &Plan,
        key: &StoryKey,
        from: Option<&SavedAttempt>,
    ) -> Result<String, Failure> {
        let id = &key.story;
        let found = plan.story(id).ok_or_else(|| {
            let path = plan.path();
            let of_attempt = id.rsplit_once('/').and_then(|(story, _)| plan.story(story));
            Failure::because(match of_attempt {
                Some(story) => {
                    let story = &story.id;
                    format!(
                        "{id} is an attempt; to start again from its work, run `ralph-loop retry \
                         {story} --from {id}`"
                    )
                }
                None => format!(
                    "{path} has no story {id}; run `ralph-loop status` to see the blocked stories"
                ),
            })
        })?;
        let story = &found.id;
        let begins = self.from.is_some() || !self.hint.trim().is_empty();
        let newest = saved::newest(saved::at_story(git, key)?);
        let is_asked = newest.is_none_or(|newest| newest.is_retry());
        if found.state == State::Open && !begins && is_asked {
            return Err(Failure::because(format!(
                "{story} is already open; the next run works on it (guide it with --hint or --from)"
            )));
        }
        if let Some(other) = from.filter(|from| !from.is_at(key)) {
            return Err(Failure::because(format!(
                "{} is an attempt at {}, not at {story}; see `ralph-loop attempts {story}`",
                other.id, other.key
            )));
        }
        Ok(story.clone())
    }
}

/// The saved attempt whose work the next one starts with, and the user's hint.
fn begin_with(
    git: &Git,
    root: &Utf8Path,
    key: StoryKey,
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
    let number = saved::number_after(&saved::at_story(git, &key)?);
    let why = format!("requested by a person\n{hint}");
    let session = from.and_then(|from| from.session.clone());
    let account =
        Account { key, number, outcome: saved::RETRY, why: &why, session, ..Account::default() };
    let parents: Vec<&str> = base.as_deref().into_iter().collect();
    saved::keep(git, root, &tree, &parents, &account)?;
    Ok(())
}

/// Pushes the reopened plan, and what the next attempt begins with, to the server.
fn publish_retry(server: &Server) -> Result<(), Failure> {
    let git = &server.git;
    if git.run(&["diff", "--quiet"]).is_err() {
        git.run(&["add", "--update"])?;
        let tree = git.line(&["write-tree"])?;
        let made = commit_plainly(git, &tree, Some("HEAD"), "chore: reopen stories")?;
        git.run(&["update-ref", "HEAD", &made.commit])?;
    }
    let branch = git.line(&["symbolic-ref", "--short", "HEAD"])?;
    server.publish(&branch)?;
    let moved =
        || Failure::because("the branch has just changed on the server; run the command again");
    server.push(&branch)?.then_some(()).ok_or_else(moved)
}

/// The choice for a story: the plan in the story's name (`PRD-2/US-001`), or else the plan in which
/// the story is blocked.
fn for_story(choice: &PlanChoice, project: &Project, id: &str) -> Result<PlanChoice, Failure> {
    if choice.plan.is_some() || choice.prd.is_some() {
        return Ok(choice.clone());
    }
    let key = StoryKey::parse(id);
    let named = key.as_ref().and_then(|key| key.plan.strip_prefix("PRD-")?.parse().ok());
    let (state, options) = (project.own_state(), Options::default());
    let is_blocked = |number: &u32| {
        let plan = plan::load(&state.plan(*number), &options).ok();
        plan.is_some_and(|plan| plan.story(id).is_some_and(|story| story.state == State::Blocked))
    };
    let blocked: Vec<u32> = state.prd_numbers().into_iter().filter(is_blocked).collect();
    if named.is_none() && blocked.len() > 1 {
        let choices: Vec<String> =
            blocked.iter().map(|number| format!("`PRD-{number}/{id}`")).collect();
        return Err(Failure::because(format!(
            "{id} is blocked in several plans; name one of {}",
            choices.join(", ")
        )));
    }
    Ok(PlanChoice { plan: None, fleet: None, prd: named.or_else(|| blocked.first().copied()) })
}
