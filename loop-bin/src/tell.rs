//! `ralph-loop tell`: a word to the agent, while it works or before.

use std::process::ExitCode;

use clap::Args;
use ralph_base::env::Env;
use ralph_base::state;

use crate::exit::Failure;
use crate::here;
use crate::terminal::say;

/// Tell the agent something in its next prompt
///
/// It is repeated in each prompt until a story has landed that was told so.
#[derive(Debug, Args)]
pub(crate) struct Tell {
    /// What to tell it
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
            return Err(Failure::usage("there is nothing to tell: the text is empty"));
        }
        fs_err::create_dir_all(run_dir.root())?;
        state::append_line(&run_dir.told(), format!("- {}", text.trim()).as_bytes())?;
        say("the agent is told in its next prompt");
        Ok(ExitCode::SUCCESS)
    }
}
