//! An attempt whose loop was killed while its agent was at work. It counts as one in vain: else an
//! agent that uses up the machine's memory would be started for as long as somebody restarts the loop.
//!
//! One whose run was asked to end does not count, and neither does one whose agent had ended.

use std::cell::RefCell;
use std::time::{Duration, Instant};

use ralph_core::plan::progress::Status;
use ralph_core::settle::Attempt;
use ralph_core::state::StateDir;

use super::record::Record;
use super::stage::Stage;
use super::uncounted;
use crate::exit::Failure;
use crate::signals::Interrupts;
use crate::terminal::counted;

/// What the plan's progress says of such an attempt.
const WHY: &str = "the loop was killed while the agent was at work, by hand or for want of memory";

impl Record {
    /// Whether this run was killed while an agent was at work on the attempt. Of what a hook of the
    /// agent's was just settling the next start finds out whether it is done.
    fn is_killed_with(&self, attempt: &Attempt, state: &StateDir) -> bool {
        self.finish.is_none()
            && !self.interrupted
            && attempt.run == self.run
            && attempt.iteration > self.counters.ended
            && !state.settling().exists()
            && uncounted::is_begun(state, &self.run, attempt.iteration)
    }

    /// Counts an attempt in vain. What failed in its session was counted by nobody yet.
    fn count_crash(&mut self, attempt: &Attempt) {
        let attempts = self.counters.attempts.entry(attempt.story.clone()).or_default();
        *attempts = attempt.failures.max(*attempts + 1);
        self.counters.ended = attempt.iteration;
    }
}

impl Stage {
    /// Counts the attempt that was under way if the run before this one was killed then. That is
    /// on disk before the attempt is taken back, so that it is counted once.
    pub(super) fn count_crash(&self, before: &mut Record) -> Result<Option<Attempt>, Failure> {
        let under_way = Attempt::load(self.state())?;
        let Some(attempt) = under_way.filter(|it| before.is_killed_with(it, self.state())) else {
            return Ok(None);
        };
        before.count_crash(&attempt);
        before.save(self.state())?;
        Ok(Some(attempt))
    }

    /// Tells of such an attempt once it is taken back; after too many the story is set aside.
    pub(super) fn tell_of_crash(&mut self, attempt: Attempt) -> Result<(), Failure> {
        let story = attempt.story.clone();
        let count = self.counters.attempts.get(&story).copied().unwrap_or(0);
        let most = self.config.limits.attempts_per_story.max(1);
        self.view.line(format!("{story}: attempt {count} of {most} was in vain: {WHY}"));
        let is_there = self.load_plan().is_ok_and(|plan| plan.story(&story).is_some());
        if !is_there {
            return Ok(());
        }
        self.attempt = Some(attempt.clone());
        let told = match count >= most {
            false => self.log(&attempt, Status::Interrupted, WHY),
            true => {
                let attempts = counted(count as usize, "attempt was", "attempts were");
                self.counters.set_aside.insert(story);
                self.set_aside(&format!("{attempts} in vain; the last one: {WHY}")).map(drop)
            }
        };
        self.attempt = None;
        told
    }
}

/// Listens to signals while something is under way that takes its time.
pub(super) struct Interruption<'a> {
    pub(super) interrupts: &'a Interrupts,
    pub(super) saved: &'a RefCell<Option<Record>>,
    pub(super) state: &'a StateDir,
    /// How long the run had taken before it began to listen, and when that was.
    pub(super) elapsed: Duration,
    pub(super) since: Instant,
}

impl Interruption<'_> {
    /// Whether a signal asks the run to end. Whoever sent it may kill us next, so it is on disk at
    /// once: what it interrupts is no attempt in vain. A disk that is full changes nothing about it.
    pub(super) fn came(&self) -> bool {
        let has_come = self.interrupts.signal().is_some();
        let mut saved = self.saved.borrow_mut();
        if let Some(record) = saved.as_mut().filter(|record| has_come && !record.interrupted) {
            record.interrupted = true;
            let elapsed_s = (self.elapsed + self.since.elapsed()).as_secs_f64();
            drop((Record { elapsed_s, ..record.clone() }).save(self.state));
        }
        has_come
    }
}
