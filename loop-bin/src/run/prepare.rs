//! Everything that is checked before the first iteration, and before anything is written.

use std::cell::RefCell;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use ralph_core::config::Config;
use ralph_core::env::Env;
use ralph_core::git::{Repo, Status};
use ralph_core::plan::Plan;
use ralph_core::project::Project;
use ralph_core::prompt::{self, Template};
use ralph_core::settle::Report;
use ralph_core::state::{self, Lock, LockError, StateDir};

use super::Request;
use super::record::Record;
use super::stage::Stage;
use crate::exit::Failure;
use crate::signals::Interrupts;
use crate::step::Counters;
use crate::terminal::{View, counted};
use crate::{agent, aside, here};

/// Why a run does not begin.
#[derive(Debug, thiserror::Error)]
enum NotReady {
    #[error(
        "there is uncommitted work: {files}; commit it (`git add -A && git commit`), stash it \
         (`git stash -u`), or start with --allow-dirty to have it kept aside and restored"
    )]
    Dirty { files: String },
    #[error("the agent `{program}` was not found; install it, or name another with --agent")]
    NoAgent { program: String },
    #[error("{path}: {source}")]
    Prompt { path: String, source: prompt::UnknownVariable },
}

/// The project as it was found, without a change to it.
pub(crate) struct Ground {
    pub(crate) project: Project,
    pub(crate) config: Config,
    pub(crate) repo: Repo,
    pub(crate) plan: Result<Plan, ralph_core::plan::FindError>,
}

/// Finds everything and checks what can be checked without writing.
pub(crate) fn ground(env: &Env, request: &Request) -> Result<Ground, Failure> {
    let project = here::project(env)?;
    let config = here::config(&project, env, &request.flags)?;
    let plan = here::plan(&project, env, &config);
    if let Ok(plan) = &plan {
        template(plan)?;
    }
    let repo = Repo::open(project.root())?;
    // What an attempt of ours left under way is ours to give up.
    if !project.own_state().attempt().exists() {
        repo.refuse_if_busy()?;
    }
    let program = agent::program_of(&config.agent.command);
    let path = env.get("PATH").unwrap_or_default();
    if let Some(program) =
        program.filter(|program| !agent::is_found(program, &path, project.root()))
    {
        return Err(NotReady::NoAgent { program: program.to_owned() }.into());
    }
    Ok(Ground { project, config, repo, plan })
}

/// The prompt's template: the user's beside the plan, or our own.
pub(super) fn template(plan: &Plan) -> Result<Template, Failure> {
    let path = StateDir::prompt_beside(plan.path());
    let parsed = match fs_err::read_to_string(&path) {
        Ok(text) => Template::parse(&text),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Template::parse(prompt::BUILDING)
        }
        Err(error) => return Err(error.into()),
    };
    parsed.map_err(|source| Failure::usage(NotReady::Prompt { path: path.into_string(), source }))
}

/// Gets ready to run: lock, recovery, and the user's work out of the way.
pub(super) fn prepare(env: &Env, request: &Request) -> Result<Stage, Failure> {
    let view = View::new(env, request.json);
    let Ground { project, config, repo, plan } = ground(env, request)?;
    let is_planning = config.run.mode == ralph_core::config::Mode::Planning;
    let plan = match plan {
        // Planning writes the plan, so there may be none yet.
        Err(ralph_core::plan::FindError::NotFound { .. }) if is_planning => {
            project.own_state().plan(1)
        }
        other => {
            let plan = other?;
            for warning in plan.warnings() {
                view.warn(format!("{}:{}: {}", plan.path(), warning.line, warning.message));
            }
            plan.path().to_owned()
        }
    };
    project.own_state().prepare()?;
    let lock = take_lock(&project)?;
    agent::adopt_orphans();
    let before = Record::load(project.own_state())?.filter(|record| record.finish.is_none());
    let mut stage = Stage {
        flags: request.flags.clone(),
        interrupts: Interrupts::listen()?,
        run: run_name(),
        counters: Counters::default(),
        earlier: Duration::ZERO,
        begun: Instant::now(),
        started_at: state::now(),
        aside: None,
        attempt: None,
        report: Report::default(),
        quota_streak: 0,
        broke: false,
        json: request.json,
        project,
        repo,
        config,
        plan,
        view,
        saved: RefCell::new(None),
        _lock: lock,
    };
    stage.take_over(before)?;
    stage.refuse_or_keep_aside()?;
    Ok(stage)
}

fn take_lock(project: &Project) -> Result<Lock, Failure> {
    let state = project.own_state();
    match Lock::take(&state.lock(), "ralph-loop") {
        Ok(lock) => Ok(lock),
        Err(error @ LockError::Held(_)) => Err(Failure::Locked(Box::new(error))),
        Err(error) => Err(error.into()),
    }
}

/// Sorts by time, and is different for every run of a machine.
fn run_name() -> String {
    format!("{}-{}", Timestamp::now().strftime("%Y%m%d-%H%M%S"), std::process::id())
}

impl Stage {
    /// An agent that removed `.ralph/` removed the lock's file as well; what we hold is a file that
    /// nobody finds any more.
    pub(super) fn take_lock_again(&mut self) -> Result<(), Failure> {
        if !self.state().lock().exists() {
            self._lock = take_lock(&self.project)?;
        }
        Ok(())
    }

    fn refuse_or_keep_aside(&mut self) -> Result<(), Failure> {
        // An attempt that is to be continued is not the user's work.
        if self.attempt.is_some() || self.aside.is_some() {
            return Ok(());
        }
        let dirty = self.dirty_files()?;
        if dirty.is_empty() {
            return Ok(());
        }
        if !self.config.run.allow_dirty {
            return Err(NotReady::Dirty { files: named(&dirty) }.into());
        }
        let name = format!("refs/ralph/aside/{}", self.run);
        aside::save(&self.repo, &name)?;
        self.aside = Some(name);
        // On disk before the tree is touched, so that a crash in between restores it.
        Record {
            run: self.run.clone(),
            started_at: self.started_at.clone(),
            plan: self.plan.clone(),
            aside: self.aside.clone(),
            ..Record::new()
        }
        .save(self.state())?;
        aside::clear(&self.repo, &|path| self.is_ours(path))?;
        let files = counted(dirty.len(), "file", "files");
        self.view.line(format!("uncommitted work is kept aside: {files}"));
        Ok(())
    }

    /// Whether a person or a script should know that stories are left.
    pub(crate) fn has_open_stories(&self) -> bool {
        self.load_plan().is_ok_and(|plan| plan.counts().open + plan.counts().blocked > 0)
    }

    /// The branch that is checked out, for messages.
    pub(crate) fn branch(&self) -> String {
        let status = Status::read(&self.repo).unwrap_or_default();
        status.branch.unwrap_or_else(|| "a detached HEAD".to_owned())
    }
}

fn named(files: &[std::path::PathBuf]) -> String {
    let names: Vec<String> = files.iter().take(5).map(|path| path.display().to_string()).collect();
    match files.len().saturating_sub(5) {
        0 => names.join(", "),
        more => format!("{} and {more} more", names.join(", ")),
    }
}
