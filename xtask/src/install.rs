//! `cargo xtask install` and `uninstall`: the `ralph-loop` subcommands of these names, with freshly
//! built programs.

use anyhow::Result;

use crate::{dist, run};

/// Builds the programs, and runs the subcommand of `ralph-loop`.
pub(crate) fn run(what: &str, arguments: &[String]) -> Result<()> {
    let program = dist::run()?.join("ralph-loop");
    let mut command = run::command(program.as_str());
    run::run(command.current_dir(std::env::current_dir()?).arg(what).args(arguments))
}
