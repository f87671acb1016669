//! The report on a run, as commands show it and as a run writes it, with what only the loop's own files
//! and git know.

use camino::{Utf8Path, Utf8PathBuf};
use ralph_base::env::Env;
use ralph_base::state::{self, StateDir};
use ralph_core::git::Repo;
use ralph_core::plan::{self, Plan};
use ralph_project::project::Project;
use run_history::{Report, RunHistory, Situation};

use crate::exit::Failure;
use crate::plan_choice::{PlanChoice, plan_with_work};
use crate::record::{RunRecord, holder, look_for_recovery, run_dir};
use crate::terminal::{counted, say};
use board::Waiting;
use work_copy::Source;

/// The report on the last run, on a given run, or on all runs.
pub(crate) fn report_on(
    env: &Env,
    project: &Project,
    choice: &PlanChoice,
    which: &str,
) -> Result<Report, Failure> {
    let plan = plan_with_work(env, project, &choice.config(env, project)?).ok();
    let mut history = RunHistory::open(project.root(), project.own_state())?;
    let situation = situation(project, &mut history, plan.as_ref())?;
    let run = history.find(which).ok_or_else(|| match history.runs().len() {
        0 => Failure::because("there is no run to report on yet; `ralph-loop` starts one"),
        count => Failure::usage(format!("there is no run {which}; the journal has {count}")),
    })?;
    Ok(history.report(&run, &situation, Repo::open(project.root())?.git())?)
}

/// Prints the summary of a run and the path of its report.
pub(crate) fn show(
    env: &Env,
    project: &Project,
    choice: &PlanChoice,
    run: &str,
) -> Result<(), Failure> {
    let report = report_on(env, project, choice, run)?;
    say(report.lines()?.trim_end());
    say(format!("report: {}", write(project, &report, None)?));
    Ok(())
}

/// Adds plans and refs to a history; returns what only the loop's own files and git know.
pub(crate) fn situation<'a>(
    project: &Project,
    history: &mut RunHistory,
    plans: impl IntoIterator<Item = &'a Plan>,
) -> Result<Situation, Failure> {
    let plans: Vec<&Plan> = plans.into_iter().collect();
    history.add_plans(plans.iter().copied());
    let mut situation = Situation::default();
    let Ok(repo) = Repo::open(project.root()) else { return Ok(situation) };
    history.add_attempts(repo.git())?;
    let (run_dir, source) = (run_dir(&repo)?, Source::of(project, &repo)?);
    situation.is_running = holder(&run_dir).is_some();
    // The run may have ended since the journal was read.
    history.read_on()?;
    let record = RunRecord::load(&run_dir)?.unwrap_or_default();
    // Story branches belong to the server once they are pushed.
    let is_users = record.process.server.is_empty();
    let waiting = if is_users { Waiting::find(&source, &record.target)? } else { None };
    situation.waiting_stories = waiting.as_ref().map_or(0, |waiting| waiting.stories);
    situation.waiting =
        waiting.map(|waiting| (waiting.in_words(record.rebase_problem.as_deref()), waiting.branch));
    situation.notes = look_for_recovery(project)?;
    let folder = project.own_state().merge_requests();
    let requests = state::names(&folder).into_iter();
    let requests = requests.map(|name| folder.as_std_path().join(name).display().to_string());
    situation.notes.extend(requests.map(|path| format!("merge request: {path}")));
    if !plans.is_empty() && history.counts().open == 0 {
        situation.notes.extend(open_plans(project, &plans));
    }
    let plan = plans.first().map_or(&*record.plan, |plan| plan.path());
    let beside = [StateDir::progress_beside(plan), StateDir::loop_progress_beside(plan)];
    let own =
        [project.own_state().root(), plan].into_iter().chain(beside.iter().map(|path| &**path));
    situation.own_files = own.filter_map(|path| Some(source.below_top(path)?.to_owned())).collect();
    Ok(situation)
}

/// A line for each numbered plan with open stories, besides these plans.
fn open_plans(project: &Project, known: &[&Plan]) -> Vec<String> {
    let state = project.own_state();
    let line = |number: u32| {
        let path = state.plan(number);
        let plan = plan::load(&path, &plan::Options::default()).ok()?;
        let open = plan.counts().open;
        let is_other = known.iter().all(|known| known.path() != path);
        (is_other && open > 0).then(|| {
            let open = counted(open, "open story", "open stories");
            format!("PRD-{number} has {open}; `ralph-loop --prd {number}` goes on with it")
        })
    };
    state.prd_numbers().into_iter().filter_map(line).collect()
}

/// Writes the report to one file, by default in the folder of logs. Returns its path.
pub(crate) fn write(
    project: &Project,
    report: &Report,
    to: Option<&Utf8Path>,
) -> Result<Utf8PathBuf, Failure> {
    let usual = || project.own_state().logs().join(format!("report-{}.html", report.run));
    let path = to.map_or_else(usual, Utf8Path::to_owned);
    if to.is_none() {
        project.own_state().prepare()?;
    }
    state::replace(&path, report.html()?.as_bytes())?;
    Ok(path)
}
