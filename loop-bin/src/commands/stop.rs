//! `ralph-loop stop`: stops the current run.

use std::process::ExitCode;

use clap::Args;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use ralph_base::env::Env;
use ralph_base::state::{self, Lock};

use super::Subcommand;
use crate::exit::Failure;
use crate::here;
use crate::record::{RunRecord, holder};
use crate::terminal::say;

pub(super) const COMMAND: Subcommand = Subcommand {
    name: "stop",
    args: Stop::augment_args,
    run: |call| call.parsed::<Stop>()?.run(call.env),
};

/// End the current run after the story it is working on
#[derive(Debug, Args)]
pub(crate) struct Stop {
    /// End it now, as Ctrl-C does; the next run continues the attempt
    #[arg(long)]
    now: bool,
}

impl Stop {
    pub(crate) fn run(&self, env: &Env) -> Result<ExitCode, Failure> {
        let project = here::project(env)?;
        let none =
            || Failure::because("no run is in progress in this project; `ralph-loop` starts one");
        let run_dir = project.run_dir().ok_or_else(none)?;
        let by = holder(&run_dir).and_then(|held| held.by).ok_or_else(none)?;
        let is_between = Lock::holder(&run_dir.requests_lock()).is_some();
        let is_its = |record: &RunRecord| record.process.pid == by.pid || is_between;
        let record = RunRecord::load(&run_dir)?.filter(is_its);
        let record = record.ok_or_else(none)?;
        if self.now {
            let pid = i32::try_from(by.pid).map_err(Failure::usage)?;
            kill(Pid::from_raw(pid), Signal::SIGINT)?;
            say(format!("process {pid} was asked to stop now"));
            return Ok(ExitCode::SUCCESS);
        }
        state::replace(&run_dir.stop_request(), record.process.run.as_bytes())?;
        let stories: Vec<&str> = record.stories().map(|(_, key)| key.story.as_str()).collect();
        say(match stories.as_slice() {
            [_, ..] => {
                let stories = stories.join(", ");
                format!("the run stops after {stories}; `ralph-loop stop --now` does not wait")
            }
            [] => "the run stops before its next story".to_owned(),
        });
        Ok(ExitCode::SUCCESS)
    }
}
