//! The loop's next step after every way an agent can end, without processes.

use ralph_project::config::Seconds;

use super::super::pick::{agent_for, limit_reached};
use super::*;
use run_history::Spent;

const PLAN: &str = "PRD-1";

fn key(story: &str) -> StoryKey {
    StoryKey::new(PLAN, story)
}

fn story() -> StoryKey {
    key("US-001")
}

const SPENT: Spent = Spent { cost_usd: 0.5, seconds: 10.0, tokens: 100, unpriced: 0 };

fn limits(change: impl FnOnce(&mut Limits)) -> Limits {
    let mut limits = Limits::default();
    change(&mut limits);
    limits
}

fn failed(why: &str) -> WorkEnd {
    WorkEnd::Failed(Outcome::Failed, why.to_owned())
}

fn kept(outcome: Outcome, why: &str, then: Then) -> Next {
    Next::Discard(Discarding::new(outcome, why), then)
}

fn given_up(outcome: Outcome, why: &str, set_aside: &str) -> Next {
    let set_aside = Some(set_aside.to_owned());
    Next::Discard(Discarding { outcome, why: why.to_owned(), set_aside }, Then::GoOn)
}

/// Feeds in the ends of one story's agents and compares the next steps.
#[track_caller]
fn check(limits: &Limits, session: SessionEnd, path: Vec<(WorkEnd, Next)>) -> Tally {
    let mut tally = Tally::default();
    tally.run.iteration = 1;
    for (end, expected) in path {
        let shown = format!("{end:?}");
        assert_eq!(after(&mut tally, end, &story(), session, limits), expected, "after {shown}");
    }
    tally
}

#[test]
fn a_waiting_agent_is_sent_back_until_its_attempts_are_used_up() {
    let nothing = || WorkEnd::Failed(Outcome::NoChanges, "the agent changed nothing".into());
    let back = |why: &str| Next::SendBack(why.to_owned());
    let lost = "gave up after 3 failed attempts; last failure: 2 failed";
    let path = vec![
        (failed("1 failed"), back("1 failed")),
        (nothing(), back("the agent changed nothing")),
        (failed("2 failed"), given_up(Outcome::Failed, "2 failed", lost)),
    ];
    check(&limits(|_| ()), SessionEnd::Waits, path);
    let partial = WorkEnd::Failed(Outcome::Partial, "half".into());
    let path = vec![(partial, kept(Outcome::Partial, "half", Then::GoOn))];
    check(&limits(|_| ()), SessionEnd::Waits, path);
}

#[test]
fn the_first_clash_with_other_stories_costs_no_attempt() {
    let red = || WorkEnd::RedWithOthers("red with US-002".into());
    let conflict = || WorkEnd::Conflict("conflict with US-003".into());
    let once = limits(|limits| limits.attempts_per_story = 1);
    let lost = "gave up after 1 failed attempt; last failure: conflict with US-003";
    let path = vec![
        (red(), kept(Outcome::Failed, "red with US-002", Then::GoOn)),
        (conflict(), given_up(Outcome::Failed, "conflict with US-003", lost)),
    ];
    check(&once, SessionEnd::Ended, path);
    // A waiting agent sees both changes in its tree; a conflict cannot be shown there.
    let path = vec![
        (red(), Next::SendBack("red with US-002".into())),
        (conflict(), given_up(Outcome::Failed, "conflict with US-003", lost)),
    ];
    check(&once, SessionEnd::Waits, path);
}

#[test]
fn a_failed_attempt_is_kept_and_its_story_set_aside_after_the_last_one() {
    for outcome in [Outcome::Failed, Outcome::Timeout, Outcome::Partial, Outcome::NoChanges] {
        let end = WorkEnd::Failed(outcome, "why".into());
        let path = vec![(end, kept(outcome, "why", Then::GoOn))];
        let tally = check(&limits(|_| ()), SessionEnd::Ended, path);
        assert_eq!(tally.attempts_at(&story()), 1);
    }
    let once = limits(|limits| limits.attempts_per_story = 1);
    let why = "gave up after 1 failed attempt; last failure: no";
    let path = vec![(failed("no"), given_up(Outcome::Failed, "no", why))];
    check(&once, SessionEnd::Ended, path);
    let path = vec![(WorkEnd::Blocked("key".into()), given_up(Outcome::Blocked, "key", "key"))];
    check(&limits(|_| ()), SessionEnd::Ended, path);
}

#[test]
fn a_landed_story_counts_as_one_attempt() {
    let mut tally = Tally::default();
    tally.landed(&story());
    assert_eq!((tally.run.commits, tally.run.idle, tally.attempts_at(&story())), (1, 0, 1));
    // After a crash it may be counted again.
    tally.landed(&story());
    assert_eq!(tally.attempts_at(&story()), 1);
}

#[test]
fn only_consecutive_stories_without_changes_stall_the_run() {
    let mut tally = Tally::default();
    let mut idle_after = |story: &str, has_changes: bool| {
        tally.story(&key(story)).has_changes = has_changes;
        tally.set_aside(&key(story));
        tally.run.idle
    };
    assert_eq!(idle_after("US-001", false), 1);
    assert_eq!(idle_after("US-002", true), 0);
    assert_eq!(idle_after("US-003", false), 1);
    assert_eq!(idle_after("US-004", false), 2);
}

#[test]
fn pauses_after_skips_grow_and_end() {
    let mut tally = Tally::default();
    tally.run.iteration = 1;
    let pauses = std::iter::from_fn(|| Some(tally.pause_after_skip()?.as_secs()));
    let pauses: Vec<u64> = pauses.collect();
    assert_eq!(pauses.get(..12).unwrap(), [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300]);
    assert_eq!((pauses.iter().sum::<u64>(), tally.run.iteration), (12 * 3600, 0));
}

#[test]
fn run_limits_end_the_run_before_the_next_story() {
    let mut tally = Tally::default();
    (tally.run.iteration, tally.run.spent) = (50, SPENT);
    let limit = |max_iterations, seconds, change: fn(&mut Limits)| {
        limit_reached(&tally, &limits(change), max_iterations, seconds)
    };
    assert_eq!(limit(51, 0.0, |_| ()), None);
    assert_eq!(limit(0, 0.0, |_| ()), None);
    assert_eq!(limit(50, 0.0, |_| ()), Some(Finish::MaxIterations));
    let spent = limit(50, 0.0, |limits| limits.max_cost_usd = 0.5);
    assert_eq!(spent, Some(Finish::Budget("budget exceeded: spent $0.50 of $0.50".into())));
    let late = limit(50, 60.0, |limits| limits.max_duration = Seconds(60));
    assert_eq!(late, Some(Finish::Budget("time limit of 60 seconds reached".into())));
}

#[test]
fn a_usage_limit_costs_neither_attempt_nor_iteration() {
    let why = "usage limit reached";
    let path =
        |then| vec![(WorkEnd::Quota(Trouble::Limit(Some(99))), kept(Outcome::Quota, why, then))];
    let tally =
        check(&limits(|_| ()), SessionEnd::Ended, path(Then::Wait(Trouble::Limit(Some(99)))));
    assert_eq!((tally.run.iteration, tally.attempts_at(&story())), (0, 0));
    assert_eq!(tally.run.quota_streak, 1);
    let impatient = limits(|limits| limits.wait_for_quota = false);
    check(&impatient, SessionEnd::Ended, path(Then::End(Finish::Budget(why.into()))));
}

#[test]
fn the_third_agent_error_in_a_row_ends_the_run_and_costs_no_attempt() {
    let ended = || WorkEnd::AgentFailed("no key".into());
    let again = || (ended(), kept(Outcome::Interrupted, "no key", Then::GoOn));
    let end = Finish::Error("no key\nthe agent itself failed 3 times in a row".into());
    let last = (ended(), kept(Outcome::Interrupted, "no key", Then::End(end)));
    let other = (failed("no"), kept(Outcome::Failed, "no", Then::GoOn));
    let path = vec![again(), again(), other, again(), again(), last];
    let tally = check(&limits(|_| ()), SessionEnd::Ended, path);
    assert_eq!(tally.attempts_at(&story()), 1);
}

#[test]
fn a_tick_made_outside_the_run_is_reported_once() {
    let mut tally = Tally::default();
    assert_eq!(tally.newly_ticked(PLAN, &["US-000"]), [""; 0]);
    tally.landed(&story());
    assert_eq!(tally.newly_ticked(PLAN, &["US-000", "US-001", "US-009"]), ["US-009"]);
    assert_eq!(tally.newly_ticked(PLAN, &["US-000", "US-001", "US-009"]), [""; 0]);
}

#[test]
fn ending_the_run_does_not_count_as_a_failed_attempt() {
    let why = || "why".to_owned();
    let signal = Signal::Interrupt;
    for (end, outcome, said, finish) in [
        (WorkEnd::Signalled(signal), Outcome::Interrupted, "interrupted", Finish::Manual(signal)),
        (WorkEnd::Spent(why()), Outcome::Budget, "why", Finish::Budget(why())),
        (WorkEnd::Impossible(why()), Outcome::Interrupted, "why", Finish::Error(why())),
    ] {
        let path = vec![(end, kept(outcome, said, Then::End(finish)))];
        let strict = limits(|limits| limits.attempts_per_story = 1);
        assert_eq!(check(&strict, SessionEnd::Waits, path).attempts_at(&story()), 0);
    }
}

#[test]
fn context_handoffs_cost_no_attempt_up_to_a_limit() {
    let handed_over = || (failed("full"), kept(Outcome::Handoff, "full", Then::GoOn));
    let last = (failed("full"), kept(Outcome::Failed, "full", Then::GoOn));
    let limits = limits(|limits| limits.attempts_per_story = 2);
    let path = vec![handed_over(), handed_over(), last];
    let tally = check(&limits, SessionEnd::HandedOver, path);
    assert_eq!(tally.attempts_at(&story()), 1);
}

#[test]
fn a_story_gets_its_named_agent_or_the_first_unlimited_one() {
    let fallback = ["codex".to_owned(), "gemini".to_owned()];
    let mut tally = Tally::default();
    let agent = |named, fallback: &[String], tally: &Tally| {
        let (agent, known) = agent_for(named, fallback, tally, 100);
        (agent.to_owned(), known.is_ok())
    };
    assert_eq!(agent(None, &fallback, &tally), (String::new(), true));
    assert_eq!(agent(Some("gemini"), &fallback, &tally), ("gemini".to_owned(), true));
    assert_eq!(agent(Some("nobody"), &[], &tally), (String::new(), false));
    tally.run.limited = [(String::new(), 200), ("gemini".to_owned(), 200)].into();
    assert_eq!(agent(None, &fallback, &tally), ("codex".to_owned(), true));
    assert_eq!(agent(Some("gemini"), &fallback, &tally), ("codex".to_owned(), true));
    assert_eq!(agent(Some("gemini"), &[], &tally), ("gemini".to_owned(), true));
    tally.run.limited.insert("codex".to_owned(), 100);
    assert_eq!(agent(None, &fallback, &tally), ("codex".to_owned(), true));
}
