//! Lines on a terminal that are redrawn in place.

use std::io;

use console::Term;

use super::width::cut;

/// The width of a terminal that does not report one.
const USUAL_COLUMNS: u16 = 80;

/// The terminal's current width, since the user may have resized it.
pub(crate) fn columns() -> u16 {
    Term::stdout().size_checked().map_or(USUAL_COLUMNS, |(_, columns)| columns)
}

/// Lines that are redrawn in place.
#[derive(Debug)]
pub(crate) struct Redrawn {
    term: Term,
    drawn: usize,
}

impl Redrawn {
    pub(crate) fn new() -> Self {
        Self { term: Term::buffered_stdout(), drawn: 0 }
    }

    /// Redraws the lines below new permanent lines. Each line fits the terminal's width, so it
    /// takes one row. Typed characters such as `^C` are overwritten.
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
