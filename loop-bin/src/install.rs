//! `ralph-loop install` and `uninstall`: the hooks that lie beside this program, for people
//! without the sources.

use camino::Utf8PathBuf;
use clap::{ArgMatches, Args, Command, FromArgMatches};
use installer::{Install, Uninstall};
use ralph_base::env::Env;

use crate::exit::{Failure, Success};
use crate::terminal::say_as_it_is;

/// Why the hooks beside us cannot be found.
#[derive(Debug, thiserror::Error)]
#[error("it cannot be told where this program lies; start it by its full path")]
struct Nowhere;

/// The subcommands.
pub(crate) fn commands() -> [Command; 2] {
    let install = Command::new("install")
        .about("Copy the hooks that lie beside this program and register them with the client");
    let uninstall = Command::new("uninstall")
        .about("Take the hooks and their registrations out again; your own settings stay");
    [Install::augment_args(install), Uninstall::augment_args(uninstall)]
}

/// Does it.
pub(crate) fn run(env: &Env, name: &str, matches: &ArgMatches) -> Result<Success, Failure> {
    if name == "install" {
        let install = Install::from_arg_matches(matches).map_err(Failure::usage)?;
        let prepared = install.prepare(env)?;
        let binaries = folder_of_this_program().ok_or(Nowhere)?;
        prepared.install(&binaries, &mut say_as_it_is)?;
    } else {
        let uninstall = Uninstall::from_arg_matches(matches).map_err(Failure::usage)?;
        uninstall.run(env, &mut say_as_it_is)?;
    }
    Ok(Success::Done)
}

/// The folder that holds this program, and so its hooks; links are followed.
pub(crate) fn folder_of_this_program() -> Option<Utf8PathBuf> {
    let program = std::env::current_exe().ok()?.canonicalize().ok()?;
    Utf8PathBuf::from_path_buf(program.parent()?.to_owned()).ok()
}
