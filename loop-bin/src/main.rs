//! `ralph-loop`: argv in, exit code out.

mod args;
mod exit;
mod terminal;
mod undo;

use std::process::ExitCode;

use ralph_core::env::Env;

use crate::args::Request;

fn main() -> ExitCode {
    let request = match args::parse(std::env::args_os()) {
        Ok(request) => request,
        Err(error) => return exit::usage(&error),
    };
    let env = Env::process();
    let outcome = match request {
        Request::Undo(what) => undo::run(&env, &what),
    };
    exit::code(outcome)
}
