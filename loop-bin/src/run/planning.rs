//! Planning: an agent writes or refreshes the plan in the copy. Nothing else of what it does is kept but
//! as an attempt, and the user's plan changes only when all went well.

use std::path::PathBuf;

use ralph_base::state::{self, Event, StoryKey};
use ralph_core::plan::{self, Plan, Planned as CheckedPlan};
use ralph_project::config::Limits;
use ralph_project::prompt::{self, Template, Values};
use ralph_project::under_way::Phase;

use super::attempt::{Ended, Left, Planned, Report, Task};
use super::decide::{Finish, Next, Outcome, ScriptRequest, SessionEnd, Then};
use super::record::is_work_left_in;
use super::scripts::{self, NEXT_ITERATION, STARTED};
use super::slots::UnderWay;
use super::state::Conductor;
use super::{begin, discard, settle, wait};
use crate::exit::Failure;
use crate::saved;
use crate::terminal::counted;
use board::Tip;
use work_copy::{Imported, Start};

/// Stands for the story, in logs, scripts and receipts.
const NAME: &str = "planning";

/// The slot that plans.
const SLOT: usize = 0;

/// How much of the progress the prompt holds.
const LONGEST_PROGRESS: usize = 16 * 1024;

/// Has one session of the agent write the plan.
pub(super) fn write_plan(run: &mut Conductor) -> Result<Finish, Failure> {
    let copy = run.slots.get(SLOT).and_then(|slot| Some(&slot.desk.as_ref()?.copy));
    if let Some(copy) = copy
        && is_work_left_in(copy.root(), &run.context.run_dir)?
    {
        return Err(Failure::because(
            "the copy holds an interrupted attempt; run `ralph-loop` to continue it, then plan",
        ));
    }
    let key = run.context.key(&run.books.plan, NAME);
    run.record.tally.run.iteration = 1;
    let (mode, plan) = (NAME.to_owned(), run.books.plan.to_string());
    let unguarded = run.context.options.unguarded.clone();
    run.note(None, &Event::LoopStarted { mode, plan, unguarded });
    run.view.line(format!("planning: {}", run.shown_plan()));
    let specs = &run.context.config.run.specs;
    if !run.context.project.root().join(specs).exists() {
        run.view.warn(format!("{specs} does not exist; the agent plans from the code alone"));
    }
    if scripts::started(run) == ScriptRequest::Stop {
        return Ok(Finish::stopped_by(STARTED));
    }
    if let Some(finish) = ask_script(run, &key)? {
        return Ok(finish);
    }
    run.record.tally.run.iteration = 1;
    let Tip { commit: tip, branch, .. } = run.board.look()?;
    let start = Start { tip: tip.as_deref(), branch: &branch };
    let before = plan::read_file(&run.books.plan)?;
    let number = saved::number_after(&saved::at_story(&run.source.git(), &key)?);
    let attempt = begin::new_attempt(run, SLOT, &key, (NAME, number), start);
    begin::write_down(run, SLOT, &attempt)?;
    let started = Event::IterationStarted { iteration: 1, title: String::new(), attempt: 1 };
    run.note_in(SLOT, Some(&key), &started);
    let (prompt, allowance) = (planning_prompt(run)?, begin::budget(run, &key).allowance);
    let task = Task::Plan { before: before.clone(), prompt, allowance };
    run.give(SLOT, UnderWay::new(key.clone(), attempt), task)?;
    run.save();
    let (mut work, planned) = wait_for_plan(run)?;
    let finish = take(run, &work, before.as_deref(), planned)?;
    keep_rest(run, &mut work, &finish)?;
    let outcome = match finish {
        Finish::Complete => Outcome::Success,
        _ => Outcome::Failed,
    };
    discard::end_iteration(run, SLOT, &work, outcome)?;
    if !run.context.is_interrupted()
        && scripts::post_iteration(run, SLOT, &key, outcome) == ScriptRequest::Stop
    {
        return Ok(Finish::stopped_by(scripts::POST_ITERATION));
    }
    Ok(finish)
}

/// Asks `next_iteration` until it lets the plan be written; why the run ends instead.
fn ask_script(run: &mut Conductor, key: &StoryKey) -> Result<Option<Finish>, Failure> {
    loop {
        match scripts::next_iteration(run, SLOT, key) {
            ScriptRequest::Continue => return Ok(None),
            ScriptRequest::Stop => return Ok(Some(Finish::stopped_by(NEXT_ITERATION))),
            ScriptRequest::Skip => {
                if let Some(finish) = wait::after_skip(run) {
                    return Ok(Some(finish));
                }
                while run.is_waiting() {
                    let pause = std::time::Duration::from_millis(50);
                    if let Some(signal) = run.context.interrupts.wait(pause) {
                        return Ok(Some(Finish::Manual(signal)));
                    }
                }
                if run.ending.is_some() {
                    return Ok(run.ending.take());
                }
                let (limits, elapsed) =
                    (&run.context.config.limits, run.context.elapsed().as_secs_f64());
                if let Some(finish) = run.record.tally.limit_reached(limits, 0, elapsed) {
                    return Ok(Some(finish));
                }
            }
        }
    }
}

/// Shows what the agent does until it has ended.
fn wait_for_plan(run: &mut Conductor) -> Result<(UnderWay, Planned), Failure> {
    loop {
        let Ok((slot, report)) = run.reports.1.recv() else {
            return Err(Failure::because("the planning agent is gone"));
        };
        let done = match report {
            Report::Done(done) => done,
            Report::Died => {
                return Err(Failure::because("planning ended with an internal error"));
            }
            report => {
                run.show(slot, report);
                continue;
            }
        };
        let (desk, done) = *done;
        let Some(place) = run.slots.get_mut(SLOT) else { continue };
        place.desk = Some(desk);
        let Some(mut work) = place.work.take() else { continue };
        (work.attempt, work.facts) = (done.course.attempt, done.course.facts);
        for used in done.course.used {
            settle::book(run, SLOT, &mut work, used);
        }
        run.record.tally.run.last.exit_code = work.facts.exit_code;
        if done.ended.is_err() && work.attempt.phase == Phase::Begun {
            discard::forget(run, SLOT, &work.attempt)?;
        }
        match done.ended? {
            Ended::Planned(planned) => return Ok((work, planned)),
            _ => return Err(Failure::because("planning gave no plan")),
        }
    }
}

/// What becomes of the plan that the agent left.
fn take(
    run: &mut Conductor,
    work: &UnderWay,
    before: Option<&[u8]>,
    planned: Planned,
) -> Result<Finish, Failure> {
    let limits = Limits { wait_for_quota: false, ..run.context.config.limits.clone() };
    match run.record.tally.after(planned.end, &work.key, SessionEnd::Ended, &limits) {
        Next::Discard(_, Then::End(finish)) => Ok(finish),
        Next::Discard(kept, _) => Ok(Finish::Error(kept.why)),
        _ => take_plan(run, &work.key, before, planned.left),
    }
}

fn planning_prompt(run: &Conductor) -> Result<String, Failure> {
    let progress = state::read_if_there(&run.books.progress)?.unwrap_or_default();
    let Some(desk) = run.desk(SLOT) else {
        return Err(Failure::because("the copy is in use"));
    };
    let [plan, beside] =
        [&run.books.plan, &run.books.progress].map(|path| desk.copy.shown_path(path));
    let values = Values {
        plan_path: plan.as_str(),
        progress_path: beside.as_str(),
        progress: &ralph_project::progress::progress_excerpt(&progress, LONGEST_PROGRESS),
        spec_dir: &run.context.config.run.specs,
        ..Values::default()
    };
    Ok(Template::parse(prompt::PLANNING).map_err(Failure::usage)?.render(&values))
}

/// Takes the plan as the agent left it, or says why not.
fn take_plan(
    run: &Conductor,
    key: &StoryKey,
    before: Option<&[u8]>,
    left: Option<Vec<u8>>,
) -> Result<Finish, Failure> {
    let path = &run.books.plan;
    let Some(left) = left else {
        return Ok(Finish::Error(format!("the agent did not write {path}")));
    };
    let planned = match checked_plan(run, before, left) {
        Ok(planned) => planned,
        Err(why) => return Ok(Finish::Error(format!("the agent left no usable plan: {why}"))),
    };
    for finding in &planned.findings {
        run.view.warn(format!("plan: the agent {finding}"));
    }
    if !planned.findings.is_empty() {
        let findings = planned.findings.clone();
        run.note_in(SLOT, Some(key), &Event::PlanRepaired { findings });
    }
    if before == Some(planned.bytes.as_slice()) {
        return Ok(Finish::NoChanges);
    }
    if let Some(before) = before {
        let kept = state::keep_content_as_found(path, before, &run.context.state().logs())?;
        run.view.line(format!("the previous plan is saved as {kept}"));
    }
    state::replace_users(path, &planned.bytes)?;
    let open = plan::load(path, &run.books.options)?.counts().open;
    run.view.line(format!("the plan has {}", counted(open, "open story", "open stories")));
    Ok(Finish::Complete)
}

/// The plan that the agent wrote, with its ticks ignored and what was done before restored.
fn checked_plan(
    run: &Conductor,
    before: Option<&[u8]>,
    left: Vec<u8>,
) -> Result<CheckedPlan, String> {
    let parse = |bytes: Vec<u8>| Plan::parse(&run.books.plan, bytes, &run.books.options);
    let before = before.and_then(|before| parse(before.to_vec()).ok());
    let after = parse(left).map_err(|error| error.to_string())?;
    plan::planned(before.as_ref(), &after)
}

/// Whatever else the agent did is kept as an attempt and nowhere else; a draft of the plan that was not
/// taken too.
fn keep_rest(run: &mut Conductor, work: &mut UnderWay, finish: &Finish) -> Result<(), Failure> {
    let mut taken: Vec<PathBuf> = Vec::new();
    if *finish == Finish::Complete {
        taken.extend(run.source.below_top(&run.books.plan).map(PathBuf::from));
    }
    let Some(desk) = run.desk_mut(SLOT) else {
        return Ok(());
    };
    let staged = desk.copy.stage(Start::of(&work.attempt), &taken, &Imported::default())?;
    if !staged.files.is_empty() {
        let why = format!("what planning left: {}", finish.word());
        let left = Left { staged: Some(staged), ..Left::default() };
        discard::keep_and_report(run, SLOT, work, &left, ("failed", &why))?;
    }
    if let Some(desk) = run.desk_mut(SLOT)
        && desk.copy.is_in_place
    {
        desk.copy.reset(Start::of(&work.attempt))?;
    }
    Ok(())
}
