//! `ralph-loop completions`: prints a completion script for a shell.

use std::process::ExitCode;

use clap::{Args, Command};
use clap_complete::{Shell, generate};

use super::{Subcommand, command};
use crate::exit::Failure;
use crate::terminal::say_as_it_is;

pub(super) const COMMAND: Subcommand = Subcommand {
    name: "completions",
    args: Completions::augment_args,
    run: |call| call.parsed::<Completions>()?.run(command()),
};

/// Print a script that completes commands and flags in your shell
#[derive(Debug, Args)]
#[command(after_help = "\
zsh:   echo 'source <(ralph-loop completions zsh)' >> ~/.zshrc
bash:  echo 'source <(ralph-loop completions bash)' >> ~/.bashrc
fish:  ralph-loop completions fish > ~/.config/fish/completions/ralph-loop.fish")]
pub(crate) struct Completions {
    /// The shell
    shell: Shell,
}

impl Completions {
    pub(crate) fn run(&self, mut command: Command) -> Result<ExitCode, Failure> {
        let mut script = Vec::new();
        generate(self.shell, &mut command, "ralph-loop", &mut script);
        // The bash generator mistakes the hyphen in our name for the start of a subcommand.
        let script = String::from_utf8_lossy(&script).replace("ralph__subcmd__loop", "ralph__loop");
        say_as_it_is(&script);
        Ok(ExitCode::SUCCESS)
    }
}
