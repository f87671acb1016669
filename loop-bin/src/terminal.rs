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

/// Prints a line. A closed pipe is no error. Texts of a plan or an agent may be in it, so of what
/// commands a terminal only colours are left in.
pub(crate) fn say(line: impl AsRef<str>) {
    let line = line.as_ref();
    let is_colour = |at: usize| {
        let rest = line.get(at..).and_then(|rest| rest.strip_prefix("\u{1b}["));
        let rest =
            rest.map(|rest| rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';'));
        rest.is_some_and(|rest| rest.starts_with('m'))
    };
    let is_shown =
        |&(at, c): &(usize, char)| !c.is_control() || matches!(c, '\n' | '\t') || is_colour(at);
    let shown: String = line.char_indices().filter(is_shown).map(|(_, c)| c).collect();
    let _ = writeln!(io::stdout().lock(), "{shown}");
}

/// Prints text that has its own line ends.
pub(crate) fn say_as_it_is(text: &str) {
    let _ = io::stdout().lock().write_all(text.as_bytes());
}

/// Prints an error message.
pub(crate) fn complain(text: &str) {
    let _ = writeln!(io::stderr().lock(), "ralph-loop: {text}");
}
