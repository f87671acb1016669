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
mod in_task;
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
mod story_requests;
mod suggest;
mod tell;
mod terminal;
mod undo;
mod verified;

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
    let mut typed: Vec<OsString> = std::env::args_os().collect();
    if typed.get(1).is_some_and(|word| word == "take") {
        typed.insert(1, "attempts".into());
    }
    let parse = |words| args::command().try_get_matches_from(typed.iter().take(words));
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
