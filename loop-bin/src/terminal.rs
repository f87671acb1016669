//! All output to the terminal.

mod keys;
mod lines;
pub(crate) mod scene;
pub(crate) mod screen;
mod view;
mod width;

use std::io::{self, Write};

pub(crate) use keys::Asked;
pub(crate) use lines::Tone;
pub(crate) use run_history::words::{
    clock, counted, dollars, in_words, printable, printable_lines, seconds,
};
pub(crate) use scene::{Glimpse, Worker};
pub(crate) use view::View;

/// Prints a line. A closed pipe is no error. Texts of a plan or an agent may be in it, so what would
/// command the terminal is left out.
pub(crate) fn say(line: impl AsRef<str>) {
    let is_text = |c: &char| !c.is_control() || matches!(c, '\n' | '\t');
    let line: String = line.as_ref().chars().filter(is_text).collect();
    let _ = writeln!(io::stdout().lock(), "{line}");
}

/// Prints text that has its own line ends.
pub(crate) fn say_as_it_is(text: &str) {
    let _ = io::stdout().lock().write_all(text.as_bytes());
}

/// Prints an error message.
pub(crate) fn complain(text: &str) {
    let _ = writeln!(io::stderr().lock(), "ralph-loop: {text}");
}
