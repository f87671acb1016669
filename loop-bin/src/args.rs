//! What was typed: subcommands, and one flag for every configuration key that has one.
//!
//! The flags are made from [`KEYS`], so that a flag without a variable and a key cannot exist.

use std::process::ExitCode;

use clap::{Arg, ArgAction, ArgMatches, Command, FromArgMatches, Subcommand};
use ralph_base::env::Env;
use ralph_project::config::{Flag, KEYS, Key, Kind};

use crate::exit::Failure;
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
  9    the checks failed before the first story
  130  interrupted (Ctrl-C)
  143  terminated

Examples:
  ralph-loop demo
  ralph-loop --max-iterations 10 --verify 'cargo test'
  ralph-loop explain 'cd app && git push'";

/// Runs a coding agent over a plan of stories, and commits only what was proven
#[derive(Debug, Subcommand)]
enum Request {
    /// Make a project ready: config, example plan, lifecycle templates; overwrites nothing
    Init,
    /// Copy the hooks that lie beside this program and register them with the client
    Install(installer::Install),
    /// Take the hooks and their registrations out again; your own settings stay
    Uninstall(installer::Uninstall),
    /// Check git, agent, hooks, config, plan and disk; say how to fix each
    #[command(
        after_help = "Takes the same flags as a run, and checks the run that they would start."
    )]
    Doctor,
    Status(status::Status),
    Explain(explain::Explain),
    Attempts(attempts::Attempts),
    Retry(retry::Retry),
    Clean(clean::Clean),
    Undo(undo::Undo),
    Complete(complete::Complete),
    RequestMerge(request_merge::RequestMerge),
    /// Show three stories, a failing test, a kept attempt and the recovery in a scratch project
    Demo,
}

/// Does what was asked for.
pub(crate) fn perform(env: &Env, matches: &ArgMatches) -> Result<ExitCode, Failure> {
    let Some((_, given)) = matches.subcommand() else {
        return run::run(env, &given_flags(matches));
    };
    match Request::from_arg_matches(matches).map_err(Failure::usage)? {
        Request::Init => init::run(env),
        Request::Install(install) => install::install(env, &install),
        Request::Uninstall(uninstall) => install::uninstall(env, &uninstall),
        Request::Doctor => {
            doctor::run(env, &given_flags(given), !given.get_flag(doctor::NO_CHECKS))
        }
        Request::Status(status) => status.run(env),
        Request::Explain(explain) => explain.run(env),
        Request::Attempts(attempts) => attempts.run(env),
        Request::Retry(retry) => retry.run(env),
        Request::Clean(clean) => clean.run(env),
        Request::Undo(undo) => undo.run(env),
        Request::Complete(complete) => complete.run(env),
        Request::RequestMerge(request) => request.run(env),
        Request::Demo => demo::run(env),
    }
}

/// The whole command line; the documentation is made from it.
pub(crate) fn command() -> Command {
    let command = Command::new("ralph-loop")
        .version(env!("CARGO_PKG_VERSION"))
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
        );
    Request::augment_subcommands(command).mut_subcommand("doctor", |doctor| {
        doctor.arg(no_checks()).args(flags_of_keys().map(|flag| flag.hide(true)))
    })
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

fn no_checks() -> Arg {
    let help = "Do not make a copy to run the setup and the checks in";
    Arg::new(doctor::NO_CHECKS).long(doctor::NO_CHECKS).action(ArgAction::SetTrue).help(help)
}

/// The flags that stand for configuration keys.
fn flags_of_keys() -> impl Iterator<Item = Arg> {
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
fn given_flags(matches: &ArgMatches) -> Vec<Flag> {
    let keys = KEYS.iter().filter(|key| key.flag.is_some());
    keys.flat_map(|key| {
        let values = matches.get_many::<String>(key.name).into_iter().flatten();
        values.map(|value| Flag::new(key.name, value.clone())).collect::<Vec<_>>()
    })
    .collect()
}
