//! `ralph-loop sandbox -- COMMAND`: runs a command in the sandbox that an attempt's checks have.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

use clap::Args;
use ralph_base::env::Env;
use ralph_base::linux::own_program;
use ralph_project::project::Project;

use super::Subcommand;
use crate::exit::Failure;
use crate::here;
use sandbox::Limits;
use work_copy::cache;
use work_copy::doors::Doors;

pub(super) const COMMAND: Subcommand = Subcommand {
    name: "sandbox",
    args: Sandboxed::augment_args,
    run: |call| call.parsed::<Sandboxed>()?.run(call.env),
};

/// Run a command in this folder in the same sandbox as an attempt, to try it out
#[derive(Debug, Args)]
#[command(after_help = "Inside, the project is read-only; only the copy that `ralph-loop \
                        doctor` makes can be written; see docs/sandbox.md.")]
pub(crate) struct Sandboxed {
    /// The command and its arguments
    #[arg(last = true, required = true)]
    command: Vec<OsString>,
}

impl Sandboxed {
    /// Replaces this process with the command.
    #[expect(clippy::disallowed_methods, reason = "a command of the user's replaces this process")]
    pub(crate) fn run(&self, env: &Env) -> Result<ExitCode, Failure> {
        let project = match cache::project_of(env, &here::folder()?)? {
            Some(project) => Project::locate(env, &project),
            None => here::project(env)?,
        };
        let config = here::config(&project, env, &[])?;
        let policy = Doors::to_try(env, &project, &config)?.ok_or_else(|| {
            let support = sandbox::support();
            let off = "the sandbox is off; remove `mode = \"off\"` from [sandbox], or unset \
                       RALPH_SANDBOX";
            if support.is_enough() {
                return Failure::usage(off);
            }
            Failure::because(sandbox::Error::Unsupported(support.abi).to_string())
        })?;
        let door = sandbox::door(&own_program()?, Some(&policy), Limits::default());
        let mut keeper = Command::new(own_program()?);
        keeper.arg0("ralph-loop").args(door.by.iter().skip(1)).args(&self.command);
        Err(Failure::because(keeper.envs(door.vars).exec().to_string()))
    }
}
