//! What an earlier run left, and what is done about it. What is to be done is decided in
//! `decide/recovery.rs`.

use ralph_base::env::Env;
use ralph_base::state::Id;
use ralph_core::plan::State;
use ralph_project::progress::{ProgressEntry, ProgressStatus};
use ralph_project::under_way::{Attempt, Phase};

use super::attempt::{Around, Facts, Task, ToCheck, left_in, log_of, read_agents_plan};
use super::books::Books;
use super::conductor::listen;
use super::decide::{
    Discarding, Found, Outcome, Recovery, SessionEnd, Spent, WorkEnd, recovery, recovery_of,
};
use super::leftovers::find;
use super::plans::books_of;
use super::slots::{Slot, UnderWay, desk};
use super::state::Conductor;
use super::{discard, land, settle};
use crate::exit::Failure;
use crate::saved;
use crate::terminal::counted;
use board::{PlanChanges, Tip};
use client::{SessionSoFar, seen_in_log};
use work_copy::in_place;

/// What the progress says of an attempt whose loop was killed.
const KILLED: &str = "the loop was killed while the agent was working";

/// Does what has to be done. Work that is still to land stays in slots of its own.
pub(super) fn recover(env: &Env, run: &mut Conductor) -> Result<(), Failure> {
    let leftovers = find(&run.context.run_dir, &run.source)?;
    for step in recovery(&leftovers.found) {
        log::info!("recovery: {step:?}");
        match step {
            Recovery::EndProcesses { run: name, .. } => {
                let ended = counted(client::end_left_by(&name), "process", "processes");
                run.view.line(format!("ended {ended} left over from the last run"));
            }
            Recovery::BringFiles => {
                board::finish_interrupted(&run.source)?;
                run.view.line("updated your files to match their branch");
            }
            Recovery::CountOn { iterations } => count_on(run, &leftovers.found, iterations),
            _ => {}
        }
    }
    let record = leftovers.found.record;
    if let Some(record) = &record {
        run.record.slots = record.slots.clone();
    }
    let regular = std::mem::take(&mut run.slots);
    for (folder, left) in leftovers.attempts {
        let is_only = folder == run.context.run_dir.of_run();
        let name =
            if is_only { None } else { Some(Id::parse(&left.slot).map_err(Failure::usage)?) };
        let place = (&run.context.run_dir, run.context.run.as_str());
        let (project, config) = (&run.context.project, &run.context.config);
        let desk = desk(env, project, config, place, name.as_ref())?;
        let slot = run.slots.len();
        run.slots.push(Slot::new(slot, desk, String::new(), run.reports.0.clone()));
        let step = recovery_of(record.as_ref(), &left);
        log::info!("recovery: {step:?}");
        let key = saved::key_of(run.context.project.root(), &left.attempt);
        let books = use_books_of(run, &left.attempt);
        let is_left = settle_left(run, slot, UnderWay::new(key, left.attempt), step);
        run.books = books;
        run.show_reports();
        let is_left = is_left?;
        if !is_left {
            run.slots.pop();
        }
    }
    if run.slots.is_empty() {
        run.slots = regular;
    }
    Ok(())
}

/// Has the run work with the plan of an attempt, and returns that of the run.
fn use_books_of(run: &mut Conductor, attempt: &Attempt) -> Books {
    let books = books_of(run, &attempt.plan);
    std::mem::replace(&mut run.books, books)
}

/// Counts on from where the run was.
fn count_on(run: &mut Conductor, found: &Found, iterations: u64) {
    let Some(record) = &found.record else { return };
    run.record.tally = record.tally.clone();
    run.record.tally.run.iteration = iterations;
    let most = run.context.config.run.max_iterations;
    if most > 0 && iterations > 0 {
        let most = counted(most as usize, "iteration", "iterations");
        run.view.line(format!("resuming: {iterations} of {most} already used"));
    }
}

/// Settles an attempt that an earlier run left; whether its work is still to land.
fn settle_left(
    run: &mut Conductor,
    slot: usize,
    mut work: UnderWay,
    step: Recovery,
) -> Result<bool, Failure> {
    match step {
        Recovery::FinishLanding { commit, .. } => finish_landing(run, slot, work, &commit)?,
        Recovery::LandAgain { .. } => {
            let iteration = &mut run.record.tally.run.iteration;
            *iteration = (*iteration).max(1);
            if find_work(run, slot, &mut work)? {
                run.park(slot, work);
                return Ok(true);
            }
            // Without its work a story is not done, whatever was claimed.
            keep(run, slot, work, Discarding::interrupted())?;
        }
        Recovery::FinishDiscard { kept, .. } => keep(run, slot, work, kept)?,
        Recovery::KeepAttempt { .. } if run.is_untouched(slot, &work.attempt) => {
            // The agent had not begun, and the copy may hold something else.
            discard::end_iteration(run, slot, &work, Outcome::Interrupted)?;
        }
        Recovery::KeepAttempt { counts, .. } => {
            let mut kept = Discarding::interrupted();
            if work.attempt.phase == Phase::Working {
                book_killed(run, slot, &mut work);
            }
            if counts {
                let (key, limits) = (&work.key, &run.context.config.limits);
                let why = KILLED.to_owned();
                kept = run.record.tally.fail(Outcome::Interrupted, why, key, limits);
            }
            keep(run, slot, work, kept)?;
        }
        _ => {}
    }
    Ok(false)
}

/// Keeps what an attempt left, and ends its iteration.
fn keep(
    run: &mut Conductor,
    slot: usize,
    mut work: UnderWay,
    kept: Discarding,
) -> Result<(), Failure> {
    discard::show_failure(run, slot, &work.key.story, &kept.why);
    let left = with_around(run, slot, &work, |around, desk| left_in(around, desk, &work.attempt))?;
    discard::discard(run, slot, &mut work, &left, kept).map(drop)
}

/// Calls a step of an attempt on this thread.
fn with_around<T>(
    run: &mut Conductor,
    slot: usize,
    work: &UnderWay,
    step: impl FnOnce(Around<'_>, &mut super::attempt::Desk) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let (context, books) = (run.context.clone(), run.books.files());
    let failed_before = run.record.failed_before.clone();
    let Some(place) = run.slots.get_mut(slot) else {
        return Err(Failure::because("there is no such slot"));
    };
    let Some(desk) = &mut place.desk else { return Err(Failure::because("the copy is in use")) };
    let around = Around {
        context: &context,
        reporter: &place.reporter,
        run: &place.run,
        key: &work.key,
        books: &books,
        failed_before: &failed_before,
    };
    step(around, desk)
}

/// The story is on the target; only the records are missing.
fn finish_landing(
    run: &mut Conductor,
    slot: usize,
    work: UnderWay,
    commit: &str,
) -> Result<(), Failure> {
    let short: String = commit.chars().take(8).collect();
    let checks = "--format=%(trailers:key=Ralph-Checks,valueonly=true,separator=)";
    let checks = run.source.git().line(&["log", "-1", checks, commit])?;
    let entry = ProgressEntry {
        commit: Some(short.clone()),
        is_unchecked: checks == board::UNCHECKED,
        ..land::entry(&work.attempt, &work.facts, ProgressStatus::Success)
    };
    let story = work.key.story.clone();
    let marks = vec![(story.clone(), State::Done)];
    let changes = PlanChanges { marks, ..PlanChanges::default() };
    if run.board.look()?.is_followed || !run.books.is_tracked(work.attempt.base.as_deref()) {
        run.books.mark_users_text(&changes)?;
    }
    land::finish_landing(run, slot, &work, commit, (&entry, &changes))?;
    run.view.line(format!("{story} had landed as {short} before the run ended"));
    let limits = run.context.config.limits.clone();
    run.record.tally.after(WorkEnd::Landed, &work.key, SessionEnd::Ended, &limits);
    discard::end_iteration(run, slot, &work, Outcome::Success)
}

/// Finds the work of an attempt that was being checked: saved already, or only in the copy, from where it
/// is saved before anything touches the copy. Whether there is any.
fn find_work(run: &mut Conductor, slot: usize, work: &mut UnderWay) -> Result<bool, Failure> {
    let (git, root) = (run.source.git(), run.context.project.root().to_owned());
    let agents = with_around(run, slot, work, |around, desk| {
        let is_there = desk.copy.exists() && desk.dir.plan_given().is_file();
        if is_there { read_agents_plan(around, desk, &work.attempt).map(Some) } else { Ok(None) }
    })?;
    work.saved = saved::commit_of(&git, &root, &work.attempt)?;
    let kept = saved::at_story(&git, &work.key)?;
    let kept = kept.into_iter().find(|kept| Some(&kept.commit) == work.saved.as_ref());
    let cost_usd = kept.and_then(|kept| kept.cost_usd);
    work.facts = Facts { agents, cost_usd, claimed: true, ..Facts::default() };
    let ours = run.books.ours();
    let desk = run.desk(slot).filter(|desk| desk.copy.is_in_place);
    let is_changed = match desk {
        // The user may have gone on with it.
        Some(desk) => !in_place::uncommitted(&desk.copy.repo()?, &ours)?.is_empty(),
        None => false,
    };
    if work.saved.is_none() {
        book_killed(run, slot, work);
    }
    if work.saved.is_none() || is_changed {
        let left =
            with_around(run, slot, work, |around, desk| left_in(around, desk, &work.attempt))?;
        if left.has_work() {
            let why = (Outcome::Interrupted.word(), "the checks were interrupted");
            discard::keep_and_report(run, slot, work, &left, why)?;
        }
    }
    Ok(work.saved.is_some())
}

/// Checks and lands what an earlier run left, before any story begins.
pub(super) fn settle_leftovers(run: &mut Conductor) -> Result<(), Failure> {
    for slot in 0..run.slots.len() {
        let Some(work) = run.slots.get_mut(slot).and_then(|slot| slot.work.take()) else {
            continue;
        };
        let books = use_books_of(run, &work.attempt);
        let Tip { commit: tip, branch, .. } = run.board.look()?;
        let saved = work.saved.clone().unwrap_or_default();
        let mut to_check = ToCheck::Moved { saved, tip, branch };
        let ours = run.books.ours();
        let desk = run.desk(slot);
        if let Some(desk) = desk.filter(|desk| desk.copy.is_in_place)
            && !in_place::uncommitted(&desk.copy.repo()?, &ours)?.is_empty()
        {
            // The tree may still hold it, with whatever the user did to it since.
            to_check = ToCheck::InTree;
        }
        run.give(slot, work, Task::Check { work: Box::new(to_check), is_first: true })?;
        wait_for(run, slot)?;
        run.books = books;
        if run.ending.is_some() {
            break;
        }
    }
    Ok(())
}

/// Waits until a slot has nothing under way any more, or the run ends.
fn wait_for(run: &mut Conductor, slot: usize) -> Result<(), Failure> {
    let is_settled = |run: &Conductor| {
        let slot = run.slots.get(slot);
        slot.is_none_or(|slot| !slot.is_busy() && (slot.work.is_none() || run.ending.is_some()))
    };
    while !is_settled(run) {
        if let Some(signal) = run.context.interrupts.signal() {
            run.end_with(super::decide::Finish::Manual(signal));
        }
        settle::give_turns(run)?;
        if let Err(failure) = listen(run) {
            run.fail(&failure);
        }
    }
    Ok(())
}

/// Books what an agent used whose loop was killed, as its log has it.
fn book_killed(run: &mut Conductor, slot: usize, work: &mut UnderWay) {
    let log = log_of(run.context.state(), &work.attempt);
    let known = run.record.slots.get(&run.slot_name(slot)).cloned().unwrap_or_default();
    let earlier = saved::at_story(&run.source.git(), &work.key).ok().and_then(saved::newest);
    let earlier = earlier.and_then(|attempt| attempt.session?.parse::<SessionSoFar>().ok());
    let earlier = earlier.map(|session| session.totals).unwrap_or_default();
    let seen = seen_in_log(&log, known.session_log, earlier).unwrap_or_default();
    let booked = known.session_tokens;
    let tokens = seen.tokens.saturating_sub(booked);
    let tally = &mut run.record.tally;
    let cost = tally.cost_of_session(seen.cost_usd, tokens);
    let unpriced = if cost.is_some() { 0 } else { tokens };
    if cost.is_none() && tokens == 0 {
        tally.run.price.costless_sessions += 1;
    }
    let cost_usd = cost.unwrap_or_default();
    tally.book(&work.key, Spent { cost_usd, tokens, unpriced, ..Spent::default() });
    work.facts.cost_usd = cost;
    work.facts.tokens = if tokens > 0 { Some(tokens) } else { None };
}
