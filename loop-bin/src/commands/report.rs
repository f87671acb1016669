//! `ralph-loop report`: writes the report on a run to a file, or prints it.

use std::process::ExitCode;

use camino::Utf8PathBuf;
use clap::Args;
use ralph_base::env::Env;

use super::Subcommand;
use crate::boards::fleet;
use crate::exit::Failure;
use crate::here;
use crate::plan_choice::PlanChoice;
use crate::report::{report_on, write};
use crate::terminal::{say, say_as_it_is};

pub(super) const COMMAND: Subcommand = Subcommand {
    name: "report",
    args: ReportCommand::augment_args,
    run: |call| call.parsed::<ReportCommand>()?.run(call.env),
};

/// Report on a run: what needs you, what was done, what it cost
///
/// Writes one HTML file that needs no network, and prints its path. Runs write it too when they end.
#[derive(Debug, Args)]
pub(crate) struct ReportCommand {
    #[command(flatten)]
    choice: PlanChoice,
    /// The run: last, a number as in `status --run all`, all, or the sessions that no run started
    #[arg(long, value_name = "last|N|all|sessions", default_value = "last")]
    run: String,
    /// Print Markdown, for a pull request
    #[arg(long, conflicts_with = "json")]
    markdown: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Write the HTML page to this file
    #[arg(long, value_name = "FILE", conflicts_with_all = ["json", "markdown"])]
    output: Option<Utf8PathBuf>,
}

impl ReportCommand {
    pub(crate) fn run(&self, env: &Env) -> Result<ExitCode, Failure> {
        let output = self.output.as_ref().map(|path| Ok::<_, Failure>(here::folder()?.join(path)));
        let output = output.transpose()?;
        let (env, server) = &fleet::enter(env, self.choice.fleet.as_deref())?;
        let project = here::project(env)?;
        let run = if server.is_some() { "all" } else { &self.run };
        let report = report_on(env, &project, &self.choice, run)?;
        if self.json {
            say_as_it_is(&serde_json::to_string_pretty(&report)?);
        } else if self.markdown {
            say_as_it_is(&report.markdown()?);
        } else {
            say(write(&project, &report, output.as_deref())?.as_str());
        }
        Ok(ExitCode::SUCCESS)
    }
}
