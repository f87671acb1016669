//! What happens at a usage limit, where another agent takes over or the run waits, and after a lifecycle script
//! asks the loop to try again later.

use std::time::{Duration, Instant, SystemTime};

use jiff::Timestamp;
use jiff::tz::TimeZone;
use ralph_base::state::Event;
use ralph_project::config::Skip;
use ralph_project::under_way::Attempt;

use super::decide::{Finish, Trouble, free_agents, pause, pause_of};
use super::notify::{Notice, notify};
use super::scripts::NEXT_ITERATION;
use super::state::{Conductor, UnderWay, Waiting};
use crate::record::Pause;
use crate::terminal::{Tone, in_words};

/// Whether another agent can continue until the limit resets.
pub(super) fn take_over(run: &mut Conductor, work: &UnderWay, trouble: &Trouble) -> bool {
    let fallback = &run.context.config.agent.fallback;
    if fallback.is_empty() {
        return false;
    }
    let agent = &work.attempt.agent;
    let now = Timestamp::now().as_second();
    let until = now + i64::try_from(pause(trouble.reset(), now, 1).as_secs()).unwrap_or(0);
    run.record.tally.run.limited.insert(agent.clone(), until);
    let Some(next) = free_agents(fallback, &run.record.tally, now).next() else { return false };
    let named = |name: String| run.context.agent_name(&Attempt { agent: name, ..Attempt::now() });
    let [limited, next] = [named(agent.clone()), named(next.to_owned())];
    let (limited, next) = (limited.unwrap_or("the agent"), next.unwrap_or("the agent"));
    let ends = if matches!(trouble, Trouble::Limit(_)) { "resets" } else { "answers" };
    run.view.warn(format!("{limited}: {}; {next} takes over until it {ends}", trouble.in_words()));
    true
}

/// Waits until the usage limit resets, or for a service that does not answer.
pub(super) fn for_service(run: &mut Conductor, trouble: &Trouble) {
    let now = || Timestamp::now().as_second();
    let streak = run.record.tally.run.quota_streak;
    let patience = Duration::from_secs(run.context.config.limits.wait_for_service.0);
    let length = pause_of(trouble, now(), streak, patience).unwrap_or_default();
    let (why, reset) = (&trouble.in_words(), trouble.reset());
    // One message suffices for a long outage.
    if streak <= 1 {
        let until = Timestamp::now() + length;
        let at = until.to_zoned(TimeZone::system()).strftime("%H:%M").to_string();
        let reason = &format!("{why}; the run continues at {at}");
        notify(run, &Notice { event: "waiting", reason, ..Notice::default() });
    }
    let seconds = i64::try_from(length.as_secs()).unwrap_or(i64::MAX);
    let is_ahead = reset.is_some_and(|reset| reset > now());
    let reset = if is_ahead { Some(now().saturating_add(seconds)) } else { None };
    begin(run, why, length, reset);
}

/// The shortest sleep that is worth a word.
const LEAST_SLEEP: Duration = Duration::from_secs(30);

/// The pause after an iteration that a script skipped.
const AFTER_SKIP: Duration = Duration::from_secs(1);

/// Pauses before the next iteration, or before asking `next_iteration` again; or returns why the run
/// ends instead.
pub(super) fn after_skip(run: &mut Conductor) -> Option<Finish> {
    let config = &run.context.config;
    // Without a limit on iterations, skipping them would not bound the run.
    if config.hooks.skip == Skip::Iteration && config.run.max_iterations > 0 {
        if run.record.planning {
            return Some(Finish::MaxIterations);
        }
        begin(run, &format!("{NEXT_ITERATION} skipped"), AFTER_SKIP, None);
        return None;
    }
    let Some(pause) = run.record.tally.pause_after_skip() else {
        let why = format!("the {NEXT_ITERATION} script skipped every iteration for too long");
        return Some(Finish::HookAbort(why));
    };
    begin(run, &format!("{NEXT_ITERATION} skipped"), pause, None);
    None
}

fn begin(run: &mut Conductor, why: &str, pause: Duration, reset: Option<i64>) {
    // No longer than the run's remaining time; choosing the next story then ends the run.
    let pause = run.context.time_left().map_or(pause, |left| pause.min(left));
    if run.waiting.as_ref().is_some_and(|known| known.until >= Instant::now() + pause) {
        return;
    }
    end(run);
    run.view.toned(Tone::Warning, format!("{why}; waiting for {}", in_words(pause)));
    let until = Timestamp::now() + pause;
    run.view.waiting(why, until);
    run.record.pause = Some(Pause { why: why.to_owned(), until: until.to_string() });
    run.save();
    let begun = Instant::now();
    run.waiting = Some(Waiting { why: why.to_owned(), begun, until: begun + pause, reset });
}

/// A moment by the clock that stands still while the machine sleeps, and by the one that does not.
#[derive(Debug, Clone, Copy)]
pub(super) struct Moment {
    awake: Instant,
    clock: SystemTime,
}

impl Moment {
    pub(super) fn now() -> Self {
        Self { awake: Instant::now(), clock: SystemTime::now() }
    }

    /// How long the machine slept between then and now.
    fn slept(&self, now: &Self) -> Duration {
        let passed = now.clock.duration_since(self.clock).unwrap_or_default();
        passed.saturating_sub(now.awake.duration_since(self.awake))
    }
}

/// Notes that the machine has slept since the last look: a pause went on meanwhile, and limits of time
/// did not.
pub(super) fn look_for_sleep(run: &mut Conductor, last: &Moment) -> Moment {
    let now = Moment::now();
    let slept = last.slept(&now);
    if slept >= LEAST_SLEEP {
        let why = "the machine slept, or its clock was set".to_owned();
        run.view.warn(format!("{why}: {}", in_words(slept)));
        run.note(&Event::Waited { why, seconds: slept.as_secs_f64() });
        if let Some(waiting) = &mut run.waiting {
            waiting.until = waiting.until.checked_sub(slept).unwrap_or(now.awake);
        }
    }
    now
}

/// Ends a pause that is over. `ralph-loop stop` ends both the pause and the run.
pub(super) fn look_at_clock(run: &mut Conductor) {
    let Some(waiting) = &run.waiting else { return };
    let now = Timestamp::now().as_second();
    let is_over =
        Instant::now() >= waiting.until || waiting.reset.is_some_and(|reset| now >= reset);
    if !is_over && !run.is_stop_requested() {
        return;
    }
    if !is_over {
        run.end_with(Finish::Stopped);
    }
    end(run);
}

/// Records the end of a pause, whatever the reason.
pub(super) fn end(run: &mut Conductor) {
    let Some(Waiting { why, begun, .. }) = run.waiting.take() else { return };
    run.note(&Event::Waited { why, seconds: begun.elapsed().as_secs_f64() });
    run.record.pause = None;
    run.save();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sleep_is_what_only_the_clock_has_seen() {
        let begun = Moment::now();
        let after = |awake: u64, clock: u64| Moment {
            awake: begun.awake + Duration::from_secs(awake),
            clock: begun.clock + Duration::from_secs(clock),
        };
        assert_eq!(begun.slept(&after(5, 3605)), Duration::from_secs(3600));
        assert_eq!(begun.slept(&after(60, 60)), Duration::ZERO);
        // The clock was set back.
        assert_eq!(after(0, 100).slept(&after(10, 0)), Duration::ZERO);
    }
}
