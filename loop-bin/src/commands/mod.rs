//! The command line: the flags of a run, and the subcommands, one file or folder each, in one table.

mod answer;
mod attempts;
mod audit;
mod clean;
mod complete;
mod completions;
mod config;
mod demo;
mod doctor;
mod explain;
mod fleet;
mod init;
mod install;
mod logs;
mod mcp;
mod plan;
mod pr;
mod report;
mod request_merge;
mod retry;
mod sandbox;
mod status;
mod stop;
mod stories;
mod tell;
mod undo;
mod verified;

use std::io;
use std::process::ExitCode;

use clap::{Arg, ArgAction, ArgMatches, Command, FromArgMatches, ValueHint};
use ralph_base::env::Env;

use crate::exit::Failure;
use crate::flags::flags_of_keys;
use crate::run::start::Extensions;
use crate::terminal::say;
use crate::{observers, suggest, verifiers};
use client::signals::Interrupts;

/// What every run has beside its kernel.
pub(crate) const EXTENSIONS: Extensions =
    Extensions { verifiers: verifiers::ALL, observers: observers::ALL };

/// The name of the argument for the plan.
pub(crate) const PLAN_FILE: &str = "plan-file";

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
  8    the remaining stories are blocked and need a person; with --strict, also a landed one
  9    the checks failed before the first story
  75   try later, with --fleet or --pr story
  130  interrupted (Ctrl-C, `ralph-loop stop --now`)
  143  terminated

`ralph-loop NAME` runs `ralph-loop-NAME` from PATH where NAME is neither a subcommand nor a plan.

Examples:
  ralph-loop demo
  ralph-loop --max-iterations 10 --verify 'cargo test'
  ralph-loop explain 'cd app && git push'";

/// A subcommand.
pub(crate) struct Subcommand {
    pub(crate) name: &'static str,
    /// Adds its help and its arguments.
    pub(crate) args: fn(Command) -> Command,
    pub(crate) run: fn(&Call<'_>) -> Result<ExitCode, Failure>,
}

/// All subcommands, in the order of the help.
pub(crate) const ALL: &[Subcommand] = &[
    init::COMMAND,
    install::COMMAND,
    install::UNINSTALL,
    doctor::COMMAND,
    stories::COMMAND,
    status::COMMAND,
    logs::COMMAND,
    report::COMMAND,
    pr::COMMAND,
    audit::COMMAND,
    plan::COMMAND,
    stop::COMMAND,
    tell::COMMAND,
    config::COMMAND,
    explain::COMMAND,
    sandbox::COMMAND,
    fleet::COMMAND,
    answer::COMMAND,
    attempts::COMMAND,
    attempts::TAKE,
    retry::COMMAND,
    clean::COMMAND,
    undo::COMMAND,
    complete::COMMAND,
    verified::COMMAND,
    request_merge::COMMAND,
    mcp::COMMAND,
    completions::COMMAND,
    demo::COMMAND,
];

/// What a subcommand is called with.
pub(crate) struct Call<'a> {
    pub(crate) env: &'a Env,
    pub(crate) given: &'a ArgMatches,
}

impl Call<'_> {
    /// Its arguments.
    fn parsed<T: FromArgMatches>(&self) -> Result<T, Failure> {
        T::from_arg_matches(self.given).map_err(Failure::usage)
    }
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

/// Returns a check for signals: once one has arrived, running checks are stopped too.
fn until_asked_to_end() -> io::Result<impl Fn() -> bool> {
    let interrupts = Interrupts::listen()?;
    Ok(move || interrupts.signal().is_some())
}

/// Prints a command's answer.
fn said(answer: Result<String, Failure>) -> Result<ExitCode, Failure> {
    say(answer?);
    Ok(ExitCode::SUCCESS)
}
