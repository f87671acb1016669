//! Handles a failed test run: record it, decide what it means, perhaps roll back, inform the agent.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ralph_base::state::{Event, LastVerdict, Lock};
use ralph_core::git::{Checkpoint, Repo, Snapshot, SnapshotError, changed_since, rollback_changes};
use ralph_core::hook::Decision;
use ralph_core::verdict::Verdict;
use ralph_project::config::RollbackOn;
use ralph_project::strikes::{
    self, Circumstances, Done, HookRollback, Memory, Outcome, add_lesson, is_test_file,
    record_failure,
};

use ralph_project::checks::one_line;

use crate::call::Call;
use crate::harness::Failure;

/// How long to wait until another run has been judged, including its rollback.
const PATIENCE: Duration = Duration::from_secs(120);

/// How many seconds after the end of a command its hook may start.
const START: u64 = 10;

/// Handles a failing run. The answer names the failing tests even if anything else fails.
pub(super) fn settle(
    call: &Call<'_>,
    command: &str,
    output: &str,
    verdict: &Verdict,
) -> Result<Decision, Failure> {
    let Some(state) = call.project().state() else { return Ok(Decision::NoOpinion) };
    if call.is_outside_run() {
        // A failure here would go into the prompts of an unrelated story.
        return Ok(Decision::NoOpinion);
    }
    let log = state.failure_context();
    let log = log.strip_prefix(call.work_root()).unwrap_or(&log);
    // Read first: until this run is judged, other runs may have been.
    let begun_at = begun_at(call);
    let (story, text) = (call.story_key(), for_next_attempt(command, output, verdict));
    let settled = record_failure(state, story.as_deref(), &text)
        .map_err(Failure::from)
        .and_then(|()| settle_attempt(call, verdict, output, begun_at));
    let decision = match settled {
        Ok(Some(done)) => {
            if matches!(done, Done::Weighed(Outcome::FailedBefore)) {
                note_failed_before(call);
            }
            let text = strikes::answer(verdict, &done, log.as_str());
            if done.is_information() { Decision::Context(text) } else { Decision::Block(text) }
        }
        Ok(None) => Decision::NoOpinion,
        Err(error) => {
            call.record("rolling back", &error.to_string());
            let done = Done::CouldNot { why: error.to_string() };
            Decision::Block(strikes::answer(verdict, &done, log.as_str()))
        }
    };
    Ok(decision)
}

/// Records for the gates and the loop that the tests had already failed before the work.
fn note_failed_before(call: &Call<'_>) {
    let Some(session) = call.session() else { return };
    if let Some(last) = LastVerdict::load(&session) {
        // Best effort, like the first write.
        let _ = LastVerdict { failed_before: true, ..last }.save(&session);
    }
}

/// Formats the failure for the next attempt. Names come first, because only the beginning is kept
/// and runners print what failed at the end.
fn for_next_attempt(command: &str, output: &str, verdict: &Verdict) -> String {
    let command = one_line(command);
    match verdict.failing.as_slice() {
        [] => format!("$ {command}\n{output}"),
        names => format!("$ {command}\nfailing: {}\n{output}", names.join(", ")),
    }
}

/// Returns what was done about the attempt; `None` if the checkpoint is not this session's.
fn settle_attempt(
    call: &Call<'_>,
    verdict: &Verdict,
    output: &str,
    begun_at: u64,
) -> Result<Option<Done>, Failure> {
    let state = call.project().own_state();
    let untouched = |why: &str| Ok(Some(Done::Untouched { why: why.to_owned() }));
    let Some(checkpoint) = strikes::checkpoint(state)? else {
        return untouched("There is no checkpoint");
    };
    let repo = call.repo()?;
    let target = match checkpoint.target(&repo) {
        // The checkpoint was saved in another repository, for instance that of a copy.
        Err(SnapshotError::Gone { .. }) => return untouched("There is no checkpoint"),
        found => found?,
    };
    match target.run() {
        Some(run) if call.env.run().as_deref() != Some(run) => return Ok(None),
        Some(run) if !call.is_loop_alive() => {
            let why = format!("the loop of run {run} has ended");
            call.journal(&Event::NotRolledBack { why });
            return untouched("The loop that started this session has ended");
        }
        Some(_) => {}
        None => {
            if let Some(why) = call.bound().stale(state, &checkpoint, &repo)? {
                call.journal(&Event::NotRolledBack {
                    why: format!("the checkpoint is stale: {why}"),
                });
                return untouched(&format!("There is a checkpoint, but {why}"));
            }
        }
    }
    // Several runs may end at once; they are judged one after the other.
    let _lock = Lock::take_within(&state.strikes_lock(), "evaluating a test run", PATIENCE)?;
    let mut memory = Memory::load(state, &checkpoint);
    let failing = verdict.counts.bad();
    if failing > 0 && failing < memory.failing {
        // Fewer failing tests than in the previous run: the agent makes progress.
        memory.failures = 0;
    }
    memory.failing = failing;
    let outcome =
        weigh(call, &repo, &memory, &Seen { checkpoint: &checkpoint, target, verdict, begun_at })?;
    let why = strikes::cause(verdict, output);
    let done = match outcome {
        Outcome::RollBack => roll_back(call, &repo, &checkpoint, &why, &mut memory)?,
        other => Done::Weighed(other),
    };
    match outcome {
        Outcome::Baseline => memory.failed_before.note(verdict),
        Outcome::Strike { .. } | Outcome::Recorded => memory.failures += 1,
        Outcome::RollBack => {
            memory.failures = 0;
            memory.rolled_back_at = now_ms();
        }
        Outcome::RedPhase | Outcome::FailedBefore | Outcome::RolledBackAlready => {}
    }
    memory.save(state)?;
    Ok(Some(done))
}

/// A failing run, and when it began.
struct Seen<'a> {
    checkpoint: &'a Checkpoint,
    target: Snapshot,
    verdict: &'a Verdict,
    begun_at: u64,
}

/// Resets the count of failures after a passing run.
pub(super) fn forgive(call: &Call<'_>) -> Result<(), Failure> {
    let state = call.project().own_state();
    if let Ok(Some(checkpoint)) = strikes::checkpoint(state)
        && !call.is_outside_run()
    {
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
    memory: &Memory,
    seen: &Seen<'_>,
) -> Result<Outcome, Failure> {
    let config = call.config();
    let changed = changed_since(repo, &seen.target)?;
    // Another loop writes a bare commit id and expects the first failure to count.
    let is_foreign = seen.checkpoint.snapshot.is_none();
    let on = match config.rollback.on {
        RollbackOn::StoryEnd if is_foreign => RollbackOn::Failure,
        on => on,
    };
    Ok(strikes::decide(&Circumstances {
        on,
        after_failures: if is_foreign { 1 } else { config.rollback.after_failures },
        failures_so_far: memory.failures,
        nothing_changed: changed.is_empty(),
        only_tests_changed: changed.iter().all(|path| is_test_file(path)),
        failed_before: memory.failed_before.covers(seen.verdict),
        rolled_back_meanwhile: is_between(seen.begun_at, memory.rolled_back_at, now_ms()),
    }))
}

/// Records the commits that the command made, so that the checkpoint still applies to the session.
pub(super) fn note_commits(call: &Call<'_>) -> Result<(), Failure> {
    let Some(session) = call.session() else { return Ok(()) };
    let since = (begun_at(call) / 1000).saturating_sub(START);
    Ok(strikes::note_commits(&call.repo()?, &session, since)?)
}

/// Returns when the run began, in milliseconds since 1970.
fn begun_at(call: &Call<'_>) -> u64 {
    now_ms().saturating_sub(call.input.duration_ms.unwrap_or(0))
}

/// Whether a rollback happened during a run. One in the future is from before the clock was set
/// back, and is ignored: otherwise no failing run would count until the clock reaches it.
fn is_between(run_began: u64, rolled_back: u64, now: u64) -> bool {
    (run_began..=now).contains(&rolled_back)
}

fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Rolls the attempt back, unless another hook has already done so.
fn roll_back(
    call: &Call<'_>,
    repo: &Repo,
    checkpoint: &Checkpoint,
    why: &str,
    memory: &mut Memory,
) -> Result<Done, Failure> {
    let state = call.project().own_state();
    let Some(restored) = rollback_changes(repo, state, call.story().as_ref(), why)? else {
        return Ok(Done::Weighed(Outcome::RolledBackAlready));
    };
    let to = checkpoint.commit.clone().unwrap_or_default();
    let saved_as = restored.saved.name;
    call.journal(&Event::RolledBack { to, saved_as: saved_as.clone(), why: why.to_owned() });
    let failures = memory.failures + 1;
    let rollback = HookRollback { failures, why: why.to_owned(), saved_as: saved_as.clone() };
    memory.rollbacks.push(rollback);
    let run_dir = call.run_dir().filter(|_| call.is_of_our_loop());
    let lesson = format!("{why}: run these tests early, and make smaller changes.");
    add_lesson(state, run_dir.as_ref(), &lesson)?;
    let untracked_stay = checkpoint.snapshot.is_none();
    let story = call.attempt()?.filter(|_| call.is_of_our_loop()).map(|attempt| attempt.story);
    Ok(Done::RolledBack { saved_as, story, untracked_stay, left_alone: restored.left_alone })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rollback_counts_only_for_runs_that_it_interrupted() {
        for (run_began, rolled_back, now, expected) in [
            (100, 150, 200, true),
            (100, 100, 100, true),
            (100, 50, 200, false),
            (100, 0, 200, false),
            // The clock was set back after the rollback.
            (100, 90_000, 200, false),
        ] {
            let found = is_between(run_began, rolled_back, now);
            assert_eq!(found, expected, "{run_began} {rolled_back} {now}");
        }
    }
}
