//! Finds and cleans up what an earlier run left. The steps are decided in
//! `decide/recovery.rs`.

use ralph_base::env::Env;
use ralph_base::state::{self, Scale};
use ralph_core::plan::State;
use ralph_project::progress::{ProgressEntry, ProgressStatus};
use ralph_project::under_way::{Attempt, Phase};

use super::attempt::{Facts, Left, Task, ToCheck, left_in, log_of, read_agents_plan};
use super::conductor::listen;
use super::decide::{Finish, fail};
use super::start::desk;
use super::state::{Conductor, Slot, UnderWay};
use super::{discard, land, settle};
use crate::exit::Failure;
use crate::record::{
    Discarding, Outcome, Recovery, RunRecord, copies_of, left_behind, recovery, recovery_of,
};
use crate::saved::{self, SavedAttempt};
use crate::terminal::counted;
use board::{Books, PlanChanges, Tip};
use client::{SessionSoFar, seen_in_log};
use run_history::Spent;
use work_copy::git_output::text_at;
use work_copy::in_place;

/// The progress entry's reason for an attempt whose loop was killed.
const KILLED: &str = "the loop was killed while the agent was working";

/// Performs the recovery steps. Work that can still land stays in slots of its own.
pub(super) fn recover(env: &Env, run: &mut Conductor) -> Result<(), Failure> {
    let found = left_behind(&run.context.run_dir, &run.source)?;
    let tag = &run.context.config.plan.tag;
    let is_tagged = |left: &Attempt| left.plan.file_name() == Some("tasks.json");
    let mut left = found.attempts.iter().map(|left| &left.attempt);
    if let Some(left) = left.find(|left| is_tagged(left) && left.tag != *tag) {
        let Attempt { story, tag: then, .. } = left;
        return Err(Failure::because(format!(
            "task {story} of the tag `{then}` was interrupted, and `{tag}` is the current tag now; run \
             `task-master use-tag {then}`, then `ralph-loop` to finish it"
        )));
    }
    for step in recovery(&found) {
        log::info!("recovery: {step:?}");
        match step {
            Recovery::EndProcesses { run: name, .. } => {
                let copies = copies_of(&found.attempts, &run.source);
                let ended = client::end_processes_of(&name, &copies);
                let ended = counted(ended, "process", "processes");
                run.view.line(format!("ended {ended} left over from the last run"));
            }
            Recovery::CountOn { iterations } => count_on(run, found.record.as_ref(), iterations),
            _ => {}
        }
    }
    if let Some(record) = &found.record {
        run.record.slots = record.slots.clone();
    }
    let regular = std::mem::take(&mut run.slots);
    for left in found.attempts {
        let step = recovery_of(found.record.as_ref(), &left);
        log::info!("recovery: {step:?}");
        let desk = desk(env, &run.context, left.worker.as_ref())?;
        work_copy::adopt(&desk.copy, &left.attempt.work)?;
        if !desk.copy.exists() {
            let story = &left.attempt.story;
            run.view.warn(format!("{story}: its copy is gone, and the agent's work in it is lost"));
        }
        let slot = run.slots.len();
        let key = saved::key_of(run.context.project.root(), &left.attempt);
        let mut of_left = Slot::new(slot, desk, String::new(), &run.reports);
        of_left.key = Some(key.clone());
        run.slots.push(of_left);
        run.take_over(true);
        let books = use_books_of(run, &left.attempt);
        let work = UnderWay { slot, key, attempt: left.attempt, ..UnderWay::default() };
        let is_left = settle_left(run, work, step);
        run.books = books;
        run.show_reports();
        if !is_left? {
            run.slots.pop();
        }
    }
    if run.slots.is_empty() {
        run.slots = regular;
    }
    Ok(())
}

/// Switches the run to the plan of an attempt, and returns the run's own.
fn use_books_of(run: &mut Conductor, attempt: &Attempt) -> Books {
    let books = run.books_of(&attempt.plan);
    std::mem::replace(&mut run.books, books)
}

/// Continues the iteration count of the earlier run.
fn count_on(run: &mut Conductor, record: Option<&RunRecord>, iterations: u64) {
    let Some(record) = record else { return };
    run.record.tally = record.tally.clone();
    run.record.tally.run.iteration = iterations;
    let most = run.context.config.run.max_iterations;
    if most > 0 && iterations > 0 {
        let most = counted(most as usize, "iteration", "iterations");
        run.view.line(format!("resuming: {iterations} of {most} already used"));
    }
}

/// Settles an unfinished attempt; returns whether its work can still land.
fn settle_left(run: &mut Conductor, mut work: UnderWay, step: Recovery) -> Result<bool, Failure> {
    match step {
        Recovery::FinishLanding { commit, .. } => finish_landing(run, &work, &commit)?,
        Recovery::LandAgain { .. } => {
            let iteration = &mut run.record.tally.run.iteration;
            *iteration = (*iteration).max(1);
            if find_work(run, &mut work)? {
                run.park(work);
                return Ok(true);
            }
            // Without its work a story cannot be done, whatever was reported.
            keep(run, work, Discarding::interrupted())?;
        }
        Recovery::FinishDiscard { kept, .. } => keep(run, work, kept)?,
        Recovery::KeepAttempt { .. } if run.is_untouched(&work) => {
            // The agent had not started, so the copy may contain something else.
            land::end_iteration(run, &work, (Outcome::Interrupted, None))?;
        }
        Recovery::KeepAttempt { counts, .. } => {
            let mut kept = Discarding::interrupted();
            if work.attempt.phase == Phase::Working {
                book_killed(run, &mut work);
            }
            if counts {
                let (key, limits) = (&work.key, &run.context.config.limits);
                let why = KILLED.to_owned();
                kept = fail(&mut run.record.tally, Outcome::Interrupted, why, key, limits);
            }
            keep(run, work, kept)?;
        }
        _ => {}
    }
    Ok(false)
}

/// Saves an attempt's work, and ends its iteration.
fn keep(run: &mut Conductor, work: UnderWay, kept: Discarding) -> Result<(), Failure> {
    discard::show_failure(run, &work, &kept.why);
    let job = run.job(work.slot, &work.key)?;
    let mut left = left_in(&job, run.desk_mut(work.slot)?, &work.attempt)?;
    let earlier = saved::at_story(&run.source.git(), &work.key)?;
    if earlier.iter().any(|earlier| is_kept(earlier, &work.attempt, &kept)) {
        // The tree may have been partly reset since.
        left = Left::default();
    }
    let (work, ended) = discard::discard(run, work, &left, kept)?;
    land::end_iteration(run, &work, ended)
}

/// Whether an attempt is already saved with this outcome. Interrupted work may have continued since.
fn is_kept(earlier: &SavedAttempt, attempt: &Attempt, kept: &Discarding) -> bool {
    let outcome = kept.outcome.word();
    earlier.number >= attempt.number
        && earlier.run.as_ref() == Some(&attempt.run)
        && earlier.outcome.as_deref() == Some(outcome)
        && kept.outcome != Outcome::Interrupted
}

/// Completes the records of a story that has reached the target.
fn finish_landing(run: &mut Conductor, work: &UnderWay, commit: &str) -> Result<(), Failure> {
    let short: String = commit.chars().take(8).collect();
    let scale = "--format=%(trailers:key=Ralph-Done,valueonly=true,separator=)";
    let scale = run.source.git().line(&["log", "-1", scale, commit])?;
    let entry = ProgressEntry {
        commit: Some(short.clone()),
        scale: Scale::of_word(&scale),
        ..land::entry(&work.attempt, &work.facts, ProgressStatus::Success)
    };
    let story = work.key.story.clone();
    let marks = vec![(story.clone(), State::Done)];
    let changes = PlanChanges { marks, ..PlanChanges::default() };
    if run.desk(work.slot).is_ok_and(|desk| desk.copy.is_in_place) {
        bring_loop_files(run, work.attempt.base.as_deref(), commit)?;
    }
    if run.board.tip()?.is_followed || !run.books.is_tracked(work.attempt.base.as_deref()) {
        run.books.mark_users_text(&changes)?;
    }
    land::finish_landing(run, work, commit, (&entry, &changes))?;
    run.view.line(format!("{story} had landed as {short} before the run ended"));
    run.record.tally.landed(&work.key);
    land::end_iteration(run, work, (Outcome::Success, None))
}

/// Updates those of the loop's own files that nobody has changed from one commit to the next.
fn bring_loop_files(run: &Conductor, base: Option<&str>, commit: &str) -> Result<(), Failure> {
    let git = run.source.git();
    for path in run.books.ours() {
        let file = run.source.top.as_std_path().join(&path);
        let before = base.and_then(|base| text_at(&git, base, &path));
        if let Some(after) = text_at(&git, commit, &path)
            && state::read_if_there(&file)? == before
        {
            fs_err::write(file, after)?;
        }
    }
    Ok(())
}

/// Finds the work of an attempt that was being checked. If it is only in the copy, it is saved before anything
/// changes the copy. Returns whether there is any.
fn find_work(run: &mut Conductor, work: &mut UnderWay) -> Result<bool, Failure> {
    let (git, root) = (run.source.git(), run.context.project.root().to_owned());
    let job = run.job(work.slot, &work.key)?;
    let desk = run.desk(work.slot)?;
    let is_there = desk.copy.exists() && desk.dir.plan_given().is_file();
    let agents = if is_there { Some(read_agents_plan(&job, desk, &work.attempt)?) } else { None };
    work.saved = saved::commit_of(&git, &root, &work.attempt)?;
    let kept = saved::at_story(&git, &work.key)?;
    let kept = kept.into_iter().find(|kept| Some(&kept.commit) == work.saved.as_ref());
    let (cost_usd, tokens) = kept.map(|kept| (kept.cost_usd, kept.tokens)).unwrap_or_default();
    work.facts = Facts { agents, cost_usd, tokens, claimed: true, ..Facts::default() };
    if work.saved.is_none() {
        book_killed(run, work);
    }
    if work.saved.is_none() || is_changed_in_place(run, work.slot)? {
        let left = left_in(&job, run.desk_mut(work.slot)?, &work.attempt)?;
        land::keep_rollbacks(run, work)?;
        if left.has_work(work.saved.is_some()) {
            let why = (Outcome::Interrupted.word(), "the checks were interrupted");
            discard::keep_and_report(run, work, &left, why)?;
        }
    }
    Ok(work.saved.is_some())
}

/// Whether an in-place tree has changes: the user may have continued the work.
fn is_changed_in_place(run: &Conductor, slot: usize) -> Result<bool, Failure> {
    let copy = &run.desk(slot)?.copy;
    let ours = run.books.ours();
    Ok(copy.is_in_place && !in_place::uncommitted(&copy.repo()?, &ours)?.is_empty())
}

/// Checks and lands what an earlier run left, before any story starts.
pub(super) fn settle_leftovers(run: &mut Conductor) -> Result<(), Failure> {
    for slot in 0..run.slots.len() {
        let Some(work) = run.slot(slot)?.work.take() else { continue };
        let books = use_books_of(run, &work.attempt);
        let Tip { commit: tip, branch, .. } = run.board.tip()?;
        let saved = work.saved.clone().unwrap_or_default();
        let is_changed = is_changed_in_place(run, slot)?;
        let moved = ToCheck::Moved { saved, tip, branch };
        let to_check = Box::new(if is_changed { ToCheck::InTree } else { moved });
        run.give(work, Task::Check { work: to_check, known: None })?;
        wait_for(run, slot)?;
        run.books = books;
        if run.ending.is_some() {
            break;
        }
    }
    Ok(())
}

/// Waits until a slot has no story, or the run ends.
fn wait_for(run: &mut Conductor, slot: usize) -> Result<(), Failure> {
    loop {
        let is_ending = run.ending.is_some();
        let place = run.slot(slot)?;
        if !place.is_busy() && (is_ending || place.work.is_none()) {
            return Ok(());
        }
        if let Some(signal) = run.context.interrupts.signal() {
            run.end_with(Finish::Manual(signal));
        }
        settle::give_turns(run)?;
        if let Err(failure) = listen(run) {
            run.fail(&failure);
        }
    }
}

/// Counts what the agent of a killed loop used, according to its log.
fn book_killed(run: &mut Conductor, work: &mut UnderWay) {
    let log = log_of(run.context.state(), &work.attempt);
    let name = run.desk(work.slot).map_or("", |desk| &desk.name);
    let known = run.record.slots.get(name).cloned().unwrap_or_default();
    let earlier = saved::at_story(&run.source.git(), &work.key).ok().and_then(saved::newest);
    let earlier = earlier.and_then(|attempt| attempt.session?.parse::<SessionSoFar>().ok());
    let earlier = earlier.map(|session| session.totals).unwrap_or_default();
    let seen = seen_in_log(&log, known.session_log, earlier).unwrap_or_default();
    let booked = known.session_tokens;
    let tokens = seen.tokens.saturating_sub(booked);
    let tally = &mut run.record.tally;
    tally.book(&work.key, Spent { tokens, ..Spent::default() });
    let booked = tally.book_session(&[(work.key.clone(), tokens)], seen.cost_usd, true);
    work.facts.cost_usd = booked.first().map(|(_, cost)| *cost);
    work.facts.tokens = if tokens > 0 { Some(tokens) } else { None };
}
