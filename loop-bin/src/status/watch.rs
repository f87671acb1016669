//! `ralph-loop status --watch`: the same again and again, from elsewhere, until the run ends.

use std::io::{self, IsTerminal};
use std::process::ExitCode;
use std::time::Duration;

use askama::Template;
use console::Term;

use super::Standing;
use crate::exit::Failure;
use crate::terminal::{Worker, columns, cut, say};

/// How often it is looked at.
const EVERY: Duration = Duration::from_millis(500);

/// Looks until no run is under way. A person ends it earlier with Ctrl-C.
pub(super) fn until_the_end(
    json: bool,
    look: &dyn Fn() -> Result<Standing, Failure>,
) -> Result<ExitCode, Failure> {
    let is_drawn = io::stdout().is_terminal() && !json;
    let (mut before, mut drawn) = (String::new(), 0);
    loop {
        let standing = look()?;
        if is_drawn {
            drawn = draw(&standing.render()?, drawn)?;
        } else {
            let now = if json { serde_json::to_string(&standing)? } else { standing.in_one_line() };
            if now != before {
                say(&now);
                before = now;
            }
        }
        if standing.now.running.is_none() {
            return Ok(ExitCode::SUCCESS);
        }
        std::thread::sleep(EVERY);
    }
}

/// Draws over so many lines; returns how many there are now. None is wider than the terminal, so that
/// each is one of its rows.
fn draw(text: &str, drawn: usize) -> Result<usize, Failure> {
    let term = Term::buffered_stdout();
    term.clear_last_lines(drawn)?;
    for line in text.lines() {
        term.write_line(&cut(line, columns().saturating_sub(1).into()))?;
    }
    term.flush()?;
    Ok(text.lines().count())
}

impl Standing {
    /// Without what changes by itself, as a clock does.
    fn in_one_line(&self) -> String {
        let mut parts = vec![self.verdict()];
        if let (Some(_), Some(now)) = (&self.now.story, &self.now.now) {
            for Worker { worker, story, attempt, attempts, doing, .. } in now.all() {
                let name = worker.as_ref().map(|name| format!("{name}: ")).unwrap_or_default();
                match story {
                    Some(story) => {
                        parts.push(format!("{name}{story} attempt {attempt} of {attempts}"));
                        parts.push(doing.clone());
                    }
                    None => parts.push(format!("{name}{doing}")),
                }
            }
        } else if let Some(pause) = &self.now.pause {
            parts.push(pause.why.clone());
        } else if let Some(finish) = &self.last.last_finish {
            parts.push(format!("the last run ended: {finish}"));
        }
        parts.retain(|part| !part.is_empty());
        crate::terminal::printable(&parts.join(" | "))
    }
}
