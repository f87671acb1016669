//! `ralph-loop logs`: what the agent of an attempt said and did, in readable form.

use std::process::ExitCode;

use clap::Args;
use ralph_base::env::Env;
use run_history::RunHistory;

use super::Subcommand;
use crate::exit::Failure;
use crate::here;
use crate::readable::each_readable_line;
use crate::terminal::say;

pub(super) const COMMAND: Subcommand = Subcommand {
    name: "logs",
    args: Logs::augment_args,
    run: |call| call.parsed::<Logs>()?.run(call.env),
};

/// Show what the agent said and did in an attempt, and what became of it
#[derive(Debug, Args)]
pub(crate) struct Logs {
    /// An attempt, such as US-001/2, or a story for its last attempt; defaults to the last attempt of all
    #[arg(value_name = "STORY|ID")]
    of: Option<String>,
}

impl Logs {
    pub(crate) fn run(&self, env: &Env) -> Result<ExitCode, Failure> {
        let project = here::project(env)?;
        let folder = project.own_state().logs();
        let history = RunHistory::open(project.root(), project.own_state())?;
        let mut logs = history.attempts(self.of.as_deref()).map(|one| (one, folder.join(&one.log)));
        let Some((attempt, log)) = logs.find(|(_, log)| log.is_file()) else {
            return Err(Failure::because(match &self.of {
                Some(id) => {
                    format!("there is no log of {id} in {folder}; see `ralph-loop attempts`")
                }
                None => format!("there is no log in {folder}; no agent has run here"),
            }));
        };
        say(format!("{}", here::shown(&log)));
        each_readable_line(&log, say)?;
        say(attempt.in_words());
        Ok(ExitCode::SUCCESS)
    }
}
