//! Reads what a test run printed: counts, TAP, reports, package lines, names and signs of errors.

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
