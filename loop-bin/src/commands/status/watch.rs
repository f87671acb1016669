//! `ralph-loop status --watch`: repeats the status until the run ends.

use std::io::{self, IsTerminal};
use std::process::ExitCode;
use std::time::Duration;

use askama::Template;

use super::RunStatus;
use crate::exit::Failure;
use crate::terminal::screen::Redrawn;
use crate::terminal::{Worker, say};

/// How often the status is read.
const EVERY: Duration = Duration::from_millis(500);

/// Repeats the status until no run is in progress, or Ctrl-C is pressed.
pub(super) fn until_the_end(
    json: bool,
    look: &dyn Fn() -> Result<RunStatus, Failure>,
) -> Result<ExitCode, Failure> {
    let is_drawn = io::stdout().is_terminal() && !json;
    let (mut before, mut screen) = (String::new(), Redrawn::new());
    loop {
        let status = look()?;
        if is_drawn {
            let lines: Vec<String> = status.render()?.lines().map(str::to_owned).collect();
            screen.draw(&[], &lines)?;
        } else {
            let now = if json { serde_json::to_string(&status)? } else { status.in_one_line() };
            if now != before {
                say(&now);
                before = now;
            }
        }
        if status.now.running.is_none() {
            return Ok(ExitCode::SUCCESS);
        }
        std::thread::sleep(EVERY);
    }
}

impl RunStatus {
    /// The status without times that change by themselves.
    fn in_one_line(&self) -> String {
        let mut parts = vec![self.verdict()];
        if let Some(pause) = &self.now.pause {
            parts.push(pause.why.clone());
        }
        for worker in self.now.now.iter().flat_map(|scene| &scene.workers) {
            let Worker { worker, story, attempt, attempts, doing, .. } = worker;
            parts.extend(worker.as_ref().map(|name| format!("worker {name}")));
            parts.extend(story.as_ref().map(|id| format!("{id} attempt {attempt} of {attempts}")));
            parts.push(doing.clone());
        }
        if self.now.running.is_none() && self.last.last_finish.is_some() {
            parts.push(format!("the last run ended: {}", self.last.ending));
        }
        parts.retain(|part| !part.is_empty());
        crate::terminal::printable(&parts.join(" | "))
    }
}
