//! What becomes of a job that was done.

use ralph_base::state::{self, Event, StoryKey};
use ralph_project::config::Limits;
use ralph_project::gate::ContextWindows;

use super::attempt::{
    Course, Desk, Done, Ended, EndedSession, Left, Task, ToCheck, Used, from_user,
};
use super::decide::{Discarding, Finish, Next, Outcome, SessionEnd, Spent, Then, WorkEnd};
use super::slots::UnderWay;
use super::state::Conductor;
use super::{begin, discard, land, scripts, wait};
use crate::exit::Failure;
use crate::saved;
use crate::terminal::Worker;
use board::Tip;
use client::{AgentRun, RunEnd};
use work_copy::Start;

/// How often work is laid over a target that moves on.
const MOST_MOVES: usize = 20;

/// Settles a job that was done: gives the next one, lands the work, or ends the iteration.
pub(super) fn settle(
    run: &mut Conductor,
    slot: usize,
    desk: Desk,
    done: Done,
) -> Result<(), Failure> {
    let Done { course: Course { attempt, facts, used }, ended } = done;
    // What was done may be what others wait for.
    run.slots.iter_mut().for_each(|slot| slot.idle_until = None);
    let Some(place) = run.slots.get_mut(slot) else { return Ok(()) };
    (place.desk, place.running) = (Some(desk), (None, 0));
    let Some(mut work) = place.work.take() else { return Ok(()) };
    (work.attempt, work.facts) = (attempt, facts);
    for used in used {
        book(run, slot, &mut work, used);
    }
    match ended {
        Ok(Ended::Worked(left)) => worked(run, slot, work, left),
        Ok(Ended::Checked(passed)) => {
            work.passed = Some(passed);
            run.view.doing(slot, "waiting for another story to land");
            run.park(slot, work);
            run.save();
            give_turns(run)
        }
        Ok(Ended::Committed(made, passed)) => {
            if land::land(run, slot, &mut work, &made, *passed)? {
                return follow(run, slot, work, WorkEnd::Landed);
            }
            check_moved(run, slot, work)
        }
        Ok(Ended::Failed(end)) => follow(run, slot, work, end),
        // The planning run takes its plan by itself.
        Ok(Ended::Planned(_)) => Ok(()),
        Ok(Ended::Left(left)) => discarded(run, slot, work, &left),
        Ok(Ended::Released) => {
            run.save();
            Ok(())
        }
        Err(failure) => {
            if run.is_untouched(slot, &work.attempt) {
                // Nothing was done that a next start could continue.
                discard::forget(run, slot, &work.attempt)?;
            } else {
                run.park(slot, work);
            }
            Err(failure)
        }
    }
}

/// The agent ended well: its work is saved, then checked.
fn worked(run: &mut Conductor, slot: usize, mut work: UnderWay, left: Left) -> Result<(), Failure> {
    run.record.tally.run.last.exit_code = work.facts.exit_code;
    run.save();
    discard::keep(run, slot, &mut work, &left, ("interrupted", "the checks were interrupted"))?;
    let limits = run.context.config.limits.clone();
    let key = work.key.clone();
    run.record.tally.after(WorkEnd::Well, &key, SessionEnd::Ended, &limits);
    let tip = run.board.look()?;
    let is_moved = tip.commit != work.attempt.base || tip.branch != work.attempt.target;
    let task = match (is_moved, left.staged) {
        (false, Some(staged)) => ToCheck::Staged(staged),
        _ => moved(run, slot, &work, tip)?,
    };
    run.give(slot, work, Task::Check { work: Box::new(task), is_first: true })
}

/// The saved work, to be laid over where the target is now.
fn moved(run: &Conductor, slot: usize, work: &UnderWay, tip: Tip) -> Result<ToCheck, Failure> {
    let gone = || Failure::because("the saved attempt no longer exists, so the work cannot land");
    let saved = work.saved.clone().ok_or_else(gone)?;
    if let Some(base) = &tip.commit {
        saved::hold(&run.source.git(), &run.slot_name(slot), base)?;
    }
    Ok(ToCheck::Moved { saved, tip: tip.commit, branch: tip.branch })
}

/// Has work checked again where the target is now, unless that moves on every time.
fn check_moved(run: &mut Conductor, slot: usize, mut work: UnderWay) -> Result<(), Failure> {
    work.moves += 1;
    if work.moves > MOST_MOVES {
        let why = "the target moved every time the work was about to land";
        return follow(run, slot, work, WorkEnd::failed(why));
    }
    let to_check = Box::new(moved(run, slot, &work, run.board.look()?)?);
    run.give(slot, work, Task::Check { work: to_check, is_first: false })
}

/// Lets the next story land that has passed its checks: one at a time.
pub(super) fn give_turns(run: &mut Conductor) -> Result<(), Failure> {
    let waits = |slot: &super::slots::Slot| {
        !slot.is_busy() && slot.work.as_ref().is_some_and(|work| work.passed.is_some())
    };
    let slot = match run.landing {
        Some(slot) if run.slots.get(slot).is_some_and(waits) => slot,
        Some(_) => return Ok(()),
        None => match run.slots.iter().position(waits) {
            Some(slot) => slot,
            None => return Ok(()),
        },
    };
    if run.context.is_interrupted() {
        return Ok(());
    }
    run.landing = Some(slot);
    let Some(mut work) = run.slots.get_mut(slot).and_then(|slot| slot.work.take()) else {
        return Ok(());
    };
    let Tip { commit: tip, is_followed, branch } = run.board.look()?;
    let mut passed = work.passed.take().unwrap_or_default();
    let all_attempts = run.record.tally.spent_on(&work.key).cost_usd;
    passed.cost_usd = work.facts.cost_usd.map(|cost| cost.max(all_attempts));
    if tip != work.attempt.base || branch != work.attempt.target {
        return check_moved(run, slot, work);
    }
    let changes = land::changes(run, &work);
    let files = run.books.files_for(is_followed, work.attempt.base.as_deref(), &changes)?;
    run.view.doing(slot, "landing");
    work.files.clone_from(&files);
    run.give(slot, work, Task::Commit { passed, files })
}

/// Does what follows from the end of an agent or of a landing.
fn follow(
    run: &mut Conductor,
    slot: usize,
    mut work: UnderWay,
    end: WorkEnd,
) -> Result<(), Failure> {
    run.record.tally.run.last.exit_code = work.facts.exit_code;
    let limits: Limits = run.context.config.limits.clone();
    let session = session_of(run, slot, &work);
    count_waves(run, &work, &end);
    let next = run.record.tally.after(end, &work.key, session, &limits);
    log::debug!("next: {next:?}");
    match next {
        // Work that ended well is checked by `worked`.
        Next::Land => Ok(()),
        Next::SendBack(why) => send_back(run, slot, work, &why),
        Next::Report => {
            discard::end_iteration(run, slot, &work, Outcome::Success)?;
            after_iteration(run, slot, &work.key, Outcome::Success, Then::GoOn);
            Ok(())
        }
        Next::Discard(kept, then) => discard(run, slot, work, kept, then),
        Next::Leave(signal) => {
            let desk = run.desk_mut(slot);
            if let Some(desk) = desk.filter(|desk| desk.copy.is_in_place) {
                // The work is kept by now, and the tree is the user's.
                desk.copy.reset(Start::of(&work.attempt))?;
            }
            let story = &work.key.story;
            run.line(slot, format!("{story}: interrupted; the next start checks and lands it"));
            work.passed = None;
            run.park(slot, work);
            run.end_with(Finish::Manual(signal));
            Ok(())
        }
    }
}

/// Agents that meet the same limit or outage at the same time count as one.
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

/// How the session of a slot stands.
fn session_of(run: &Conductor, slot: usize, work: &UnderWay) -> SessionEnd {
    let desk = run.desk(slot);
    match desk.and_then(|desk| desk.session.as_ref()) {
        Some(_) => SessionEnd::Waits,
        None if work.facts.is_handed_over => SessionEnd::HandedOver,
        None => SessionEnd::Ended,
    }
}

/// Tells the paused agent what is missing, and lets it go on.
fn send_back(
    run: &mut Conductor,
    slot: usize,
    mut work: UnderWay,
    why: &str,
) -> Result<(), Failure> {
    run.free_landing(slot);
    discard::show_failure(run, slot, &work.key.story, why);
    ralph_project::strikes::record_failure(run.context.state(), Some(&work.key.to_string()), why)?;
    let attempts = run.record.tally.attempts_at(&work.key);
    run.view.attempt(slot, attempts + 1);
    let messages = begin::messages(&run.context);
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
    let budget = begin::budget(run, &work.key);
    run.give(slot, work, Task::SendBack { text, budget })
}

/// The attempt does not land: what is in its copy is read first, then kept.
pub(super) fn discard(
    run: &mut Conductor,
    slot: usize,
    mut work: UnderWay,
    kept: Discarding,
    then: Then,
) -> Result<(), Failure> {
    if kept.set_aside.is_some() {
        run.record.tally.story(&work.key).is_set_aside = true;
    }
    run.free_landing(slot);
    discard::show_failure(run, slot, &work.key.story, &kept.why);
    (work.discarding, work.passed) = (Some((kept, then)), None);
    run.give(slot, work, Task::Leave { goodbye: "the attempt has ended".to_owned() })?;
    run.save();
    Ok(())
}

/// What is in the copy of an attempt that does not land is known.
fn discarded(
    run: &mut Conductor,
    slot: usize,
    mut work: UnderWay,
    left: &Left,
) -> Result<(), Failure> {
    let Some((kept, then)) = work.discarding.take() else { return Ok(()) };
    let outcome = discard::discard(run, slot, &mut work, left, kept)?;
    after_iteration(run, slot, &work.key, outcome, then);
    Ok(())
}

/// An iteration has ended: `post_iteration` runs, and the run waits or ends if something says so.
fn after_iteration(run: &mut Conductor, slot: usize, key: &StoryKey, outcome: Outcome, then: Then) {
    run.view.slot(slot, Worker::default());
    // Who interrupts does not want to wait for it.
    let is_stopped = !run.context.is_interrupted()
        && scripts::post_iteration(run, slot, key, outcome) == super::decide::ScriptRequest::Stop;
    match then {
        Then::End(finish) => run.end_with(finish),
        _ if is_stopped => run.end_with(Finish::stopped_by(scripts::POST_ITERATION)),
        Then::Wait(reset) => wait::for_service(run, reset),
        Then::GoOn if run.record.tally.is_stalled(&run.context.config.limits) => {
            run.end_with(Finish::NoChanges);
        }
        Then::GoOn => {}
    }
}

/// Books what an agent used. What a session cost is known when it ends, and is divided among its stories
/// by the tokens that each took.
pub(super) fn book(run: &mut Conductor, slot: usize, work: &mut UnderWay, used: Used) {
    let Used { seconds, tokens, session_tokens, is_reviewer, ended } = used;
    let tally = &mut run.record.tally;
    if seconds > 0.0 {
        tally.book(&work.key, Spent { seconds, tokens, ..Spent::default() });
    }
    if is_reviewer && tokens > 0 {
        *work.facts.tokens.get_or_insert_default() += tokens;
    }
    if !is_reviewer {
        tally.run.last.duration_s = if seconds > 0.0 { seconds } else { tally.run.last.duration_s };
        let name = run.slot_name(slot);
        run.record.slots.entry(name).or_default().session_tokens = session_tokens;
    }
    let Some(EndedSession { stories, run: session }) = ended else { return };
    note_windows(run, &session);
    let all: u64 = stories.iter().map(|(_, tokens)| tokens).sum();
    let tally = &mut run.record.tally;
    let cost = tally.cost_of_session(session.seen.cost_usd, all);
    match (cost, all) {
        (None, 0) => tally.run.price.costless_sessions += 1,
        (None, _) if session.seen.verdict.is_none() => tally.run.price.unpriced_sessions += 1,
        _ => {}
    }
    let mut others = Vec::new();
    for (key, tokens) in &stories {
        let Some(cost) = cost else {
            tally.book(key, Spent { unpriced: *tokens, ..Spent::default() });
            continue;
        };
        let share = match all {
            0 => 1.0 / stories.len() as f64,
            all => *tokens as f64 / all as f64,
        };
        let cost_usd = cost * share;
        tally.book(key, Spent { cost_usd, ..Spent::default() });
        if *key == work.key {
            *work.facts.cost_usd.get_or_insert_default() += cost_usd;
            if let (Some(so_far), None) = (&mut work.facts.session, session.seen.cost_usd) {
                so_far.totals.cost_usd += cost;
            }
        } else {
            others.push((key.clone(), Event::CostReported { cost_usd }));
        }
    }
    for (key, event) in others {
        run.note_in(slot, Some(&key), &event);
    }
    if !is_reviewer {
        warn_if_costless(run, &session);
    }
}

/// The stop hook needs the size of its model's window; the client reports it only at its end.
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

/// An agent that does not report its cost can spend without end. The user reads it once.
fn warn_if_costless(run: &mut Conductor, session: &AgentRun) {
    let is_limited = run.context.config.limits.max_cost_usd > 0.0;
    // One that was ended, or that the service refused, had no chance to report anything.
    let could_report = matches!(session.end, RunEnd::Exited(_)) && session.usage_limit().is_none();
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
