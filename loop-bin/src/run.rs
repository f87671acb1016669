//! One dull runner: performs what `step.rs` decides and feeds back what happened.

mod allowance;
mod append_only;
mod author;
mod briefing;
mod client_files;
mod costs;
mod crashed;
mod draft;
mod finish;
mod handover;
mod heard;
mod iterate;
mod judge;
mod keepsake;
mod left_behind;
mod left_out;
mod moved;
mod planning;
mod prepare;
mod put_back;
mod record;
mod recover;
mod refuge;
mod scripted;
mod scripts;
mod session;
mod settings;
mod shares;
mod stage;
mod stash;
mod strangers;
mod uncounted;
mod watch;
mod work;

use ralph_core::config::{Flag, Mode};
use ralph_core::env::Env;

use crate::dry_run;
use crate::exit::{Failure, Success};
use crate::step::{Action, Event, Finish, State, step};

pub(crate) use draft::Draft;
pub(crate) use prepare::{Ground, template};
pub(crate) use put_back::put_back_aside;
pub(crate) use record::Record;
pub(crate) use stage::Stage;

/// What was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Request {
    /// Settings given on the command line.
    pub(crate) flags: Vec<Flag>,
}

/// Runs the loop.
pub(crate) fn run(env: &Env, request: &Request) -> Result<Success, Failure> {
    refuge::bring_back(env, request)?;
    let ground = prepare::ground(env, request)?;
    if ground.config.run.dry_run {
        return dry_run::show(env, &ground);
    }
    let mut stage = prepare::prepare(env, ground)?;
    let mut state = State::new(&stage.config, stage.counters.clone());
    let mut action = Action::RunStarted;
    // The run's name is on disk before anything is started that could outlive us.
    stage.save(&state, &action);
    loop {
        let event =
            stage.perform(&state, &action).unwrap_or_else(|failure| broke(&mut stage, failure));
        (state, action) = step(state, event);
        stage.save(&state, &action);
        if let Action::End(finish) = action {
            // Whoever interrupted the last script is told that it was heard.
            let heard = stage.interrupts.signal().map(Finish::Manual);
            return Ok(stage.close(heard.unwrap_or(finish)));
        }
    }
}

fn broke(stage: &mut Stage, failure: Failure) -> Event {
    stage.broke = true;
    Event::Broke(failure.to_string())
}

impl Stage {
    fn perform(&mut self, state: &State, action: &Action) -> Result<Event, Failure> {
        let between = matches!(
            action,
            Action::RunStarted | Action::Choose | Action::RunNextIteration | Action::Begin(_)
        );
        if let Some(signal) = self.interrupts.signal().filter(|_| between) {
            return Ok(Event::Signalled(signal));
        }
        let is_planning = self.config.run.mode == Mode::Planning;
        match action {
            Action::RunStarted if is_planning => self.planning_started(),
            Action::Choose if is_planning => Ok(self.choose_planning()),
            Action::Begin(_) if is_planning => self.begin_planning(state),
            Action::RunAgent if is_planning => self.run_planner(state),
            Action::Settle if is_planning => self.settle_draft(state),
            Action::RollBack(outcome, why) if is_planning => self.take_back_draft(*outcome, why),
            Action::RunStarted => self.run_started(),
            Action::Choose => self.choose(state),
            Action::RunNextIteration => self.run_next_iteration(state),
            Action::Begin(story) => self.begin(state, story),
            Action::RunAgent => self.run_agent(state),
            Action::Settle => self.settle(),
            Action::RollBack(outcome, why) => self.roll_back(*outcome, why),
            Action::HandOver(why) => self.hand_over(why.as_deref()),
            Action::SetAside(why) => self.set_aside(why),
            Action::RunPostIteration(outcome) => self.run_post_iteration(state, *outcome),
            Action::Wait(reset) => Ok(self.wait(*reset)),
            Action::RunFinished(finish) => Ok(self.run_finished(state, finish)),
            Action::End(_) => Ok(Event::Finished),
        }
    }
}
