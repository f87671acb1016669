//! The conductor begins an attempt: it writes the job down, then gives it to a slot.

use ralph_base::state::{self, Event, StateDir, StoryKey};
use ralph_core::plan::{Format, Plan, Story};
use ralph_project::config::RollbackOn;
use ralph_project::loop_progress::LoopProgress;
use ralph_project::under_way::Attempt;

use super::attempt::{Assignment, Budget, Task, log_of};
use super::context::Context;
use super::decide::{Allowance, Outcome};
use super::slots::UnderWay;
use super::state::Conductor;
use crate::exit::Failure;
use crate::saved::{self, SavedAttempt};
use crate::terminal::Worker;
use board::Tip;
use client::SessionSoFar;
use work_copy::Start;

/// Begins an attempt at a story in a slot.
pub(super) fn begin(
    run: &mut Conductor,
    slot: usize,
    plan: Plan,
    key: StoryKey,
) -> Result<(), Failure> {
    let found = plan.story(&key.story).cloned().ok_or_else(|| {
        Failure::because(format!("story {} was just removed from {}", key.story, plan.path()))
    })?;
    show_story(run, slot, &found, &key);
    let Tip { commit: tip, branch, .. } = run.board.look()?;
    let start = Start { tip: tip.as_deref(), branch: &branch };
    let git = run.source.git();
    let attempts = saved::at_story(&git, &key)?;
    let number = saved::number_after(&attempts);
    let newest = saved::newest(attempts);
    let context = &run.context;
    let attempt = new_attempt(run, slot, &key, (&found.title, number), start);
    write_down(run, slot, &attempt)?;
    let state = context.state();
    let under_way = format!("{}\n", key.story);
    state::replace_unsynced(&state.current_story(), under_way.as_bytes())?;
    if let Some(desk) = run.desk(slot) {
        state::replace_unsynced(&desk.state().current_story(), under_way.as_bytes())?;
    }
    update_loop_progress(run, "IN_PROGRESS")?;
    let iteration = u32::try_from(attempt.iteration).unwrap_or(u32::MAX);
    let started = Event::IterationStarted { iteration, title: found.title, attempt: number };
    run.note_in(slot, Some(&key), &started);
    let assignment = Assignment {
        progress: run.books.progress_text(tip.as_deref()),
        plan,
        session: session_to_resume(newest.as_ref()),
        resumed: to_resume(&run.context, newest),
        messages: messages(&run.context),
        budget: budget(run, &key),
    };
    let log = log_of(run.context.state(), &attempt).metadata();
    let record = run.record.slots.entry(run.slot_name(slot)).or_default();
    record.session_tokens = 0;
    record.session_log = log.map_or(0, |log| log.len());
    run.give(slot, UnderWay::new(key, attempt), Task::Work(Box::new(assignment)))?;
    run.save();
    Ok(())
}

/// An attempt that begins now.
pub(super) fn new_attempt(
    run: &Conductor,
    slot: usize,
    key: &StoryKey,
    (title, number): (&str, u64),
    start: Start<'_>,
) -> Attempt {
    let desk = run.desk(slot);
    Attempt {
        run: run.name_of(slot).to_owned(),
        story: key.story.clone(),
        title: title.to_owned(),
        iteration: run.record.tally.run.iteration,
        number,
        plan: run.books.plan.clone(),
        progress: run.books.progress.clone(),
        work: desk.map(|desk| desk.copy.root().to_owned()).unwrap_or_default(),
        target: start.branch.to_owned(),
        base: start.tip.map(str::to_owned),
        ..Attempt::now()
    }
}

/// Writes an attempt down, and holds the commit that it begins from.
pub(super) fn write_down(run: &Conductor, slot: usize, attempt: &Attempt) -> Result<(), Failure> {
    let Some(slot) = run.slots.get(slot) else { return Ok(()) };
    if let Some(base) = &attempt.base {
        saved::hold(&run.source.git(), &slot.name, base)?;
    }
    if let Some(desk) = &slot.desk {
        attempt.save(&desk.dir)?;
    }
    Ok(())
}

/// What an agent may spend on a story, and what the run has left.
pub(super) fn budget(run: &Conductor, key: &StoryKey) -> Budget {
    let (config, tally) = (&run.context.config, &run.record.tally);
    let spent = (tally.run.spent.cost_usd, run.slots.len() as u64);
    let allowance = Allowance::of(&config.agent, &config.limits, run.context.elapsed(), spent);
    let may_hand_over = tally.may_hand_over(key, &config.limits);
    Budget { allowance, quota_streak: tally.run.quota_streak, may_hand_over }
}

/// Messages that the user left for the next prompt.
pub(super) fn messages(context: &Context) -> String {
    fs_err::read_to_string(context.run_dir.told()).unwrap_or_default()
}

fn show_story(run: &Conductor, slot: usize, story: &Story, key: &StoryKey) {
    let Story { id, title, .. } = story;
    let (name, rest) = if story.is_named_by_title() { (title, "") } else { (id, &**title) };
    let gap = if rest.is_empty() { "" } else { " " };
    let iteration = run.record.tally.run.iteration;
    run.line(slot, format!("iteration {iteration}: {name}{gap}{rest}"));
    run.view.slot(
        slot,
        Worker {
            story: Some(name.clone()),
            title: rest.to_owned(),
            attempt: run.record.tally.attempts_at(key) + 1,
            attempts: run.context.config.limits.attempts_per_story.max(1),
            since: Some(jiff::Timestamp::now()),
            ..Worker::default()
        },
    );
}

/// The attempt whose work this one continues, if the last one ended halfway.
fn to_resume(context: &Context, newest: Option<SavedAttempt>) -> Option<SavedAttempt> {
    let always = context.config.rollback.on == RollbackOn::Never;
    newest.filter(|newest| {
        newest.outcome.as_deref().is_some_and(|word| always || Outcome::is_resumed(word))
    })
}

/// The client's session in which this attempt begins, if not in a new one.
fn session_to_resume(newest: Option<&SavedAttempt>) -> Option<SessionSoFar> {
    let SavedAttempt { session, outcome, .. } = newest?;
    if !Outcome::keeps_session(outcome.as_deref()?) {
        return None;
    }
    session.as_deref()?.parse().ok()
}

/// Keeps the `progress.txt` of a feature list up to date, where there is one.
pub(super) fn update_loop_progress(run: &Conductor, status: &str) -> Result<(), Failure> {
    let path = StateDir::loop_progress_beside(&run.books.plan);
    if !path.is_file() || run.books.load(&run.board)?.format() != Format::FeatureList {
        return Ok(());
    }
    let (iteration, limit) =
        (run.record.tally.run.iteration, run.context.config.run.max_iterations);
    let new = LoopProgress::set(&fs_err::read(&path)?, "Iteration", &iteration.to_string());
    let new = LoopProgress::set(&new, "Max Iterations", &limit.to_string());
    let new = LoopProgress::set(&new, "Status", status);
    Ok(state::replace_users(&path, &new)?)
}
