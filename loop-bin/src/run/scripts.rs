//! The lifecycle scripts of a run: their variables, their output and the journal's word of them.

use std::process::Command;

use camino::Utf8Path;
use ralph_base::state::{self, StateDir};
use ralph_base::supervised;
use ralph_project::checks::{Check, CheckEnd, RUN_MARK};
use ralph_project::config::{Baseline, FailBehavior, Hooks, Mode};

use super::Run;
use super::context::Context;
use super::decide::{Finish, Outcome, Then, Wish};
use super::prds::followed_by;
use super::start::{Trial, failed_before, findings};
use run_history::Forecast;

use crate::exit::Failure;
use crate::finding::Finding;
use crate::lifecycle;
use crate::terminal::counted;
use crate::workspace::{ONLY_WORKER, Start};
use ralph_project::client::Client;

/// The scripts that can stop a run, by name.
pub(super) const STARTED: &str = "started";
pub(super) const NEXT_ITERATION: &str = "next_iteration";
const POST_ITERATION: &str = "post_iteration";

/// What the shell says of a program that it cannot start.
const NOT_STARTED: i32 = 126;

impl Run {
    /// Runs one script, if there is one, and shows what it prints, marked as its own.
    pub(super) fn script(&self, name: &str, more: Vec<(&str, String)>) -> Wish {
        let context = &self.context;
        let settings = &context.config.hooks;
        let path = lifecycle::folder(context.state(), context.project.root()).join(name);
        if !is_enabled(settings, name) || !lifecycle::is_executable(&path) {
            return Wish::GoOn;
        }
        let mode = match context.config.run.mode {
            Mode::Building => "building",
            Mode::Planning => "planning",
        };
        let worker = context.project.worker().map_or(ONLY_WORKER, state::Id::as_str);
        let mut vars = vec![
            ("MODE", mode.to_owned()),
            ("WORKER", worker.to_owned()),
            ("MAX_ITERATIONS", context.config.run.max_iterations.to_string()),
            ("PROJECT_DIR", context.project.root().to_string()),
            ("LOG_DIR", context.state().logs().to_string()),
            ("STARTED_AT", context.started_at.clone()),
            ("PLAN_FILE", self.books.plan.to_string()),
        ];
        vars.extend(more);
        let signals = context.interrupts.count();
        let stop = || context.interrupts.count() > signals;
        let (program, limit) = (context.command(&path, &vars), settings.timeout.limit());
        let ran = supervised::run(program, &[], limit, &stop, true);
        let (end, output) = ran.unwrap_or_else(|error| {
            let why = format!(
                "cannot start {path} ({error}); check that the program in its first line exists \
                 and that the line does not end with a carriage return"
            );
            (CheckEnd::Exited(Some(NOT_STARTED)), why)
        });
        output.lines().for_each(|line| context.view.line(format!("[{name}] {line}")));
        let exit_code = match end {
            CheckEnd::Exited(code) => code,
            _ => None,
        };
        context.note(None, &state::Event::Lifecycle { name: name.to_owned(), exit_code });
        let (wish, advice) = wish(settings, name, end);
        if !advice.is_empty() {
            context.view.warn(format!("the {name} script {advice}"));
        }
        wish
    }

    /// What is told at the start of any run, and its script.
    pub(super) fn run_started_script(&self) -> Wish {
        let context = &self.context;
        let is_client = Client::find(&context.config.agent.command).is_some();
        if is_client && context.config.limits.max_cost_usd == 0.0 {
            context
                .view
                .line("the agent uses your account; limit the cost of a run with --max-cost");
        }
        let specs = context.project.root().join(&context.config.run.specs);
        self.script(STARTED, vec![("SPEC_DIR", specs.into_string())])
    }

    /// The plan from the project's folder.
    pub(super) fn shown_plan(&self) -> &Utf8Path {
        self.books.plan.strip_prefix(self.context.project.root()).unwrap_or(&self.books.plan)
    }
}

impl Context {
    /// Each variable is given as `RALPH_…` and as `FRESHER_…`.
    #[expect(clippy::disallowed_methods, reason = "this is the door for lifecycle scripts")]
    fn command(&self, path: &Utf8Path, vars: &[(&str, String)]) -> Command {
        self.with_variables(Command::new(path), vars)
    }

    /// A program of the user's with our variables, in the project.
    pub(super) fn with_variables(&self, command: Command, vars: &[(&str, String)]) -> Command {
        let (root, mut command) = (self.project.root(), command);
        for (name, value) in vars {
            command.env(format!("RALPH_{name}"), value).env(format!("FRESHER_{name}"), value);
        }
        // The user's own programs come first.
        let custom = StateDir::custom_programs(&lifecycle::folder(self.state(), root));
        let search_path = [custom.as_str(), &self.path].join(":");
        command.env(RUN_MARK, &self.run).current_dir(root).env("PATH", search_path);
        command
    }
}

impl Run {
    /// What is said and done before the first story; and why there is none, if so.
    pub(super) fn run_started(&mut self) -> Result<Option<Finish>, Failure> {
        let context = &self.context;
        let (mode, plan) = ("building".to_owned(), self.books.plan.to_string());
        context.note(None, &state::Event::LoopStarted { mode, plan });
        let plan = self.books.load(&self.target)?;
        self.show_position(&plan);
        let shown = self.shown_plan();
        let mut all_open = plan.counts().open;
        let mut open = counted(all_open, "open story", "open stories");
        if context.config.run.all_prds {
            let others = self.other_prds()?;
            all_open += others.iter().map(|(_, plan)| plan.counts().open).sum::<usize>();
            open.extend(followed_by(&others).map(|told| format!(", {told}")));
        }
        let target = &self.target.branch;
        context.view.line(format!("working on {shown}, landing on {target}: {open}"));
        if self.run_started_script() == Wish::Stop {
            return Ok(Some(Finish::stopped_by(STARTED)));
        }
        self.take_waiting()?;
        // Work of an earlier run that waits to be landed is in the copy already.
        let has_story = plan.counts().open > 0 || self.context.config.run.all_prds;
        if has_story && self.attempt.is_none() {
            let finish = self.prepare_first()?;
            if finish.is_none() {
                self.foretell(all_open);
            }
            return Ok(finish);
        }
        Ok(None)
    }

    /// What the run is likely to take and to cost.
    fn foretell(&self, stories: usize) {
        let forecast = self.context.forecast.of_stories(stories);
        let most = self.context.config.limits.max_cost_usd;
        self.context.view.line(forecast.line(most));
        let Forecast { stories, based_on, seconds, cost_usd } = forecast;
        let event = state::Event::Forecast { stories, based_on, seconds, cost_usd };
        self.context.note(None, &event);
    }

    /// The copy before the first story, and what in it leads elsewhere; then the checks in it, and
    /// why no story can begin.
    fn prepare_first(&mut self) -> Result<Option<Finish>, Failure> {
        let (tip, branch) = (self.target.look()?.0, self.target.current_branch());
        self.prepare_workspace(Start { tip: tip.as_deref(), branch: &branch })?;
        for found in self.workspace.linked_by_files(&self.context.config.verify.commands) {
            match found {
                Finding::Problem(text) => return Err(Failure::because(text)),
                Finding::Note(text) | Finding::Good(text) | Finding::Later(text) => {
                    self.context.view.warn(text)
                }
            }
        }
        self.try_checks()
    }

    /// The checks before the first story.
    fn try_checks(&mut self) -> Result<Option<Finish>, Failure> {
        let Context { config, view, run, interrupts, .. } = &self.context;
        if config.verify.baseline == Baseline::Skip {
            return Ok(None);
        }
        let (workspace, stop) = (&mut self.workspace, || self.context.is_interrupted());
        let checks = Trial { workspace, config, view, run, stop: &stop }.run_checks()?;
        if let Some(signal) = interrupts.signal() {
            return Ok(Some(Finish::Manual(signal)));
        }
        self.checks_s = checks.iter().map(|check| check.took.as_secs_f64()).sum();
        self.context.note_checks(None, &checks);
        let mut problems = Vec::new();
        for found in findings(&checks, config) {
            match found {
                Finding::Good(text) | Finding::Later(text) => view.line(text),
                Finding::Note(text) => view.warn(text),
                Finding::Problem(text) => problems.push(text),
            }
        }
        if !problems.is_empty() {
            return Ok(Some(Finish::RedBaseline(problems.join("\n"))));
        }
        let known = |check: &Check| Some((check.command.clone(), failed_before(check, config)?));
        self.record.failed_before = checks.iter().filter_map(known).collect();
        self.save();
        Ok(None)
    }

    pub(super) fn run_next_iteration(&self) -> Wish {
        let counters = &self.record.counters;
        let vars = vec![
            ("ITERATION", counters.all(|one| one.iteration).to_string()),
            ("STORY", self.record.story.clone().unwrap_or_default()),
            ("LAST_EXIT_CODE", counters.last_exit_code.unwrap_or(0).to_string()),
            ("LAST_DURATION", format!("{:.0}", counters.last_duration_s)),
            ("COMMITS_MADE", counters.all(|one| one.commits).to_string()),
        ];
        self.script(NEXT_ITERATION, vars)
    }

    /// The end of an iteration; and why the run ends with it, if it does.
    pub(super) fn run_post_iteration(
        &mut self,
        story: &str,
        outcome: Outcome,
        then: Then,
    ) -> Option<Finish> {
        let counters = &self.record.counters;
        let vars = vec![
            ("ITERATION", counters.all(|one| one.iteration).to_string()),
            ("STORY", story.to_owned()),
            ("EXIT_CODE", counters.last_exit_code.unwrap_or(-1).to_string()),
            ("DURATION", format!("{:.0}", counters.last_duration_s)),
            ("OUTCOME", outcome.word().to_owned()),
        ];
        // Who interrupts does not want to wait for it.
        let mut wish = Wish::GoOn;
        if !self.context.is_interrupted() {
            wish = self.script(POST_ITERATION, vars);
        }
        match (then, wish) {
            (Then::End(finish), _) => Some(finish),
            (_, Wish::Stop) => Some(Finish::stopped_by(POST_ITERATION)),
            (Then::Wait(reset), _) => self.wait(reset),
            _ if self.record.counters.is_stalled(&self.context.config.limits) => {
                Some(Finish::NoChanges)
            }
            _ => None,
        }
    }
}

fn is_enabled(settings: &Hooks, name: &str) -> bool {
    settings.enabled
        && match name {
            STARTED => settings.started,
            NEXT_ITERATION => settings.next_iteration,
            POST_ITERATION => settings.post_iteration,
            _ => settings.finished,
        }
}

/// What a script wants by how it ended, and what to tell the user about it.
fn wish(settings: &Hooks, name: &str, end: CheckEnd) -> (Wish, String) {
    let broken = match settings.fail_behavior {
        FailBehavior::Abort => Wish::Stop,
        FailBehavior::Continue => Wish::GoOn,
    };
    match end {
        CheckEnd::Exited(Some(0)) | CheckEnd::Stopped => (Wish::GoOn, String::new()),
        CheckEnd::Exited(Some(1)) if name == NEXT_ITERATION => {
            (Wish::Skip, "skipped this iteration".to_owned())
        }
        CheckEnd::Exited(Some(1)) => (Wish::GoOn, "reported a warning (exit code 1)".to_owned()),
        CheckEnd::Exited(Some(2)) => (Wish::Stop, "stopped the loop".to_owned()),
        CheckEnd::Exited(Some(code)) => (broken, format!("failed (exit code {code})")),
        CheckEnd::Exited(None) => (broken, "was killed by a signal".to_owned()),
        CheckEnd::TimedOut => (broken, "timed out and was killed".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_codes_mean_what_is_documented() {
        use FailBehavior::{Abort, Continue};
        let exited = |code| CheckEnd::Exited(Some(code));
        for (name, end, behavior, expected) in [
            ("started", exited(0), Abort, Wish::GoOn),
            ("started", exited(1), Abort, Wish::GoOn),
            ("started", exited(2), Continue, Wish::Stop),
            ("started", exited(3), Continue, Wish::GoOn),
            ("started", exited(3), Abort, Wish::Stop),
            ("next_iteration", exited(1), Continue, Wish::Skip),
            ("next_iteration", CheckEnd::TimedOut, Continue, Wish::GoOn),
            ("next_iteration", CheckEnd::TimedOut, Abort, Wish::Stop),
            ("next_iteration", CheckEnd::Stopped, Abort, Wish::GoOn),
        ] {
            let settings = Hooks { fail_behavior: behavior, ..Hooks::default() };
            assert_eq!(wish(&settings, name, end).0, expected, "{name} {end:?}");
        }
    }
}
