//! `ralph-loop init`: a config with the right checks, an example plan and lifecycle templates.
//! Nothing that exists is overwritten. What is right for a project is found out in `init/detect.rs`,
//! by the table in `init/kinds.toml`; a run without checks asks there too.

mod ci;
mod config_text;
mod detect;
mod files;
mod table;

use std::os::unix::fs::PermissionsExt;
use std::process::ExitCode;

use camino::Utf8Path;
use ralph_base::env::Env;
use ralph_base::state::{self, StateDir};
use ralph_core::git::Repo;
use ralph_core::plan::{self, Plan, State};
use ralph_project::config::{Config, Flag, Mode};
use ralph_project::project::Project;

use self::detect::{Detected, FoundCommand};
use self::files::{Files, paths_below};
use self::table::KindTable;
use crate::exit::Failure;
use crate::finding::Finding;
use crate::terminal::say;
use crate::{here, lifecycle};

const PLAN: &str = include_str!("init/templates/plan.md");

/// The lifecycle scripts.
const SCRIPTS: [(&str, &str); 4] = [
    ("started", include_str!("init/templates/started.sh")),
    ("next_iteration", include_str!("init/templates/next_iteration.sh")),
    ("post_iteration", include_str!("init/templates/post_iteration.sh")),
    ("finished", include_str!("init/templates/finished.sh")),
];

/// A program of the user's own that scripts may call.
const NOTIFY: &str = include_str!("init/templates/notify.sh");

/// Does it.
pub(crate) fn run(env: &Env) -> Result<ExitCode, Failure> {
    let project = here::project(env)?;
    let (root, state) = (project.root(), project.own_state());
    state.prepare()?;
    let table = KindTable::load()?;
    let found = detect_in(&table, root);
    tell(&found);
    let trunk = default_branch(root);
    write_new(&state.config(), &config_text::config_text(&found, trunk.as_deref())?, false)?;
    let find = || Ok::<_, Failure>(here::plan(&project, env, &here::config(&project, env, &[])?));
    if find()?.is_err() && state.prd_numbers().is_empty() {
        write_new(&state.plan(1), PLAN, false)?;
    }
    let plan = match find()? {
        Ok(plan) => plan.path().to_owned(),
        Err(_) => state.plan(state.prd_numbers().first().copied().unwrap_or(1)),
    };
    // Scripts in the folder of another tool would be hidden by those in ours.
    let scripts = lifecycle::folder(state, root);
    if scripts == state.lifecycle() {
        write_scripts(&scripts)?;
    }
    for neighbour in table.neighbour.iter().filter(|found| root.join(&found.path).exists()) {
        say(format!("found    {}: {}", neighbour.path, neighbour.says));
    }
    if let Some(trunk) = trunk {
        let branch = config_text::BRANCH;
        say(format!("\nWork will land on {trunk}; `branch = \"{branch}\"` keeps it apart."));
    }
    say(format!("\nNext:\n  write your stories into {}, and commit", here::shown(&plan)));
    say("  ralph-loop doctor            # is everything in place?");
    say("  ralph-loop --dry-run         # what would be done?");
    say("  ralph-loop                   # go");
    Ok(ExitCode::SUCCESS)
}

fn detect_in(table: &KindTable, root: &Utf8Path) -> Detected {
    let read = |path: &str| fs_err::read_to_string(root.join(path)).ok();
    detect::detect(table, &Files { paths: paths_below(root), read: &read })
}

/// What was found, and why.
fn tell(found: &Detected) {
    if found.checks.is_empty() {
        say("No tests were found, so no checks are set: what lands would be unchecked.");
        say("Set `commands` in the table [verify] to what tests this project.");
    }
    let Detected { checks, setup, proposed } = found;
    for (what, list) in [("check   ", checks), ("setup   ", setup), ("proposed", proposed)] {
        for FoundCommand { command, why } in list {
            say(format!("{what} {command}   ({why})"));
        }
    }
}

/// Gives a run without checks those that would be written, with what they need, and says so. An empty
/// list in the file is the user's own word.
pub(crate) fn add_checks(
    project: &Project,
    env: &Env,
    config: &mut Config,
    flags: &mut Vec<Flag>,
) -> Result<Vec<Finding>, Failure> {
    let is_given = |key: &str| Config::is_given(&project.own_state().config(), env, flags, key);
    let is_planning = config.run.mode == Mode::Planning;
    let mut found = Detected::default();
    if !is_planning && !is_given("verify.commands") {
        found = detect_in(&KindTable::load()?, project.root());
        if found.checks.is_empty() || is_given("workspace.setup") {
            found.setup.clear();
        }
    }
    for (key, list) in [("verify.commands", &found.checks), ("workspace.setup", &found.setup)] {
        flags.extend(list.iter().map(|found| Flag::new(key, found.command.clone())));
    }
    *config = here::config(project, env, flags)?;
    if config.verify.require_checks && config.verify.commands.is_empty() && !is_planning {
        return Err(Failure::usage(
            "no checks are set, none were found, and --require-checks was given; set `commands` in \
             the table [verify], or give --verify",
        ));
    }
    let told = found.checks.iter().map(|found| {
        let FoundCommand { command, why } = found;
        Finding::Note(format!(
            "no checks are set, so `{command}` is used ({why}); `ralph-loop init` writes it down"
        ))
    });
    Ok(told.collect())
}

/// The example that `init` writes is no work: every story of it must be replaced.
pub(crate) fn refuse_example(plan: &Plan) -> Result<(), Failure> {
    let example = Plan::parse(plan.path(), PLAN.into(), &plan::Options::default())?;
    let is_example = |title: &str| example.stories().iter().any(|story| story.title == title);
    let open = |story: &&plan::Story| story.state == State::Open && is_example(&story.title);
    match plan.stories().iter().find(open) {
        Some(story) => Err(Failure::usage(format!(
            "{} of {} is still the example that `ralph-loop init` wrote; replace it with your own \
             stories, or take it out",
            story.id,
            here::shown(plan.path())
        ))),
        None => Ok(()),
    }
}

/// The branch that is checked out, if it is the one that everybody works from.
fn default_branch(root: &Utf8Path) -> Option<String> {
    let repo = Repo::open(root).ok()?;
    let name = |args: &[&str]| repo.git().line(args).ok();
    let current = name(&["symbolic-ref", "--quiet", "--short", "HEAD"])?;
    let remote = name(&["symbolic-ref", "--quiet", "--short", "refs/remotes/origin/HEAD"]);
    let is_default = match &remote {
        Some(remote) => remote.strip_prefix("origin/") == Some(&current),
        None => matches!(&*current, "main" | "master" | "trunk" | "develop"),
    };
    is_default.then_some(current)
}

fn write_scripts(folder: &Utf8Path) -> Result<(), Failure> {
    for (name, text) in SCRIPTS {
        write_new(&folder.join(name), text, true)?;
    }
    write_new(&StateDir::custom_programs(folder).join("notify"), NOTIFY, true)
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
