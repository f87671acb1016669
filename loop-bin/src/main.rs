//! `ralph-loop`: argv in, exit code out.

mod args;
mod attempts;
mod clean;
mod complete;
mod completions;
mod demo;
mod doctor;
mod exit;
mod explain;
mod fleet;
mod forge;
mod here;
mod housekeeping;
mod init;
mod install;
mod logs;
mod mcp;
mod plan_choice;
mod plan_command;
mod pr;
mod report;
mod request_merge;
mod retry;
mod run;
mod sandboxed;
mod show_config;
mod status;
mod stop;
mod stories;
mod suggest;
mod tell;
mod terminal;
mod undo;
mod verified;

use std::process::ExitCode;

use board::saved;
use clap::error::ErrorKind;
use ralph_base::env::Env;

fn main() -> ExitCode {
    if let Some(code) = sandbox::run_if_asked().or_else(client::keep) {
        return code;
    }
    let env = Env::process();
    let parse = |words| args::command().try_get_matches_from(std::env::args_os().take(words));
    let matches = match parse(usize::MAX) {
        Ok(matches) => matches,
        // A first word that is neither a subcommand nor a plan is what went wrong.
        Err(error) => match parse(2) {
            Err(first) if first.kind() == ErrorKind::ValueValidation => return exit::usage(&first),
            _ => return exit::usage(&error),
        },
    };
    log_decisions(matches.get_count("verbose"));
    exit::code(args::perform(&env, &matches))
}

/// A debug log for those who ask for it, by `-v` or by `RUST_LOG`.
fn log_decisions(verbosity: u8) {
    let level = match verbosity {
        0 => "off",
        1 => "ralph_loop=info,work_copy=info",
        _ => "ralph_loop=debug,work_copy=debug",
    };
    env_logger::Builder::from_env(env_logger::Env::default().default_filter_or(level)).init();
}
