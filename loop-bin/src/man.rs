//! `ralph-loop man`: the manual pages, made from the command line itself.

use std::process::ExitCode;

use camino::Utf8PathBuf;
use clap::{Args, Command, ValueHint};

use crate::exit::Failure;
use crate::terminal::say;

/// Write the manual pages into a folder
#[derive(Debug, Args)]
#[command(after_help = "Example: ralph-loop man ~/.local/share/man/man1; man ralph-loop")]
pub(crate) struct Man {
    /// The folder; created if it does not exist
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    folder: Utf8PathBuf,
}

impl Man {
    pub(crate) fn run(&self, command: Command) -> Result<ExitCode, Failure> {
        fs_err::create_dir_all(&self.folder)?;
        clap_mangen::generate_to(command, &self.folder)?;
        say(format!("The manual pages are in {}.", self.folder));
        Ok(ExitCode::SUCCESS)
    }
}
