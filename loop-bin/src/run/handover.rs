//! A session whose context was nearly full: a fresh one goes on with the same attempt, on the tree
//! as it is and with the same checkpoint to go back to.

use ralph_core::gate::{ContextWindow, LastStop, StopStatus};
use ralph_core::plan::progress::Status;
use ralph_core::settle::{self, Attempt};
use ralph_core::state::Id;

use super::stage::Stage;
use crate::agent::Run;
use crate::exit::Failure;
use crate::step::{Event, Handoff, WorkEnd};

impl Stage {
    /// Whether the stop hook let the session go because its context was nearly full.
    pub(super) fn is_handoff(&self, run: &Run) -> bool {
        let session = run.seen.session.as_deref().and_then(|id| Id::parse(id).ok());
        let stop = session.and_then(|id| LastStop::load(&self.state().session(&id)));
        stop.is_some_and(|stop| stop.status == StopStatus::Handoff)
    }

    /// Leaves the work where it is, and what is missing where the next session is told of it.
    pub(super) fn hand_over(&mut self, why: Option<&str>) -> Result<Event, Failure> {
        let attempt = self.current()?;
        let journal = self.journal();
        let repaired = settle::repair_plan(&self.place(&journal), &attempt)?;
        self.tell_findings("somebody", &repaired.findings);
        let story = &attempt.story;
        let mut reason = "handed over to a fresh session, with the work so far".to_owned();
        if let Some(why) = why {
            let headline = why.lines().next().unwrap_or_default();
            self.view.line(format!("{story}: {headline}"));
            reason.push_str(&format!(": {headline}"));
            ralph_core::attempt::record_failure(self.state(), why)?;
        }
        self.view.line(format!("{story}: the context is full; a fresh session goes on with it"));
        self.log(&attempt, Status::Interrupted, &reason)?;
        self.is_handed_over = true;
        Ok(Event::HandedOver)
    }

    /// Takes up an attempt that was handed over, if it is one at this story. The plan may have
    /// changed meanwhile: then the attempt at the other story is taken back first.
    pub(super) fn resume(
        &mut self,
        story: &str,
        iteration: u64,
    ) -> Result<Option<Attempt>, Failure> {
        let handed_over = std::mem::take(&mut self.is_handed_over);
        let Some(attempt) = self.attempt.clone().filter(|_| handed_over) else { return Ok(None) };
        if attempt.story == story {
            return Ok(Some(settle::resume(self.state(), attempt, iteration)?));
        }
        self.undo_attempt("handed over, and the plan has another story first")?;
        Ok(None)
    }

    /// An attempt that no session takes up any more.
    pub(super) fn drop_handed_over(&mut self) -> Result<(), Failure> {
        if std::mem::take(&mut self.is_handed_over) {
            self.undo_attempt("handed over, and the run ended before another session")?;
        }
        Ok(())
    }

    /// The stop hook wants to know how large the window is; the client says so only at its end.
    pub(super) fn note_window(&self, run: &Run) {
        let Some(tokens) = run.seen.window else { return };
        let window =
            ContextWindow { model: run.seen.model.clone(), tokens, ..ContextWindow::default() };
        if ContextWindow::load(self.state()).is_some_and(|known| {
            (known.model.as_str(), known.tokens) == (window.model.as_str(), window.tokens)
        }) {
            return;
        }
        if let Err(error) = window.save(self.state()) {
            self.view.warn(format!("the context window could not be written down: {error}"));
        }
    }
}

/// What the end of a session is worth whose context was nearly full.
pub(super) fn handed_over(end: WorkEnd, is_claimed: bool) -> WorkEnd {
    match end {
        WorkEnd::Well if is_claimed => WorkEnd::HandedOver(Handoff::Claimed),
        WorkEnd::Well => WorkEnd::HandedOver(Handoff::Unclaimed),
        WorkEnd::Failed(why) => WorkEnd::HandedOver(Handoff::Failed(why)),
        other => other,
    }
}
