//! `cargo xtask install` and `uninstall`: what `ralph-loop` does under these names, with programs that are
//! built first.

use anyhow::Result;

use crate::{dist, run};

/// Builds the programs, and has `ralph-loop` do it.
pub(crate) fn run(what: &str, arguments: &[String]) -> Result<()> {
    let program = dist::run()?.join("ralph-loop");
    let mut command = run::command(program.as_str());
    run::run(command.current_dir(std::env::current_dir()?).arg(what).args(arguments))
}
