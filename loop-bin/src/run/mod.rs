//! A run of the loop: performs what `decide/step.rs` decides, and feeds back what happened.
//!
//! | what | where |
//! | --- | --- |
//! | what happens next, and what a start does after a crash | `decide/` |
//! | what never changes; what is on disk | `context.rs`, `record.rs`, `books.rs` |
//! | before the first story | `start/` |
//! | one iteration, in the order of its files | `iteration/` |
//! | lifecycle scripts; the end | `scripts.rs`, `finish.rs` |
//! | writing the plan instead of working through it | `planning.rs` |

mod allowance;
pub(crate) mod books;
pub(crate) mod context;
mod decide;
mod finish;
mod iteration;
mod planning;
pub(crate) mod record;
mod scripts;
pub(crate) mod start;

use ralph_core::config::{Flag, Mode};
use ralph_core::env::Env;
use ralph_core::fault;
use ralph_core::plan::AgentsPlan;
use ralph_core::state::Lock;
use ralph_core::under_way::Attempt;

use crate::doctor;
use crate::exit::{Failure, Success};
use crate::landing::Target;
use crate::saved::SavedAttempt;
use crate::workspace::in_place::ProtectedFiles;
use crate::workspace::{Imported, Workspace};
use books::Books;
use context::Context;
use decide::{Action, Event, Outcome, Shares, State, step};
pub(crate) use decide::{Finish, RETRY, Signal, Wish};
use iteration::{LiveAgent, Report};
pub(crate) use record::RunRecord;

/// Runs the loop, with the settings that were given on the command line.
pub(crate) fn run(env: &Env, flags: &[Flag]) -> Result<Success, Failure> {
    let preflight = start::preflight(env, flags)?;
    if preflight.config.run.dry_run {
        return doctor::dry_run(&preflight);
    }
    let is_planning = preflight.config.run.mode == Mode::Planning;
    let (mut run, counters) = start::start(env, preflight)?;
    if is_planning {
        return run.write_plan();
    }
    let mut state = State::new(&run.context.config, counters);
    let mut action = Action::RunStarted;
    // The run's name is on disk before anything is started that could outlive us.
    run.save(&state, &action);
    loop {
        let event = run
            .perform(&state, &action)
            .unwrap_or_else(|failure| Event::Broke(failure.to_string()));
        (state, action) = step(state, event);
        log::debug!("next: {action:?}");
        run.save(&state, &action);
        if let Action::End(finish) = action {
            return Ok(run.close(&state, finish));
        }
    }
}

/// A run under way.
pub(crate) struct Run {
    context: Context,
    books: Books,
    workspace: Workspace,
    target: Target,
    /// The attempt under way.
    attempt: Option<Attempt>,
    /// An agent that waits for our word.
    waiting: Option<LiveAgent>,
    /// What is known of the attempt besides its files.
    report: Report,
    /// What the agent did to its file of the plan.
    agents: Option<AgentsPlan>,
    /// What the agent left in its own repository.
    imported: Imported,
    /// Files that steer the run, while an agent works in place.
    protected: ProtectedFiles,
    /// What a person said when they asked for another try.
    hint: Option<SavedAttempt>,
    /// Why the run cannot go on with its target.
    target_trouble: Option<String>,
    /// What sessions took that have ended since the last account.
    unbooked: Shares,
    /// The story whose work is to be landed before anything else.
    land_again: Option<String>,
    /// What the last discarded attempt was called, for the end of its iteration.
    outcome: Option<(Outcome, String)>,
    /// Stories in a row that met the usage limit.
    quota_streak: u32,
    is_author_known: bool,
    is_costless: bool,
    /// What was written down last about the run, its time aside.
    saved: Option<RunRecord>,
    /// Held for as long as we live.
    _lock: Lock,
}

impl Run {
    fn perform(&mut self, state: &State, action: &Action) -> Result<Event, Failure> {
        let between = matches!(
            action,
            Action::RunStarted | Action::Choose | Action::RunNextIteration | Action::Begin(_)
        );
        if let Some(signal) = self.context.interrupts.signal().filter(|_| between) {
            return Ok(Event::Signalled(signal));
        }
        match action {
            Action::RunStarted => self.run_started(),
            Action::Choose => self.choose(state),
            Action::RunNextIteration => self.run_next_iteration(state),
            Action::Begin(story) => self.begin(state, story),
            Action::RunAgent => self.run_agent(state),
            Action::SendBack(why) => self.send_back(state, why),
            Action::Land => self.land(state),
            Action::Discard(outcome, why) => self.discard(*outcome, why),
            Action::SetAside(why) => self.set_aside(why),
            Action::RunPostIteration(outcome) => self.run_post_iteration(state, *outcome),
            Action::Wait(reset) => Ok(self.wait(*reset)),
            Action::RunFinished(finish) => Ok(self.run_finished(state, finish)),
            Action::End(_) => Ok(Event::Finished { shares: Shares::new() }),
        }
    }

    /// Writes down where the run stands. A disk that is full does not end it.
    fn save(&mut self, state: &State, action: &Action) {
        let finish = match action {
            Action::End(finish) => Some(finish.word().to_owned()),
            _ => None,
        };
        let context = &self.context;
        let record = RunRecord {
            run: context.run.clone(),
            started_at: context.started_at.clone(),
            elapsed_s: context.elapsed().as_secs_f64(),
            plan: context.plan.clone(),
            target: self.target.branch().to_owned(),
            counters: state.counters.clone(),
            story: state.story.clone(),
            finish,
            discarding: match action {
                Action::Discard(outcome, why) => Some((*outcome, why.clone())),
                _ => None,
            },
            interrupted: context.is_interrupted(),
            planning: context.config.run.mode == Mode::Planning,
            ..RunRecord::new()
        };
        // How long it took is only worth a write along with something else.
        let seen = RunRecord { elapsed_s: 0.0, ..record.clone() };
        if self.saved.as_ref() == Some(&seen) {
            return;
        }
        match record.save(&context.run_dir) {
            Ok(()) => self.saved = Some(seen),
            Err(error) => context.view.warn(format!("the run's record was not written: {error}")),
        }
        fault::point("loop.step-saved");
    }

    fn journal_note(&self, event: &ralph_core::state::Event) {
        let story = self.attempt.as_ref().map(|attempt| attempt.story.as_str());
        self.context.note(story, event);
    }

    fn current(&self) -> Result<Attempt, Failure> {
        let none = || std::io::Error::other("no attempt is under way");
        Ok(self.attempt.clone().ok_or_else(none)?)
    }
}
