//! Lines that stay: their time, their colour, and how one is shown above what goes on.

use console::Style;
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

    /// A line with its time; without colour where the user or the terminal wants none.
    pub(super) fn stamped(self, line: &str) -> String {
        format!("{} {}", Zoned::now().strftime("%H:%M:%S"), self.style().apply_to(line))
    }
}
