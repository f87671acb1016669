//! `ralph-loop tell`: leaves a message for the agent, before or while it works.

use std::io;
use std::process::ExitCode;

use clap::Args;
use ralph_base::env::Env;
use ralph_base::state::{self, RunDir};

use crate::exit::Failure;
use crate::here;
use crate::terminal::say;

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
        say(leave(&run_dir, &text)?);
        Ok(ExitCode::SUCCESS)
    }
}

/// Leaves a message for the next prompts; returns the answer for the user.
pub(crate) fn leave(run_dir: &RunDir, text: &str) -> io::Result<&'static str> {
    fs_err::create_dir_all(run_dir.root())?;
    state::append_line(&run_dir.messages(), format!("- {}", text.trim()).as_bytes())?;
    Ok("the agent gets the message in its next prompt")
}
