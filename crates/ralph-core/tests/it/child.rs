//! Runs a test again in a child process, which can be killed or use a separate disk.

use std::process::{Command, Output};

use camino::{Utf8Path, Utf8PathBuf};
use ralph_base::env::Env;

/// The variable that is set for the child process: the folder to work in.
const FOLDER: &str = "RALPH_INTERNAL__CHILD";

/// Returns the folder to work in, if this is the child process.
pub(crate) fn folder() -> Option<Utf8PathBuf> {
    Env::process().get(FOLDER).map(Into::into)
}

/// Runs the test with this name in a child process, with these variables.
pub(crate) fn run(test: &str, folder: &Utf8Path, vars: &[(&str, &str)]) -> Output {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.envs(vars.iter().copied());
    output_of(command, test, folder)
}

/// Like `run`, but mounts a disk of `size` KiB on `folder`, which is also the temp folder. Returns
/// `None` if the machine does not allow mounts.
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
