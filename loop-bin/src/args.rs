//! The command line: the flags of a run, and the subcommands of the table in `commands/`.

use std::process::ExitCode;

use clap::{Arg, ArgAction, ArgMatches, Command, ValueHint};
use ralph_base::env::Env;
use ralph_project::config::{Flag, PullRequests};

use crate::boards::{fleet, requests};
use crate::commands::{ALL, Call};
use crate::exit::Failure;
use crate::flags::{flags_of_keys, given_flags};
use crate::{here, in_task, run, suggest};

const PLAN_FILE: &str = "plan-file";

const EXIT_CODES: &str = "\
Exit codes:
  0    complete, the iteration limit was reached, or `ralph-loop stop`
  1    error
  2    invalid command line or configuration
  3    a lifecycle script stopped the loop
  4    several stories in a row made no changes
  5    another loop is running in the project
  6    the budget is used up or the usage limit is reached
  7    stories remain, with --fail-if-incomplete
  8    the remaining stories are blocked and need a person
  9    the checks failed before the first story
  75   try later, with --fleet or --pr story
  130  interrupted (Ctrl-C, `ralph-loop stop --now`)
  143  terminated

`ralph-loop NAME` runs `ralph-loop-NAME` from PATH where NAME is neither a subcommand nor a plan.

Examples:
  ralph-loop demo
  ralph-loop --max-iterations 10 --verify 'cargo test'
  ralph-loop explain 'cd app && git push'";

/// Runs the command that was given.
pub(crate) fn perform(env: &Env, matches: &ArgMatches) -> Result<ExitCode, Failure> {
    let Some((name, given)) = matches.subcommand() else { return start_run(env, matches) };
    let row = ALL.iter().find(|row| row.name == name);
    let row = row.ok_or_else(|| Failure::usage(format!("there is no subcommand {name}")))?;
    (row.run)(&Call { env, given, line: &command() })
}

/// Runs the loop.
fn start_run(env: &Env, given: &ArgMatches) -> Result<ExitCode, Failure> {
    let mut flags = given_flags(given);
    let plan = given.get_one::<String>(PLAN_FILE);
    flags.extend(plan.map(|path| Flag::new("loop.plan", path.clone())));
    let project = here::project(env)?;
    flags.extend(in_task::flags(env, project.root()));
    let restored = run::start::restore_files(&project)?;
    let config = here::config(&project, env, &flags)?;
    if !in_task::end_with_task(env) {
        if config.finish.pr == PullRequests::Story && !config.run.dry_run {
            return requests::run(env, &config);
        }
        if !config.run.fleet.is_empty() {
            return fleet::task(env, &config, &flags);
        }
    }
    let mut preflight = run::start::preflight(env, &flags)?;
    preflight.findings.extend(restored);
    if preflight.config.run.dry_run {
        return run::start::dry_run(&preflight);
    }
    run::run(env, preflight)
}

/// The whole command line, from which the documentation is generated.
pub(crate) fn command() -> Command {
    Command::new("ralph-loop")
        .about("Runs a coding agent over a plan of stories and commits only work that passes its checks")
        .version(env!("CARGO_PKG_VERSION"))
        .after_help(EXIT_CODES)
        .args_conflicts_with_subcommands(true)
        .arg(plan_file())
        .args(flags_of_keys())
        .arg(
            Arg::new("verbose")
                .short('v')
                .long("verbose")
                .action(ArgAction::Count)
                .global(true)
                .help("Log decisions and their reasons to stderr; -vv for more [RUST_LOG]"),
        )
        .subcommands(subcommands())
}

fn subcommands() -> impl Iterator<Item = Command> {
    ALL.iter().map(|row| (row.args)(Command::new(row.name)))
}

/// The positional argument for the plan. A word that might be a misspelt subcommand is refused.
fn plan_file() -> Arg {
    let parse = |text: &str| -> Result<String, String> {
        if is_plan(text) {
            return Ok(text.to_owned());
        }
        Err(suggest::instead_of(text, subcommands().filter(|it| !it.is_hide_set())))
    };
    let arg =
        Arg::new(PLAN_FILE).value_name("PLAN").value_parser(parse).value_hint(ValueHint::FilePath);
    arg.conflicts_with("loop.plan").help("The plan to work on, as with --plan")
}

/// Whether the first word of a command line names a plan.
fn is_plan(text: &str) -> bool {
    text.contains(['.', '/']) || std::path::Path::new(text).is_file()
}

/// Whether a program of the user's may answer to this first word, because nothing of ours does.
pub(crate) fn is_free(word: &str) -> bool {
    let is_ours = |row: &Command| row.get_name() == word;
    !word.starts_with('-')
        && word != "help"
        && !is_plan(word)
        && !subcommands().any(|it| is_ours(&it))
}
