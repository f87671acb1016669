//! An agent without hooks: its commands are judged as its output shows them, and its gates when it has stopped.

use std::cell::{Cell, OnceCell};

use camino::Utf8Path;
use ralph_base::env::Env;
use ralph_base::state::{self, Event, HookFailure};
use ralph_base::supervised::Door;
use ralph_core::guard;
use ralph_project::install::quoted;
use ralph_project::project::Project;
use ralph_project::surroundings::Surroundings;
use ralph_project::under_way::Attempt;
use serde_json::{Value, json};

use super::prepare::agent_variables;
use super::watch::{Watched, log_of, supervision};
use super::{Course, Desk, Job};
use crate::exit::Failure;
use client::{ClientOptions, Seen, Session, SessionSoFar, Totals, Turn, folder_of_this_program};

/// Watches over the commands of an agent that no hook guards.
pub(super) struct Oversight<'a> {
    job: &'a Job,
    options: ClientOptions,
    is_known: bool,
    env: Env,
    project: Project,
    /// Whether its hooks guard it; known once it has called a tool.
    is_guarded: OnceCell<bool>,
    /// How many of its commands were judged.
    judged: Cell<usize>,
}

impl<'a> Oversight<'a> {
    pub(super) fn new(job: &'a Job, desk: &Desk, attempt: &Attempt) -> Self {
        let (_, options) = job.context.agent_of(attempt);
        let is_known = job.context.agent_name(attempt).is_some();
        let vars = Env::process().all().into_iter().chain(agent_variables(job, desk));
        let env = Env::of(vars);
        let project = Project::locate(&env, desk.copy.root());
        Self {
            job,
            options,
            is_known,
            env,
            project,
            is_guarded: OnceCell::new(),
            judged: Cell::new(0),
        }
    }

    /// Why the agent has to be ended: it runs a command that a hook would have refused.
    pub(super) fn forbidden(&self, seen: &Seen) -> Option<String> {
        if seen.calls.count == 0 || *self.is_guarded.get_or_init(|| self.is_heard()) {
            return None;
        }
        let new = seen.ran.get(self.judged.replace(seen.ran.len())..)?;
        let config = &self.job.context.config;
        let around = Surroundings { project: &self.project, env: &self.env, config, session: None };
        new.iter().find_map(|ran| {
            let facts = around.of_command(self.project.work_root(), &ran.command);
            Some(guard::check(&ran.command, &facts, &config.guard)?.to_string())
        })
    }

    /// Whether hooks guard it: they were passed to it, and one has spoken. A command that is no agent we know may
    /// have hooks of its own.
    fn is_heard(&self) -> bool {
        let Some(name) = self.options.hooked else {
            return self.options.unguarded.is_none() || !self.is_known;
        };
        if self.project.own_state().working_session().exists() {
            return true;
        }
        let error = format!(
            "{name} does not run the hooks that were passed to it, so nothing guards it; its commands \
             are judged by what it prints (docs/agents.md says why this happens)"
        );
        self.job.reporter.warn(error.clone());
        let phase = "registering".to_owned();
        let failure = HookFailure { hook_event: None, phase, error };
        self.job.reporter.note(&self.job.key, Event::HookError { failure });
        false
    }
}

/// Why an agent that has stopped may not, where its stop fires no hook: what the stop hook would say. The session
/// is the one to continue.
pub(super) fn unmet(
    job: &Job,
    desk: &Desk,
    course: &Course,
    watched: &Watched,
) -> Result<Option<(SessionSoFar, String)>, Failure> {
    let context = &job.context;
    let (_, options) = context.agent_of(&course.attempt);
    let (Some(agent), Some(run)) = (options.resumed_at_stop, &watched.ended) else {
        return Ok(None);
    };
    let is_error = run.seen.verdict.as_ref().is_some_and(|verdict| verdict.is_error);
    let (Some(0), false, None, Some(id)) =
        (run.exit_code(), is_error, run.refusal(), &watched.session)
    else {
        return Ok(None);
    };
    let folder = folder_of_this_program().unwrap_or_default();
    let line = format!("{}/ralph-on-stop --agent {}", quoted(&folder), agent);
    let event = json!({
        "hook_event_name": "Stop", "session_id": id, "cwd": desk.copy.root(),
        "last_assistant_message": watched.said,
    });
    let path = log_of(context.state(), &course.attempt).with_extension("stop.log");
    let door = desk.copy.doors.for_agent(&course.attempt.agent)?;
    let reason = ask(job, desk, (&line, &door), &event.to_string(), &path)?;
    let session = SessionSoFar { id: id.clone(), totals: watched.totals, agent: agent.to_owned() };
    Ok(reason.map(|reason| (session, reason)))
}

/// Runs the stop hook where the agent ran; returns why it blocks, if it does.
fn ask(
    job: &Job,
    desk: &Desk,
    (line, door): (&str, &Door),
    event: &str,
    path: &Utf8Path,
) -> Result<Option<String>, Failure> {
    state::remove_if_there(path)?;
    let (log, vars) = (state::open_log(path)?, agent_variables(job, desk));
    let root = desk.copy.root();
    let mut hook = Session::start(line, root, (&vars, door), (event, Totals::default()), &log)?;
    let run = loop {
        if let Turn::Ended(run) = hook.watch(&supervision(&job.context), None, &mut |_| ())? {
            break run;
        }
    };
    let printed = state::read_text(path)?;
    let answer: Value = serde_json::from_str(printed.trim()).unwrap_or_default();
    let reason = answer.get("reason").and_then(Value::as_str).map(str::to_owned);
    Ok(reason.or_else(|| (run.exit_code() == Some(2)).then_some(printed)))
}
