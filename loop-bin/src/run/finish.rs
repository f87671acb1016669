//! Waiting for the service, and the end of a run: the user's work comes back, receipts are shown.

use std::time::{Duration, Instant};

use jiff::Timestamp;
use ralph_core::config::{Mode, RollbackOn};
use ralph_core::fault;
use ralph_core::git;
use ralph_core::settle;
use ralph_core::state::Event as Journaled;

use super::judge::LONGEST_WAIT;
use super::stage::Stage;
use crate::agent::Descendants;
use crate::aside::{self, Conflict};
use crate::exit::Failure;
use crate::step::{Event, Finish, Spent, State};
use crate::terminal::{clock, counted};

/// How often a wait looks for signals.
const PULSE: Duration = Duration::from_millis(50);

/// How long we wait where the service did not say, for the first time and at most.
const FIRST_PAUSE: i64 = 60;
pub(super) const LONGEST_PAUSE: i64 = 1800;

/// So often in a row the word of the service about its reset is taken for true.
const BELIEVED: u32 = 2;

impl Stage {
    /// Waits until the usage limit is reset. The time is counted by a clock that nobody sets; the
    /// wall clock can only make it shorter, as after a night in which the machine slept.
    pub(super) fn wait(&mut self, reset: Option<i64>) -> Event {
        let now = || Timestamp::now().as_second();
        let pause = pause(reset, now(), self.quota_streak);
        let why = match reset {
            Some(_) => "the usage limit is reached",
            None => "the agent's service refuses for now",
        };
        let seconds = i64::try_from(pause.as_secs()).unwrap_or(i64::MAX);
        let reset = reset.filter(|reset| *reset > now()).map(|_| now().saturating_add(seconds));
        // No longer than the run may take; then the choice of the next story ends it.
        let left = self.config.limits.max_duration.limit();
        let left = left.map(|limit| limit.saturating_sub(self.elapsed()));
        let until = Instant::now() + left.map_or(pause, |left| pause.min(left));
        self.view.line(format!("{why}; waiting for {}", clock(pause)));
        // To the last instant: with a moment left the choice would start the agent once more.
        while let Some(left) =
            until.checked_duration_since(Instant::now()).filter(|left| !left.is_zero())
        {
            if let Some(signal) = self.interrupts.signal() {
                return Event::Signalled(signal);
            }
            if reset.is_some_and(|reset| now() >= reset) {
                break;
            }
            self.view.waiting(&format!("usage limit; going on in {}", clock(left)));
            std::thread::sleep(PULSE.min(left));
        }
        Event::Waited
    }

    /// The end: whatever fails here is told and does not keep the rest from being done.
    pub(super) fn run_finished(&mut self, state: &State, finish: &Finish) -> Event {
        // A run that is ended in the middle has no `post_iteration` to tell of its iteration.
        if let Some(outcome) = self.outcome.take() {
            let noted = self.note_end(state, outcome);
            self.tell(noted);
        }
        let counters = &state.counters;
        if self.interrupts.signal().is_none() {
            let reported = self.report_closed().map(drop);
            self.tell(reported);
        }
        let vars = vec![
            ("ITERATION", counters.iteration.to_string()),
            ("FINISH_TYPE", finish.word().to_owned()),
            ("TOTAL_ITERATIONS", counters.iteration.to_string()),
            ("TOTAL_COMMITS", counters.commits.to_string()),
            ("DURATION", self.elapsed().as_secs().to_string()),
        ];
        let script = self.script("finished", vars).map(drop);
        self.tell(script);
        Descendants::all().end(Duration::from_secs(2), &|| self.interrupts.count() > 1);
        fault::point("loop.finishing");
        self.release_left_out();
        let dropped = if self.broke { Ok(()) } else { self.drop_handed_over() };
        self.tell(dropped);
        let cleaned = self.remove_stale_files();
        self.tell(cleaned);
        let ended = self.end_attempt(finish);
        self.tell(ended);
        let counted = self.finish_loop_progress(counters.iteration, finish);
        self.tell(counted);
        let back = match self.state().attempt().exists() {
            true => {
                self.leave_aside();
                Ok(())
            }
            false => {
                git::forget_sighting(&self.repo);
                self.bring_back()
            }
        };
        self.tell(back);
        fault::point("aside.restored");
        self.attempt = None;
        self.note(&finish.told());
        self.receipts(state, finish);
        Event::Finished
    }

    fn finish_loop_progress(&self, iteration: u64, finish: &Finish) -> Result<(), Failure> {
        let status = match finish {
            Finish::Complete => "COMPLETE",
            Finish::MaxIterations => "REACHED_LIMIT",
            _ => "STOPPED",
        };
        if self.config.run.mode == Mode::Planning {
            return Ok(());
        }
        self.update_loop_progress(&self.load_plan()?, iteration, status)
    }

    fn tell(&self, result: Result<(), Failure>) {
        if let Err(failure) = result {
            self.view.warn(failure.to_string());
        }
    }

    /// Where something broke, all is left as it is for the next start. After a signal the
    /// checkpoint stays, and with it an attempt that was not rolled back.
    fn end_attempt(&self, finish: &Finish) -> Result<(), Failure> {
        match finish {
            _ if self.broke => {}
            Finish::Manual(_) if self.config.rollback.on == RollbackOn::Never => {}
            Finish::Manual(_) => settle::forget(self.state())?,
            _ => settle::end(self.state())?,
        }
        Ok(())
    }

    /// An attempt that the next start goes on with must not be mixed with the user's work.
    fn leave_aside(&self) {
        if let Some(name) = &self.aside {
            self.view.warn(format!(
                "an attempt is under way, so uncommitted work stays aside until the next run has \
                 ended; `git checkout {name} -- .` brings it back now"
            ));
        }
    }

    /// The user's uncommitted work comes back.
    pub(crate) fn bring_back(&mut self) -> Result<(), Failure> {
        let Some(name) = self.aside.clone() else { return Ok(()) };
        let restored = match aside::restore(&self.repo, &name, &|path| self.is_ours(path)) {
            Err(failure) if aside::is_gone(&failure) => {
                // No later start could do better, so none is kept from working.
                self.view.warn(format!("uncommitted work did not come back: {failure}"));
                self.aside = None;
                return Ok(());
            }
            other => other?,
        };
        let files = counted(restored.back, "file", "files");
        self.view.line(format!("uncommitted work is back: {files}"));
        for Conflict { path, is_removal } in &restored.conflicts {
            let path = path.display();
            self.view.warn(match is_removal {
                false => format!(
                    "{path} was changed by you and by the loop; yours is kept: git show {name}:{path}"
                ),
                true => format!(
                    "{path} was removed by you and changed by the loop, so it stays: `git rm -- \
                     {path}` removes it"
                ),
            });
        }
        if let Some(kept) = &restored.kept {
            let id = kept.id();
            self.view.warn(format!(
                "`ralph-loop undo {id}` brings back what did not come back, once these files are as \
                 they were before the run"
            ));
            let named = |conflict: &Conflict| conflict.path.display().to_string();
            let files = restored.conflicts.iter().map(named).collect();
            self.note(&Journaled::WorkNotReturned { kept_as: kept.name.clone(), files });
        }
        for failure in &restored.failed {
            self.view
                .warn(format!("{failure}; it is kept as {name}, and the next start tries again"));
        }
        if restored.failed.is_empty() {
            self.aside = None;
        }
        Ok(())
    }

    fn receipts(&self, state: &State, finish: &Finish) {
        let counters = &state.counters;
        for (story, spent) in &counters.story_spent {
            self.view.line(format!("receipt: {story}: {}", receipt(*spent)));
        }
        match (finish, self.config.run.mode) {
            (Finish::Budget(why), _) => {
                self.view.line(format!("the budget is used up: {why}"));
            }
            // What planning cost is told with the plan.
            (_, Mode::Planning) => {}
            (_, Mode::Building) => self.tell_of_excess(counters.spent),
        }
        let done = match self.config.run.mode {
            Mode::Planning => "planning".to_owned(),
            Mode::Building => {
                let stories = counted(counters.commits as usize, "story", "stories");
                format!("{stories} committed")
            }
        };
        self.view.line(format!(
            "finished ({}): {done} in {}, {} in all; {}",
            finish.word(),
            counted(counters.iteration as usize, "iteration", "iterations"),
            clock(self.elapsed()),
            receipt(counters.spent)
        ));
    }
}

/// What was spent, in words.
pub(super) fn receipt(spent: Spent) -> String {
    let time = Duration::try_from_secs_f64(spent.seconds).unwrap_or_default();
    let mut text = format!("{} of the agent's time", clock(time));
    // An agent that reports nothing is not one that is free.
    if spent.tokens > 0 {
        text.push_str(&format!(", {} tokens", spent.tokens));
    }
    if spent.cost_usd > 0.0 {
        text.push_str(&format!(", ${:.4}", spent.cost_usd));
    }
    text
}

/// Up to the stated reset and a second more; where none is stated, or it comes and goes without
/// effect, a pause that grows.
fn pause(reset: Option<i64>, now: i64, streak: u32) -> Duration {
    let grown = FIRST_PAUSE.saturating_mul(1 << streak.saturating_sub(1).min(10));
    let grown = grown.min(LONGEST_PAUSE);
    let seconds = match reset.map(|reset| reset.saturating_sub(now).saturating_add(1)) {
        // The clock was set back just now: nobody would have begun to wait for that.
        Some(left) if u64::try_from(left).is_ok_and(|left| left > LONGEST_WAIT.as_secs()) => grown,
        Some(left) if streak <= 1 => left.max(1),
        Some(left) if left > 1 && streak <= BELIEVED => left,
        Some(left) => left.max(grown),
        None => grown,
    };
    Duration::from_secs(seconds.unsigned_abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_ends_at_the_reset_or_grows() {
        for (reset, streak, seconds) in [
            (Some(1_090), 1, 91),
            (Some(1_090), 2, 91),
            (Some(1_001), 3, 240),
            (Some(9_000), 5, 8_001),
            (Some(900), 1, 1),
            (Some(900), 2, 120),
            (None, 1, 60),
            (None, 3, 240),
            (None, 40, 1800),
            // A week is waited for, years are not: then a clock is wrong.
            (Some(1_000 + 7 * 24 * 3600), 1, 7 * 24 * 3600 + 1),
            (Some(1_000 + 700 * 24 * 3600), 1, 60),
            (Some(i64::MAX), 2, 120),
            (Some(i64::MIN), 1, 1),
        ] {
            let found = pause(reset, 1_000, streak).as_secs();
            assert_eq!(found, seconds, "{reset:?} {streak}");
        }
    }
}
