//! The lifecycle scripts of a run: their variables, their output and the journal's word of them.

use ralph_base::state;
use ralph_project::checks::CheckEnd;

use super::Run;
use super::context::Context;
use super::decide::{Finish, Outcome, Then, Wish};
use crate::agent::Client;
use crate::exit::Failure;
use crate::finding::Finding;
use crate::lifecycle::{self, Ran};
use crate::terminal::counted;
use crate::workspace::Start;

impl Context {
    /// Runs one script and shows what it prints, marked as its own.
    pub(super) fn script(&self, name: &str, more: Vec<(&str, String)>) -> Result<Wish, Failure> {
        let mode = match self.config.run.mode {
            ralph_project::config::Mode::Building => "building",
            ralph_project::config::Mode::Planning => "planning",
        };
        let mut vars = vec![
            ("MODE", mode.to_owned()),
            ("MAX_ITERATIONS", self.config.run.max_iterations.to_string()),
            ("PROJECT_DIR", self.project.root().to_string()),
            ("LOG_DIR", self.state().logs().to_string()),
            ("STARTED_AT", self.started_at.clone()),
            ("PLAN_FILE", self.plan.to_string()),
        ];
        vars.extend(more);
        let (ran, output) = lifecycle::run(self, name, &vars);
        output.lines().for_each(|line| self.view.line(format!("[{name}] {line}")));
        if ran != Ran::No {
            let exit_code = match ran {
                Ran::Ended(CheckEnd::Exited(code)) => code,
                _ => None,
            };
            self.note(None, &state::Event::Lifecycle { name: name.to_owned(), exit_code });
        }
        let (wish, advice) = lifecycle::wish(&self.config.hooks, name, &ran);
        if let Some(advice) = advice {
            self.view.warn(advice);
        }
        Ok(wish)
    }

    /// What is told at the start of any run, and its script.
    pub(super) fn run_started_script(&self) -> Result<Wish, Failure> {
        let is_client = Client::find(&self.config.agent.command).is_some();
        if is_client && self.config.limits.max_cost_usd == 0.0 {
            self.view.line("the agent spends your credit; --max-cost limits what a run may cost");
        }
        let specs = self.project.root().join(&self.config.run.specs);
        self.script("started", vec![("SPEC_DIR", specs.into_string())])
    }
}

impl Run {
    pub(super) fn run_started(&mut self) -> Result<Wish, Failure> {
        let context = &self.context;
        let (mode, plan) = ("building".to_owned(), context.plan.to_string());
        context.note(None, &state::Event::LoopStarted { mode, plan });
        let plan = self.books.load(&self.target)?;
        context.view.position(&plan);
        let shown = context.plan.strip_prefix(context.project.root()).unwrap_or(&context.plan);
        let open = counted(plan.counts().open, "open story", "open stories");
        let branch = self.target.branch();
        context.view.line(format!("working on {shown}, landing on {branch}: {open}"));
        let wish = context.run_started_script()?;
        if wish == Wish::GoOn {
            self.take_waiting()?;
        }
        // Work of an earlier run that waits to be landed is in the copy already.
        if wish == Wish::GoOn && plan.counts().open > 0 && self.attempt.is_none() {
            self.prepare_first()?;
        }
        Ok(wish)
    }

    /// The copy before the first story, and what in it leads elsewhere.
    fn prepare_first(&mut self) -> Result<(), Failure> {
        let (tip, branch) = (self.target.tip()?, self.target.current_branch());
        self.prepare_workspace(Start { tip: tip.as_deref(), branch: &branch })?;
        for found in self.workspace.linked_by_files(&self.context.config.verify.commands) {
            match found {
                Finding::Problem(text) => return Err(Failure::because(text)),
                Finding::Note(text) | Finding::Good(text) => self.context.view.warn(text),
            }
        }
        Ok(())
    }

    pub(super) fn run_next_iteration(&self) -> Result<Wish, Failure> {
        let counters = &self.record.counters;
        let vars = vec![
            ("ITERATION", counters.iteration.to_string()),
            ("STORY", self.record.story.clone().unwrap_or_default()),
            ("LAST_EXIT_CODE", counters.last_exit_code.unwrap_or(0).to_string()),
            ("LAST_DURATION", format!("{:.0}", counters.last_duration_s)),
            ("COMMITS_MADE", counters.commits.to_string()),
        ];
        self.context.script("next_iteration", vars)
    }

    /// The end of an iteration; and why the run ends with it, if it does.
    pub(super) fn run_post_iteration(
        &mut self,
        story: &str,
        outcome: Outcome,
        then: Then,
    ) -> Result<Option<Finish>, Failure> {
        let counters = &self.record.counters;
        let vars = vec![
            ("ITERATION", counters.iteration.to_string()),
            ("STORY", story.to_owned()),
            ("EXIT_CODE", counters.last_exit_code.unwrap_or(-1).to_string()),
            ("DURATION", format!("{:.0}", counters.last_duration_s)),
            ("OUTCOME", outcome.word().to_owned()),
        ];
        // Who interrupts does not want to wait for it.
        let mut wish = Wish::GoOn;
        if !self.context.is_interrupted() {
            wish = self.context.script("post_iteration", vars)?;
        }
        Ok(match (then, wish) {
            (Then::End(finish), _) => Some(finish),
            (_, Wish::Stop) => Some(Finish::HookAbort),
            (Then::Wait(reset), _) => self.wait(reset),
            _ if self.record.counters.is_stalled(&self.context.config.limits) => {
                Some(Finish::NoChanges)
            }
            _ => None,
        })
    }
}
