//! `ralph-loop`: argv in, exit code out.

mod args;
mod boards;
mod commands;
mod detect;
mod example;
mod exit;
mod external;
mod flags;
mod forge;
mod here;
mod housekeeping;
mod in_progress;
mod in_task;
mod observers;
mod plan_choice;
mod probe;
mod readable;
mod receipts;
mod record;
mod report;
mod run;
mod suggest;
mod terminal;
mod verifiers;

use std::ffi::OsString;
use std::process::ExitCode;

use board::saved;
use clap::error::ErrorKind;
use ralph_base::env::Env;

fn main() -> ExitCode {
    if let Some(code) = sandbox::run_if_asked() {
        return code;
    }
    let env = Env::process();
    let typed: Vec<OsString> = std::env::args_os().collect();
    if let Some(failed) = external::become_it(&env, typed.get(1..).unwrap_or_default()) {
        return exit::code(Err(failed));
    }
    let parse = |words| commands::command().try_get_matches_from(typed.iter().take(words));
    // The first word is neither a subcommand nor a plan, so report that.
    let is_first = |error: &clap::Error| error.kind() == ErrorKind::ValueValidation;
    let matches = match parse(typed.len()) {
        Ok(matches) => matches,
        Err(error) => return exit::usage(&parse(2).err().filter(is_first).unwrap_or(error)),
    };
    log_decisions(matches.get_count("verbose"));
    exit::code(args::perform(&env, &matches))
}

/// Sets up the debug log, for `-v` or `RUST_LOG`.
fn log_decisions(verbosity: u8) {
    let level = match verbosity {
        0 => "off",
        1 => "ralph_loop=info,work_copy=info",
        _ => "ralph_loop=debug,work_copy=debug",
    };
    env_logger::Builder::from_env(env_logger::Env::default().default_filter_or(level)).init();
}
