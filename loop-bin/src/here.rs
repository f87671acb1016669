//! The project around the working directory: what every subcommand begins with.

use camino::{Utf8Path, Utf8PathBuf};
use ralph_core::config::{Config, Flag};
use ralph_core::env::Env;
use ralph_core::plan::{self, Candidate, FindError, Options, Plan};
use ralph_core::project::Project;

use crate::exit::Failure;

/// The working directory.
pub(crate) fn folder() -> std::io::Result<Utf8PathBuf> {
    let here = std::env::current_dir().map_err(|error| {
        let what = "the working directory is not there any more; change into your project";
        std::io::Error::new(error.kind(), format!("{what} ({error})"))
    })?;
    Utf8PathBuf::from_path_buf(here)
        .map_err(|path| std::io::Error::other(format!("{} is not UTF-8", path.display())))
}

/// The project that we are in.
pub(crate) fn project(env: &Env) -> std::io::Result<Project> {
    Ok(Project::locate(env, &folder()?))
}

/// Its settings.
pub(crate) fn config(project: &Project, env: &Env, flags: &[Flag]) -> Result<Config, Failure> {
    Config::load(&project.own_state().config(), env, flags).map_err(Failure::usage)
}

/// Its plan.
pub(crate) fn plan(project: &Project, env: &Env, config: &Config) -> Result<Plan, FindError> {
    let options = Options { optional_sections: config.plan.optional_sections.clone() };
    plan::find(&candidates(project, env, config), &options, plan::read_file)
}

fn candidates(project: &Project, env: &Env, config: &Config) -> Vec<Candidate> {
    let state = project.own_state();
    let settings = &config.run;
    if !settings.plan.is_empty() {
        return vec![Candidate::File(from_here(project.root(), &settings.plan))];
    }
    if let Some(number) = u32::try_from(settings.prd).ok().filter(|number| *number > 0) {
        return vec![Candidate::File(state.plan(number))];
    }
    let numbered =
        state.prd_numbers().into_iter().map(|number| (number.into(), state.plan(number)));
    let mut candidates = vec![Candidate::Numbered(numbered.collect())];
    candidates.extend(state.other_plans().into_iter().map(Candidate::File));
    candidates
        .extend(env.loop_dir().map(|folder| Candidate::File(folder.join("feature_list.json"))));
    candidates
}

/// A path as the user typed it: from the working directory if it is there, else from the project.
fn from_here(root: &Utf8Path, path: &str) -> Utf8PathBuf {
    let here = folder().map(|folder| folder.join(path));
    match here {
        Ok(path) if path.exists() => path,
        _ => root.join(path),
    }
}
