//! An agent without hooks: its commands are judged as its output shows them.

use std::cell::{Cell, OnceCell};

use ralph_base::env::Env;
use ralph_base::state::{Event, HookFailure};
use ralph_core::guard;
use ralph_project::project::Project;
use ralph_project::surroundings::Surroundings;
use ralph_project::under_way::Attempt;

use super::prepare::agent_variables;
use super::{Desk, Job};
use client::{ClientOptions, Seen};

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
        let new = seen.calls.ran.get(self.judged.replace(seen.calls.ran.len())..)?;
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
