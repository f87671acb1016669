//! Planning: the agent writes or refreshes the plan; everything else that it changes is taken back.

use ralph_core::git::{self, Checkpoint};
use ralph_core::plan::{self, Plan, progress};
use ralph_core::project_plan;
use ralph_core::prompt::{self, Template, Values};
use ralph_core::state::{self, Event, StateDir};

use crate::agent::Run;
use crate::exit::{Failure, Success};
use crate::run::{Record, Stage};
use crate::step::{Finish, Wish, WorkEnd};

/// The name of the one iteration, for logs and the view.
const NAME: &str = "planning";

/// Runs the agent once over the specifications.
pub(crate) fn run(stage: &mut Stage) -> Result<Success, Failure> {
    stage.note(&Event::LoopStarted { mode: NAME.to_owned(), plan: stage.plan.to_string() });
    stage.view.line(format!("planning: {}", stage.plan));
    stage.tell_about_hooks();
    let specs = stage.project.root().join(&stage.config.run.specs).into_string();
    let vars = vec![("PLAN_FILE", stage.plan.to_string()), ("SPEC_DIR", specs)];
    let first = vec![("ITERATION", "1".to_owned())];
    let wished = stage.script("started", vars)? != Wish::Stop
        && stage.script("next_iteration", first)? == Wish::GoOn;
    let finish = if wished { plan_once(stage) } else { Ok(Finish::HookAbort) };
    let finish = finish.unwrap_or_else(|failure| Finish::Error(failure.to_string()));
    let last = vec![
        ("ITERATION", "1".to_owned()),
        ("FINISH_TYPE", finish.word().to_owned()),
        ("TOTAL_ITERATIONS", "1".to_owned()),
        ("TOTAL_COMMITS", "0".to_owned()),
        ("DURATION", stage.elapsed().as_secs().to_string()),
    ];
    stage.script("finished", last)?;
    stage.bring_back()?;
    Record::close(stage.state(), finish.word())?;
    stage.note(&finish.told());
    if let Finish::Budget(why) = &finish {
        stage.view.line(format!("the budget is used up: {why}"));
    }
    Ok(stage.close(finish))
}

fn plan_once(stage: &mut Stage) -> Result<Finish, Failure> {
    let old = plan::read_file(&stage.plan)?;
    Checkpoint::create(&stage.repo, stage.state(), "before planning")?;
    let prompt = prompt(stage)?;
    stage.allowance = stage.first_allowance();
    let run = stage.watch_agent(NAME, 1, &prompt)?;
    let new = plan::read_file(&stage.plan).unwrap_or_default();
    if !stage.dirty_files()?.is_empty() {
        let restored = git::rollback(&stage.repo, stage.state(), None, "changed while planning")?;
        let id = restored.saved.id();
        stage.view.warn(format!(
            "the agent changed more than the plan; taken back (`ralph-loop undo {id}`)"
        ));
    }
    Checkpoint::clear(stage.state())?;
    let read = new.map(|bytes| without_ticks(stage, old.as_deref(), bytes));
    let new = read.as_ref().and_then(|read| read.as_ref().ok()).map(|plan| plan.bytes().to_vec());
    let finish = match (failure(stage, &run), read) {
        (Some(finish), _) => finish,
        (None, Some(Ok(_))) if new == old => Finish::NoChanges,
        (None, Some(Ok(plan))) => {
            stage.view.line(format!("the plan has {} open stories", plan.counts().open));
            Finish::Complete
        }
        (None, Some(Err(error))) => {
            Finish::Error(format!("the agent left no usable plan: {error}"))
        }
        (None, None) => Finish::Error(format!("the agent did not write {}", stage.plan)),
    };
    let wanted = if finish == Finish::Complete { new } else { old };
    if let Some(bytes) =
        wanted.filter(|bytes| plan::read_file(&stage.plan).ok().flatten().as_ref() != Some(bytes))
    {
        state::replace(&stage.plan, &bytes)?;
    }
    Ok(finish)
}

/// The plan that the agent wrote, without ticks of stories that were not done before.
fn without_ticks(stage: &Stage, old: Option<&[u8]>, new: Vec<u8>) -> Result<Plan, plan::Error> {
    let options = project_plan::options(&stage.config);
    let parse = |bytes: Vec<u8>| Plan::parse(&stage.plan, bytes, &options);
    let before = old.and_then(|old| parse(old.to_vec()).ok());
    let planned = plan::untick_new(before.as_ref(), &parse(new)?);
    if !planned.unticked.is_empty() {
        let stories = planned.unticked.join(", ");
        let what = format!("ticked {stories} while planning, with nothing checked; undone");
        stage.view.warn(format!("the agent {what}"));
        stage.note(&Event::PlanRepaired { findings: vec![what] });
    }
    parse(planned.bytes)
}

fn failure(stage: &Stage, run: &Run) -> Option<Finish> {
    match stage.judge(run, None, false) {
        WorkEnd::Well | WorkEnd::HandedOver(_) | WorkEnd::NotBegun => None,
        WorkEnd::Signalled(signal) => Some(Finish::Manual(signal)),
        WorkEnd::Spent(why) | WorkEnd::StorySpent(why) => Some(Finish::Budget(why)),
        WorkEnd::Quota(_) => {
            Some(Finish::Budget("the usage limit of the agent's service was reached".to_owned()))
        }
        WorkEnd::Failed(why)
        | WorkEnd::TimedOut(why)
        | WorkEnd::Blocked(why)
        | WorkEnd::Unusable(why) => Some(Finish::Error(why)),
    }
}

fn prompt(stage: &Stage) -> Result<String, Failure> {
    let progress_path = StateDir::progress_beside(&stage.plan);
    let logged = progress::logged(&fs_err::read(&progress_path).unwrap_or_default());
    let values = Values {
        plan_path: stage.plan.as_str(),
        progress_path: progress_path.as_str(),
        progress: &progress::last_entries(&logged, 10),
        spec_dir: &stage.config.run.specs,
        ..Values::default()
    };
    Ok(Template::parse(prompt::PLANNING).map_err(Failure::usage)?.render(&values))
}
