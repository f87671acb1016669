//! Takes the lock, cleans up after an earlier run, and creates the run.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, mpsc};

use camino::{Utf8Path, Utf8PathBuf};
use nix::sys::signal::{Signal, raise};
use ralph_base::env::Env;
use ralph_base::linux;
use ralph_base::state::{self, Id, Lock, StateDir, name_of_worker};
use ralph_core::git::Repo;
use ralph_project::config::{Config, Flag, Key, Mode, PullRequests};
use ralph_project::project::Project;
use ralph_project::project_plan;
use ralph_project::under_way::Attempt;
use run_history::LOOP;

use super::preflight::Preflight;
use crate::exit::Failure;
use crate::readable::last_lines;
use crate::record::{RunRecord, leave_message, run_name, slot_dirs, take_lock};
use crate::run::attempt::Desk;
use crate::run::context::{Clock, Context, echo};
use crate::run::observe::Audience;
use crate::run::state::{Conductor, Slot};
use crate::saved;
use crate::terminal::{Asked, View};
use crate::{here, in_task};
use board::Books;
use client::signals::Interrupts;
use ralph_project::diagnosis::Diagnosis;
use work_copy::{ONLY_WORKER, Workspace, cache};

/// In place an agent can write to the git folder, so the run's files move out of it, and a link takes their
/// place. If the rename fails (another file system), they stay.
fn move_out(run_dir: &state::RunDir, outside: &Utf8Path) -> io::Result<()> {
    let folder = run_dir.in_git();
    if folder.read_link_utf8().is_ok_and(|target| target == outside) {
        return fs_err::create_dir_all(outside);
    }
    outside.parent().map_or(Ok(()), fs_err::create_dir_all)?;
    if folder.is_symlink() {
        // The link belongs to the project that this one was copied from, or is older than the project's move.
        if run_dir.root() != outside && run_dir.root().is_dir() {
            work_copy::remove_all(outside.as_std_path())?;
            fs_err::rename(run_dir.root(), outside)?;
        }
        fs_err::remove_file(folder)?;
    } else if folder.exists() {
        work_copy::remove_all(outside.as_std_path())?;
        if fs_err::rename(folder, outside).is_err() {
            return Ok(());
        }
    }
    fs_err::create_dir_all(outside)?;
    fs_err::os::unix::fs::symlink(outside, folder)
}

/// Removes locks and temporary files of killed processes.
fn free_what_was_left(
    run_dir: &state::RunDir,
    project: &Project,
    plan: &Utf8Path,
) -> Result<(), Failure> {
    for entry in run_dir.root().read_dir_utf8().into_iter().flatten().flatten() {
        // Git's locks on our own index files.
        if entry.file_name().ends_with(".lock") {
            state::remove_if_there(entry.path())?;
        }
    }
    // Index files that older versions, or killed processes, left in the git folder.
    let git_folder = run_dir.in_git().parent().unwrap_or(run_dir.in_git());
    for entry in git_folder.read_dir_utf8().into_iter().flatten().flatten() {
        let of = entry.file_name().strip_prefix("ralph-index-").and_then(|pid| pid.parse().ok());
        if of.is_some_and(|pid| !linux::is_alive(pid)) {
            state::remove_if_there(entry.path())?;
        }
    }
    // Locks on refs that only loops write.
    let refs = run_dir.in_git().with_file_name("refs").join("ralph");
    let mut folders = vec![refs.join("attempts"), refs.join("begun")];
    while let Some(folder) = folders.pop() {
        for entry in folder.read_dir_utf8().into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                folders.push(entry.into_path());
            } else if entry.file_name().ends_with(".lock") {
                state::remove_if_there(entry.path())?;
            }
        }
    }
    if RunRecord::is_of_another(run_dir)? {
        // An attempt in a copied project folder belongs to the original project.
        for folder in slot_dirs(run_dir) {
            Attempt::clear(&folder)?;
        }
    }
    let slots = slot_dirs(run_dir);
    let folders = [Some(run_dir.root()), Some(project.own_state().root()), plan.parent()];
    let mut folders = folders.into_iter().flatten().chain(slots.iter().map(|dir| dir.root()));
    Ok(folders.try_for_each(state::remove_stale_temporaries)?)
}

/// The plan to write in planning mode. A typed path is relative to the working directory.
fn plan_to_write(project: &Project, config: &Config, flags: &[Flag]) -> io::Result<Utf8PathBuf> {
    let is_typed = flags.iter().any(|flag| flag.key == "loop.plan");
    let from = if is_typed { here::folder()? } else { project.root().to_owned() };
    Ok(project_plan::to_write(project, config, &from))
}

/// The record of a new run, with what it inherits from the last one.
fn new_record(
    context: &Context,
    books: &Books,
    target: &str,
    last: Option<RunRecord>,
) -> RunRecord {
    let last = last.unwrap_or_default();
    let is_unfinished = last.finish.is_none() && !last.planning;
    let is_resumed = is_unfinished || last.finish.as_deref() == Some("manual");
    let mut record = RunRecord {
        plan: books.plan.clone(),
        target: target.to_owned(),
        planning: context.config.run.mode == Mode::Planning,
        failed_before: if is_resumed { last.failed_before } else { BTreeMap::new() },
        ..RunRecord::new()
    };
    record.process.run.clone_from(&context.run);
    if context.config.finish.pr == PullRequests::Story {
        record.process.server = last.process.server;
    }
    record.process.continues = if is_unfinished { Some(last.process.run.clone()) } else { None };
    record.process.folder = context.run_dir.in_git().to_owned();
    record.process.started_at.clone_from(&context.clock.started_at);
    if last.process.run == context.run {
        // One of several runs under this name: they share their limits.
        record.tally.run = last.tally.run;
        return record;
    }
    record.tally.run.price.known = last.tally.run.price.known;
    record
}

/// Prints notes; a problem is an error.
fn tell(findings: &[Diagnosis], view: &View) -> Result<(), Failure> {
    for finding in findings {
        if let Diagnosis::Problem(text) = finding {
            return Err(Failure::because(text));
        }
    }
    for finding in findings {
        if let Diagnosis::Note(text) = finding {
            view.warn(text);
        }
    }
    Ok(())
}

/// In place, keeps the run's record where the agent cannot reach it.
fn in_place_outside(
    env: &Env,
    workspace: &Workspace,
    run_dir: state::RunDir,
) -> Result<state::RunDir, Failure> {
    if workspace.is_in_place
        && Lock::holder(&run_dir.lock()).is_none()
        && let Some(outside) = cache::state_folder(env, &workspace.source.top)
    {
        move_out(&run_dir, &outside)?;
        if run_dir.root() != run_dir.in_git() {
            return Ok(run_dir.outside(outside));
        }
    }
    Ok(run_dir)
}

/// Closes to other users what may hold secrets: the run's records, the agents' output, the journal.
fn keep_private(run_dir: &state::RunDir, state: &StateDir) -> Result<(), Failure> {
    // In place, the records are elsewhere, and a link of ours leads there.
    let records = run_dir.root().canonicalize_utf8();
    let folders = records.into_iter().chain([state.logs(), state.sessions()]);
    for folder in folders.filter(|folder| folder.exists()) {
        cache::make_private(&folder)?;
    }
    for file in [state.journal(), state.failure_context(), state.sessions_log(), state.hook_error()]
    {
        state::make_private(&file)?;
    }
    Ok(())
}

/// Creates the run from what the examination found.
pub(crate) fn start(env: &Env, preflight: Preflight) -> Result<Conductor, Failure> {
    let view = View::new(env, &preflight.config.run, preflight.most_workers());
    tell(&preflight.findings, &view)?;
    let Preflight { project, config, run_dir, plan, flags, workspace, target, .. } = preflight;
    let Preflight { options, mut history, extensions, .. } = preflight;
    let interrupts = Interrupts::listen()?;
    let own_path = plan.as_ref().map(|plan| plan.path().to_owned());
    let path = own_path.map_or_else(|| plan_to_write(&project, &config, &flags), Ok)?;
    // In a clone or another work tree the state's `.gitignore` does not exist yet.
    project.own_state().prepare()?;
    let run_dir = in_place_outside(env, &workspace, run_dir)?;
    let lock = take_lock(&run_dir, LOOP)?;
    keep_private(&run_dir, project.own_state())?;
    sandbox::adopt_orphans();
    free_what_was_left(&run_dir, &project, &path)?;
    extensions.verifiers.iter().try_for_each(|one| one.begin(&project, &run_dir))?;
    let last = RunRecord::load(&run_dir)?;
    let source = workspace.source.clone();
    let mut books = Books::of(&path, &project, &config, &source, &run_dir);
    if let Some(plan) = &plan {
        books.asked_for = saved::asked_for(&source.git(), project.root(), plan)?;
    }
    let run = in_task::run_of_task(env).unwrap_or_else(run_name);
    history.follow(&run);
    let audience = extensions.audience(&project, &config, &run);
    let context = Context {
        echo: echo(&config, Audience::clone(&audience)),
        seeks_checks: config.verify.commands.is_empty() && !is_set(&project, env, &flags),
        flags,
        interrupts,
        clock: Clock::after(last.as_ref(), &run),
        run,
        path: env.get("PATH").unwrap_or_default(),
        forecast: history.forecast(),
        options,
        verifiers: extensions.verifiers,
        audience,
        others: Arc::default(),
        project,
        config,
        run_dir,
        _lock: Arc::new(lock),
    };
    target.make()?;
    let record = new_record(&context, &books, &target.branch, last);
    let reports = mpsc::channel();
    let slots = vec![Slot::new(0, desk(env, &context, None)?, String::new(), &reports)];
    Ok(Conductor {
        // Only under our lock: the file of another loop's view is its own.
        view: view.published_in(context.run_dir.live()).with_keys(act(&context)),
        context: Arc::new(context),
        record,
        history: RefCell::new(history),
        books,
        board: target,
        source,
        slots,
        reports,
        landing: None,
        is_stopping: false,
        waiting: None,
        ending: None,
    })
}

/// Whether the user set checks, or set that there are none.
fn is_set(project: &Project, env: &Env, flags: &[Flag]) -> bool {
    let path = project.own_state().config();
    let origin = |key| Config::origin(&path, env, flags, key);
    Key::find("verify.commands").is_some_and(|key| origin(key).is_some())
}

/// What the keys of the live view do.
fn act(context: &Context) -> impl Fn(Asked) -> String + Send + 'static {
    let (run_dir, run) = (context.run_dir.clone(), context.run.clone());
    move |asked| {
        let done = match asked {
            Asked::Stop { now: true } => raise(Signal::SIGINT)
                .map(|()| "stopping now; run `ralph-loop` to resume the story".to_owned())
                .map_err(io::Error::from),
            Asked::Stop { now: false } => state::replace(&run_dir.stop_request(), run.as_bytes())
                .map(|()| "the run stops after the current story".to_owned()),
            Asked::Tell(text) => leave_message(&run_dir, &text).map(str::to_owned),
            Asked::Log(log) => last_lines(&log),
            Asked::Quit => {
                Ok("the run continues without the live view; `ralph-loop status --watch` \
                               shows it and `ralph-loop stop` stops it"
                    .to_owned())
            }
        };
        done.unwrap_or_else(|error| error.to_string())
    }
}

/// The desk of a slot, with a name if there are several slots.
pub(in crate::run) fn desk(
    env: &Env,
    context: &Context,
    worker: Option<&Id>,
) -> Result<Desk, Failure> {
    let (mut project, mut run) = (context.project.clone(), context.run.clone());
    let mut dir = context.run_dir.of_run();
    if let Some(worker) = worker {
        project = project.for_worker(worker.clone());
        dir = context.run_dir.of_worker(worker);
        run = name_of_worker(&run, worker);
    }
    let repo = Repo::open(project.root())?;
    let mut copy = Workspace::of(env, &project, &repo, &dir, &context.config)?;
    copy.doors.open()?;
    let project = project.for_attempt(copy.doors.state.clone());
    let name = worker.map_or(ONLY_WORKER, Id::as_str).to_owned();
    Ok(Desk { name, run, project, dir, copy, session: None })
}
