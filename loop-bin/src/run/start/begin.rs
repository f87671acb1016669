//! The lock, what an earlier run left, and a run that is ready to go.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::time::{Duration, Instant};

use camino::{Utf8Path, Utf8PathBuf};
use jiff::Timestamp;
use ralph_base::env::Env;
use ralph_base::state::{self, Held, Lock, LockError};
use ralph_project::config::{Config, Flag, Mode};
use ralph_project::project::Project;
use ralph_project::project_plan;
use ralph_project::under_way::Attempt;
use run_history::LOOP;

use super::preflight::Preflight;
use super::recover::find;
use crate::exit::Failure;
use crate::finding::Finding;
use crate::here;
use crate::landing::Target;
use crate::linux;
use crate::run::books::Books;
use crate::run::context::Context;
use crate::run::decide::Counters;
use crate::run::iteration::Report;
use crate::run::workers::{Others, Part, lock_unless};
use crate::run::{Run, RunRecord};
use crate::saved;
use crate::signals::Interrupts;
use crate::terminal::View;
use crate::workspace::in_place::ProtectedFiles;
use crate::workspace::{Imported, Workspace};

/// Sorts by time, and is different for every run of a machine.
fn run_name() -> String {
    format!("{}-{}", Timestamp::now().strftime("%Y%m%d-%H%M%S"), std::process::id())
}

/// Takes the lock, or says who has it.
pub(crate) fn take_lock(run_dir: &state::RunDir, doing: &str) -> Result<Lock, Failure> {
    match Lock::take(&run_dir.lock(), doing) {
        Ok(lock) => Ok(lock),
        Err(LockError::Held(held)) => Err(Failure::Locked(held_by(&held).into())),
        Err(error) => Err(error.into()),
    }
}

/// Who works in the project, and what to do about it.
pub(crate) fn held_by(held: &Held) -> String {
    let who = held.by.as_ref().map(|by| format!(" (process {})", by.pid)).unwrap_or_default();
    format!(
        "another ralph-loop{who} is running in this project; wait for it to finish, or end it \
         with `ralph-loop stop` (after its story) or `ralph-loop stop --now`"
    )
}

/// What killed processes of an earlier run hold: locks and temporary files that nobody else owns.
fn free_what_was_left(
    run_dir: &state::RunDir,
    project: &Project,
    plan: &Utf8Path,
) -> Result<(), Failure> {
    if let Some(worker) = project.worker() {
        // The others are at work; only what is this worker's own is nobody's.
        let index = format!("index-{}.lock", worker.as_str());
        state::remove_if_there(run_dir.of_run().root().join(index))?;
    }
    for entry in run_dir.root().read_dir_utf8().into_iter().flatten().flatten() {
        // Git's locks on our own index files.
        if entry.file_name().ends_with(".lock") {
            state::remove_if_there(entry.path())?;
        }
    }
    let state = project.own_state().root();
    for folder in [Some(run_dir.root()), Some(state), plan.parent()] {
        folder.map_or(Ok(()), state::remove_stale_temporaries)?;
    }
    Ok(())
}

/// The plan that planning is to write. What was typed is meant from the folder in which that was typed.
fn plan_to_write(project: &Project, config: &Config, flags: &[Flag]) -> io::Result<Utf8PathBuf> {
    let is_typed = flags.iter().any(|flag| flag.key == "loop.plan");
    let from = if is_typed { here::folder()? } else { project.root().to_owned() };
    Ok(project_plan::to_write(project, config, &from))
}

/// The record of this run, with what it takes over from the last one.
fn new_record(
    context: &Context,
    books: &Books,
    target: &str,
    last: Option<RunRecord>,
) -> RunRecord {
    let last = last.unwrap_or_default();
    let is_unfinished = last.finish.is_none() && !last.planning;
    RunRecord {
        run: context.run.clone(),
        folder: context.run_dir.root().to_owned(),
        started_at: context.started_at.clone(),
        plan: books.plan.clone(),
        target: target.to_owned(),
        planning: context.config.run.mode == Mode::Planning,
        failed_before: if is_unfinished { last.failed_before } else { BTreeMap::new() },
        counters: Counters { priced: last.counters.priced, ..Counters::default() },
        ..RunRecord::new()
    }
}

/// Notes are told, and a problem ends it.
fn tell(findings: &[Finding], view: &View) -> Result<(), Failure> {
    for finding in findings {
        if let Finding::Problem(text) = finding {
            return Err(Failure::because(text));
        }
    }
    for finding in findings {
        if let Finding::Note(text) = finding {
            view.warn(text);
        }
    }
    Ok(())
}

/// Makes a run of what was found.
pub(crate) fn start(env: &Env, preflight: Preflight) -> Result<Run, Failure> {
    let view = View::new(env, &preflight.config.run, preflight.most_workers());
    tell(&preflight.findings, &view)?;
    start_as(env, preflight, view, Interrupts::listen()?, None)
}

/// A worker's part, and the lock that keeps others from landing while it starts.
type Begun = (Part, Lock);

/// Makes a worker's run of what was found. Nobody lands meanwhile: what another worker is about to land
/// would look like something that was left.
pub(crate) fn start_worker(env: &Env, preflight: Preflight, part: Part) -> Result<Run, Failure> {
    let view = View::of_worker();
    let interrupts = Interrupts::listen()?;
    interrupts.end_with_input();
    let path = preflight.run_dir.landing();
    let landing = lock_unless(&path, "starting a worker", || interrupts.count() > 0)?;
    let mut run = start_as(env, preflight, view, interrupts, Some((part, landing)))?;
    run.landing = None;
    Ok(run)
}

fn start_as(
    env: &Env,
    preflight: Preflight,
    view: View,
    interrupts: Interrupts,
    begun: Option<Begun>,
) -> Result<Run, Failure> {
    let (part, landing) = begun.unzip();
    let Preflight { project, config, run_dir, plan, flags, workspace, target, .. } = preflight;
    let Preflight { options, history, .. } = preflight;
    let path = match &plan {
        Some(plan) => plan.path().to_owned(),
        None => plan_to_write(&project, &config, &flags)?,
    };
    // In a clone or another work tree nothing keeps the state out of git yet.
    project.own_state().prepare()?;
    let lock = take_lock(&run_dir, LOOP)?;
    linux::adopt_orphans();
    free_what_was_left(&run_dir, &project, &path)?;
    let found = find(&run_dir, &workspace.source)?;
    if found.attempt.is_none() {
        // What was copied here with the project is nobody's to go on with.
        Attempt::clear(&run_dir)?;
    }
    let whole = match &part {
        Some(_) => RunRecord::load(&run_dir.of_run())?,
        None => found.record.clone(),
    };
    let before = whole.filter(|record| record.finish.is_none() && !record.planning);
    let earlier = before.as_ref().map_or(0.0, |record| record.elapsed_s);
    let mut books = Books::of(&path, &project, &config, &workspace.source, &run_dir);
    if let Some(plan) = &plan {
        books.asked_for = saved::asked_for(&workspace.source.git(), project.root(), plan)?;
    }
    let run = part.as_ref().map_or_else(|| Ok(run_name()), Part::name)?;
    let mut history = history;
    history.follow(&run);
    let context = Context {
        flags,
        interrupts,
        run,
        part,
        started_at: before.clone().map_or_else(state::now, |record| record.started_at),
        earlier: Duration::try_from_secs_f64(earlier).unwrap_or_default(),
        begun: Instant::now(),
        path: env.get("PATH").unwrap_or_default(),
        forecast: history.forecast(),
        history: RefCell::new(history),
        plan_name: RefCell::new(state::plan_name(project.root(), &path)),
        config_text: fs_err::read(project.own_state().config()).ok(),
        options,
        project,
        config,
        // Not before the lock is ours: what another loop shows is its own.
        view: view.published_in(run_dir.live()),
        run_dir,
    };
    target.make()?;
    let mut record = new_record(&context, &books, &target.branch, found.record.clone());
    if let (Some(before), Some(_)) = (before, &context.part) {
        record.failed_before = before.failed_before;
    }
    let prepared = Prepared { books, workspace, target, record, landing, lock };
    let mut run = prepared.run(context);
    run.look_at_others()?;
    run.recover(&found)?;
    Ok(run)
}

/// What a run begins with, besides what never changes in it.
struct Prepared {
    books: Books,
    workspace: Workspace,
    target: Target,
    record: RunRecord,
    landing: Option<Lock>,
    lock: Lock,
}

impl Prepared {
    /// A run that has done nothing yet.
    fn run(self, context: Context) -> Run {
        let Self { books, workspace, target, record, landing, lock } = self;
        Run {
            record,
            context,
            books,
            workspace,
            target,
            attempt: None,
            waiting: None,
            report: Report::default(),
            agents: None,
            imported: Imported::default(),
            protected: ProtectedFiles::default(),
            before: String::new(),
            resumed: None,
            target_trouble: None,
            is_unlanded: false,
            quota_streak: 0,
            is_author_known: false,
            is_costless: false,
            checks_s: 0.0,
            others: Others::default(),
            landing,
            _lock: lock,
        }
    }
}
