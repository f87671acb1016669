//! What follows from the end of an agent, and what ends a run. Pure: nothing here touches a disk, a
//! clock or a process, so that every case can be tested without one.

use std::time::Duration;

use ralph_base::state::StoryKey;
use ralph_project::config::Limits;

use super::tally::{Spent, Tally};
use super::words::{Discarding, Finish, Next, Outcome, SessionEnd, Then, WorkEnd};
use crate::terminal::{counted, seconds as seconds_of};

/// The longest pause, in seconds, after a script skipped an iteration.
const LONGEST_SKIP_S: u64 = 300;

/// How long, in seconds, a run waits in total while a script skips every iteration.
const SKIPPED_S: u64 = 12 * 3600;

/// After so many sessions in a row without a known cost, a cost limit counts as reached: unknown never
/// means nothing.
const MOST_UNPRICED: u64 = 2;

/// After so many agents in a row that failed before they did anything, the next one will, too.
const MOST_AGENT_FAILURES: u64 = 3;

impl Tally {
    /// Whether another session may go on with a story that one left because its context was full.
    pub(crate) fn may_hand_over(&self, key: &StoryKey, limits: &Limits) -> bool {
        let done = self.stories.get(key).map_or(0, |story| story.handovers);
        done < limits.attempts_per_story.max(1)
    }

    /// Why no further story is begun, if the run is `seconds` old.
    pub(crate) fn limit_reached(
        &self,
        limits: &Limits,
        max_iterations: u64,
        seconds: f64,
    ) -> Option<Finish> {
        let Spent { cost_usd: spent, unpriced, .. } = self.run.spent;
        let most = limits.max_cost_usd;
        if most > 0.0 && spent >= most {
            let why = format!("budget exceeded: spent ${spent:.2} of ${most:.2}");
            return Some(Finish::Budget(why));
        }
        if most > 0.0 && self.run.price.unpriced_sessions >= MOST_UNPRICED {
            return Some(Finish::Budget(format!(
                "the cost of {unpriced} tokens is unknown, so the limit of ${most:.2} cannot be kept"
            )));
        }
        if let Some(limit) =
            limits.max_duration.limit().filter(|limit| seconds >= limit.as_secs_f64())
        {
            return Some(Finish::Budget(format!("time limit of {} reached", seconds_of(limit))));
        }
        let is_last = max_iterations > 0 && self.run.iteration >= max_iterations;
        is_last.then_some(Finish::MaxIterations)
    }

    /// Why a story is not tried again, if it is not.
    pub(crate) fn given_up(&self, key: &StoryKey, limits: &Limits) -> Option<String> {
        let attempts = self.attempts_at(key);
        let count = counted(attempts as usize, "failed attempt", "failed attempts");
        let is_last = attempts >= limits.attempts_per_story.max(1);
        is_last.then(|| format!("gave up after {count}"))
    }

    /// Whether the work of a story failed before because of another story that landed.
    pub(crate) fn has_conflicted(&self, key: &StoryKey) -> bool {
        self.stories.get(key).is_some_and(|story| story.has_conflicted)
    }

    /// Stories that give nothing would keep a run without limits going for ever.
    pub(crate) fn is_stalled(&self, limits: &Limits) -> bool {
        limits.stalled_after > 0 && self.run.idle >= limits.stalled_after
    }

    /// A script skips the next iteration: it is not counted, and tried again after a pause that grows
    /// from one skip to the next; none if the run has waited for as long as it may.
    pub(crate) fn pause_after_skip(&mut self) -> Option<Duration> {
        let pause = |skips: u64| (1 << skips.min(16)).min(LONGEST_SKIP_S);
        let waited: u64 = (0..self.run.skipped).map(pause).sum();
        let seconds = pause(self.run.skipped).min(SKIPPED_S.saturating_sub(waited));
        self.run.iteration = self.run.iteration.saturating_sub(1);
        self.run.skipped += 1;
        if seconds == 0 { None } else { Some(Duration::from_secs(seconds)) }
    }

    /// An agent that fails by itself may do better the next time, but not for ever.
    fn after_failed_agent(&self, why: &str) -> Then {
        match self.run.agent_failures {
            count if count < MOST_AGENT_FAILURES => Then::GoOn,
            count => {
                let why = format!("{why}\n{count} times in a row, before it did anything");
                Then::End(Finish::Error(why))
            }
        }
    }

    /// What follows from the end of an agent or of a landing.
    pub(crate) fn after(
        &mut self,
        end: WorkEnd,
        key: &StoryKey,
        session: SessionEnd,
        limits: &Limits,
    ) -> Next {
        let kept = |outcome, why: &str, then| Next::Discard(Discarding::new(outcome, why), then);
        let has_failed = matches!(end, WorkEnd::AgentFailed(_));
        self.run.agent_failures = if has_failed { self.run.agent_failures + 1 } else { 0 };
        let is_refused = matches!(end, WorkEnd::Quota(_));
        self.run.quota_streak = if is_refused { self.run.quota_streak + 1 } else { 0 };
        match end {
            WorkEnd::Well => Next::Land,
            WorkEnd::Landed => {
                self.landed(key);
                Next::Report
            }
            // A fresh session goes on where the context was full, and no attempt is lost by it.
            WorkEnd::Failed(_, why)
                if session == SessionEnd::HandedOver && self.may_hand_over(key, limits) =>
            {
                self.story(key).handovers += 1;
                kept(Outcome::Handoff, &why, Then::GoOn)
            }
            WorkEnd::Conflict(why) => Next::Discard(self.met_others(why, key, limits), Then::GoOn),
            WorkEnd::RedWithOthers(why) => {
                let kept = self.met_others(why, key, limits);
                self.again(kept, key, session, limits)
            }
            WorkEnd::Failed(outcome, why) => {
                let kept = self.fail(outcome, why, key, limits);
                self.again(kept, key, session, limits)
            }
            WorkEnd::Blocked(why) => {
                let set_aside = Some(why.clone());
                Next::Discard(Discarding { outcome: Outcome::Blocked, why, set_aside }, Then::GoOn)
            }
            WorkEnd::Quota(reset) => {
                // It was the service's fault, so neither attempt nor iteration is lost.
                self.run.iteration = self.run.iteration.saturating_sub(1);
                let why = "usage limit reached, or the agent's service is down";
                let end = Then::End(Finish::Budget(why.to_owned()));
                let then = if limits.wait_for_quota { Then::Wait(reset) } else { end };
                kept(Outcome::Quota, why, then)
            }
            WorkEnd::Spent(why) => {
                kept(Outcome::Budget, &why, Then::End(Finish::Budget(why.clone())))
            }
            WorkEnd::Signalled(signal) => {
                Next::Discard(Discarding::interrupted(), Then::End(Finish::Manual(signal)))
            }
            WorkEnd::LandingStopped(signal) => Next::Leave(signal),
            WorkEnd::AgentFailed(why) => {
                let then = self.after_failed_agent(&why);
                self.not_its_fault(&why, then)
            }
            WorkEnd::Impossible(why) => {
                kept(Outcome::Interrupted, &why, Then::End(Finish::Error(why.clone())))
            }
        }
    }

    /// An end that is not the story's fault costs it neither attempt nor iteration.
    fn not_its_fault(&mut self, why: &str, then: Then) -> Next {
        self.run.iteration = self.run.iteration.saturating_sub(1);
        Next::Discard(Discarding::new(Outcome::Interrupted, why), then)
    }

    /// An agent that waits may fix in the same session what failed; else its story is begun again.
    fn again(
        &self,
        kept: Discarding,
        key: &StoryKey,
        session: SessionEnd,
        limits: &Limits,
    ) -> Next {
        let is_last = self.attempts_at(key) >= limits.attempts_per_story.max(1);
        match session {
            SessionEnd::Waits if !is_last && kept.outcome != Outcome::Partial => {
                Next::SendBack(kept.why)
            }
            _ => Next::Discard(kept, Then::GoOn),
        }
    }

    /// Work that fails with what others landed meanwhile: no attempt is lost by it, the first time.
    fn met_others(&mut self, why: String, key: &StoryKey, limits: &Limits) -> Discarding {
        if self.has_conflicted(key) {
            return self.fail(Outcome::Failed, why, key, limits);
        }
        self.story(key).has_conflicted = true;
        Discarding::new(Outcome::Failed, &why)
    }

    /// Counts another failed attempt.
    pub(crate) fn fail(
        &mut self,
        outcome: Outcome,
        why: String,
        key: &StoryKey,
        limits: &Limits,
    ) -> Discarding {
        self.story(key).attempts += 1;
        let given_up = self.given_up(key, limits);
        let set_aside = given_up.map(|reason| format!("{reason}; last failure: {why}"));
        Discarding { outcome, why, set_aside }
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
