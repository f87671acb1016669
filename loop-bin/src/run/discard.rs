//! An attempt that does not land is kept, and plan, progress and journal say so.

use ralph_base::fault;
use ralph_base::state::{self, Event, StoryKey};
use ralph_core::git::Checkpoint;
use ralph_core::plan::State;
use ralph_project::progress::{ProgressEntry, ProgressStatus};
use ralph_project::strikes::{add_lesson, record_failure};
use ralph_project::under_way::Attempt;

use super::attempt::Left;
use super::decide::{Discarding, Outcome};
use super::land::entry;
use super::notify::{Notice, notify};
use super::slots::UnderWay;
use super::state::Conductor;
use crate::exit::Failure;
use crate::saved::{self, Account};
use crate::terminal::Tone;
use board::PlanChanges;
use work_copy::Start;

/// How much of a failing output the view shows.
const SHOWN_LINES: usize = 5;

/// Keeps an attempt that does not land, and ends its iteration. Returns what the iteration is called.
pub(super) fn discard(
    run: &mut Conductor,
    slot: usize,
    work: &mut UnderWay,
    left: &Left,
    kept: Discarding,
) -> Result<Outcome, Failure> {
    let Discarding { outcome, why, set_aside: given_up } = kept;
    let key = work.key.clone();
    if left.has_work() {
        keep_and_report(run, slot, work, left, (outcome.word(), &why))?;
    }
    fault::point("discard.kept");
    run.record.tally.story(&key).has_changes |= left.has_changes();
    if matches!(outcome, Outcome::Failed | Outcome::Timeout | Outcome::NoChanges) {
        learn(run, work, &why)?;
    }
    if let Some(desk) = run.desk_mut(slot)
        && desk.copy.is_in_place
    {
        desk.copy.reset(Start::of(&work.attempt))?;
    }
    if run.books.untick(&run.board, &key.story)? {
        let what = format!("ticked {} in the project's own plan before it landed", key.story);
        let findings = vec![format!("{what}; undone")];
        run.view.warn(format!("plan: the agent {what}; undone"));
        run.note_in(slot, Some(&key), &Event::PlanRepaired { findings });
    }
    let outcome = if given_up.is_some() { Outcome::Blocked } else { outcome };
    if let Some(why) = &given_up {
        set_aside(run, slot, &key, work.attempt.base.as_deref(), why)?;
    }
    let reason = given_up.unwrap_or(why).lines().next().unwrap_or_default().to_owned();
    let entry = ProgressEntry {
        reason: Some(reason),
        ..entry(&work.attempt, &work.facts, logged_as(outcome))
    };
    if !run.books.has_entry(work.attempt.base.as_deref(), &entry, &work.attempt.began) {
        run.books.log(&entry)?;
    }
    fault::point("discard.logged");
    end_iteration(run, slot, work, outcome)?;
    Ok(outcome)
}

/// Shows why an attempt failed.
pub(super) fn show_failure(run: &Conductor, slot: usize, story: &str, why: &str) {
    let headline = why.lines().next().unwrap_or_default();
    run.toned(slot, Tone::Warning, format!("{story}: {headline}"));
    let is_new = |line: &&str| !line.trim().is_empty() && !headline.ends_with(line.trim());
    let details: Vec<&str> = why.lines().skip(1).filter(is_new).collect();
    for line in details.iter().skip(details.len().saturating_sub(SHOWN_LINES)) {
        run.toned(slot, Tone::Faint, format!("{story}:   {line}"));
    }
}

/// Keeps what an attempt left, and says so.
pub(super) fn keep_and_report(
    run: &mut Conductor,
    slot: usize,
    work: &mut UnderWay,
    left: &Left,
    (outcome, why): (&str, &str),
) -> Result<(), Failure> {
    let saved_as = keep(run, slot, work, left, (outcome, why))?;
    let (story, id) = (&work.key.story, saved::shown(&saved_as));
    run.line(slot, format!("{story}: attempt saved; view it with `ralph-loop attempts {id}`"));
    let to = work.attempt.base.clone().unwrap_or_default();
    let why = why.lines().next().unwrap_or_default().to_owned();
    run.note_in(slot, Some(&work.key), &Event::RolledBack { to, saved_as, why });
    Ok(())
}

/// Saves what an attempt left under a ref of its own, and reads it back. Returns the ref's name.
pub(super) fn keep(
    run: &mut Conductor,
    slot: usize,
    work: &mut UnderWay,
    left: &Left,
    (outcome, why): (&str, &str),
) -> Result<String, Failure> {
    let account = Account {
        key: work.key.clone(),
        number: work.attempt.number,
        outcome,
        why,
        cost_usd: work.facts.cost_usd,
        seconds: work.facts.duration.map(|duration| duration.as_secs_f64()),
        run: &work.attempt.run,
        session: work.facts.session.as_ref().map(ToString::to_string),
    };
    let base = work.attempt.base.as_deref();
    let mut parents: Vec<&str> = base.into_iter().collect();
    parents.extend(left.imported.head.as_deref().filter(|head| Some(*head) != base));
    let aside = left.staged.iter().flat_map(|staged| &staged.aside);
    let others = left.imported.others.iter().chain(aside);
    // What was kept of it before may hold what is not in the copy any more.
    parents.extend(others.chain(&work.saved).map(String::as_str));
    let tree = left.staged.as_ref().map(|staged| staged.tree.as_str()).unwrap_or_default();
    let Some(desk) = run.desk(slot) else {
        return Err(Failure::because("the copy is in use"));
    };
    let git = desk.copy.git();
    let name = saved::keep(&git, &run.source.top, tree, &parents, &account)?;
    work.saved = board::resolve(&run.source.git(), &name)?;
    Ok(name)
}

/// Gives a story up for this run.
pub(super) fn set_aside(
    run: &mut Conductor,
    slot: usize,
    key: &StoryKey,
    base: Option<&str>,
    why: &str,
) -> Result<(), Failure> {
    let why = why.lines().next().unwrap_or_default();
    run.record.tally.set_aside(key);
    saved::forget_wish(&run.source.git(), key)?;
    run.books.asked_for.retain(|one| *one != key.story);
    let marks = vec![(key.story.clone(), State::Blocked)];
    run.books.mark_on_disk(base, &PlanChanges { marks, ..PlanChanges::default() })?;
    run.note_in(slot, Some(key), &Event::StorySetAside { why: why.to_owned() });
    run.toned(slot, Tone::Bad, format!("{} is blocked: {why}", key.story));
    notify(run, &Notice { event: "blocked", story: &key.story, reason: why, ..Notice::default() });
    Ok(())
}

/// What failed, for the next attempt and for people.
fn learn(run: &Conductor, work: &UnderWay, why: &str) -> Result<(), Failure> {
    // The next attempt should know the failing tests, whatever this one ended with.
    let rollbacks = work.facts.rollbacks.iter().map(|rollback| format!("{rollback}\n"));
    let text = format!("{}{why}", rollbacks.collect::<String>());
    let state = run.context.state();
    record_failure(state, Some(&work.key.to_string()), &text)?;
    let lesson = format!("{}: {}", work.key, why.lines().next().unwrap_or_default());
    add_lesson(state, Some(&run.context.run_dir), &lesson)?;
    Ok(())
}

/// The iteration is over, and nothing is under way in the slot any more.
pub(super) fn end_iteration(
    run: &mut Conductor,
    slot: usize,
    work: &UnderWay,
    outcome: Outcome,
) -> Result<(), Failure> {
    let last = &run.record.tally.run.last;
    let finished = Event::IterationFinished {
        outcome: outcome.word().to_owned(),
        exit_code: last.exit_code,
        duration_s: last.duration_s,
        tokens: work.facts.tokens,
        cost_usd: work.facts.cost_usd,
    };
    run.note_in(slot, Some(&work.key), &finished);
    forget(run, slot, &work.attempt)?;
    run.free_landing(slot);
    run.save();
    Ok(())
}

/// Nothing is under way in a slot any more.
pub(super) fn forget(run: &mut Conductor, slot: usize, attempt: &Attempt) -> Result<(), Failure> {
    run.books.publish(attempt.base.as_deref())?;
    let Some(place) = run.slots.get_mut(slot) else { return Ok(()) };
    place.work = None;
    let Some(desk) = &place.desk else { return Ok(()) };
    let (state, dir) = (desk.state(), &desk.dir);
    Checkpoint::clear(state)?;
    for file in [state.current_story(), state.claim()] {
        state::remove_if_there(file)?;
    }
    Attempt::clear(dir)?;
    for file in [dir.plan_given(), dir.progress_added()] {
        state::remove_if_there(file)?;
    }
    fault::point("attempt.forgotten");
    if !run.slots.iter().any(|slot| slot.work.is_some()) {
        state::remove_if_there(run.context.state().current_story())?;
    }
    Ok(())
}

/// How the progress calls an iteration.
fn logged_as(outcome: Outcome) -> ProgressStatus {
    match outcome {
        Outcome::Success => ProgressStatus::Success,
        Outcome::Blocked => ProgressStatus::Blocked,
        Outcome::Failed | Outcome::NoChanges | Outcome::Partial => ProgressStatus::Failed,
        Outcome::Timeout => ProgressStatus::Timeout,
        Outcome::Quota | Outcome::Budget | Outcome::Interrupted | Outcome::Handoff => {
            ProgressStatus::Interrupted
        }
    }
}
