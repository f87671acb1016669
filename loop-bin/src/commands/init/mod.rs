//! `ralph-loop init`: a config with the right checks, an example plan and lifecycle templates.
//! Nothing that exists is overwritten.

mod config_text;

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::process::ExitCode;

use camino::Utf8Path;
use clap::Args;
use ralph_base::env::Env;
use ralph_base::state::{self, StateDir};
use ralph_core::git::Repo;
use ralph_project::config::schema;

use super::Subcommand;
use crate::detect::{Detected, FoundCommand, detect_in};
use crate::example::{PLAN, example_in};
use crate::exit::Failure;
use crate::flags::{CLAUDE, agent_names};
use crate::here;
use crate::run::scripts::folder as script_folder;
use crate::terminal::say;
use work_copy::Source;
use work_copy::carry::lacking;

/// The lifecycle scripts.
const SCRIPTS: [(&str, &str); 4] = [
    ("started", include_str!("templates/started.sh")),
    ("next_iteration", include_str!("templates/next_iteration.sh")),
    ("post_iteration", include_str!("templates/post_iteration.sh")),
    ("finished", include_str!("templates/finished.sh")),
];

/// What other loops leave in a project, and what becomes of it.
const NEIGHBOURS: &str = include_str!("neighbours.toml");

/// A helper program for the user's scripts.
const NOTIFY: &str = include_str!("templates/notify.sh");

pub(super) const COMMAND: Subcommand = Subcommand {
    name: "init",
    args: Init::augment_args,
    run: |call| call.parsed::<Init>()?.run(call.env),
};

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
    let found = detect_in(root)?;
    tell(&found);
    write_new(&state.config(), &config_text::config_text(&found, agent), false)?;
    let config = here::config(&project, env, &[])?;
    if agent != CLAUDE && config.agent.name != agent {
        say(format!("note     set `name = \"{agent}\"` in its table [agent]"));
    }
    // These are ours, so each version rewrites them.
    let schema = serde_json::to_string_pretty(&schema())? + "\n";
    state::replace(&state.config_schema(), schema.as_bytes())?;
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
    let scripts = script_folder(state, root);
    if scripts == state.lifecycle() {
        for (name, text) in SCRIPTS {
            write_new(&scripts.join(name), text, true)?;
        }
        write_new(&StateDir::custom_programs(&scripts).join("notify"), NOTIFY, true)?;
    }
    let known: BTreeMap<String, Vec<(String, String)>> = toml::from_str(NEIGHBOURS)?;
    for (path, what) in known.values().flatten().filter(|(path, _)| root.join(path).exists()) {
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
