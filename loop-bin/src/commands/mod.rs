//! The subcommands, one file or folder each, in one table.

mod attempts;
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

use clap::{ArgMatches, Command, FromArgMatches};
use ralph_base::env::Env;

use crate::exit::Failure;
use crate::terminal::say;
use client::signals::Interrupts;

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
    plan::COMMAND,
    stop::COMMAND,
    tell::COMMAND,
    config::COMMAND,
    explain::COMMAND,
    sandbox::COMMAND,
    fleet::COMMAND,
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
    /// The whole command line.
    pub(crate) line: &'a Command,
}

impl Call<'_> {
    /// Its arguments.
    fn parsed<T: FromArgMatches>(&self) -> Result<T, Failure> {
        T::from_arg_matches(self.given).map_err(Failure::usage)
    }
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
