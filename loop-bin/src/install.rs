//! `ralph-loop install` and `uninstall`: the hooks that lie beside this program, for people
//! without the sources.

use std::process::ExitCode;

use client::folder_of_this_program;
use installer::{Install, Uninstall};
use ralph_base::env::Env;

use crate::exit::Failure;
use crate::terminal::say_as_it_is;

pub(crate) fn install(env: &Env, install: &Install) -> Result<ExitCode, Failure> {
    let prepared = install.prepare(env)?;
    let nowhere = "cannot determine where this program is installed; start it by its full path";
    let binaries = folder_of_this_program().ok_or_else(|| Failure::because(nowhere))?;
    prepared.install(&binaries, &mut say_as_it_is)?;
    Ok(ExitCode::SUCCESS)
}

pub(crate) fn uninstall(env: &Env, uninstall: &Uninstall) -> Result<ExitCode, Failure> {
    uninstall.run(env, &mut say_as_it_is)?;
    Ok(ExitCode::SUCCESS)
}
