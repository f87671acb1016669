//! What was typed: subcommands, and one flag for every configuration key that has one.
//!
//! The flags are made from [`KEYS`], so that a flag without a variable and a key cannot exist.

use std::ffi::OsString;

use clap::{Arg, ArgAction, ArgMatches, Command};
use ralph_core::config::{Flag, KEYS, Key, Kind};

use crate::{
    attempts, clean, complete, demo, doctor, explain, init, install, request_merge, retry, run,
    status, undo,
};

/// What the user wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Request {
    /// Run the loop.
    Run(run::Request),
    /// Make a project ready.
    Init { pre_push: bool },
    /// Register the hooks with the client, or take them out.
    Install(install::Request),
    /// Look for what could go wrong.
    Doctor { live: bool },
    /// Tell where the run stands.
    Status { json: bool },
    /// Tell how a command or an edit is read.
    Explain(explain::Request),
    /// List, show or take attempts that are kept.
    Attempts(attempts::Request),
    /// Reopen a story.
    Retry(retry::Request),
    /// Remove the copies.
    Clean(clean::Request),
    /// List, show or bring back what a hook rolled back.
    Undo(undo::Request),
    /// The agent's word about a story.
    Complete(complete::Request),
    /// Leave a merge request.
    Merge(request_merge::Request),
    /// Show all of it in a scratch project.
    Demo,
}

const EXIT_CODES: &str = "\
Exit codes:
  0    complete, or the iteration limit was reached
  1    error
  2    the command line or the configuration is wrong
  3    a lifecycle script stopped the loop
  4    several stories in a row changed nothing
  5    another loop holds the project
  6    the budget is used up
  7    stories remain, and --fail-if-incomplete was given
  8    what remains is blocked and needs a person
  130  interrupted (Ctrl-C)
  143  terminated

Examples:
  ralph-loop demo
  ralph-loop --max-iterations 10 --verify 'cargo test'
  ralph-loop explain 'cd app && git push'";

/// Reads the command line.
pub(crate) fn parse(
    arguments: impl IntoIterator<Item = OsString>,
) -> Result<(Request, u8), clap::Error> {
    let matches = command().try_get_matches_from(arguments)?;
    let verbosity = matches.get_count("verbose");
    let request = match matches.subcommand() {
        Some(("init", matches)) => Request::Init { pre_push: matches.get_flag("pre-push") },
        Some((name @ ("install" | "uninstall"), matches)) => {
            Request::Install(install::Request::from_matches(name, matches)?)
        }
        Some(("doctor", matches)) => Request::Doctor { live: matches.get_flag("live") },
        Some(("status", matches)) => Request::Status { json: matches.get_flag("json") },
        Some(("explain", matches)) => Request::Explain(explain::Request::from_matches(matches)),
        Some(("attempts", matches)) => Request::Attempts(attempts::Request::from_matches(matches)),
        Some(("retry", matches)) => Request::Retry(retry::Request::from_matches(matches)),
        Some(("clean", matches)) => Request::Clean(clean::Request::from_matches(matches)),
        Some(("undo", matches)) => Request::Undo(undo::Request::from_matches(matches)),
        Some(("complete", matches)) => Request::Complete(complete::Request::from_matches(matches)),
        Some(("request-merge", matches)) => {
            Request::Merge(request_merge::Request::from_matches(matches))
        }
        Some(("demo", _)) => Request::Demo,
        _ => Request::Run(run::Request { flags: given_flags(&matches) }),
    };
    Ok((request, verbosity))
}

/// The whole command line; the documentation is made from it.
pub(crate) fn command() -> Command {
    Command::new("ralph-loop")
        .version(env!("CARGO_PKG_VERSION"))
        .about("Runs a coding agent over a plan of stories, and commits only what was proven.")
        .after_help(EXIT_CODES)
        .args_conflicts_with_subcommands(true)
        .args(flags_of_keys())
        .arg(gone("allow-dirty"))
        .arg(
            Arg::new("verbose")
                .short('v')
                .long("verbose")
                .action(ArgAction::Count)
                .global(true)
                .help(
                    "Log decisions and their reasons to standard error; twice for more [RUST_LOG]",
                ),
        )
        .subcommand(init::command())
        .subcommands(install::commands())
        .subcommand(doctor::command())
        .subcommand(status::command())
        .subcommand(explain::command())
        .subcommand(attempts::command())
        .subcommand(retry::command())
        .subcommand(clean::command())
        .subcommand(undo::command())
        .subcommand(complete::command())
        .subcommand(request_merge::command())
        .subcommand(demo::command())
}

/// A flag of earlier versions that answers with what to do instead.
fn gone(name: &'static str) -> Arg {
    Arg::new(name).long(name).hide(true).num_args(0..=1).require_equals(true).default_missing_value("true").value_parser(
        |_: &str| -> Result<String, String> {
            Err("the agent works in a copy now, so uncommitted work is in nobody's way; leave the flag \
                 out (with --in-place, commit or stash first)"
                .to_owned())
        },
    )
}

/// The flags that stand for configuration keys.
pub(crate) fn flags_of_keys() -> impl Iterator<Item = Arg> {
    KEYS.iter().filter_map(|key| Some(flag_of(key, key.flag?)))
}

fn flag_of(key: &'static Key, name: &'static str) -> Arg {
    let variable = key.env.map(|env| format!(" [{env}]")).unwrap_or_default();
    let flag = Arg::new(key.name).long(name).help(format!("{}{variable}", key.help));
    match key.kind {
        Kind::List => flag.action(ArgAction::Append).value_name("ITEM"),
        // `--flag` alone means yes; `--flag=false` switches off what the file switches on.
        Kind::Switch => flag
            .num_args(0..=1)
            .require_equals(true)
            .default_missing_value("true")
            .value_name("BOOL"),
        Kind::Seconds => flag.value_name("TIME"),
        Kind::Integer | Kind::Number => flag.value_name("N"),
        Kind::Text | Kind::Choice | Kind::Table => flag.value_name("VALUE"),
    }
}

/// What was given for those flags.
pub(crate) fn given_flags(matches: &ArgMatches) -> Vec<Flag> {
    let keys = KEYS.iter().filter(|key| key.flag.is_some());
    keys.flat_map(|key| {
        let values = matches.get_many::<String>(key.name).into_iter().flatten();
        values.map(|value| Flag::new(key.name, value.clone())).collect::<Vec<_>>()
    })
    .collect()
}
