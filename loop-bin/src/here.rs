//! The project around the working directory, which every subcommand starts with.

use camino::{Utf8Path, Utf8PathBuf};
use ralph_base::env::Env;
use ralph_base::{names, state};
use ralph_core::plan::{FindError, Format, Plan, State, Story, Warning};
use ralph_project::config::{Config, Flag};
use ralph_project::project::Project;
use ralph_project::project_plan;

use crate::exit::Failure;

/// The working directory.
pub(crate) fn folder() -> std::io::Result<Utf8PathBuf> {
    let here = std::env::current_dir().map_err(|error| {
        let what = "the working directory no longer exists; change to your project";
        std::io::Error::new(error.kind(), format!("{what} ({error})"))
    })?;
    Utf8PathBuf::from_path_buf(here)
        .map_err(|path| std::io::Error::other(format!("{} is not UTF-8", path.display())))
}

/// A path for display, relative to the working directory if it is below it.
pub(crate) fn shown(path: &Utf8Path) -> Utf8PathBuf {
    let below = folder().ok().and_then(|here| path.strip_prefix(here).ok().map(Utf8Path::to_owned));
    below.filter(|path| !path.as_str().is_empty()).unwrap_or_else(|| path.to_owned())
}

/// The current project.
pub(crate) fn project(env: &Env) -> std::io::Result<Project> {
    let project = Project::locate(env, &folder()?);
    let root = project.root();
    if !root.is_dir() {
        let variable = if env.root().is_some() { "RALPH_ROOT" } else { "CLAUDE_PROJECT_DIR" };
        return Err(std::io::Error::other(format!(
            "{variable} points to {root}, which does not exist; correct it or unset it"
        )));
    }
    Ok(project)
}

/// The project's settings.
pub(crate) fn config(project: &Project, env: &Env, flags: &[Flag]) -> Result<Config, Failure> {
    let path = project.own_state().config();
    let mut config = Config::load(&path, env, flags).map_err(Failure::usage)?;
    config.plan.tag = state::current_tag(project.root());
    Ok(config)
}

/// Warnings about probable mistakes in a plan, with line numbers.
pub(crate) fn warnings(plan: &Plan) -> Vec<String> {
    let line =
        |warning: &Warning| format!("{}:{}: {}", shown(plan.path()), warning.line, warning.message);
    plan.warnings().iter().map(line).collect()
}

/// One line per story.
pub(crate) fn story_lines(plan: &Plan) -> Vec<String> {
    let width = plan.stories().iter().map(|story| story.id.chars().count()).max().unwrap_or(0);
    let line = |story: &Story| {
        let mark = match story.state {
            State::Open => ' ',
            State::Done => 'x',
            State::Blocked => '!',
        };
        let mut text = format!("[{mark}] {:width$}  {}", story.id, story.title.trim());
        if !story.depends.is_empty() {
            text.push_str(&format!("  (after {})", story.depends.join(", ")));
        }
        if story.optional {
            text.push_str("  (optional)");
        }
        format!("{text}  (line {})", story.line)
    };
    plan.stories().iter().map(line).collect()
}

/// The project's plan.
pub(crate) fn plan(project: &Project, env: &Env, config: &Config) -> Result<Plan, FindError> {
    let here = folder().unwrap_or_default();
    let mut config = config.clone();
    let named = [&here, project.root()].map(|folder: &Utf8Path| folder.join(&config.run.plan));
    // Git knows a file by its name on disk alone.
    if !config.run.plan.is_empty()
        && let Some(path) = named.iter().find(|path| path.exists())
    {
        let on_disk = names::as_on_disk(path);
        if on_disk != *path {
            config.run.plan = on_disk.into_string();
        }
    }
    project_plan::find(project, env, &config, &here)
}

/// The branch that a JSON plan names.
pub(crate) fn branch_of_plan(plan: &Plan) -> Option<String> {
    if plan.format() == Format::Markdown {
        return None;
    }
    let value: serde_json::Value = serde_json::from_slice(plan.bytes()).ok()?;
    Some(value.get("branchName")?.as_str()?.trim().to_owned()).filter(|name| !name.is_empty())
}
