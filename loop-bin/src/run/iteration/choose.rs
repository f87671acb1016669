//! Which story is next.

use std::io;

use ralph_core::plan::{self, Format, LoopField, LoopProgress, Next, Plan};
use ralph_core::state::{self, StateDir};

use super::LiveAgent;
use crate::exit::Failure;
use crate::run::Run;
use crate::run::decide::{Choice, Event, Shares, State};

impl Run {
    pub(in crate::run) fn choose(&mut self, state: &State) -> Result<Event, Failure> {
        if let Some(why) = self.target_trouble.take() {
            return Err(io::Error::other(why).into());
        }
        let seconds = self.context.elapsed().as_secs_f64();
        if let Some(story) = self.land_again.take() {
            // Right before it lands: whatever was done since the start may have reset the copy.
            self.bring_back_work(&story)?;
            return Ok(Event::Chosen {
                choice: Choice::Unlanded(story),
                seconds,
                shares: Shares::new(),
            });
        }
        let plan = self.books.load(&self.target)?;
        self.context.view.position(&plan);
        let choice = match plan.next_story(&state.counters.set_aside) {
            Next::Story(story) => Choice::Story(story.id.clone()),
            Next::Complete => Choice::Complete,
            Next::Stuck { waiting, blocked } => Choice::Stuck(stuck(&waiting, &blocked)),
        };
        log::info!("chosen: {choice:?}");
        // What a session cost is known at its end, and the next story may be one too many.
        let is_full = |live: &LiveAgent| !self.may_take_another(live.stories);
        if matches!(choice, Choice::Story(_)) && self.waiting.as_ref().is_some_and(is_full) {
            self.end_session("this session has had its stories; a new one goes on")?;
        }
        let shares = std::mem::take(&mut self.unbooked);
        Ok(Event::Chosen { choice, seconds, shares })
    }

    /// Keeps the `progress.txt` of a feature list up to date, where there is one.
    pub(in crate::run) fn update_loop_progress(
        &self,
        plan: &Plan,
        iteration: u64,
        status: &str,
    ) -> Result<(), Failure> {
        let path = StateDir::loop_progress_beside(plan.path());
        if plan.format() != Format::FeatureList || !path.is_file() {
            return Ok(());
        }
        let old = fs_err::read(&path)?;
        let limit = self.context.config.run.max_iterations.to_string();
        let new = LoopProgress::set(&old, LoopField::Iteration, &iteration.to_string());
        let new = LoopProgress::set(&new, LoopField::MaxIterations, &limit);
        let new = LoopProgress::set(&new, LoopField::Status, status);
        Ok(state::replace_users(&path, &new)?)
    }
}

/// Why no story is left, and what a person can do.
fn stuck(waiting: &[&plan::Story], blocked: &[&plan::Story]) -> String {
    let ids = |stories: &[&plan::Story]| {
        stories.iter().map(|story| story.id.clone()).collect::<Vec<_>>().join(", ")
    };
    let mut why = format!("no story is left to work on; blocked: {}", ids(blocked));
    if !waiting.is_empty() {
        why.push_str(&format!("; waiting for them: {}", ids(waiting)));
    }
    let first = blocked.first().map(|story| story.id.as_str()).unwrap_or("STORY");
    why.push_str(&format!(
        "; `ralph-loop attempts {first}` shows what was tried, `ralph-loop retry {first}` reopens it"
    ));
    why
}
