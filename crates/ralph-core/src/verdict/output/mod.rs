//! Reads the output of a test run: counts, TAP, reports, package lines, names and error messages.

mod ansi;
mod counts;
mod evidence;
mod lines;
mod name_forms;
mod names;
mod packages;
mod report;
mod search;
mod signs;
mod summary;
mod tally;
mod tap;
mod tokens;

pub(crate) use evidence::Evidence;
pub(crate) use lines::Text;
