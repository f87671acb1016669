//! The conductor's state, its operations on slots, and its output and records.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender};
use std::time::{Duration, Instant};

use camino::Utf8Path;
use ralph_base::fault;
use ralph_base::state::{self, Event, StateDir, StoryKey};
use ralph_project::under_way::{Attempt, Phase};
use run_history::RunHistory;

use super::attempt::{Course, Desk, Facts, Job, Passed, Report, Reporter, Task, attempt};
use super::context::Context;
use super::decide::{Finish, Then};
use super::take_over::take_over;
use crate::exit::Failure;
use crate::record::{Discarding, RunRecord};
use crate::terminal::{Tone, View, seconds};
use board::{Board, Books, LoopFile};
use work_copy::Source;

/// How long a slot without a story waits before it reads the plan again.
const IDLE: Duration = Duration::from_secs(2);

/// How often hook records are merged while an agent works.
const TAKEN_EVERY: Duration = Duration::from_millis(500);

/// The channel for reports of slots.
pub(super) type Reports = (Sender<(usize, Report)>, Receiver<(usize, Report)>);

/// A run in progress.
pub(crate) struct Conductor {
    pub(super) context: Arc<Context>,
    pub(super) view: View,
    /// The run's state, also on disk.
    pub(super) record: RunRecord,
    /// The history of this run and earlier ones.
    pub(super) history: RefCell<RunHistory>,
    pub(super) books: Books,
    pub(super) board: Board,
    pub(super) source: Source,
    pub(super) slots: Vec<Slot>,
    pub(super) reports: Reports,
    /// Whether agents were asked to stop, which the user has been shown.
    pub(super) is_stopping: bool,
    /// The slot that may land now: one at a time.
    pub(super) landing: Option<usize>,
    /// The pause of the whole run, if any.
    pub(super) waiting: Option<Waiting>,
    /// Why no further story starts, if the run is ending.
    pub(super) ending: Option<Finish>,
}

/// A place for one attempt at a time.
pub(super) struct Slot {
    pub(super) name: String,
    /// The run's name, with the slot's name if there are several.
    pub(super) run: String,
    pub(super) reporter: Reporter,
    /// The state folder of its agent's hooks, and when that was last merged.
    state: (StateDir, Instant),
    /// The copy and its agent; `None` while an attempt has them.
    pub(super) desk: Option<Desk>,
    /// The story in progress.
    pub(super) work: Option<UnderWay>,
    /// The story that its agent was last given, to which belongs what its hooks write.
    pub(super) key: Option<StoryKey>,
    /// Whether its thread panicked and its copy is lost.
    pub(super) is_dead: bool,
    /// When it looks for a story again, if there was none.
    pub(super) idle_until: Option<Instant>,
    /// The cost that its agent has reported so far, and the session's tokens.
    pub(super) running: (Option<f64>, u64),
}

/// A story in progress, as the conductor knows it.
#[derive(Default)]
pub(super) struct UnderWay {
    pub(super) slot: usize,
    pub(super) key: StoryKey,
    pub(super) attempt: Attempt,
    pub(super) facts: Facts,
    /// The commit with its saved work.
    pub(super) saved: Option<String>,
    /// Work that has passed its checks and is waiting to land.
    pub(super) passed: Option<Box<Passed>>,
    /// The loop's own files for its commit.
    pub(super) files: Vec<LoopFile>,
    /// How often the target moved before it could land.
    pub(super) moves: usize,
    /// Whether it lands on the waiting branch if the target moves again.
    pub(super) waits: bool,
    /// How it is discarded, once its copy has been read.
    pub(super) discarding: Option<(Discarding, Then)>,
}

/// A pause of the whole run.
#[derive(Debug, Clone)]
pub(super) struct Waiting {
    pub(super) why: String,
    pub(super) begun: Instant,
    pub(super) until: Instant,
    /// When the service resets its limit, in Unix seconds. The wall clock can only shorten the pause, for
    /// example after the machine was suspended.
    pub(super) reset: Option<i64>,
}

impl Slot {
    pub(super) fn new(slot: usize, desk: Desk, prefix: String, reports: &Reports) -> Self {
        Self {
            name: desk.name.clone(),
            run: desk.run.clone(),
            state: (desk.state().clone(), Instant::now()),
            reporter: Reporter { slot, prefix, reports: reports.0.clone() },
            desk: Some(desk),
            work: None,
            key: None,
            is_dead: false,
            idle_until: None,
            running: (None, 0),
        }
    }

    /// Whether an attempt is running in it.
    pub(super) fn is_busy(&self) -> bool {
        self.desk.is_none() && !self.is_dead
    }

    /// Whether it can take a story.
    pub(super) fn is_free(&self) -> bool {
        let is_rested = self.idle_until.is_none_or(|until| Instant::now() >= until);
        is_rested && self.desk.is_some() && self.work.is_none()
    }

    /// Whether its agent is paused in its stop hook.
    pub(super) fn has_session(&self) -> bool {
        self.desk.as_ref().is_some_and(|desk| desk.session.is_some())
    }

    /// Without a story, it looks again after the next finished task or a while: the user may add a story.
    pub(super) fn idle(&mut self) {
        self.idle_until = Some(Instant::now() + IDLE);
    }

    /// Starts a task on its own thread.
    fn start(&mut self, job: Job, course: Course, task: Task) -> Result<(), Failure> {
        let Some(desk) = self.desk.take() else {
            return Err(Failure::because("the slot is busy"));
        };
        if !job.key.story.is_empty() {
            self.key = Some(job.key.clone());
        }
        let thread = std::thread::Builder::new().name(format!("attempt-{}", self.name));
        let started = thread.spawn(move || {
            let done = catch_unwind(AssertUnwindSafe(|| attempt(&job, desk, course, task)));
            job.reporter.send(match done {
                Ok(done) => Report::Done(Box::new(done)),
                Err(_) => Report::Died,
            });
        });
        self.is_dead = started.is_err();
        started?;
        Ok(())
    }
}

impl Conductor {
    /// Ends the run after the stories in progress.
    pub(super) fn end_with(&mut self, finish: Finish) {
        if self.ending.as_ref().is_none_or(|known| known.rank() < finish.rank()) {
            self.ending = Some(finish);
        }
    }

    /// Ends the run because of a failure. After an interrupt the failure is a consequence: whatever was
    /// running has been stopped, and the next start continues it.
    pub(super) fn fail(&mut self, failure: &Failure) {
        match self.context.interrupts.signal() {
            Some(signal) => {
                self.view.warn(failure.to_string());
                self.end_with(Finish::Manual(signal));
            }
            None => self.end_with(Finish::Error(failure.to_string())),
        }
    }

    pub(super) fn slot(&mut self, slot: usize) -> Result<&mut Slot, Failure> {
        self.slots.get_mut(slot).ok_or_else(|| Failure::because("there is no such slot"))
    }

    /// The copy of a slot and its agent.
    pub(super) fn desk(&self, slot: usize) -> Result<&Desk, Failure> {
        let desk = self.slots.get(slot).and_then(|slot| slot.desk.as_ref());
        desk.ok_or_else(|| Failure::because("the copy is in use"))
    }

    pub(super) fn desk_mut(&mut self, slot: usize) -> Result<&mut Desk, Failure> {
        let desk = self.slots.get_mut(slot).and_then(|slot| slot.desk.as_mut());
        desk.ok_or_else(|| Failure::because("the copy is in use"))
    }

    /// The files of another plan.
    pub(super) fn books_of(&self, plan: &Utf8Path) -> Books {
        let context = &self.context;
        Books::of(plan, &context.project, &context.config, &self.source, &context.run_dir)
    }

    /// The plan's stories that are in progress in slots.
    pub(super) fn under_way(&self) -> BTreeSet<String> {
        let work = self.slots.iter().filter_map(|slot| slot.work.as_ref());
        work.map(|work| work.key.story.clone()).collect()
    }

    /// The input for the steps of an attempt.
    pub(super) fn job(&mut self, slot: usize, key: &StoryKey) -> Result<Job, Failure> {
        let (context, books) = (Arc::clone(&self.context), self.books.files());
        let failed_before = self.record.failed_before.clone();
        let tests_before = self.record.tests_before.clone();
        let refused_by = self.record.tally.story(key).refused_by.clone();
        let Slot { reporter, run, .. } = self.slot(slot)?;
        let (reporter, run, key) = (reporter.clone(), run.clone(), key.clone());
        Ok(Job { context, reporter, run, key, books, failed_before, tests_before, refused_by })
    }

    /// Gives a slot a task for its story.
    pub(super) fn give(&mut self, work: UnderWay, task: Task) -> Result<(), Failure> {
        let job = self.job(work.slot, &work.key)?;
        let (attempt, facts) = (work.attempt.clone(), work.facts.clone());
        let slot = self.slot(work.slot)?;
        slot.work = Some(work);
        slot.start(job, Course { attempt, facts, used: Vec::new() }, task)
    }

    /// Has a slot release its paused agent.
    pub(super) fn release(&mut self, slot: usize, goodbye: &str) -> Result<(), Failure> {
        let job = self.job(slot, &StoryKey::default())?;
        let task = Task::Release { goodbye: goodbye.to_owned() };
        self.slot(slot)?.start(job, Course::default(), task)
    }

    /// Leaves the story in its slot while it waits.
    pub(super) fn park(&mut self, work: UnderWay) {
        if let Some(slot) = self.slots.get_mut(work.slot) {
            slot.work = Some(work);
        }
    }

    /// Lets another story land.
    pub(super) fn free_landing(&mut self, slot: usize) {
        if self.landing == Some(slot) {
            self.landing = None;
        }
    }

    /// Whether an attempt has not changed its copy yet. In place the tree changes right away.
    pub(super) fn is_untouched(&self, work: &UnderWay) -> bool {
        let is_in_place = self.desk(work.slot).is_ok_and(|desk| desk.copy.is_in_place);
        work.attempt.phase == Phase::Begun && !is_in_place
    }

    /// The plan's path from the project's folder.
    pub(super) fn shown_plan(&self) -> &Utf8Path {
        self.books.plan.strip_prefix(self.context.project.root()).unwrap_or(&self.books.plan)
    }

    /// Whether `ralph-loop stop` asked this run to stop before its next story.
    pub(super) fn is_stop_requested(&self) -> bool {
        let request = state::read_text(self.context.run_dir.stop_request());
        request.is_ok_and(|asked| asked == self.context.run)
    }

    /// Shows a report of an attempt.
    pub(super) fn show(&mut self, slot: usize, report: Report) {
        match report {
            Report::Line(tone, text) => self.view.toned(tone, text),
            Report::Warning(text) => self.view.warn(text),
            Report::Doing(text) => self.view.doing(slot, &text),
            Report::Glimpse(seen) => {
                if let Some(slot) = self.slots.get_mut(slot) {
                    slot.running = (seen.cost_usd, seen.tokens);
                }
                self.view.glimpse(slot, &seen, self.cost_so_far());
            }
            Report::Note(key, event) => self.note_in(slot, Some(&key), &event),
            Report::Event(key, event) => {
                let _ = self.context.journal(self.name_of(slot), Some(&key)).tell(&event);
            }
            Report::Stopping => {
                self.save();
                if !std::mem::replace(&mut self.is_stopping, true) {
                    let grace = Duration::from_secs(self.context.config.agent.grace.0);
                    self.view.warn(format!(
                        "stopping: the agent has {} to finish; press Ctrl-C again to kill it now",
                        seconds(grace)
                    ));
                }
            }
            Report::Done(_) | Report::Died => {}
        }
    }

    /// Shows the reports of steps that run on this thread.
    pub(super) fn show_reports(&mut self) {
        while let Ok((slot, report)) = self.reports.1.try_recv() {
            self.show(slot, report);
        }
    }

    /// The name of a slot's run.
    fn name_of(&self, slot: usize) -> &str {
        self.slots.get(slot).map_or(&self.context.run, |slot| &slot.run)
    }

    /// Merges what the hooks of the slots' agents wrote, if it is due or `now`. What cannot be
    /// merged stays for the next time.
    pub(super) fn take_over(&mut self, now: bool) {
        let context = &*self.context;
        for Slot { state: (state, last), run, key, .. } in &mut self.slots {
            if !now && last.elapsed() < TAKEN_EVERY {
                continue;
            }
            *last = Instant::now();
            let journal = context.journal(run, key.as_ref());
            if let Err(error) = take_over(state, &context.run_dir, (context.state(), &journal)) {
                self.view.warn(error.to_string());
            }
        }
    }

    /// Records an event of the run itself.
    pub(super) fn note(&self, event: &Event) {
        self.note_in(usize::MAX, None, event);
    }

    /// Records the start of the run.
    pub(super) fn note_start(&self, mode: &str, in_sandbox: &str) {
        self.note(&Event::LoopStarted {
            mode: mode.to_owned(),
            plan: self.books.plan.to_string(),
            branch: self.board.branch.clone(),
            unguarded: self.context.options.unguarded.clone(),
            sandbox: Some(in_sandbox.to_owned()),
            probed: self.context.options.probed.clone(),
        });
    }

    /// Records an event of a story.
    pub(super) fn note_of(&self, work: &UnderWay, event: &Event) {
        self.note_in(work.slot, Some(&work.key), event);
    }

    /// Records an event with its slot and story. If the journal cannot be written, the run
    /// continues.
    pub(super) fn note_in(&self, slot: usize, key: Option<&StoryKey>, event: &Event) {
        let journal = self.context.journal(self.name_of(slot), key);
        let record = journal.record(event);
        if let Err(error) = journal.write(&record) {
            self.view.warn(error.to_string());
        }
        self.history.borrow_mut().take(&record);
        self.context.audience.iter().filter_map(|listener| listener.trouble()).for_each(
            |trouble| {
                self.view.warn(trouble);
            },
        );
        self.show_counts();
    }

    /// Updates the run's totals in the view.
    pub(super) fn show_counts(&self) {
        let history = self.history.borrow();
        if history.last().is_some() && history.has_plans() {
            self.view.counts(history.counts(), self.cost_so_far());
        }
    }

    /// The run's cost so far, including sessions that are still running.
    fn cost_so_far(&self) -> f64 {
        self.record.tally.cost_so_far(self.slots.iter().map(|slot| slot.running))
    }

    /// Shows a coloured line about a slot's story.
    pub(super) fn toned(&self, slot: usize, tone: Tone, text: impl AsRef<str>) {
        let prefix = self.slots.get(slot).map_or("", |slot| &slot.reporter.prefix);
        self.view.toned(tone, format!("{prefix}{}", text.as_ref()));
    }

    /// Saves the run's state. A full disk does not end the run.
    pub(super) fn save(&mut self) {
        self.record.process.elapsed_s = self.context.elapsed().as_secs_f64();
        self.record.process.interrupted = self.context.is_interrupted();
        for slot in &self.slots {
            let record = self.record.slots.entry(slot.name.clone()).or_default();
            record.story = slot.work.as_ref().map(|work| work.key.clone());
            let discarding = slot.work.as_ref().and_then(|work| work.discarding.as_ref());
            record.discarding = discarding.map(|(kept, _)| kept.clone());
        }
        if let Err(error) = self.record.save(&self.context.run_dir) {
            self.view.warn(format!("the run record could not be written: {error}"));
        }
        fault::point("loop.step-saved");
    }
}
