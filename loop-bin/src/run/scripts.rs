//! The lifecycle scripts of a run: their variables, their output and the journal's word of them.

use std::path::PathBuf;

use jiff::Timestamp;
use ralph_core::config::Mode;
use ralph_core::settle::named_files;
use ralph_core::state;

use super::record::Record;
use super::scripted::Scripted;
use super::stage::Stage;
use crate::agent::Client;
use crate::exit::Failure;
use crate::lifecycle::{Ran, Scripts};
use crate::step::{Event, Outcome, State, Wish};
use crate::terminal::{Position, counted};

impl Stage {
    /// Runs one script and shows what it prints, marked as its own.
    pub(crate) fn script(&self, name: &str, more: Vec<(&str, String)>) -> Result<Wish, Failure> {
        let scripts = Scripts {
            settings: &self.config.hooks,
            root: self.project.root(),
            state: self.state(),
            run: &self.run,
            interrupts: &self.interrupts,
            path: &self.path,
        };
        let mode = match self.config.run.mode {
            Mode::Building => "building",
            Mode::Planning => "planning",
        };
        let mut vars = vec![
            ("MODE", mode.to_owned()),
            ("MAX_ITERATIONS", self.config.run.max_iterations.to_string()),
            ("PROJECT_DIR", self.project.root().to_string()),
            ("LOG_DIR", self.state().logs().to_string()),
            ("STARTED_AT", self.started_at.clone()),
        ];
        vars.extend(more);
        if scripts.has(name) {
            self.note_script(name);
        }
        let ran =
            scripts.run(name, &vars, &mut |line| self.view.line(format!("[{name}] {line}")))?;
        if !matches!(ran, Ran::No | Ran::NotExecutable(_)) {
            self.just_committed.set(None);
        }
        match &ran {
            Ran::Exited(exit_code) => {
                let (name, exit_code) = (name.to_owned(), *exit_code);
                self.note(&state::Event::Lifecycle { name, exit_code });
            }
            Ran::TimedOut | Ran::Interrupted | Ran::NotStarted(_) => {
                self.note(&state::Event::Lifecycle { name: name.to_owned(), exit_code: None });
            }
            Ran::No | Ran::NotExecutable(_) => {}
        }
        let (wish, advice) = scripts.wish(name, &ran);
        if let Some(advice) = advice {
            self.view.warn(advice);
        }
        Ok(wish)
    }

    /// On disk before the script begins: what it changes is known as the run's after a crash.
    fn note_script(&self, name: &str) {
        if name == "finished" || self.config.run.mode == Mode::Planning {
            return;
        }
        let limit = self.config.hooks.timeout.limit();
        let now = Timestamp::now().as_second();
        let scripted = Some(Scripted::begun(name, self.scripted.get(), now, limit));
        self.scripted.set(scripted);
        let saved = self.saved.borrow().clone();
        if let Some(record) = saved {
            self.write_down(Record { elapsed_s: self.elapsed().as_secs_f64(), scripted, ..record });
        }
    }

    /// Whether what is uncommitted was left by the run that this one goes on with.
    pub(super) fn goes_on_with(&self, dirty: &[PathBuf]) -> bool {
        let top = self.repo.top();
        let is_own = self.scripted.get().is_some_and(|scripted| scripted.covers(top, dirty));
        if is_own {
            self.view.line(format!(
                "scripts of the run that was killed left this uncommitted, and it goes on with it: {}",
                named_files(dirty)
            ));
        }
        is_own
    }

    pub(super) fn run_started(&mut self) -> Result<Event, Failure> {
        let mode = "building".to_owned();
        self.note(&state::Event::LoopStarted { mode, plan: self.plan.to_string() });
        let plan = self.load_plan()?;
        self.view.position(Position::of(&plan));
        let shown = self.plan.strip_prefix(self.project.root()).unwrap_or(&self.plan);
        let open = counted(plan.counts().open, "open story", "open stories");
        self.view.line(format!("working on {shown} on {}: {open}", self.branch()));
        if self.config.verify.commands.is_empty() {
            self.view
                .warn("no verify commands are set, so nothing but the agent says what is done");
        }
        self.tell_of_story_cost();
        self.run_started_script()
    }

    /// What is told at the start of any run, and its script.
    pub(super) fn run_started_script(&mut self) -> Result<Event, Failure> {
        let is_client = Client::find(&self.config.agent.command).is_some();
        if is_client && self.config.limits.max_cost_usd == 0.0 {
            self.view.line("the agent spends your credit; --max-cost limits what a run may cost");
        }
        self.tell_about_hooks();
        let specs = self.project.root().join(&self.config.run.specs);
        let vars = vec![("PLAN_FILE", self.plan.to_string()), ("SPEC_DIR", specs.into_string())];
        Ok(Event::Started(self.script("started", vars)?))
    }

    /// What guards the agent, before it is started.
    fn tell_about_hooks(&self) {
        if let Some(told) = &self.options.told {
            self.view.line(told);
        }
        if let Some(warning) = &self.options.warning {
            self.view.warn(warning);
        }
    }

    pub(super) fn run_next_iteration(&mut self, state: &State) -> Result<Event, Failure> {
        let counters = &state.counters;
        let vars = vec![
            ("ITERATION", counters.iteration.to_string()),
            ("LAST_EXIT_CODE", counters.last_exit_code.unwrap_or(0).to_string()),
            ("LAST_DURATION", format!("{:.0}", counters.last_duration_s)),
            ("COMMITS_MADE", counters.commits.to_string()),
        ];
        Ok(Event::Announced(self.script("next_iteration", vars)?))
    }

    pub(super) fn run_post_iteration(
        &mut self,
        state: &State,
        outcome: Outcome,
    ) -> Result<Event, Failure> {
        self.end_iteration(state, outcome)?;
        if outcome == Outcome::Success {
            self.tell_of_author();
        }
        let wished = self.report_closed()?;
        let counters = &state.counters;
        let vars = vec![
            ("ITERATION", counters.iteration.to_string()),
            ("STORY", state.story.clone().unwrap_or_default()),
            ("EXIT_CODE", counters.last_exit_code.unwrap_or(-1).to_string()),
            ("DURATION", format!("{:.0}", counters.last_duration_s)),
            ("OUTCOME", outcome.word().to_owned()),
        ];
        let wish = self.script("post_iteration", vars)?;
        Ok(Event::Reported(if wished == Wish::Stop { wished } else { wish }))
    }

    /// Runs `post_iteration` for the iterations that the stop hook closed in the session. In the
    /// session itself it would keep the agent waiting, and work on a tree that the agent holds.
    pub(super) fn report_closed(&mut self) -> Result<Wish, Failure> {
        let mut wished = Wish::GoOn;
        for closed in std::mem::take(&mut self.closed) {
            let vars = vec![
                ("ITERATION", closed.iteration.to_string()),
                ("STORY", closed.story),
                ("EXIT_CODE", "0".to_owned()),
                ("DURATION", format!("{:.0}", closed.seconds)),
                ("OUTCOME", Outcome::Success.word().to_owned()),
            ];
            if self.script("post_iteration", vars)? == Wish::Stop {
                wished = Wish::Stop;
            }
        }
        Ok(wished)
    }
}
