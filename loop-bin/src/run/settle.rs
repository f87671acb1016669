//! Settles finished tasks: decides the next task of each story, and lands or discards its work.

use ralph_base::state::{self, Event};
use ralph_project::gate::ContextWindows;
use ralph_project::strikes::record_failure;
use ralph_project::verification::Finding;

use super::attempt::{Course, Done, Ended, Left, Task, ToCheck, Used, from_user};
use super::choose::{budget, is_still_there, messages};
use super::decide::{Finish, Next, SessionEnd, Then, WorkEnd, after};
use super::scripts::ScriptRequest;
use super::state::{Conductor, Slot, UnderWay};
use super::{discard, land, planning, scripts, wait};
use crate::exit::Failure;
use crate::record::{Discarding, Outcome};
use crate::saved;
use crate::terminal::{Tone, Worker, printable};
use board::Tip;
use client::{AgentRun, RunEnd};
use run_history::Spent;
use work_copy::Start;

/// How often work is checked again because the user has moved the target. After that it lands on the waiting
/// branch, which only the loop moves.
const MOST_MOVES: usize = 10;

/// How many characters of an agent's message are quoted if it changed nothing.
const LONGEST_QUOTE: usize = 200;

/// Settles a finished task: gives the next task, lands the work, or ends the iteration.
pub(super) fn settle(run: &mut Conductor, slot: usize, done: Done) -> Result<(), Failure> {
    let Done { desk, course: Course { attempt, facts, used }, ended } = done;
    // Other slots may have been waiting for this story.
    run.slots.iter_mut().for_each(|slot| slot.idle_until = None);
    let place = run.slot(slot)?;
    (place.desk, place.running) = (Some(desk), (None, 0));
    let mut work = place.work.take();
    if let Some(work) = &mut work {
        run.record.tally.run.last.exit_code = facts.exit_code;
        let refused_by = facts.refused_by.map(str::to_owned);
        run.record.tally.story(&work.key).refused_by.extend(refused_by);
        (work.attempt, work.facts) = (attempt, facts);
    }
    for used in used {
        book(run, slot, work.as_mut(), used);
    }
    let Some(mut work) = work else {
        run.save();
        return ended.map(drop);
    };
    match ended {
        Ok(Ended::Worked(left)) => worked(run, work, left),
        Ok(Ended::Checked(passed)) => {
            work.passed = Some(passed);
            run.view.doing(slot, "waiting for another story to land");
            run.park(work);
            run.save();
            give_turns(run)
        }
        Ok(Ended::Committed(made, passed)) => {
            if !land::land(run, &mut work, &made, &passed)? {
                return check_moved(run, work, passed.findings);
            }
            run.record.tally.landed(&work.key);
            end_iteration(run, &work, (Outcome::Success, None), Then::GoOn)
        }
        Ok(Ended::Failed(end)) => follow(run, work, end),
        Ok(Ended::Planned { before, left, end }) => {
            let finish = planning::take(run, &mut work, (before, left), end)?;
            let is_taken = finish == Finish::Complete;
            let outcome = if is_taken { Outcome::Success } else { Outcome::Failed };
            end_iteration(run, &work, (outcome, None), Then::GoOn)?;
            run.end_with(finish);
            Ok(())
        }
        Ok(Ended::Left(left)) => {
            let Some((kept, then)) = work.discarding.take() else { return Ok(()) };
            let (work, ended) = discard::discard(run, work, &left, kept)?;
            end_iteration(run, &work, ended, then)
        }
        Ok(Ended::Released) => Ok(()),
        Err(failure) => {
            if run.is_untouched(&work) {
                // There is nothing that the next start could continue.
                land::forget(run, &work)?;
            } else {
                run.park(work);
            }
            Err(failure)
        }
    }
}

/// Saves the work of an agent that ended well, then has it checked.
fn worked(run: &mut Conductor, mut work: UnderWay, left: Left) -> Result<(), Failure> {
    run.save();
    land::keep_rollbacks(run, &mut work)?;
    land::keep(run, &mut work, &left, ("interrupted", "the checks were interrupted"))?;
    run.record.tally.agent_worked();
    let tip = run.board.tip()?;
    let is_moved = tip.commit != work.attempt.base || tip.branch != work.attempt.target;
    let to_check = match (is_moved, left.staged) {
        // Work that cannot be committed cannot be rebased either.
        (is_moved, Some(staged)) if !is_moved || !staged.is_committable() => {
            ToCheck::Staged(staged)
        }
        _ => moved(run, &work, tip)?,
    };
    run.give(work, Task::Check { work: Box::new(to_check), known: None })
}

/// The saved work, to be rebased onto the target's current tip.
fn moved(run: &mut Conductor, work: &UnderWay, tip: Tip) -> Result<ToCheck, Failure> {
    let gone = || Failure::because("the saved attempt no longer exists, so the work cannot land");
    let saved = work.saved.clone().ok_or_else(gone)?;
    if let Some(base) = &tip.commit {
        saved::hold(&run.source.git(), &run.desk(work.slot)?.name, base)?;
    }
    Ok(ToCheck::Moved { saved, tip: tip.commit, branch: tip.branch })
}

/// Has work rebased and checked again, unless the target moves every time.
fn check_moved(
    run: &mut Conductor,
    mut work: UnderWay,
    known: Vec<Finding>,
) -> Result<(), Failure> {
    work.moves += 1;
    if work.moves > MOST_MOVES && !work.waits {
        let why = "the target moved every time the work was about to land";
        return follow(run, work, WorkEnd::failed(why));
    }
    let tip = run.board.tip()?;
    let to_check = Box::new(moved(run, &work, tip)?);
    run.give(work, Task::Check { work: to_check, known: Some(known) })
}

/// Lets the next checked story land, one at a time.
pub(super) fn give_turns(run: &mut Conductor) -> Result<(), Failure> {
    let waits = |slot: &Slot| {
        !slot.is_busy() && slot.work.as_ref().is_some_and(|work| work.passed.is_some())
    };
    let next = match run.landing {
        Some(slot) => Some(slot).filter(|slot| run.slots.get(*slot).is_some_and(waits)),
        None => run.slots.iter().position(waits),
    };
    let Some(slot) = next else { return Ok(()) };
    if run.context.is_interrupted() {
        return Ok(());
    }
    run.landing = Some(slot);
    let Some(mut work) = run.slot(slot)?.work.take() else { return Ok(()) };
    let Tip { commit: tip, is_followed, branch } = run.board.tip()?;
    let mut passed = work.passed.take().unwrap_or_default();
    let all_attempts = run.record.tally.spent_on(&work.key).cost_usd;
    passed.cost_usd = work.facts.cost_usd.map(|cost| cost.max(all_attempts)).or_else(|| {
        // A session that goes on with another story has not reported its cost yet.
        let cost = run.history.borrow().cost_of_tokens(work.facts.tokens?)?;
        Some(cost + all_attempts)
    });
    work.waits = work.moves >= MOST_MOVES && !run.desk(slot)?.copy.is_in_place;
    if branch != work.attempt.target || (tip != work.attempt.base && !work.waits) {
        return check_moved(run, work, passed.findings);
    }
    let changes = land::changes(run, &mut work)?;
    let files = run.books.files_for(is_followed, work.attempt.base.as_deref(), &changes)?;
    run.view.doing(slot, "landing");
    work.files.clone_from(&files);
    run.give(work, Task::Commit { passed, files })
}

/// Handles the end of an attempt that does not land, or not yet.
fn follow(run: &mut Conductor, mut work: UnderWay, mut end: WorkEnd) -> Result<(), Failure> {
    if let WorkEnd::Failed(Outcome::NoChanges, why) = &mut end {
        let tip = run.board.tip()?.commit;
        let git = run.source.git();
        if is_still_there(&git, &work.key, tip.as_deref(), &work.attempt.title)? {
            // An earlier run landed it, and its tick was lost: choosing a story restores that.
            run.record.tally.had_landed(&work.key);
            let why = "there was nothing left to do: the work of an earlier run has landed";
            return discard(run, work, Discarding::new(Outcome::Success, why), Then::GoOn);
        }
        why.push_str(&why_nothing_changed(run, &work));
    }
    let session = match run.desk(work.slot)?.session {
        Some(_) => SessionEnd::Waits,
        None if work.facts.is_handed_over => SessionEnd::HandedOver,
        None => SessionEnd::Ended,
    };
    count_waves(run, &work, &end);
    let limits = &run.context.config.limits;
    let trouble = if let WorkEnd::Quota(trouble) = &end { Some(trouble.clone()) } else { None };
    let mut next = after(&mut run.record.tally, end, &work.key, session, limits);
    if let (Some(trouble), Next::Discard(_, then)) = (trouble, &mut next)
        && wait::take_over(run, &work, &trouble)
    {
        *then = Then::GoOn;
    }
    log::debug!("next: {next:?}");
    match next {
        Next::SendBack(why) => send_back(run, work, &why),
        Next::Discard(kept, then) => discard(run, work, kept, then),
        Next::Leave(signal) => {
            let desk = run.desk_mut(work.slot)?;
            if desk.copy.is_in_place {
                // The work has been saved, and the tree belongs to the user.
                desk.copy.reset(Start::of(&work.attempt))?;
            }
            let line = format!("{}: interrupted; the next run checks and lands it", work.key.story);
            run.toned(work.slot, Tone::Plain, line);
            work.passed = None;
            run.park(work);
            run.end_with(Finish::Manual(signal));
            Ok(())
        }
    }
}

/// Why an agent changed nothing: refused calls, or its own message.
fn why_nothing_changed(run: &mut Conductor, work: &UnderWay) -> String {
    run.take_over(true);
    let mut history = run.history.borrow_mut();
    // An error only means that the newest lines are missing.
    let _ = history.read_on();
    let refused = history.find(&run.context.run).map(|found| found.refusals(&work.key));
    let said = work.facts.summary.iter().map(|said| {
        let said = printable(said);
        let short: String = said.chars().take(LONGEST_QUOTE).collect();
        format!("; it said: \"{short}{}\"", if short.len() < said.len() { "…" } else { "" })
    });
    refused.into_iter().chain(said).collect()
}

/// Counts agents that meet the same limit or outage at the same time as one.
fn count_waves(run: &mut Conductor, work: &UnderWay, end: &WorkEnd) {
    let is_waiting = run.waiting.is_some();
    let tally = &mut run.record.tally.run;
    if matches!(end, WorkEnd::Quota(_)) && is_waiting {
        tally.quota_streak = tally.quota_streak.saturating_sub(1);
    }
    if matches!(end, WorkEnd::AgentFailed(_)) {
        if work.attempt.began < tally.last.failed_at {
            tally.agent_failures = tally.agent_failures.saturating_sub(1);
        }
        tally.last.failed_at = state::now();
    }
}

/// Sends the paused agent on with a message about what is missing.
fn send_back(run: &mut Conductor, mut work: UnderWay, why: &str) -> Result<(), Failure> {
    run.free_landing(work.slot);
    discard::show_failure(run, &work, why);
    record_failure(run.context.state(), Some(&work.key.to_string()), why)?;
    let attempts = run.record.tally.attempts_at(&work.key);
    run.view.attempt(work.slot, attempts + 1);
    let messages = messages(run);
    let text = format!(
        "{} ({}) is not done yet, attempt {} of {}.\n{why}\nNext: fix this, run the checks \
         yourself, then stop again.{}",
        work.key.story,
        work.attempt.title.trim(),
        attempts.max(1),
        run.context.config.limits.attempts_per_story.max(1),
        from_user(&messages)
    );
    (work.facts.messages, work.passed) = (messages, None);
    let budget = budget(run, &work.key, &work.attempt.agent);
    run.give(work, Task::SendBack { text, budget })
}

/// Discards an attempt that does not land: its copy is read first, then saved.
fn discard(
    run: &mut Conductor,
    mut work: UnderWay,
    kept: Discarding,
    then: Then,
) -> Result<(), Failure> {
    if kept.set_aside.is_some() {
        run.record.tally.story(&work.key).is_set_aside = true;
    }
    run.free_landing(work.slot);
    discard::show_failure(run, &work, &kept.why);
    (work.discarding, work.passed) = (Some((kept, then)), None);
    run.give(work, Task::Leave { goodbye: "the attempt has ended".to_owned() })?;
    run.save();
    Ok(())
}

/// Ends an iteration: `post_iteration` runs, and the run waits or ends if that was decided.
fn end_iteration(
    run: &mut Conductor,
    work: &UnderWay,
    (outcome, why): (Outcome, Option<String>),
    then: Then,
) -> Result<(), Failure> {
    land::end_iteration(run, work, (outcome, why))?;
    run.record.tally.run.completed += u64::from(outcome != Outcome::Interrupted);
    run.view.slot(work.slot, Worker::default());
    // A user who interrupts does not want to wait for the script.
    let is_stopped = !run.context.is_interrupted()
        && scripts::post_iteration(run, work.slot, &work.key, outcome) == ScriptRequest::Stop;
    match then {
        Then::End(finish) => run.end_with(finish),
        _ if is_stopped => run.end_with(Finish::stopped_by(scripts::POST_ITERATION)),
        Then::Wait(trouble) => wait::for_service(run, &trouble),
        Then::GoOn => {
            // Otherwise stories without results would keep a run without limits going forever.
            let most = run.context.config.limits.stalled_after;
            if most > 0 && run.record.tally.run.idle >= most {
                run.end_with(Finish::NoChanges);
            }
        }
    }
    Ok(())
}

/// Counts what an agent used. A session's cost is known at its end, and is divided among its stories
/// by their tokens.
pub(super) fn book(run: &mut Conductor, slot: usize, mut work: Option<&mut UnderWay>, used: Used) {
    let Used { seconds, tokens, session_tokens, is_verifier, ended } = used;
    let tally = &mut run.record.tally;
    if let Some(work) = &mut work
        && seconds > 0.0
    {
        tally.book(&work.key, Spent { seconds, tokens, ..Spent::default() });
        if is_verifier && tokens > 0 {
            *work.facts.tokens.get_or_insert_default() += tokens;
        }
    }
    if !is_verifier {
        tally.run.last.duration_s = if seconds > 0.0 { seconds } else { tally.run.last.duration_s };
        if let Some(slot) = run.slots.get(slot) {
            let record = run.record.slots.entry(slot.name.clone()).or_default();
            record.session_tokens = session_tokens;
        }
    }
    let Some((session, stories)) = ended else { return };
    note_windows(run, &session);
    let (cost, has_result) = (session.seen.cost_usd, session.seen.verdict.is_some());
    let covered = session.seen.covered_tokens;
    if let Some(work) = work.as_mut().filter(|_| covered > 0 && cost.is_some()) {
        run.record.tally.cover(&work.key, covered);
        work.facts.includes_earlier = true;
    }
    let booked = run.record.tally.book_session(&stories, cost, has_result);
    let total: f64 = booked.iter().map(|(_, cost)| cost).sum();
    for (key, cost_usd) in booked {
        match &mut work {
            Some(work) if work.key == key => {
                *work.facts.cost_usd.get_or_insert_default() += cost_usd;
                if let (Some(so_far), None) = (&mut work.facts.session, cost) {
                    so_far.totals.cost_usd += total;
                }
            }
            _ => run.note_in(slot, Some(&key), &Event::CostReported { cost_usd }),
        }
    }
    if !is_verifier {
        warn_if_costless(run, &session);
    }
}

/// Saves the size of the model's context window for the stop hook; the client reports it only at its end.
fn note_windows(run: &Conductor, session: &AgentRun) {
    let state = run.context.state();
    let known = ContextWindows::load(state);
    let mut windows = known.windows.clone();
    windows.extend(session.seen.context.windows.clone());
    if windows == known.windows {
        return;
    }
    if let Err(error) = (ContextWindows { windows }).save(state) {
        run.view.warn(format!("the context window could not be recorded: {error}"));
    }
}

/// Warns once if the agent does not report its cost, because the cost limit cannot work then.
fn warn_if_costless(run: &mut Conductor, session: &AgentRun) {
    let is_limited = run.context.config.limits.max_cost_usd > 0.0;
    // An agent that was stopped, or refused by the service, could not report anything.
    let could_report = matches!(session.end, RunEnd::Exited(_)) && session.refusal().is_none();
    let is_known = session.seen.cost_usd.is_some() || run.record.tally.run.price.is_reported;
    if !is_limited || !could_report || is_known {
        return;
    }
    run.record.tally.run.price.is_reported = true;
    run.view.warn(
        "--max-cost cannot be enforced: the agent does not report its cost; use --max-duration or \
         --max-iterations instead",
    );
}
