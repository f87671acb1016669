//! The lock, what an earlier run left, and a run that is ready to go.

use std::io;
use std::time::{Duration, Instant};

use camino::{Utf8Path, Utf8PathBuf};
use jiff::Timestamp;
use ralph_core::config::{Config, Flag, Mode};
use ralph_core::env::Env;
use ralph_core::fault;
use ralph_core::listing::named_files;
use ralph_core::project::Project;
use ralph_core::project_plan;
use ralph_core::state::{self, Lock, LockError};

use super::preflight::Preflight;
use super::recover::find;
use crate::agent::{self, ClientOptions};
use crate::exit::Failure;
use crate::run::books::Books;
use crate::run::context::{Context, OURS};
use crate::run::iteration::Report;
use crate::run::{Run, RunRecord};
use crate::signals::Interrupts;
use crate::terminal::View;
use crate::workspace::Imported;
use crate::workspace::in_place::ProtectedFiles;
use crate::{here, trust};

/// Sorts by time, and is different for every run of a machine.
fn run_name() -> String {
    format!("{}-{}", Timestamp::now().strftime("%Y%m%d-%H%M%S"), std::process::id())
}

/// What the agent gets besides its own command line.
pub(crate) fn client_options(env: &Env, project: &Project, config: &Config) -> ClientOptions {
    let line = &config.agent.command;
    let in_copy = !config.workspace.in_place;
    let options = ClientOptions::find(env, project, line, in_copy);
    if in_copy { options.for_copy(env, project, line) } else { options }
}

/// Takes the lock, or says who has it.
pub(crate) fn take_lock(run_dir: &state::RunDir, doing: &str) -> Result<Lock, Failure> {
    match Lock::take(&run_dir.lock(), doing) {
        Ok(lock) => Ok(lock),
        Err(error @ LockError::Held(_)) => Err(Failure::Locked(Box::new(error))),
        Err(error) => Err(error.into()),
    }
}

/// What killed processes of an earlier run hold: locks and temporary files that nobody else owns.
fn free_what_was_left(
    run_dir: &state::RunDir,
    state_dir: &state::StateDir,
    plan: &Utf8Path,
) -> Result<(), Failure> {
    for entry in run_dir.root().read_dir_utf8().into_iter().flatten().flatten() {
        // Git's locks on our own index files.
        if entry.file_name().ends_with(".lock") {
            state::remove_if_there(entry.path())?;
        }
    }
    for folder in [Some(run_dir.root()), Some(state_dir.root()), plan.parent()] {
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

fn new_record(context: &Context, target: &str) -> RunRecord {
    RunRecord {
        run: context.run.clone(),
        started_at: context.started_at.clone(),
        plan: context.plan.clone(),
        target: target.to_owned(),
        planning: context.config.run.mode == Mode::Planning,
        ..RunRecord::new()
    }
}

/// Makes a run of what was found.
pub(crate) fn start(env: &Env, preflight: Preflight) -> Result<Run, Failure> {
    let Preflight {
        project,
        config,
        run_dir,
        plan,
        flags,
        workspace,
        target,
        uncommitted,
        doubts,
        mut problems,
        ..
    } = preflight;
    if !problems.is_empty() {
        return Err(problems.remove(0));
    }
    let view = View::new(env, config.run.json_events);
    let path = match &plan {
        Some(plan) => plan.path().to_owned(),
        None => plan_to_write(&project, &config, &flags)?,
    };
    plan.iter().flat_map(here::warnings).for_each(|warning| view.warn(warning));
    let doubts = trust::doubts(project.own_state(), &path).into_iter().chain(doubts);
    doubts.for_each(|doubt| view.warn(doubt));
    // In a clone or another work tree nothing keeps the state out of git yet.
    project.own_state().prepare()?;
    let lock = take_lock(&run_dir, OURS)?;
    agent::adopt_orphans();
    free_what_was_left(&run_dir, project.own_state(), &path)?;
    let found = find(&run_dir, workspace.source())?;
    let before = found.record.clone().filter(|record| record.finish.is_none() && !record.planning);
    let earlier = before.as_ref().map_or(0.0, |record| record.elapsed_s);
    let books = Books::of(&path, &project, &config, workspace.source(), &run_dir);
    let context = Context {
        flags,
        interrupts: Interrupts::listen()?,
        run: run_name(),
        started_at: before.map_or_else(state::now, |record| record.started_at),
        earlier: Duration::try_from_secs_f64(earlier).unwrap_or_default(),
        begun: Instant::now(),
        path: env.get("PATH").unwrap_or_default(),
        options: client_options(env, &project, &config),
        plan: path,
        project,
        config,
        view,
        run_dir,
    };
    if !uncommitted.is_empty() && !workspace.is_in_place() {
        let files = named_files(&uncommitted);
        let told = format!("uncommitted, so not in the copy that the agent works in: {files}");
        context.view.line(told);
    }
    target.make()?;
    let mut run = Run {
        record: new_record(&context, target.branch()),
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
        hint: String::new(),
        target_trouble: None,
        is_unlanded: false,
        quota_streak: 0,
        is_author_known: false,
        is_costless: false,
        _lock: lock,
    };
    run.recover(&found)?;
    fault::point("loop.taken-over");
    Ok(run)
}
