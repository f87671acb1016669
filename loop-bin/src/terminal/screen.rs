//! The terminal as the live view draws on it.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use console::Term;
use indicatif::TermLike;

/// A terminal that does not tell is as wide as most.
const USUAL_COLUMNS: u16 = 80;

/// A terminal on which lines end where their text does. They are padded to the edge otherwise: then
/// they run together when a window is made wider, and the `^C` of a person begins a line of its own
/// and leaves another one dead.
#[derive(Debug)]
pub(super) struct Screen {
    term: Term,
    is_line_over: AtomicBool,
}

impl Screen {
    pub(super) fn new() -> Self {
        Self { term: Term::buffered_stdout(), is_line_over: AtomicBool::new(false) }
    }

    /// The terminal, on the next line if one is over.
    fn next(&self) -> io::Result<&Term> {
        if self.is_line_over.swap(false, Ordering::Relaxed) {
            self.term.write_str("\n")?;
        }
        Ok(&self.term)
    }
}

/// How wide the terminal is now: a person may have made it smaller since the last look.
pub(crate) fn columns() -> u16 {
    Term::stdout().size_checked().map_or(USUAL_COLUMNS, |(_, columns)| columns)
}

impl TermLike for Screen {
    fn width(&self) -> u16 {
        columns()
    }

    fn move_cursor_up(&self, lines: usize) -> io::Result<()> {
        self.next()?.move_cursor_up(lines)
    }

    fn move_cursor_down(&self, lines: usize) -> io::Result<()> {
        self.next()?.move_cursor_down(lines)
    }

    fn move_cursor_right(&self, columns: usize) -> io::Result<()> {
        self.next()?.move_cursor_right(columns)
    }

    fn move_cursor_left(&self, columns: usize) -> io::Result<()> {
        self.next()?.move_cursor_left(columns)
    }

    fn write_line(&self, text: &str) -> io::Result<()> {
        self.next()?.write_line(text)
    }

    fn write_str(&self, text: &str) -> io::Result<()> {
        if text.bytes().all(|byte| byte == b' ') {
            // The padding.
            self.is_line_over.store(true, Ordering::Relaxed);
            return Ok(());
        }
        self.next()?.write_str(text)
    }

    fn clear_line(&self) -> io::Result<()> {
        self.next()?.clear_line()
    }

    fn flush(&self) -> io::Result<()> {
        self.is_line_over.store(false, Ordering::Relaxed);
        self.term.flush()
    }
}
