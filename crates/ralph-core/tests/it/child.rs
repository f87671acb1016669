//! A test that runs itself again in a process of its own: to be killed, or on a disk of its own.

use std::process::{Command, Output};

use camino::{Utf8Path, Utf8PathBuf};
use ralph_base::env::Env;

/// Tells the test that it is the child, and where it is to work.
const FOLDER: &str = "RALPH_INTERNAL__CHILD";

/// The folder in which to work, if this is the child.
pub(crate) fn folder() -> Option<Utf8PathBuf> {
    Env::process().get(FOLDER).map(Into::into)
}

/// Runs the test of this name again, with these variables.
pub(crate) fn run(test: &str, folder: &Utf8Path, vars: &[(&str, &str)]) -> Output {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.envs(vars.iter().copied());
    output_of(command, test, folder)
}

/// The same, with a small disk of so many KiB in the place of the folder, and of all temporary
/// folders. None where the machine does not allow that.
pub(crate) fn run_on_a_small_disk(test: &str, folder: &Utf8Path, size: usize) -> Option<Output> {
    let way = test_support::own_mounts()?;
    let script = format!("mount -t tmpfs -o size={size}k tmpfs \"$TMPDIR\" && exec \"$0\" \"$@\"");
    let mut command = Command::new(way[0]);
    command.args(&way[1..]).args(["sh", "-c", &script]).env("TMPDIR", folder);
    command.arg(std::env::current_exe().unwrap());
    Some(output_of(command, test, folder))
}

fn output_of(mut command: Command, test: &str, folder: &Utf8Path) -> Output {
    command.args(["--exact", test, "--nocapture", "--test-threads=1"]);
    command.env(FOLDER, folder).output().unwrap()
}
