//! The checks and the set-up of a project, found in its own files: `init` writes them down, and a run
//! without checks uses them.
//!
//! | file | what |
//! | --- | --- |
//! | `detection.rs` | which commands fit the project |
//! | `table.rs`, `kinds.toml` | the kinds of projects |
//! | `ci.rs` | what the project's own CI runs |
//! | `files.rs` | the project's files |

mod ci;
mod detection;
mod files;
mod table;

use camino::Utf8Path;
use ralph_base::env::Env;
use ralph_core::git::Git;
use ralph_project::config::{Config, Flag, Key, Mode};
use ralph_project::diagnosis::Diagnosis;
use ralph_project::project::Project;

use self::files::{Files, paths_below};
use self::table::KindTable;
use crate::exit::Failure;
use crate::here;
pub(crate) use detection::{Detected, FoundCommand};

const TABLE: &str = include_str!("kinds.toml");

/// Detects the commands for the project in this folder.
pub(crate) fn detect_in(root: &Utf8Path) -> Result<Detected, Failure> {
    let read = |path: &str| fs_err::read_to_string(root.join(path)).ok();
    let table: KindTable = toml::from_str(TABLE)?;
    let found = detection::detect(&table, &Files { paths: paths_below(root), read: &read });
    Ok(found)
}

/// Detects the commands for a tree.
pub(crate) fn detect_at(git: &Git, tree: &str) -> Result<Detected, Failure> {
    let listed = git.line(&["ls-tree", "-r", "-z", "--name-only", tree])?;
    let names = listed.split_terminator('\0').filter(|name| !name.contains(char::is_control));
    let paths = names.map(str::to_owned).collect();
    let slash = if tree.ends_with(':') { "" } else { "/" };
    let at = |path: &str| format!("{tree}{slash}{path}");
    let read = |path: &str| git.line(&["cat-file", "blob", &at(path)]).ok();
    let table: KindTable = toml::from_str(TABLE)?;
    Ok(detection::detect(&table, &Files { paths, read: &read }))
}

/// Adds the detected checks and setup to a run that has none, and reports them. An empty list in the
/// config is deliberate and stays empty.
pub(crate) fn add_checks(
    project: &Project,
    env: &Env,
    config: &mut Config,
    flags: &mut Vec<Flag>,
) -> Result<Vec<Diagnosis>, Failure> {
    let path = project.own_state().config();
    let is_given = |key: &str| {
        Key::find(key).is_some_and(|key| Config::origin(&path, env, flags, key).is_some())
    };
    let is_planning = config.run.mode == Mode::Planning;
    let mut found = Detected::default();
    let has_checks = is_given("verify.commands");
    let is_unchecked = has_checks && config.verify.commands.is_empty();
    if !is_planning && !is_unchecked {
        found = detect_in(project.root())?;
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
            Diagnosis::Note(format!("no {what} is set, so `{command}` is used {why}"))
        };
        list.iter().map(one).collect::<Vec<_>>()
    };
    let setup = if has_checks { found_as("setup", &found.setup) } else { Vec::new() };
    Ok([found_as("check", &found.checks), setup].concat())
}

#[cfg(test)]
mod tests;
