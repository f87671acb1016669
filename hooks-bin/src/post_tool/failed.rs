//! A test run has failed: record it, decide what it means, perhaps roll back, and tell the agent.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ralph_core::attempt::{
    self, Circumstances, Failed, Memory, Outcome, TestFiles, add_lesson, record_failure,
};
use ralph_core::git::{Checkpoint, Repo, Target, changed_since, rollback_changes};
use ralph_core::hook::Decision;
use ralph_core::state::{Event, Lock};
use ralph_core::verdict::Verdict;

use super::names;
use crate::call::Call;
use crate::harness::Failure;

/// How long one run waits until another is weighed, a rollback included.
const PATIENCE: Duration = Duration::from_secs(120);

/// Settles a failing run.
pub(super) fn settle(
    call: &Call<'_>,
    command: &str,
    output: &str,
    verdict: &Verdict,
) -> Result<Decision, Failure> {
    // Asked first: by the time the run is weighed, other runs may have been.
    let begun_at = begun_at(call);
    // A project that takes no part in this is not told what to do about its tests.
    if !call.project().takes_part() {
        return Ok(Decision::NoOpinion);
    }
    let state = call.project().own_state();
    record_failure(state, &ralph_core::state::now(), command, output)?;
    let log = state.failure_context();
    let log = log.strip_prefix(call.project().root()).unwrap_or(&log);
    let failed = Failed { verdict, outcome: None, saved_as: None, log: log.as_str() };
    let Some(checkpoint) = Checkpoint::load(state)? else {
        return Ok(Decision::Block(attempt::answer(&failed)));
    };
    let repo = Repo::open(call.project().root())?;
    let target = checkpoint.target(&repo)?;
    if target.run().is_some() && call.env.run().is_none() {
        // The loop's own checkpoint, but not its session: somebody else works here.
        return Ok(Decision::NoOpinion);
    }
    // Several runs may end at once; they are weighed one after the other.
    let lock = Lock::take_within(&state.strikes_lock(), "weighing a test run", PATIENCE)?;
    let outcome = weigh(call, &repo, &checkpoint, &Seen { target, verdict, begun_at })?;
    let saved_as =
        if outcome == Outcome::RollBack { roll_back(call, &repo, verdict)? } else { None };
    drop(lock);
    let text = attempt::answer(&Failed {
        outcome: Some(outcome),
        saved_as: saved_as.as_deref(),
        ..failed
    });
    Ok(match outcome {
        Outcome::RedPhase | Outcome::FailedBefore | Outcome::Baseline => Decision::Context(text),
        _ => Decision::Block(text),
    })
}

/// A failing run, and when it began.
struct Seen<'a> {
    target: Target,
    verdict: &'a Verdict,
    begun_at: u64,
}

/// A passing run wipes the slate clean.
pub(super) fn forgive(call: &Call<'_>) -> Result<(), Failure> {
    let state = call.project().own_state();
    if let Ok(Some(checkpoint)) = Checkpoint::load(state) {
        let mut memory = Memory::load(state, &checkpoint);
        if memory.failures > 0 {
            memory.failures = 0;
            memory.save(state)?;
        }
    }
    Ok(())
}

fn weigh(
    call: &Call<'_>,
    repo: &Repo,
    checkpoint: &Checkpoint,
    seen: &Seen<'_>,
) -> Result<Outcome, Failure> {
    let Seen { target, verdict, begun_at } = seen;
    let state = call.project().own_state();
    let config = call.config();
    let changed = changed_since(repo, target)?;
    let test_files = TestFiles::new(&config.tests.files);
    let mut memory = Memory::load(state, checkpoint);
    let tests = names(verdict);
    let outcome = attempt::decide(&Circumstances {
        on: config.rollback.on,
        // Somebody else's loop wrote a bare commit id and expects the first failure to count.
        after_failures: if checkpoint.snapshot.is_none() {
            1
        } else {
            config.rollback.after_failures
        },
        failures_so_far: memory.failures,
        nothing_changed: changed.is_empty(),
        only_tests_changed: changed.iter().all(|path| test_files.contains(path)),
        failed_before: memory.failed_at_start(verdict.runner, &tests),
        taken_back_meanwhile: memory.rolled_back_at >= *begun_at,
    });
    match outcome {
        Outcome::Baseline => memory.note_start(verdict.runner, &tests),
        Outcome::Strike { .. } | Outcome::Recorded => memory.failures += 1,
        Outcome::RollBack => {
            memory.failures = 0;
            memory.rolled_back_at = now_ms();
        }
        Outcome::RedPhase | Outcome::FailedBefore | Outcome::TakenBackAlready => {}
    }
    memory.save(state)?;
    Ok(outcome)
}

/// When the run began, in milliseconds since 1970.
fn begun_at(call: &Call<'_>) -> u64 {
    now_ms().saturating_sub(call.input.duration_ms.unwrap_or(0))
}

fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Returns the ref that keeps the attempt; none if another hook was first.
fn roll_back(call: &Call<'_>, repo: &Repo, verdict: &Verdict) -> Result<Option<String>, Failure> {
    let state = call.project().own_state();
    let why = attempt::cause(verdict);
    let Some(restored) = rollback_changes(repo, state, call.story().as_ref(), &why)? else {
        return Ok(None);
    };
    let to = Checkpoint::load(state)?.and_then(|checkpoint| checkpoint.commit).unwrap_or_default();
    let saved_as = restored.saved.name;
    call.journal(&Event::RolledBack { to, saved_as: saved_as.clone(), why: why.clone() });
    add_lesson(state, &format!("{why}: run these tests early, and change less at a time."))?;
    Ok(Some(saved_as))
}
