//! Permanent lines: their time, colour and wrapping.

use console::Style;

use super::width::wrapped;
use jiff::Zoned;
use serde::{Deserialize, Serialize};

/// The kind of a line, which decides its colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Tone {
    Plain,
    /// A story is done.
    Good,
    /// Something failed and is tried again, was refused, or needs attention.
    Warning,
    /// Only a person can continue.
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

    /// A line with its time, uncoloured if the user or the terminal wants that. On a terminal it is
    /// wrapped between words and indented.
    pub(super) fn stamped(self, line: &str, columns: Option<usize>) -> String {
        let time = Zoned::now().strftime("%H:%M:%S ").to_string();
        let room = columns.map_or(usize::MAX, |columns| columns.saturating_sub(time.len()));
        let indent = " ".repeat(time.len());
        let lines =
            wrapped(line, room).into_iter().map(|part| self.style().apply_to(part).to_string());
        time.clone() + &lines.collect::<Vec<_>>().join(&format!("\n{indent}"))
    }
}
