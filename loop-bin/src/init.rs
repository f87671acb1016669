//! `ralph-loop init`: a config with the right checks, an example plan and lifecycle templates.
//! Nothing that exists is overwritten. `init/detect.rs` finds the checks, by the table in
//! `init/kinds.toml`; a run without checks uses it too.

mod ci;
mod config_text;
mod detect;
mod files;
mod table;

use std::os::unix::fs::PermissionsExt;
use std::process::ExitCode;

use camino::Utf8Path;
use clap::Args;
use ralph_base::env::Env;
use ralph_base::state::{self, StateDir};
use ralph_core::git::Repo;
use ralph_core::plan::{Plan, State, Story};
use ralph_project::config::{Config, Flag, Key, Mode};
use ralph_project::project::Project;

use self::detect::{Detected, FoundCommand};
use self::files::{Files, paths_below};
use self::table::KindTable;
use crate::exit::Failure;
use crate::install::{CLAUDE, agent_names};
use crate::terminal::say;
use crate::{here, run, show_config};
use ralph_project::finding::Finding;
use work_copy::Source;
use work_copy::carry::lacking;

const TABLE: &str = include_str!("init/kinds.toml");
const PLAN: &str = include_str!("init/templates/plan.md");

/// The lifecycle scripts.
const SCRIPTS: [(&str, &str); 4] = [
    ("started", include_str!("init/templates/started.sh")),
    ("next_iteration", include_str!("init/templates/next_iteration.sh")),
    ("post_iteration", include_str!("init/templates/post_iteration.sh")),
    ("finished", include_str!("init/templates/finished.sh")),
];

/// A helper program for the user's scripts.
const NOTIFY: &str = include_str!("init/templates/notify.sh");

/// Set up a project with a config, example plan and script templates, without overwriting files
#[derive(Debug, Args)]
pub(crate) struct Init {
    /// The agent that works on the stories.
    #[arg(long, value_name = "NAME", default_value = CLAUDE, value_parser = agent_names())]
    agent: String,
}

impl Init {
    pub(crate) fn run(&self, env: &Env) -> Result<ExitCode, Failure> {
        set_up(env, &self.agent)
    }
}

fn set_up(env: &Env, agent: &str) -> Result<ExitCode, Failure> {
    let project = here::project(env)?;
    let (root, state) = (project.root(), project.own_state());
    state.prepare()?;
    let (table, found) = detect_in(root)?;
    tell(&found);
    write_new(&state.config(), &config_text::config_text(&found, agent), false)?;
    let config = here::config(&project, env, &[])?;
    if agent != CLAUDE && config.agent.name != agent {
        say(format!("note     set `name = \"{agent}\"` in its table [agent]"));
    }
    // These are ours, so each version rewrites them.
    state::replace(&state.config_schema(), show_config::schema_text()?.as_bytes())?;
    let find = || Ok::<_, Failure>(here::plan(&project, env, &config));
    if find()?.is_err() && state.prd_numbers().is_empty() {
        write_new(&state.plan(1), PLAN, false)?;
    }
    let found = find()?.ok();
    let path = found.as_ref().map(|plan| plan.path().to_owned());
    let path =
        path.unwrap_or_else(|| state.plan(state.prd_numbers().first().copied().unwrap_or(1)));
    let ready = found.filter(|plan| plan.counts().open > 0 && example_in(plan).is_none());
    // Scripts in our folder would hide those in another tool's folder.
    let scripts = run::script_folder(state, root);
    if scripts == state.lifecycle() {
        for (name, text) in SCRIPTS {
            write_new(&scripts.join(name), text, true)?;
        }
        write_new(&StateDir::custom_programs(&scripts).join("notify"), NOTIFY, true)?;
    }
    for (path, what) in table.neighbours.iter().filter(|(path, _)| root.join(path).exists()) {
        say(format!("found    {path}: {what}"));
    }
    if let Ok(repo) = Repo::open(root) {
        for file in lacking(&Source::of(&project, &repo)?)? {
            say(format!(
                "note     checks may need {file}: to copy it, put the line `{file}` into .worktreeinclude"
            ));
        }
    }
    let path = here::shown(&path);
    if let Some(branch) = ready.as_ref().and_then(here::branch_of_plan) {
        say(format!("\nWork will land on {branch}, the `branchName` of the plan."));
    }
    say(match ready {
        None => format!("\nNext:\n  write your stories into {path}, and commit"),
        Some(_) => format!("\nNext, with the open stories of {path} (commit it first):"),
    });
    say("  ralph-loop doctor            # is everything in place?");
    say("  ralph-loop --dry-run         # what would be done?");
    say("  ralph-loop                   # go");
    say(format!("Hooks for your own sessions: ralph-loop install --agent {agent}"));
    Ok(ExitCode::SUCCESS)
}

fn detect_in(root: &Utf8Path) -> Result<(KindTable, Detected), Failure> {
    let read = |path: &str| fs_err::read_to_string(root.join(path)).ok();
    let table = toml::from_str(TABLE)?;
    let found = detect::detect(&table, &Files { paths: paths_below(root), read: &read });
    Ok((table, found))
}

/// Prints what was detected, and why.
fn tell(Detected { checks, setup, proposed }: &Detected) {
    if checks.is_empty() {
        say("No tests were found; set `commands` in [verify], or work will land unchecked.");
    }
    for (what, list) in [("check   ", checks), ("setup   ", setup), ("proposed", proposed)] {
        for FoundCommand { command, why } in list {
            say(format!("{what} {command}   ({why})"));
        }
    }
}

/// Adds the detected checks and setup to a run that has none, and reports them. An empty list in the
/// config is deliberate and stays empty.
pub(crate) fn add_checks(
    project: &Project,
    env: &Env,
    config: &mut Config,
    flags: &mut Vec<Flag>,
) -> Result<Vec<Finding>, Failure> {
    let path = project.own_state().config();
    let is_given = |key: &str| {
        Key::find(key).is_some_and(|key| Config::origin(&path, env, flags, key).is_some())
    };
    let is_planning = config.run.mode == Mode::Planning;
    let mut found = Detected::default();
    let has_checks = is_given("verify.commands");
    let is_unchecked = has_checks && config.verify.commands.is_empty();
    if !is_planning && !is_unchecked {
        (_, found) = detect_in(project.root())?;
        if is_given("workspace.setup") || (found.checks.is_empty() && !has_checks) {
            found.setup.clear();
        }
        if has_checks {
            found.checks.clear();
        }
    }
    for (key, list) in [("verify.commands", &found.checks), ("workspace.setup", &found.setup)] {
        flags.extend(list.iter().map(|found| Flag::new(key, found.command.clone())));
    }
    *config = here::config(project, env, flags)?;
    if config.verify.require_checks && config.verify.commands.is_empty() && !is_planning {
        return Err(Failure::usage(
            "no checks are set, and none were found; set `commands` in the table [verify]",
        ));
    }
    let found_as = |what: &'static str, list: &[FoundCommand]| {
        let one = move |FoundCommand { command, why }: &FoundCommand| {
            let why = format!("({why}); `ralph-loop init` writes it to the config");
            Finding::Note(format!("no {what} is set, so `{command}` is used {why}"))
        };
        list.iter().map(one).collect::<Vec<_>>()
    };
    let setup = if has_checks { found_as("setup", &found.setup) } else { Vec::new() };
    Ok([found_as("check", &found.checks), setup].concat())
}

/// Finds stories of the example that `init` writes; they must be replaced before a run.
pub(crate) fn example_in(plan: &Plan) -> Option<String> {
    let is_example = |story: &Story| PLAN.contains(&format!(": {}\n", story.title));
    let mut open = plan.stories().iter().filter(|story| story.state == State::Open);
    let place =
        format!("{} of {}", open.find(|story| is_example(story))?.id, here::shown(plan.path()));
    Some(format!("{place} is still the example that `ralph-loop init` wrote; replace or remove it"))
}

fn write_new(path: &Utf8Path, text: &str, executable: bool) -> Result<(), Failure> {
    if path.symlink_metadata().is_ok() {
        say(format!("kept     {}", here::shown(path)));
        return Ok(());
    }
    state::replace(path, text.as_bytes())?;
    if executable {
        fs_err::set_permissions(path, std::fs::Permissions::from_mode(0o755))?;
    }
    say(format!("written  {}", here::shown(path)));
    Ok(())
}

#[cfg(test)]
#[path = "init/tests.rs"]
mod tests;
