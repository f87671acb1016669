//! Saves an attempt that does not land, and records that in plan, progress and journal.

use ralph_base::fault;
use ralph_base::listing::named_files;
use ralph_base::state::{Event, StoryKey};
use ralph_core::plan::State;
use ralph_project::progress::{ProgressEntry, ProgressStatus};
use ralph_project::strikes::{add_lesson, record_failure};

use run_history::failing::cause;

use super::attempt::Left;
use super::decide::Then;
use super::land::{entry, keep, keep_rollbacks, report_saved};
use super::notify::{Notice, notify};
use super::state::{Conductor, UnderWay};
use crate::exit::Failure;
use crate::record::{Discarding, Outcome};
use crate::saved;
use crate::terminal::Tone;
use board::PlanChanges;
use work_copy::Start;
use work_copy::in_place::{self, ProtectedFiles};

/// Saves an attempt that does not land. Returns the outcome of its iteration, and why. If this fails, the
/// next start repeats it.
pub(super) fn discard(
    run: &mut Conductor,
    mut work: UnderWay,
    left: &Left,
    kept: Discarding,
) -> Result<(UnderWay, (Outcome, Option<String>)), Failure> {
    match try_discard(run, &mut work, left, kept.clone()) {
        Ok(ended) => Ok((work, ended)),
        Err(failure) => {
            work.discarding = Some((kept, Then::GoOn));
            run.park(work);
            Err(failure)
        }
    }
}

fn try_discard(
    run: &mut Conductor,
    work: &mut UnderWay,
    left: &Left,
    kept: Discarding,
) -> Result<(Outcome, Option<String>), Failure> {
    let Discarding { outcome, why, set_aside: given_up } = kept;
    let key = work.key.clone();
    ProtectedFiles::forget(&run.desk(work.slot)?.dir)?;
    let has_rollbacks = keep_rollbacks(run, work)?;
    let has_work = left.has_work(work.saved.is_some());
    if has_work {
        keep_and_report(run, work, left, (outcome.word(), &why))?;
    }
    fault::point("discard.kept");
    run.record.tally.story(&key).has_changes |= has_work || has_rollbacks;
    if matches!(outcome, Outcome::Failed | Outcome::Timeout | Outcome::NoChanges) {
        learn(run, work, &why, outcome)?;
    }
    reset_in_place(run, work)?;
    if run.books.untick(&run.board, &key.story)? {
        let what = format!("ticked {} in the project's own plan before it landed", key.story);
        let findings = vec![format!("{what}; undone")];
        run.view.warn(format!("plan: the agent {what}; undone"));
        run.note_of(work, &Event::PlanRepaired { findings });
    }
    let outcome = if given_up.is_some() { Outcome::Blocked } else { outcome };
    if let Some(why) = &given_up {
        set_aside(run, work.slot, &key, work.attempt.base.as_deref(), why)?;
    }
    let headline = |why: &str| why.lines().next().map(str::to_owned);
    let entry = ProgressEntry {
        reason: headline(given_up.as_ref().unwrap_or(&why)),
        ..entry(&work.attempt, &work.facts, logged_as(outcome))
    };
    // A story that had landed before has an entry already.
    let is_logged = outcome == Outcome::Success
        || run.books.has_entry(work.attempt.base.as_deref(), &entry, &work.attempt.began);
    if !is_logged {
        run.books.log(&entry)?;
    }
    fault::point("discard.logged");
    Ok((outcome, headline(&why)))
}

/// In place, restores the user's tree, so that the attempt leaves nothing in it.
pub(super) fn reset_in_place(run: &mut Conductor, work: &UnderWay) -> Result<(), Failure> {
    let copy = &mut run.desk_mut(work.slot)?.copy;
    if !copy.is_in_place {
        return Ok(());
    }
    copy.reset(Start::of(&work.attempt))?;
    let repo = copy.repo()?;
    let left = in_place::uncommitted(&repo, &run.books.ours())?;
    if !left.is_empty() {
        run.view.warn(format!("the rollback could not remove {}", named_files(&left)));
    }
    Ok(())
}

/// Shows why an attempt failed.
pub(super) fn show_failure(run: &Conductor, work: &UnderWay, why: &str) {
    let (slot, story) = (work.slot, &work.key.story);
    let headline = why.lines().next().unwrap_or_default();
    run.toned(slot, Tone::Warning, format!("{story}: {headline}"));
    let output = why.split_once('\n').map(|(_, output)| cause(output)).unwrap_or_default();
    for line in output.lines().filter(|line| !headline.ends_with(line.trim())) {
        run.toned(slot, Tone::Faint, format!("{story}:   {line}"));
    }
}

/// Saves an attempt's work and reports that.
pub(super) fn keep_and_report(
    run: &Conductor,
    work: &mut UnderWay,
    left: &Left,
    (outcome, why): (&str, &str),
) -> Result<(), Failure> {
    let saved_as = keep(run, work, left, (outcome, why))?;
    report_saved(run, work, saved_as, why);
    Ok(())
}

/// Gives up a story for this run.
pub(super) fn set_aside(
    run: &mut Conductor,
    slot: usize,
    key: &StoryKey,
    base: Option<&str>,
    why: &str,
) -> Result<(), Failure> {
    let why = why.lines().next().unwrap_or_default();
    run.record.tally.set_aside(key);
    saved::forget_retry(&run.source.git(), key)?;
    run.books.asked_for.retain(|one| *one != key.story);
    let marks = vec![(key.story.clone(), State::Blocked)];
    run.books.mark_on_disk(base, &PlanChanges { marks, ..PlanChanges::default() })?;
    run.note_in(slot, Some(key), &Event::StorySetAside { why: why.to_owned() });
    run.toned(slot, Tone::Bad, format!("{} is blocked: {why}", key.story));
    notify(run, &Notice { event: "blocked", story: &key.story, reason: why, ..Notice::default() });
    Ok(())
}

/// Records the failure for the next attempt and for people.
fn learn(run: &Conductor, work: &UnderWay, why: &str, outcome: Outcome) -> Result<(), Failure> {
    // The next attempt needs the failing tests, whatever the outcome.
    let rollbacks = work.facts.rollbacks.iter().map(|rollback| format!("{rollback}\n"));
    let text = format!("{}{why}", rollbacks.collect::<String>());
    let state = run.context.state();
    record_failure(state, Some(&work.key.to_string()), &text)?;
    if outcome != Outcome::Failed || why.starts_with("the agent was ended") {
        // Other stories cannot learn anything from what the run itself said.
        return Ok(());
    }
    let lesson = format!("{}: {}", work.key, why.lines().next().unwrap_or_default());
    add_lesson(state, Some(&run.context.run_dir), &lesson)?;
    Ok(())
}

/// The progress file's status for an outcome.
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
