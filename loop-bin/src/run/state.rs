//! What the conductor owns, and what it can do with its slots.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender};
use std::time::{Duration, Instant};

use camino::Utf8Path;
use ralph_base::state::{self, StoryKey};
use ralph_project::under_way::{Attempt, Phase};
use run_history::RunHistory;

use super::attempt::{Desk, Job, Report, Task};
use super::books::Books;
use super::context::Context;
use super::decide::Finish;
use super::record::RunRecord;
use super::slots::{Slot, UnderWay};
use crate::exit::Failure;
use crate::terminal::View;
use board::Board;
use work_copy::Source;

/// How long a slot without a story does not look at the plan.
const IDLE: Duration = Duration::from_secs(2);

/// What slots report, and where they send it.
pub(super) type Reports = (Sender<(usize, Report)>, Receiver<(usize, Report)>);

/// A run under way.
pub(crate) struct Conductor {
    pub(super) context: Arc<Context>,
    pub(super) view: View,
    /// Where the run stands, on disk as well.
    pub(super) record: RunRecord,
    /// What this run and earlier ones did.
    pub(super) history: RefCell<RunHistory>,
    pub(super) books: Books,
    pub(super) board: Board,
    pub(super) source: Source,
    pub(super) slots: Vec<Slot>,
    pub(super) reports: Reports,
    /// The slot whose turn it is to land: one at a time.
    pub(super) landing: Option<usize>,
    /// What the whole run waits for.
    pub(super) waiting: Option<Waiting>,
    /// Why no further story is begun.
    pub(super) ending: Option<Finish>,
}

/// A wait of the whole run.
#[derive(Debug, Clone)]
pub(super) struct Waiting {
    pub(super) why: String,
    pub(super) begun: Instant,
    pub(super) until: Instant,
    /// When the service resets its limit, in Unix seconds. The wall clock can only shorten a wait, as
    /// after a night in which the machine slept.
    pub(super) reset: Option<i64>,
}

impl Conductor {
    /// Ends the run, once the stories under way have ended.
    pub(super) fn end_with(&mut self, finish: Finish) {
        if self.ending.as_ref().is_none_or(|known| known.rank() < finish.rank()) {
            self.ending = Some(finish);
        }
    }

    /// Ends the run because of a failure. One that follows an interrupt is part of it: whatever was under
    /// way was stopped, and the next start goes on.
    pub(super) fn fail(&mut self, failure: &Failure) {
        match self.context.interrupts.signal() {
            Some(signal) => {
                self.view.warn(failure.to_string());
                self.end_with(Finish::Manual(signal));
            }
            None => self.end_with(Finish::Error(failure.to_string())),
        }
    }

    /// Whether no attempt runs.
    pub(super) fn is_idle(&self) -> bool {
        !self.slots.iter().any(Slot::is_busy)
    }

    /// Whether a slot can take a story.
    pub(super) fn is_free(&self, slot: usize) -> bool {
        let is_rested = |slot: &Slot| slot.idle_until.is_none_or(|until| Instant::now() >= until);
        let slot = self.slots.get(slot).filter(|slot| is_rested(slot));
        slot.is_some_and(|slot| slot.desk.is_some() && slot.work.is_none())
    }

    /// A slot for which there is nothing to do looks again when a job is done, or after a while: a person
    /// may have added a story.
    pub(super) fn idle(&mut self, slot: usize) {
        if let Some(slot) = self.slots.get_mut(slot) {
            slot.idle_until = Some(Instant::now() + IDLE);
        }
    }

    /// The stories of the plan that slots work on.
    pub(super) fn under_way(&self) -> BTreeSet<String> {
        let work = self.slots.iter().filter_map(|slot| slot.work.as_ref());
        work.map(|work| work.key.story.clone()).collect()
    }

    /// Gives a slot a job for its story.
    pub(super) fn give(&mut self, slot: usize, work: UnderWay, task: Task) -> Result<(), Failure> {
        let job = Job {
            key: work.key.clone(),
            attempt: work.attempt.clone(),
            facts: work.facts.clone(),
            books: self.books.files(),
            failed_before: self.record.failed_before.clone(),
            task,
        };
        let Some(slot) = self.slots.get_mut(slot) else { return Ok(()) };
        slot.work = Some(work);
        slot.start(&self.context, job)
    }

    /// Releases the paused agent of a slot.
    pub(super) fn release(&mut self, slot: usize, goodbye: &str) -> Result<(), Failure> {
        let work = UnderWay::new(StoryKey::default(), Default::default());
        self.give(slot, work, Task::Release { goodbye: goodbye.to_owned() })
    }

    /// The copy of a slot and its agent; none while an attempt has them.
    pub(super) fn desk(&self, slot: usize) -> Option<&Desk> {
        self.slots.get(slot)?.desk.as_ref()
    }

    pub(super) fn desk_mut(&mut self, slot: usize) -> Option<&mut Desk> {
        self.slots.get_mut(slot)?.desk.as_mut()
    }

    /// Another story may land.
    pub(super) fn free_landing(&mut self, slot: usize) {
        if self.landing == Some(slot) {
            self.landing = None;
        }
    }

    /// Whether an attempt has done nothing to its copy yet. In place the tree is changed from the beginning.
    pub(super) fn is_untouched(&self, slot: usize, attempt: &Attempt) -> bool {
        let is_in_place = self.desk(slot).is_some_and(|desk| desk.copy.is_in_place);
        attempt.phase == Phase::Begun && !is_in_place
    }

    /// A slot keeps its story while it waits.
    pub(super) fn park(&mut self, slot: usize, work: UnderWay) {
        if let Some(slot) = self.slots.get_mut(slot) {
            slot.work = Some(work);
        }
    }

    pub(super) fn slot_name(&self, slot: usize) -> String {
        self.slots.get(slot).map(|slot| slot.name.clone()).unwrap_or_default()
    }

    /// The name under which a slot works.
    pub(super) fn name_of(&self, slot: usize) -> &str {
        self.slots.get(slot).map_or(&self.context.run, |slot| &slot.run)
    }

    /// The plan from the project's folder.
    pub(super) fn shown_plan(&self) -> &Utf8Path {
        self.books.plan.strip_prefix(self.context.project.root()).unwrap_or(&self.books.plan)
    }

    /// Whether `ralph-loop stop` asked this run to end before its next story.
    pub(super) fn is_stop_requested(&self) -> bool {
        let request = state::read_text(self.context.run_dir.stop_request());
        request.is_ok_and(|asked| asked == self.context.run)
    }
}
