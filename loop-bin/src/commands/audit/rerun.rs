//! Runs the checks that receipts state again: in a fresh clone outside of the project, in the sandbox, with set-up and
//! settings as they were before the audited commits.

use std::sync::Mutex;

use camino::Utf8PathBuf;
use ralph_base::env::Env;
use ralph_base::secrets::MASK;
use ralph_base::state::Id;
use ralph_core::git::Repo;
use ralph_project::checks::{CheckContext, CheckEnd, run_checks};
use ralph_project::config::Config;
use ralph_project::project::Project;

use super::judge::{Judged, State};
use crate::commands::until_asked_to_end;
use crate::exit::Failure;
use crate::record::run_dir;
use work_copy::{Start, Workspace, needs_setup, remove_all, set_up, withheld};

/// Runs the checks of these commits, so many commits at once, and adds what came out.
pub(super) fn rerun(
    env: &Env,
    (project, repo, config): (&Project, &Repo, &Config),
    base: Option<&str>,
    (due, workers): (Vec<&mut Judged>, usize),
) -> Result<(), Failure> {
    let stop = &until_asked_to_end()?;
    let workers = workers.clamp(1, due.len().max(1));
    let due = &Mutex::new(due.into_iter());
    let work = |number: usize| -> Result<(), Failure> {
        let name = Id::parse(&format!("audit-{}-{number}", std::process::id()));
        let name = name.map_err(|error| Failure::because(error.to_string()))?;
        let project = project.clone().for_worker(name.clone());
        let dir = run_dir(repo)?.of_worker(&name);
        let mut config = config.clone();
        config.workspace.in_place = false;
        let mut copy = Workspace::of(env, &project, repo, &dir, &config)?;
        copy.doors.open()?;
        let next = || due.lock().unwrap_or_else(std::sync::PoisonError::into_inner).next();
        let mut ran = match base {
            Some(base) => bring(&mut copy, &config, base, stop),
            None => Ok(()),
        };
        while let (Ok(()), Some(judged)) = (&ran, next()) {
            ran = run(&mut copy, &config, judged, stop);
        }
        copy.doors.remove_tmp();
        let gone = copy.throw_away();
        let state = copy.doors.state.parent();
        for folder in state.into_iter().chain([dir.root()]) {
            remove_all(folder.as_std_path())?;
        }
        ran.and(gone)
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> =
            (1..=workers).map(|number| scope.spawn(move || work(number))).collect();
        let joined = threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        joined.fold(Ok(()), Result::and)
    })
}

/// Checks out a commit in the copy, and sets that up if it needs to be.
fn bring(
    copy: &mut Workspace,
    config: &Config,
    commit: &str,
    stop: &dyn Fn() -> bool,
) -> Result<(), Failure> {
    let none = &Utf8PathBuf::new();
    copy.reset(Start { tip: Some(commit), branch: "audit", books: [none, none] })?;
    let setup = &config.workspace.setup;
    let is_trusted = !needs_setup(copy, setup) || withheld(copy, Some(commit))?.is_none();
    set_up(copy, setup, (config.verify.timeout.limit(), is_trusted), "", stop).map(drop)
}

fn run(
    copy: &mut Workspace,
    config: &Config,
    judged: &mut Judged,
    stop: &dyn Fn() -> bool,
) -> Result<(), Failure> {
    bring(copy, config, &judged.commit.id, stop)?;
    let checks = judged.facts().map(|facts| facts.checks.clone()).unwrap_or_default();
    for check in checks {
        let command = &check.command;
        if command.contains(MASK) {
            judged.remarks.push(format!("`{command}` cannot run again: a secret is masked"));
            continue;
        }
        let door = copy.doors.checks.clone();
        let context =
            CheckContext { dir: copy.root(), run: "", left: None, rules: None, door: &door };
        let again = std::slice::from_ref(command);
        let ran = run_checks(context, again, config.verify.timeout.limit(), stop)?;
        copy.programs_ran()?;
        let Some(now) = ran.first() else { continue };
        match now.end {
            CheckEnd::Stopped => return Err(Failure::because("stopped")),
            CheckEnd::Exited(code) if code == check.exit_code => {}
            _ => judged.problems.push(format!("`{command}` {} when it ran again", now.verdict())),
        }
    }
    if judged.problems.is_empty() && judged.remarks.iter().all(|it| !it.contains(MASK)) {
        judged.state = State::Confirmed;
    }
    Ok(())
}
