//! `ralph-loop logs`: what the agent of an attempt said and did, in readable form.

use std::io;
use std::process::ExitCode;

use camino::Utf8Path;
use clap::Args;
use ralph_base::env::Env;
use run_history::RunHistory;

use crate::exit::Failure;
use crate::here;
use crate::terminal::say;
use client::{Readable, each_line_of_log};

/// How many lines of a log's end are shown.
const LAST_LINES: usize = 12;

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

fn each_readable_line(log: &Utf8Path, mut take: impl FnMut(String)) -> io::Result<()> {
    let mut readable = Readable::default();
    each_line_of_log(log, 0, |line| readable.lines(line).into_iter().for_each(&mut take))
}

/// The end of a log, under its name.
pub(crate) fn last_lines(log: &Utf8Path) -> io::Result<String> {
    let mut lines = Vec::new();
    each_readable_line(log, |line| lines.push(format!("\n  {line}")))?;
    let from = lines.len().saturating_sub(LAST_LINES);
    Ok(here::shown(log).into_string() + &lines.split_off(from).concat())
}
