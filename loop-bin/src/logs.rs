//! `ralph-loop logs`: what the agent of an attempt said and did, as people read it.

use std::process::ExitCode;

use clap::Args;
use ralph_base::env::Env;
use run_history::RunHistory;

use crate::exit::Failure;
use crate::here;
use crate::terminal::say;
use client::{Readable, each_line_of_log};

/// Show what the agent said and did in the last attempt, or in the last one at a story
#[derive(Debug, Args)]
pub(crate) struct Logs {
    /// The story's id; with its plan where several have it, such as PRD-1/US-001
    #[arg(value_name = "STORY")]
    story: Option<String>,
}

impl Logs {
    pub(crate) fn run(&self, env: &Env) -> Result<ExitCode, Failure> {
        let project = here::project(env)?;
        let folder = project.own_state().logs();
        let history = RunHistory::open(project.root(), project.own_state())?;
        let mut logs = history.logs(self.story.as_deref()).map(|name| folder.join(name));
        let Some(log) = logs.find(|log| log.is_file()) else {
            return Err(Failure::because(match &self.story {
                Some(story) => format!("there is no log of an attempt at {story} in {folder}"),
                None => format!("there is no log in {folder}; no agent has run here"),
            }));
        };
        say(format!("{}", here::shown(&log)));
        let mut readable = Readable::default();
        each_line_of_log(&log, 0, |line| readable.lines(line).iter().for_each(say))?;
        Ok(ExitCode::SUCCESS)
    }
}
