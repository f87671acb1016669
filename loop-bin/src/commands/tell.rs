//! `ralph-loop tell`: leaves a message for the agent, before or while it works.

use std::process::ExitCode;

use clap::Args;
use ralph_base::env::Env;

use super::Subcommand;
use crate::exit::Failure;
use crate::here;
use crate::record::leave_message;
use crate::terminal::say;

pub(super) const COMMAND: Subcommand = Subcommand {
    name: "tell",
    args: Tell::augment_args,
    run: |call| call.parsed::<Tell>()?.run(call.env),
};

/// Tell the agent something in its next prompt
///
/// It is repeated in every prompt until a story that saw it has landed.
#[derive(Debug, Args)]
pub(crate) struct Tell {
    /// The message
    #[arg(required = true)]
    text: Vec<String>,
}

impl Tell {
    pub(crate) fn run(&self, env: &Env) -> Result<ExitCode, Failure> {
        let project = here::project(env)?;
        let none = || Failure::because(format!("{} is not in a git repository", project.root()));
        let run_dir = project.run_dir().ok_or_else(none)?;
        let text = self.text.join(" ");
        if text.trim().is_empty() {
            return Err(Failure::usage("the message is empty; write it after `ralph-loop tell`"));
        }
        say(leave_message(&run_dir, &text)?);
        Ok(ExitCode::SUCCESS)
    }
}
