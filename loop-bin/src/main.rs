//! `ralph-loop`: argv in, exit code out.

mod args;
mod exit;
mod explain;
mod terminal;
mod undo;

use std::process::ExitCode;

use camino::Utf8PathBuf;
use ralph_core::env::Env;

use crate::args::Request;
use crate::exit::Failure;

fn main() -> ExitCode {
    let request = match args::parse(std::env::args_os()) {
        Ok(request) => request,
        Err(error) => return exit::usage(&error),
    };
    exit::code(perform(&Env::process(), &request))
}

fn perform(env: &Env, request: &Request) -> Result<(), Failure> {
    let here = Utf8PathBuf::from_path_buf(std::env::current_dir()?)
        .map_err(|path| std::io::Error::other(format!("{} is not UTF-8", path.display())))?;
    match request {
        Request::Explain(what) => explain::run(env, &here, what),
        Request::Undo(what) => undo::run(env, &here, what),
    }
}
