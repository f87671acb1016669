//! Everything that is printed.

use std::error::Error;
use std::io::{self, Write};

/// A line for the user. A closed pipe is no reason to complain.
pub(crate) fn say(line: impl AsRef<str>) {
    let _ = writeln!(io::stdout().lock(), "{}", line.as_ref());
}

/// An error and its causes.
pub(crate) fn complain(error: &dyn Error) {
    let mut text = format!("ralph-loop: {error}");
    let mut cause = error.source();
    while let Some(inner) = cause {
        let inner_text = inner.to_string();
        // Many errors repeat their cause in their own text.
        if !text.contains(&inner_text) {
            text = format!("{text}: {inner_text}");
        }
        cause = inner.source();
    }
    let _ = writeln!(io::stderr().lock(), "{text}");
}
