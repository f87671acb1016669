//! What was typed: subcommands, and one flag for every configuration key that has one.
//!
//! The flags are made from [`KEYS`], so that a flag without a variable and a key cannot exist.

use clap::{Arg, ArgAction, ArgMatches, Command};
use ralph_base::env::Env;
use ralph_project::config::{Flag, KEYS, Key, Kind};

use crate::exit::{Failure, Success};
use crate::{
    attempts, clean, complete, demo, doctor, explain, init, install, request_merge, retry, run,
    status, undo,
};

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

/// Does what was asked for.
pub(crate) fn perform(env: &Env, matches: &ArgMatches) -> Result<Success, Failure> {
    match matches.subcommand() {
        Some(("init", _)) => init::run(env),
        Some((name @ ("install" | "uninstall"), matches)) => install::run(env, name, matches),
        Some(("doctor", matches)) => doctor::run(env, matches),
        Some(("status", matches)) => status::run(env, matches.get_flag("json")),
        Some(("explain", matches)) => explain::run(env, matches),
        Some(("attempts", matches)) => {
            attempts::run(env, &attempts::Request::from_matches(matches))
        }
        Some(("retry", matches)) => retry::run(env, &retry::Request::from_matches(matches)),
        Some(("clean", matches)) => clean::run(env, clean::Request::from_matches(matches)),
        Some(("undo", matches)) => undo::run(env, &undo::Request::from_matches(matches)),
        Some(("complete", matches)) => complete::run(env, matches),
        Some(("request-merge", matches)) => request_merge::run(env, matches),
        Some(("demo", _)) => demo::run(env),
        _ => run::run(env, &given_flags(matches)),
    }
}

/// The whole command line; the documentation is made from it.
pub(crate) fn command() -> Command {
    Command::new("ralph-loop")
        .version(env!("CARGO_PKG_VERSION"))
        .about("Runs a coding agent over a plan of stories, and commits only what was proven.")
        .after_help(EXIT_CODES)
        .args_conflicts_with_subcommands(true)
        .args(flags_of_keys())
        .arg(allow_dirty())
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

/// A flag of the first version, which says what to do instead.
fn allow_dirty() -> Arg {
    let gone = |_: &str| -> Result<String, &'static str> {
        Err(
            "the agent works in a copy, so your uncommitted work is in nobody's way: leave the flag \
             out (with --in-place, commit or stash first)",
        )
    };
    let flag = Arg::new("allow-dirty").long("allow-dirty").hide(true);
    flag.num_args(0..=1).require_equals(true).default_missing_value("true").value_parser(gone)
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
