//! What follows from the end of an agent, and what ends a run. Pure: nothing here touches a disk, a
//! clock or a process, so that every case can be tested without one.

use std::time::Duration;

use ralph_project::config::Limits;

use super::words::{Counters, Discarding, Finish, Next, Outcome, SessionEnd, Spent, Then, WorkEnd};
use crate::terminal::{counted, seconds as seconds_of};

/// The longest pause, in seconds, after a script skipped an iteration.
const LONGEST_SKIP_S: u64 = 300;

/// After so many sessions in a row whose cost nobody knows, a limit of money is taken for reached:
/// what is unknown never counts as nothing.
const MOST_UNPRICED: u64 = 2;

/// What is said of settings that are new.
pub(crate) const CONFIG_CHANGED: &str = "config.toml changed during the run, which keeps the settings \
                                         it began with; hooks and the next run use the new ones";

/// After so many agents in a row that failed before they did anything, the next one will, too.
const MOST_AGENT_FAILURES: u64 = 3;

impl Counters {
    /// How many attempts at a story count.
    pub(crate) fn attempts_at(&self, story: &str) -> u64 {
        self.all(|one| one.attempts.get(story).copied().unwrap_or(0))
    }

    /// Whether another session may go on with a story that one left because its context was full.
    pub(crate) fn may_hand_over(&self, story: &str, limits: &Limits) -> bool {
        let done = self.all(|one| one.handovers.get(story).copied().unwrap_or(0));
        done < limits.attempts_per_story.max(1)
    }

    /// Books what a story took.
    pub(crate) fn book(&mut self, story: &str, spent: Spent) {
        let own = self.story_spent.entry(story.to_owned()).or_default();
        for book in [&mut self.spent, own] {
            book.cost_usd += spent.cost_usd;
            book.seconds += spent.seconds;
            book.tokens += spent.tokens;
            book.unpriced += spent.unpriced;
        }
    }

    /// What a session cost: as it says or, where it was ended before it could, by its tokens at the
    /// price that other sessions imply; none if that is not known either. Once it is, what was unknown
    /// before is booked as well.
    pub(crate) fn cost_of_session(&mut self, said: Option<f64>, tokens: u64) -> Option<f64> {
        if let Some(cost) = said {
            self.priced.cost_usd += cost;
            self.priced.tokens += tokens;
        }
        let Some(price) = self.price() else { return said };
        for book in self.story_spent.values_mut().chain([&mut self.spent]) {
            book.cost_usd += price * std::mem::take(&mut book.unpriced) as f64;
        }
        self.unpriced_sessions = 0;
        said.or(if tokens > 0 { Some(price * tokens as f64) } else { None })
    }

    /// What the run cost with a session that is not over: as far as it says, or by its tokens.
    pub(crate) fn cost_with(&self, said: Option<f64>, tokens: u64) -> f64 {
        let by_tokens = || self.price().unwrap_or(0.0) * tokens as f64;
        self.all(|one| one.spent).cost_usd + said.unwrap_or_else(by_tokens)
    }

    /// What a token costs, by the sessions that said what they cost.
    fn price(&self) -> Option<f64> {
        let Spent { cost_usd, tokens, .. } = self.all(|one| one.priced);
        if tokens > 0 { Some(cost_usd / tokens as f64) } else { None }
    }

    /// What the run cost as far as that is known; none if nothing is.
    pub(crate) fn known_cost(&self) -> Option<f64> {
        let is_partial = self.costless_sessions > 0 || self.spent.unpriced > 0;
        let cost = self.spent.cost_usd;
        if is_partial && cost == 0.0 { None } else { Some(cost) }
    }

    /// The same as scripts get it: empty if nothing is known.
    pub(crate) fn cost_for_scripts(&self) -> String {
        self.known_cost().map(|cost| format!("{cost:.4}")).unwrap_or_default()
    }

    /// Why no further story is begun, if the run is `seconds` old.
    pub(crate) fn limit_reached(
        &self,
        limits: &Limits,
        max_iterations: u64,
        seconds: f64,
    ) -> Option<Finish> {
        let Spent { cost_usd: spent, unpriced, .. } = self.all(|one| one.spent);
        let most = limits.max_cost_usd;
        if most > 0.0 && spent >= most {
            let why = format!("budget exceeded: spent ${spent:.2} of ${most:.2}");
            return Some(Finish::Budget(why));
        }
        if most > 0.0 && self.all(|one| one.unpriced_sessions) >= MOST_UNPRICED {
            return Some(Finish::Budget(format!(
                "the cost of {unpriced} tokens is unknown, so the limit of ${most:.2} cannot be kept"
            )));
        }
        if let Some(limit) =
            limits.max_duration.limit().filter(|limit| seconds >= limit.as_secs_f64())
        {
            return Some(Finish::Budget(format!("time limit of {} reached", seconds_of(limit))));
        }
        let is_last = max_iterations > 0 && self.all(|one| one.iteration) >= max_iterations;
        is_last.then_some(Finish::MaxIterations)
    }

    /// Why a story is not tried again, if it is not.
    pub(crate) fn given_up(&self, story: &str, limits: &Limits) -> Option<String> {
        let attempts = self.attempts_at(story);
        if attempts >= limits.attempts_per_story.max(1) {
            let count = counted(attempts as usize, "failed attempt", "failed attempts");
            return Some(format!("gave up after {count}"));
        }
        let spent = self.spent_on(story);
        let cost = limits.story_max_cost_usd;
        if cost > 0.0 && spent.cost_usd >= cost {
            return Some(format!("budget of ${cost:.2} used up"));
        }
        let limit = limits.story_max_duration.limit();
        let limit = limit.filter(|limit| spent.seconds >= limit.as_secs_f64())?;
        Some(format!("time limit of {} reached", seconds_of(limit)))
    }

    /// A story is given up; whether anything came of it decides whether the run stalls.
    pub(crate) fn set_aside(&mut self, story: &str) {
        self.idle = if self.moved.contains(story) { 0 } else { self.idle + 1 };
        self.set_aside.insert(story.to_owned());
    }

    /// Another plan follows, whose stories are others though their ids may be the same.
    pub(crate) fn forget_stories(&mut self) {
        self.attempts.clear();
        self.moved.clear();
        self.handovers.clear();
        self.set_aside.clear();
        self.story_spent.clear();
        self.done = None;
    }

    /// The stories among these that are done though no landing of this run has done them; told once.
    pub(crate) fn newly_ticked(&mut self, done: &[&str]) -> Vec<String> {
        let all = || done.iter().map(|id| (*id).to_owned());
        let Some(known) = &mut self.done else {
            self.done = Some(all().collect());
            return Vec::new();
        };
        let new: Vec<String> = all().filter(|id| known.insert(id.clone())).collect();
        self.ticked.extend(new.iter().cloned());
        new
    }

    /// Stories that give nothing would keep a run without limits going for ever.
    pub(crate) fn is_stalled(&self, limits: &Limits) -> bool {
        limits.stalled_after > 0 && self.idle >= limits.stalled_after
    }

    /// A script skips the next iteration: it is not counted, and tried again after a pause that grows
    /// from one skip to the next; none if the run has waited for as long as it may.
    pub(crate) fn pause_after_skip(&mut self, limit: Option<Duration>) -> Option<Duration> {
        let pause = |skips: u64| (1 << skips.min(16)).min(LONGEST_SKIP_S);
        let waited: u64 = (0..self.skipped).map(pause).sum();
        let left = limit.map_or(u64::MAX, |limit| limit.as_secs().saturating_sub(waited));
        let seconds = pause(self.skipped).min(left);
        self.iteration = self.iteration.saturating_sub(1);
        self.skipped += 1;
        if seconds == 0 { None } else { Some(Duration::from_secs(seconds)) }
    }

    /// An agent that fails by itself may do better the next time, but not for ever.
    fn after_failed_agent(&self, why: &str) -> Then {
        match self.agent_failures {
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
        story: &str,
        session: SessionEnd,
        limits: &Limits,
    ) -> Next {
        let kept = |outcome, why: &str, then| Next::Discard(Discarding::new(outcome, why), then);
        let has_failed = matches!(end, WorkEnd::AgentFailed(_));
        self.agent_failures = if has_failed { self.agent_failures + 1 } else { 0 };
        match end {
            WorkEnd::Well => Next::Land,
            WorkEnd::Landed => {
                self.commits += 1;
                self.idle = 0;
                if let Some(done) = &mut self.done {
                    done.insert(story.to_owned());
                }
                *self.attempts.entry(story.to_owned()).or_default() += 1;
                Next::Report
            }
            // A fresh session goes on where the context was full, and no attempt is lost by it.
            WorkEnd::Failed(_, why)
                if session == SessionEnd::HandedOver && self.may_hand_over(story, limits) =>
            {
                *self.handovers.entry(story.to_owned()).or_default() += 1;
                kept(Outcome::Handoff, &why, Then::GoOn)
            }
            WorkEnd::Conflict(why) => {
                Next::Discard(self.met_others(why, story, limits), Then::GoOn)
            }
            WorkEnd::RedWithOthers(why) => {
                let kept = self.met_others(why, story, limits);
                self.again(kept, story, session, limits)
            }
            WorkEnd::Failed(outcome, why) => {
                let kept = self.fail(outcome, why, story, limits);
                self.again(kept, story, session, limits)
            }
            WorkEnd::Blocked(why) => {
                let set_aside = Some(why.clone());
                Next::Discard(Discarding { outcome: Outcome::Blocked, why, set_aside }, Then::GoOn)
            }
            WorkEnd::Quota(reset) => {
                // It was the service's fault, so neither attempt nor iteration is lost.
                self.iteration = self.iteration.saturating_sub(1);
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
        self.iteration = self.iteration.saturating_sub(1);
        Next::Discard(Discarding::new(Outcome::Interrupted, why), then)
    }

    /// An agent that waits may fix in the same session what failed; else its story is begun again.
    fn again(&self, kept: Discarding, story: &str, session: SessionEnd, limits: &Limits) -> Next {
        let is_last = self.attempts_at(story) >= limits.attempts_per_story.max(1);
        match session {
            SessionEnd::Waits if !is_last && kept.outcome != Outcome::Partial => {
                Next::SendBack(kept.why)
            }
            _ => Next::Discard(kept, Then::GoOn),
        }
    }

    /// Work that fails with what others landed meanwhile: no attempt is lost by it, the first time.
    fn met_others(&mut self, why: String, story: &str, limits: &Limits) -> Discarding {
        if self.has_met_others(story) {
            return self.fail(Outcome::Failed, why, story, limits);
        }
        self.conflicts.insert(story.to_owned(), 1);
        Discarding::new(Outcome::Failed, &why)
    }

    /// Counts another failed attempt.
    pub(crate) fn fail(
        &mut self,
        outcome: Outcome,
        why: String,
        story: &str,
        limits: &Limits,
    ) -> Discarding {
        *self.attempts.entry(story.to_owned()).or_default() += 1;
        let given_up = self.given_up(story, limits);
        let set_aside = given_up.map(|reason| format!("{reason}; last failure: {why}"));
        Discarding { outcome, why, set_aside }
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
