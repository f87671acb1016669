//! Sessions in which the stop hook settled stories: what the loop makes of them afterwards.

use ralph_core::config::RollbackOn;
use ralph_core::git;
use ralph_core::settle::{self, Attempt, Outcome, Recovered};
use ralph_core::state::{self, Id, Journal};

use super::iterate::why_not;
use super::stage::Stage;
use super::work::{report_of, spent_by};
use crate::agent::Run;
use crate::exit::Failure;
use crate::step::{Event, WorkEnd};
use crate::terminal::counted;

/// How far back the journal is looked through for what happened in one session.
const LINES: usize = 5_000;

impl Stage {
    /// The event, if the story of `attempt` is settled already. The hook may have begun another
    /// one: its work is settled, left for a fresh session or taken back here, and an attempt that
    /// the agent had no room for is not held against its story.
    pub(super) fn settled_in_session(
        &mut self,
        attempt: &Attempt,
        run: &Run,
        recovered: &Recovered,
    ) -> Result<Option<Event>, Failure> {
        let on_disk = Attempt::load(self.state())?;
        if on_disk.as_ref().is_some_and(|now| now.story == attempt.story) {
            return Ok(None);
        }
        // A hook that could not finish its bookkeeping may not have told the journal.
        let finished = u64::from(matches!(recovered, Recovered::Finished { .. }));
        let mut stories = self.settled_since_the_iteration_began().max(finished);
        if stories == 0 {
            return Ok(None);
        }
        let settled = counted(stories as usize, "story", "stories");
        self.view.line(format!("settled in the session: {settled}"));
        let next = on_disk.filter(|next| next.run == self.run);
        // Each story that the hook gave out was an iteration.
        let last = attempt.iteration.saturating_add(stories.saturating_sub(1));
        let iteration = next.as_ref().map_or(last, |next| next.iteration);
        if let Some(next) = next {
            self.attempt = Some(next.clone());
            stories += self.settle_the_rest(&next, run)?;
        }
        self.report = report_of(run, None);
        Ok(Some(Event::SettledInSession { stories, spent: spent_by(run), iteration }))
    }

    fn settle_the_rest(&mut self, next: &Attempt, run: &Run) -> Result<u64, Failure> {
        let journal = self.journal();
        let place = self.place(&journal);
        settle::repair_plan(&place, next)?;
        let why = match self.judge(run, None, false) {
            WorkEnd::Well => {
                let stop = || self.interrupts.signal().is_some();
                let report = settle::Report::default();
                let outcome = settle::settle(&place, next, &report, &stop)?;
                if let Outcome::Done(_) = outcome {
                    return Ok(1);
                }
                Some(why_not(&outcome))
            }
            WorkEnd::Failed(why) => Some(why),
            _ => None,
        };
        if let Some(why) = why.filter(|_| self.is_handoff(run)) {
            self.hand_over(&why)?;
            return Ok(0);
        }
        let changed = !settle::changed_files(&place, next)?.is_empty();
        if changed && self.config.rollback.on != RollbackOn::Never {
            let story = Id::parse(&next.story).ok();
            git::rollback(&self.repo, self.state(), story.as_ref(), "the session ended before it")?;
            settle::repair_plan(&place, next)?;
        }
        settle::end(self.state())?;
        Ok(0)
    }

    fn settled_since_the_iteration_began(&self) -> u64 {
        let journal = Journal::new(self.state(), "ralph-loop").tail(LINES).unwrap_or_default();
        let ours = journal.iter().rev().filter(|record| record.run.as_ref() == Some(&self.run));
        let session = ours
            .take_while(|record| !matches!(record.event, state::Event::IterationStarted { .. }));
        let done = session.filter(|record| record.event == state::Event::StoryDone);
        done.count() as u64
    }

    /// A hook that failed guards nothing, silently; so the user is told.
    pub(super) fn show_hook_error(&self, attempt: &Attempt) {
        let Ok(text) = fs_err::read(self.state().hook_error()) else { return };
        let Ok(error) = serde_json::from_slice::<serde_json::Value>(&text) else { return };
        let part =
            |name: &str| error.get(name).and_then(|value| value.as_str()).unwrap_or_default();
        if part("at") >= attempt.began.as_str() {
            self.view.warn(format!(
                "{} failed while {}: {}",
                part("source"),
                part("phase"),
                part("error")
            ));
        }
    }
}
