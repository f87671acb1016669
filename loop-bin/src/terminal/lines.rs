//! Lines that stay: their time, their colour, and how one is shown above what goes on.

use console::Style;

use super::width::wrapped;
use jiff::Zoned;
use serde::{Deserialize, Serialize};

/// What a line is about, by which it gets its colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Tone {
    Plain,
    /// A story is done.
    Good,
    /// Something failed and is tried again, was refused, or should be seen to.
    Warning,
    /// Nothing goes on without a person.
    Bad,
    /// Details of the line before.
    Faint,
}

impl Tone {
    fn style(self) -> Style {
        match self {
            Self::Plain => Style::new(),
            Self::Good => Style::new().green(),
            Self::Warning => Style::new().yellow(),
            Self::Bad => Style::new().red().bold(),
            Self::Faint => Style::new().dim(),
        }
    }

    /// A line with its time; without colour where the user or the terminal wants none. On a terminal it
    /// is broken between words, and goes on below its beginning.
    pub(super) fn stamped(self, line: &str, columns: Option<usize>) -> String {
        let time = Zoned::now().strftime("%H:%M:%S ").to_string();
        let room = columns.map_or(usize::MAX, |columns| columns.saturating_sub(time.len()));
        let indent = " ".repeat(time.len());
        let lines =
            wrapped(line, room).into_iter().map(|part| self.style().apply_to(part).to_string());
        time.clone() + &lines.collect::<Vec<_>>().join(&format!("\n{indent}"))
    }
}
