//! `ralph-loop NAME` for a program of the user's: it is started as `ralph-loop-NAME`, as git and cargo do.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::Command;

use camino::{Utf8Path, Utf8PathBuf};
use client::is_executable;
use ralph_base::env::Env;

use crate::commands::is_free;
use crate::exit::Failure;

/// Replaces this process with the program that the first word names, so that its arguments, exit code
/// and signals are its own. Returns if there is none, or with the reason why it could not be started.
#[expect(clippy::disallowed_methods, reason = "a program of the user's replaces this process")]
pub(crate) fn become_it(env: &Env, words: &[OsString]) -> Option<Failure> {
    let (name, rest) = words.split_first()?;
    let name = name.to_str().filter(|name| is_free(name))?;
    let program = find(name, &env.get("PATH").unwrap_or_default())?;
    let error = Command::new(&program).args(rest).exec();
    Some(Failure::because(format!("cannot start {program}: {error}")))
}

/// Finds the program. Relative folders of PATH are left out: an agent may write there.
fn find(name: &str, path: &str) -> Option<Utf8PathBuf> {
    let folders = path.split(':').map(Utf8Path::new).filter(|folder| folder.is_absolute());
    folders.map(|folder| folder.join(format!("ralph-loop-{name}"))).find(|it| is_executable(it))
}
