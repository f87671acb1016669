//! Finds the plan's file, and problems that would keep the loop from working on it.

use camino::{Utf8Path, Utf8PathBuf};
use ralph_base::env::Env;
use ralph_base::listing::first_few;
use ralph_base::state::{self, Lock, RunDir, StateDir};
use ralph_core::plan::{FindError, Plan};
use ralph_project::config::{Config, Mode};
use ralph_project::project::Project;

use crate::exit::Failure;
use crate::here;
use crate::record::attempts_left;
use crate::run::attempt::template;
use board::progress_path;

/// The plan; `None` if planning is to write it.
pub(super) fn find_plan(
    project: &Project,
    env: &Env,
    config: &Config,
) -> Result<Option<Plan>, Failure> {
    match here::plan(project, env, config) {
        Ok(plan) => {
            refuse_flaws_around(&plan, project, config)?;
            Ok(Some(plan))
        }
        // Planning writes the plan, so it may be missing or have no stories.
        Err(FindError::NotFound { .. }) if config.run.mode == Mode::Planning => Ok(None),
        Err(FindError::Plan(error))
            if config.run.mode == Mode::Planning && error.is_without_stories =>
        {
            Ok(None)
        }
        Err(error @ FindError::NotFound { .. }) => {
            Err(Failure::because(format!("{error}{}", likely_plans(project.root()))))
        }
        Err(error) => Err(error.into()),
    }
}

/// Problems of a readable plan that would keep the loop from working on it.
fn refuse_flaws_around(plan: &Plan, project: &Project, config: &Config) -> Result<(), Failure> {
    refuse_links(plan.path())?;
    let progress = progress_path(&config.run, project.root(), plan.path());
    if progress.is_dir() {
        return Err(Failure::usage(format!(
            "{progress} is a folder, but progress is written to a file; specify one with \
             --progress or PROGRESS_PATH"
        )));
    }
    template(plan.path()).map(drop)
}

/// If no plan is named, the plan of an unfinished attempt comes first.
pub(super) fn plan_of_attempt(project: &Project, config: &Config) -> Result<Config, Failure> {
    let mut config = config.clone();
    let is_named = !config.run.plan.is_empty() || config.run.prd > 0;
    if let Some(run_dir) = project.run_dir() {
        restore_emptied(project, &run_dir)?;
    }
    if let (false, Some(run_dir)) = (is_named, project.run_dir())
        && let Some((_, attempt)) =
            attempts_left(&run_dir)?.into_iter().find(|(_, left)| left.plan.is_file())
    {
        config.run.plan = attempt.plan.into_string();
    }
    Ok(config)
}

/// An in-place agent may have emptied or removed the plan before the loop was killed.
fn restore_emptied(project: &Project, run_dir: &RunDir) -> Result<(), Failure> {
    if Lock::holder(&run_dir.lock()).is_some() {
        return Ok(());
    }
    for (folder, left) in attempts_left(run_dir)? {
        let is_in_place =
            left.work.canonicalize_utf8().ok() == project.root().canonicalize_utf8().ok();
        let is_empty = state::read(&left.plan).map_or(true, |text| text.trim_ascii().is_empty());
        if let (true, true, Some(given)) =
            (is_in_place, is_empty, state::read_if_there(folder.plan_given())?)
        {
            work_copy::remove_all(left.plan.as_std_path())?;
            state::replace_users(&left.plan, &given)?;
        }
    }
    Ok(())
}

/// Files that look like plans but are not found by default.
fn likely_plans(root: &Utf8Path) -> String {
    let named = ["PLAN.md", "TODO.md", "PRD.md"].map(|name| root.join(name));
    let below = root.join("docs/plans").read_dir_utf8().into_iter().flatten().flatten();
    let below = below.map(|entry| entry.into_path()).filter(|path| path.extension() == Some("md"));
    let mut found: Vec<Utf8PathBuf> =
        named.into_iter().chain(below).filter(|path| path.is_file()).collect();
    found.sort();
    let Some(first) = found.first() else { return String::new() };
    let names = first_few(found.iter().map(|path| here::shown(path)), 5);
    format!("; found {names}: to work on it, run `ralph-loop {}`", here::shown(first))
}

/// Better now than after an agent has worked in vain.
fn refuse_links(plan: &Utf8Path) -> Result<(), Failure> {
    let progress = StateDir::progress_beside(plan);
    match [plan, &progress].into_iter().find(|path| state::leads_elsewhere(path)) {
        Some(path) => Err(Failure::usage(format!(
            "{path} is behind a symlink inside .ralph, and ralph never writes through those; pass \
             the real file with --plan, or move it there"
        ))),
        None => Ok(()),
    }
}
