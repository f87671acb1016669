//! `ralph-loop install` and `uninstall`: the hooks that lie beside this program, for people
//! without the sources.

use std::process::ExitCode;

use camino::{Utf8Path, Utf8PathBuf};
use installer::{Install, Uninstall};
use ralph_base::env::Env;
use run_history::LOOP;

use crate::agent::is_found;
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

/// The folder that holds this program, and so its hooks; links are followed.
pub(crate) fn folder_of_this_program() -> Option<Utf8PathBuf> {
    let program = std::env::current_exe().ok()?.canonicalize().ok()?;
    Utf8PathBuf::from_path_buf(program.parent()?.to_owned()).ok()
}

/// Where the agent looks for programs: with the folder of this one at its end, unless `ralph-loop` is
/// found already.
pub(crate) fn path_of_agent(path: &str, root: &Utf8Path) -> String {
    let is_missing = !path.is_empty() && !is_found(LOOP, path, root);
    let folder = folder_of_this_program().filter(|folder| folder.join(LOOP).is_file());
    match folder {
        Some(folder) if is_missing => format!("{path}:{folder}"),
        _ => path.to_owned(),
    }
}
