//! The loop's replacement for hooks: an agent's output shows its commands and their results.

use std::cell::{Cell, OnceCell};

use camino::Utf8PathBuf;
use ralph_base::env::Env;
use ralph_base::state::{self, Event, HookFailure, Id, StateDir};
use ralph_core::guard;
use ralph_core::verdict::Kind;
use ralph_project::dialect::Dialect;
use ralph_project::project::Project;
use ralph_project::surroundings::Surroundings;
use ralph_project::under_way::Attempt;

use super::prepare::{agent_variables, working_session};
use super::{Desk, Job};
use crate::run::decide::test_run;
use client::{ClientOptions, Ran, RunEnd, Stream};

/// Why nothing guards an agent that was given hooks.
const UNHEARD: &str = "the hooks for this run were not heard from, so nothing guards it";

/// An agent whose output shows its tool calls.
pub(super) struct Unhooked<'a> {
    job: &'a Job,
    options: ClientOptions,
    agent: Option<&'static Dialect>,
    run: String,
    root: Utf8PathBuf,
    state: StateDir,
    vars: Vec<(String, String)>,
    /// The guard's input; `None` if hooks guard the agent.
    guard: OnceCell<Option<(Env, Project)>>,
    /// How many of its commands, and how many of the completed ones, have been judged.
    judged: (Cell<usize>, Cell<usize>),
}

impl<'a> Unhooked<'a> {
    pub(super) fn new(job: &'a Job, desk: &Desk, attempt: &Attempt) -> Self {
        Self {
            job,
            options: job.context.agent_of(attempt).1,
            agent: job.context.agent_name(attempt).and_then(Dialect::find),
            run: desk.run.clone(),
            root: desk.copy.root().to_owned(),
            state: desk.state().clone(),
            vars: agent_variables(job, desk),
            guard: OnceCell::new(),
            judged: Default::default(),
        }
    }

    /// Why the agent must be stopped: it is running a command that the guard denies, or its client calls
    /// no hooks although it could.
    pub(super) fn forbidden(&self, seen: &Stream) -> Option<RunEnd> {
        let (env, project) = self.guard()?;
        let config = &self.job.context.config;
        if self.must_be_heard() {
            return Some(RunEnd::Unguarded(format!(
                "{UNHEARD}; `--unguarded` goes on without them"
            )));
        }
        let new = seen.calls.ran.get(self.judged.0.replace(seen.calls.ran.len())..)?;
        let around = Surroundings { project, env, config, session: None };
        new.iter().find_map(|ran| {
            let facts = around.of_command(project.work_root(), &ran.command);
            let denial = guard::check(&ran.command, &facts, &config.guard)?;
            Some(RunEnd::Forbidden(denial.to_string()))
        })
    }

    /// Records test runs whose results no hook receives.
    pub(super) fn note_tests(&self, seen: &Stream) {
        let new = seen.calls.ended.get(self.judged.1.replace(seen.calls.ended.len())..);
        let tests = &self.job.context.config.tests.commands;
        for ran in new.into_iter().flatten() {
            let Some(verdict) = test_run(ran, tests) else { continue };
            if self.guard().is_none() && self.is_reported(ran) {
                continue;
            }
            self.job.reporter.note(&self.job.key, verdict.event());
            let session = seen.session.clone().or_else(|| working_session(&self.state));
            if let Some(id) = session.and_then(|id| Id::parse(&id).ok()) {
                // The gates use this at the agent's stop; the loop reads the output itself.
                let last = verdict.as_last(&ran.command, &ran.output, &self.run);
                let _ = last.save(&self.state.session(&id));
            }
        }
    }

    /// Whether a hook has recorded a test run. Hooks of agents that hide exit codes record only
    /// failures that the output shows.
    fn is_reported(&self, ran: &Ran) -> bool {
        let Some(agent) = self.agent else { return false };
        let without_code = Ran { exit_code: None, ..ran.clone() };
        let shown = || test_run(&without_code, &self.job.context.config.tests.commands);
        agent.own_event("PostToolUse").is_some()
            && !(agent.exit_unknown && shown().is_none_or(|verdict| verdict.kind == Kind::Passed))
    }

    /// The guard's input; `None` if hooks guard the agent.
    fn guard(&self) -> Option<&(Env, Project)> {
        let unguarded = || {
            let vars = Env::process().all().into_iter().chain(self.vars.clone());
            let env = Env::of(vars);
            let project = Project::locate(&env, &self.root);
            (!self.is_heard()).then_some((env, project))
        };
        self.guard.get_or_init(unguarded).as_ref()
    }

    /// Whether the agent is stopped if its hooks do not run: Claude Code has no reason for that.
    fn must_be_heard(&self) -> bool {
        self.options.hooked == Some("claude") && !self.job.context.config.agent.unguarded
    }

    /// Whether hooks guard the agent: they were registered and one has run. An unknown command may have hooks
    /// of its own.
    fn is_heard(&self) -> bool {
        let Some(name) = self.options.hooked else {
            return self.options.unguarded.is_none() || self.agent.is_none();
        };
        if state::open_regular(self.state.working_session()).is_ok() {
            return true;
        }
        let what = if self.must_be_heard() {
            "it is stopped"
        } else {
            "its commands are judged by what it prints (docs/agents.md says why this happens)"
        };
        let error = format!(
            "{name} does not run the hooks that were passed to it, so nothing guards it; {what}"
        );
        self.job.reporter.warn(error.clone());
        let phase = "registering".to_owned();
        let failure = HookFailure { hook_event: None, phase, error };
        self.job.reporter.note(&self.job.key, Event::HookError { failure });
        false
    }
}
