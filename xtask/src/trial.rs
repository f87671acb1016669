//! `cargo xtask trial`: an archive of `target/dist`, installed without cargo into an empty home and
//! used there: the demo runs, the hooks are installed in a project, and the guard answers.

use anyhow::Result;
use test_support::Scratch;

use crate::{dist, run};

/// The system's own programs, including git, but not cargo.
const PATH: &str = "/usr/bin:/bin:/usr/sbin:/sbin";

/// Runs the task.
pub(crate) fn run() -> Result<()> {
    let scratch = Scratch::new();
    let archive = scratch.path("ralph-loop.tar.gz");
    let mut pack = run::command("tar");
    pack.args(["-czf", archive.as_str(), "-C", dist::FOLDER, "share"]).args(dist::BINARIES);
    run::output(&mut pack)?;
    let mut trial = run::command("sh");
    trial.args([run::root().join("xtask/packaging/try.sh"), archive]);
    trial.env_clear().env("PATH", PATH).current_dir(scratch.dir("empty"));
    trial.env("HOME", scratch.dir("home")).env("TMPDIR", scratch.dir("tmp"));
    run::run(&mut trial)
}
