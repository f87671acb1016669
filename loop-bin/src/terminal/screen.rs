//! Lines on a terminal that are drawn over.

use std::io;

use console::Term;

use super::width::cut;

/// A terminal that does not tell is as wide as most.
const USUAL_COLUMNS: u16 = 80;

/// How wide the terminal is now: a person may have made it smaller since the last look.
pub(crate) fn columns() -> u16 {
    Term::stdout().size_checked().map_or(USUAL_COLUMNS, |(_, columns)| columns)
}

/// Lines that are drawn over.
#[derive(Debug)]
pub(crate) struct Redrawn {
    term: Term,
    drawn: usize,
}

impl Redrawn {
    pub(crate) fn new() -> Self {
        Self { term: Term::buffered_stdout(), drawn: 0 }
    }

    /// Draws lines in the place of the last ones, below others that stay. None is wider than the terminal,
    /// so that each is one of its rows. What a person types, such as `^C`, is drawn over as well.
    pub(crate) fn draw(&mut self, above: &[String], lines: &[String]) -> io::Result<()> {
        self.term.move_cursor_up(self.drawn)?;
        self.term.clear_to_end_of_screen()?;
        for line in above {
            self.term.write_line(line)?;
        }
        for line in lines {
            self.term.write_line(&cut(line, columns().saturating_sub(1).into()))?;
        }
        self.drawn = lines.len();
        self.term.flush()
    }
}
