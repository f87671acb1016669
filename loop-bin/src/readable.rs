//! An agent's log in readable form.

use std::io;

use camino::Utf8Path;

use crate::here;
use client::{Readable, each_line_of_log};

/// How many lines of a log's end are shown.
const LAST_LINES: usize = 12;

/// Passes on each line of a log in readable form.
pub(crate) fn each_readable_line(log: &Utf8Path, mut take: impl FnMut(String)) -> io::Result<()> {
    let mut readable = Readable::default();
    each_line_of_log(log, 0, |line| readable.lines(line).into_iter().for_each(&mut take))
}

/// The end of a log, under its name.
pub(crate) fn last_lines(log: &Utf8Path) -> io::Result<String> {
    let mut lines = Vec::new();
    each_readable_line(log, |line| lines.push(format!("\n  {line}")))?;
    let from = lines.len().saturating_sub(LAST_LINES);
    Ok(here::shown(log).into_string() + &lines.split_off(from).concat())
}
