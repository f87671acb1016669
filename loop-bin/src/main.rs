//! `ralph-loop`: argv in, exit code out.

mod agent;
mod args;
mod attempts;
mod clean;
mod complete;
mod demo;
mod doctor;
mod exit;
mod explain;
mod finding;
mod git_output;
mod here;
mod housekeeping;
mod init;
mod install;
mod landing;
mod lifecycle;
mod request_merge;
mod retry;
mod run;
mod saved;
mod signals;
mod status;
mod terminal;
mod undo;
mod workspace;

use std::process::ExitCode;

use ralph_core::env::Env;

use crate::args::Request;

fn main() -> ExitCode {
    let (request, verbosity) = match args::parse(std::env::args_os()) {
        Ok(parsed) => parsed,
        Err(error) => return exit::usage(&error),
    };
    log_decisions(verbosity);
    let env = Env::process();
    let outcome = match request {
        Request::Run(what) => run::run(&env, &what),
        Request::Init { pre_push } => init::run(&env, pre_push),
        Request::Install(what) => install::run(&env, &what),
        Request::Doctor => doctor::run(&env),
        Request::Status { json } => status::run(&env, json),
        Request::Explain(what) => explain::run(&env, &what),
        Request::Attempts(what) => attempts::run(&env, &what),
        Request::Retry(what) => retry::run(&env, &what),
        Request::Clean(what) => clean::run(&env, what),
        Request::Undo(what) => undo::run(&env, &what),
        Request::Complete(what) => complete::run(&env, &what),
        Request::Merge(what) => request_merge::run(&env, &what),
        Request::Demo => demo::run(&env),
    };
    exit::code(outcome)
}

/// A debug log for those who ask for it, by `-v` or by `RUST_LOG`.
fn log_decisions(verbosity: u8) {
    let level = match verbosity {
        0 => "off",
        1 => "ralph_loop=info",
        _ => "ralph_loop=debug",
    };
    env_logger::Builder::from_env(env_logger::Env::default().default_filter_or(level)).init();
}
