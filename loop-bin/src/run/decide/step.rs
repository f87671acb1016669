//! What to do about an attempt that does not land. Pure: no disk, clock or process is used, so each
//! case can be tested by itself.

use ralph_base::state::StoryKey;
use ralph_project::config::Limits;

use super::finish::Finish;
use super::judge::WorkEnd;
use super::pause::Trouble;
use crate::record::{Discarding, Outcome};
use crate::terminal::counted;
use client::signals::Signal;
use run_history::Tally;

/// After this many agents in a row that failed before doing anything, the next one will fail too.
const MOST_AGENT_FAILURES: u64 = 3;

/// The state of the agent's session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SessionEnd {
    Ended,
    /// Paused in its stop hook, so it can still fix its work.
    Waits,
    /// Its context was almost full, so a new session continues.
    HandedOver,
}

/// What to do after an agent's end or a landing.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Next {
    /// Tell the paused agent what is still missing.
    SendBack(String),
    /// Save the attempt; then wait for the service, end the run, or continue.
    Discard(Discarding, Then),
    /// End the run and leave the attempt unfinished, as after a kill: the next start checks and lands it.
    Leave(Signal),
}

/// What to do after an attempt has been saved.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Then {
    GoOn,
    Wait(Trouble),
    End(Finish),
}

/// Decides what to do after an attempt that does not land, or not yet.
pub(crate) fn after(
    tally: &mut Tally,
    end: WorkEnd,
    key: &StoryKey,
    session: SessionEnd,
    limits: &Limits,
) -> Next {
    let kept = |outcome, why: &str, then| Next::Discard(Discarding::new(outcome, why), then);
    let has_failed = matches!(end, WorkEnd::AgentFailed(_));
    tally.run.agent_failures = if has_failed { tally.run.agent_failures + 1 } else { 0 };
    let is_refused = matches!(end, WorkEnd::Quota(_));
    tally.run.quota_streak = if is_refused { tally.run.quota_streak + 1 } else { 0 };
    if has_failed || is_refused {
        // The story was not at fault, so neither an attempt nor an iteration is used.
        tally.run.iteration = tally.run.iteration.saturating_sub(1);
    }
    let is_full = session == SessionEnd::HandedOver;
    match end {
        // After a full context a new session continues, and no attempt is used.
        WorkEnd::Failed(_, why)
            if is_full && tally.may_hand_over(key, limits.attempts_per_story) =>
        {
            tally.story(key).handovers += 1;
            kept(Outcome::Handoff, &why, Then::GoOn)
        }
        WorkEnd::Conflict(why) => Next::Discard(met_others(tally, why, key, limits), Then::GoOn),
        WorkEnd::RedWithOthers(why) => {
            let kept = met_others(tally, why, key, limits);
            again(tally, kept, key, session, limits)
        }
        WorkEnd::Failed(outcome, why) => {
            let kept = fail(tally, outcome, why, key, limits);
            again(tally, kept, key, session, limits)
        }
        WorkEnd::Blocked(why) => {
            let set_aside = Some(why.clone());
            Next::Discard(Discarding { outcome: Outcome::Blocked, why, set_aside }, Then::GoOn)
        }
        WorkEnd::Quota(trouble) => {
            let why = trouble.in_words();
            let end = Then::End(Finish::Budget(why.clone()));
            let then = if limits.wait_for_quota { Then::Wait(trouble) } else { end };
            kept(Outcome::Quota, &why, then)
        }
        WorkEnd::Spent(why) => kept(Outcome::Budget, &why, Then::End(Finish::Budget(why.clone()))),
        WorkEnd::Signalled(signal) => {
            Next::Discard(Discarding::interrupted(), Then::End(Finish::Manual(signal)))
        }
        WorkEnd::LandingStopped(signal) => Next::Leave(signal),
        WorkEnd::AgentFailed(why) => {
            let count = tally.run.agent_failures;
            let text = format!("{why}\nthe agent itself failed {count} times in a row");
            let is_last = count >= MOST_AGENT_FAILURES;
            let then = if is_last { Then::End(Finish::Error(text)) } else { Then::GoOn };
            kept(Outcome::Interrupted, &why, then)
        }
        WorkEnd::Impossible(why) => {
            kept(Outcome::Interrupted, &why, Then::End(Finish::Error(why.clone())))
        }
    }
}

/// A paused agent may fix the failure in the same session; otherwise the story starts over.
fn again(
    tally: &Tally,
    kept: Discarding,
    key: &StoryKey,
    session: SessionEnd,
    limits: &Limits,
) -> Next {
    let is_last = tally.attempts_at(key) >= limits.attempts_per_story.max(1);
    if session == SessionEnd::Waits && !is_last && kept.outcome != Outcome::Partial {
        return Next::SendBack(kept.why);
    }
    Next::Discard(kept, Then::GoOn)
}

/// Work that conflicts with other stories: the first time, no attempt is used.
fn met_others(tally: &mut Tally, why: String, key: &StoryKey, limits: &Limits) -> Discarding {
    if tally.has_conflicted(key) {
        return fail(tally, Outcome::Failed, why, key, limits);
    }
    tally.story(key).has_conflicted = true;
    Discarding::new(Outcome::Failed, &why)
}

/// Counts a failed attempt.
pub(crate) fn fail(
    tally: &mut Tally,
    outcome: Outcome,
    why: String,
    key: &StoryKey,
    limits: &Limits,
) -> Discarding {
    tally.story(key).attempts += 1;
    let attempts = tally.attempts_at(key);
    let is_last = attempts >= limits.attempts_per_story.max(1);
    let count = counted(attempts as usize, "failed attempt", "failed attempts");
    let reason = format!("gave up after {count}; last failure: {why}");
    Discarding { outcome, why, set_aside: if is_last { Some(reason) } else { None } }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
