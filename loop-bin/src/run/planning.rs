//! Planning: an agent writes or refreshes the plan in the copy. Its other changes are only saved as an
//! attempt, and the user's plan changes only if everything went well.

use std::path::PathBuf;

use ralph_base::state::{self, Event, StoryKey};
use ralph_core::plan::{self, Plan, Planned};
use ralph_project::config::Limits;
use ralph_project::prompt::{self, Template, Values};

use super::attempt::{Left, Task};
use super::choose::{Choice, ask_script, budget, new_attempt};
use super::decide::{Finish, Next, SessionEnd, Then, WorkEnd, after, limit_reached};
use super::discard;
use super::scripts::{self, STARTED, ScriptRequest};
use super::state::{Conductor, UnderWay};
use crate::exit::Failure;
use crate::record::is_work_left_in;
use crate::saved;
use crate::terminal::counted;
use board::Tip;
use work_copy::{Imported, Start, doors};

/// Stands in for the story in logs, scripts and receipts.
const NAME: &str = "planning";

/// The slot that plans.
const SLOT: usize = 0;

/// Prepares for planning; returns the reason if it cannot start.
pub(super) fn before_planning(run: &mut Conductor) -> Result<Option<Finish>, Failure> {
    if is_work_left_in(run.desk(SLOT)?.copy.root(), &run.context.run_dir)? {
        return Err(Failure::because(
            "the copy holds an interrupted attempt; run `ralph-loop` to continue it, then plan",
        ));
    }
    run.record.tally.run.iteration = 1;
    let in_sandbox = doors::in_words(&run.context.config);
    run.note_start(NAME, &in_sandbox);
    run.view.line(format!("planning: {}", run.shown_plan()));
    let specs = &run.context.config.run.specs;
    if !run.context.project.root().join(specs).exists() {
        run.view.warn(format!("{specs} does not exist; the agent plans from the code alone"));
    }
    let is_stopped = scripts::started(run) == ScriptRequest::Stop;
    Ok(if is_stopped { Some(Finish::stopped_by(STARTED)) } else { None })
}

/// Chooses to write the plan, unless a limit or `next_iteration` prevents that.
pub(super) fn choose(run: &mut Conductor) -> Result<Choice, Failure> {
    let (limits, elapsed) = (&run.context.config.limits, run.context.elapsed().as_secs_f64());
    if let Some(finish) = limit_reached(&run.record.tally, limits, 0, elapsed) {
        return Ok(Choice::Finish(finish));
    }
    run.record.tally.run.iteration = 1;
    let key = run.context.key(&run.books.plan, NAME);
    Ok(ask_script(run, SLOT, &key)?.unwrap_or(Choice::Plan(key)))
}

/// Has the agent write the plan in one session.
pub(super) fn begin(run: &mut Conductor, key: StoryKey) -> Result<(), Failure> {
    let Tip { commit: tip, branch, .. } = run.board.tip()?;
    let (plan, progress) = (run.books.plan.clone(), run.books.progress.clone());
    let books = [&plan, &progress];
    let start = Start { tip: tip.as_deref(), branch: &branch, books };
    let before = plan::read_file(&run.books.plan)?;
    let number = saved::number_after(&saved::at_story(&run.source.git(), &key)?);
    let attempt = new_attempt(run, SLOT, &key, (NAME, number), start)?;
    let started = Event::IterationStarted { iteration: 1, title: String::new(), attempt: 1 };
    run.note_in(SLOT, Some(&key), &started);
    let (prompt, allowance) = (planning_prompt(run)?, budget(run, &key, "").allowance);
    let work = UnderWay { slot: SLOT, key, attempt, ..UnderWay::default() };
    run.give(work, Task::Plan { before, prompt, allowance })?;
    run.save();
    Ok(())
}

/// Adopts the agent's plan, or reports why not. All its other changes are saved as an attempt.
pub(super) fn take(
    run: &mut Conductor,
    work: &mut UnderWay,
    (before, left): (Option<Vec<u8>>, Option<Vec<u8>>),
    end: Option<WorkEnd>,
) -> Result<Finish, Failure> {
    let limits = Limits { wait_for_quota: false, ..run.context.config.limits.clone() };
    let finish = match end {
        None => take_plan(run, work, before.as_deref(), left)?,
        Some(end) => {
            match after(&mut run.record.tally, end, &work.key, SessionEnd::Ended, &limits) {
                Next::Discard(_, Then::End(finish)) => finish,
                Next::Discard(kept, _) => Finish::Error(kept.why),
                Next::SendBack(why) => Finish::Error(why),
                Next::Leave(signal) => Finish::Manual(signal),
            }
        }
    };
    keep_rest(run, work, &finish)?;
    Ok(finish)
}

fn planning_prompt(run: &Conductor) -> Result<String, Failure> {
    let progress = state::read_if_there(&run.books.progress)?.unwrap_or_default();
    let copy = &run.desk(SLOT)?.copy;
    let [plan, beside] = [&run.books.plan, &run.books.progress].map(|path| copy.shown_path(path));
    let values = Values {
        plan_path: plan.as_str(),
        progress_path: beside.as_str(),
        progress: &ralph_project::progress::progress_excerpt(&progress, &[], beside.as_str()),
        spec_dir: &run.context.config.run.specs,
        ..Values::default()
    };
    Ok(Template::parse(prompt::PLANNING).map_err(Failure::usage)?.render(&values))
}

/// Adopts the agent's plan, or returns why not.
fn take_plan(
    run: &Conductor,
    work: &UnderWay,
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
        run.note_of(work, &Event::PlanRepaired { findings });
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

/// The agent's plan, with its ticks ignored and earlier ones restored.
fn checked_plan(run: &Conductor, before: Option<&[u8]>, left: Vec<u8>) -> Result<Planned, String> {
    let parse = |bytes: Vec<u8>| Plan::parse(&run.books.plan, bytes, &run.books.options);
    let before = before.and_then(|before| parse(before.to_vec()).ok());
    let after = parse(left).map_err(|error| error.to_string())?;
    plan::planned(before.as_ref(), &after)
}

/// Saves the agent's other changes as an attempt, including a plan that was not
/// adopted.
fn keep_rest(run: &mut Conductor, work: &mut UnderWay, finish: &Finish) -> Result<(), Failure> {
    let mut taken: Vec<PathBuf> = Vec::new();
    if *finish == Finish::Complete {
        taken.extend(run.source.below_top(&run.books.plan).map(PathBuf::from));
    }
    let staged =
        run.desk_mut(SLOT)?.copy.stage(Start::of(&work.attempt), &taken, &Imported::default())?;
    if !staged.files.is_empty() {
        let why = format!("changes left over from planning ({})", finish.word());
        let left = Left { staged: Some(staged), ..Left::default() };
        discard::keep_and_report(run, work, &left, ("failed", &why))?;
    }
    discard::reset_in_place(run, work)
}
