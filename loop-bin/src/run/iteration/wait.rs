//! Waiting: for the agent's service, or for a lifecycle script that has the loop try again later.

use std::time::{Duration, Instant};

use jiff::Timestamp;
use jiff::tz::TimeZone;
use ralph_base::state;

use super::judge::LONGEST_WAIT;
use crate::exit::Failure;
use crate::run::Run;
use crate::run::decide::Finish;
use crate::run::notify::Notice;
use crate::run::record::Pause;
use crate::run::scripts::NEXT_ITERATION;
use crate::terminal::{Tone, in_words};

/// How often a wait looks for signals.
const PULSE: Duration = Duration::from_millis(50);

/// How long we wait where the service did not say, for the first time and at most.
const FIRST_PAUSE: u64 = 60;
const LONGEST_PAUSE: u64 = 1800;

/// A wait: what for, how long, and whether the agent's service asked for it.
#[derive(Debug, Clone, Copy)]
struct Wait<'a> {
    why: &'a str,
    pause: Duration,
    is_services: bool,
}

impl Run {
    /// Waits until the usage limit is reset. The time is counted by a clock that nobody sets; the
    /// wall clock can only make it shorter, as after a night in which the machine slept.
    pub(in crate::run) fn wait(&mut self, reset: Option<i64>) -> Option<Finish> {
        let now = || Timestamp::now().as_second();
        let pause = pause(reset, now(), self.quota_streak);
        let why = match reset {
            Some(_) => "usage limit reached",
            None => "the agent's service refuses requests",
        };
        // One that is down for hours is worth one message.
        if self.quota_streak <= 1 {
            let until = Timestamp::now() + pause;
            let at = until.to_zoned(TimeZone::system()).strftime("%H:%M").to_string();
            let reason = &format!("{why}; the run continues at {at}");
            self.notify(&Notice { event: "waiting", reason, ..Notice::default() });
        }
        let seconds = i64::try_from(pause.as_secs()).unwrap_or(i64::MAX);
        let reset = reset.filter(|reset| *reset > now()).map(|_| now().saturating_add(seconds));
        let is_over = || reset.is_some_and(|reset| now() >= reset);
        self.wait_for(Wait { why, pause, is_services: true }, &is_over)
    }

    /// Waits before `next_iteration` is asked again; and why the run ends instead.
    pub(in crate::run) fn wait_after_skip(&mut self) -> Result<Option<Finish>, Failure> {
        let limit = self.context.config.hooks.skip_limit.limit();
        let Some(pause) = self.record.counters.pause_after_skip(limit) else {
            let waited = in_words(limit.unwrap_or_default());
            let why = format!("the {NEXT_ITERATION} script skipped every iteration for {waited}");
            return Ok(Some(Finish::HookAbort(why)));
        };
        // An agent that waits for its next story is not kept for hours.
        self.end_session("the next story begins later, in a new session")?;
        self.record.story = None;
        let why = format!("{NEXT_ITERATION} skipped");
        if let Some(finish) =
            self.wait_for(Wait { why: &why, pause, is_services: false }, &|| false)
        {
            return Ok(Some(finish));
        }
        let elapsed = self.context.elapsed().as_secs_f64();
        Ok(self.record.counters.limit_reached(&self.context.config.limits, 0, elapsed))
    }

    /// Waits so long, or until it is over; a signal or `ralph-loop stop` ends it, and the run.
    fn wait_for(&mut self, wait: Wait<'_>, is_over: &dyn Fn() -> bool) -> Option<Finish> {
        let Wait { why, pause, is_services } = wait;
        self.context.view.toned(Tone::Warning, format!("{why}; waiting for {}", in_words(pause)));
        let until = Timestamp::now() + pause;
        self.context.view.waiting(why, until);
        self.record.pause =
            Some(Pause { why: why.to_owned(), is_services, until: until.to_string() });
        self.save();
        // No longer than the run may take; then the choice of the next story ends it.
        let until = Instant::now() + self.context.time_left().map_or(pause, |left| pause.min(left));
        let begun = Instant::now();
        let mut finish = None;
        // To the last instant: with a moment left the choice would start the agent once more.
        while let Some(left) =
            until.checked_duration_since(Instant::now()).filter(|left| !left.is_zero())
        {
            finish = self.context.interrupts.signal().map(Finish::Manual);
            if finish.is_none() && self.is_stop_requested().is_ok_and(|stop| stop) {
                finish = Some(Finish::Stopped);
            }
            if finish.is_some() || is_over() {
                break;
            }
            std::thread::sleep(PULSE.min(left));
        }
        self.waited(why, begun);
        self.record.pause = None;
        self.save();
        finish
    }

    fn waited(&self, why: &str, begun: Instant) {
        let (why, seconds) = (why.to_owned(), begun.elapsed().as_secs_f64());
        self.context.note(None, &state::Event::Waited { why, seconds });
    }
}

/// Up to the stated reset and a second more; where none is stated, or it came and went without
/// effect, a pause that grows. A reset that is too far away to be waited for says that a clock was set
/// back just now.
fn pause(reset: Option<i64>, now: i64, streak: u32) -> Duration {
    let stated = reset.map(|reset| reset.saturating_sub(now).max(0).unsigned_abs() + 1);
    let stated = stated.map(Duration::from_secs).filter(|stated| *stated <= LONGEST_WAIT);
    match stated {
        Some(stated) if streak <= 1 => stated,
        stated => {
            let grown = FIRST_PAUSE << streak.saturating_sub(1).min(5);
            stated.unwrap_or_default().max(Duration::from_secs(grown.min(LONGEST_PAUSE)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_ends_at_the_reset_or_grows() {
        for (reset, streak, seconds) in [
            (Some(1_090), 1, 91),
            (Some(1_090), 2, 120),
            (Some(1_001), 3, 240),
            (Some(9_000), 5, 8_001),
            (Some(900), 1, 1),
            (Some(900), 2, 120),
            (None, 1, 60),
            (None, 3, 240),
            (None, 40, 1800),
            (Some(1_000 + 7 * 24 * 3600), 1, 7 * 24 * 3600 + 1),
            (Some(i64::MAX), 2, 120),
            (Some(i64::MIN), 1, 1),
        ] {
            let found = pause(reset, 1_000, streak).as_secs();
            assert_eq!(found, seconds, "{reset:?} {streak}");
        }
    }
}
