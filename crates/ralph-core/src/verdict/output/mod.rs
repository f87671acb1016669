//! Reads what a test run printed: counts, TAP, reports, package lines, names and signs of errors.

mod ansi;
mod counts;
mod evidence;
mod lines;
mod names;
mod packages;
mod report;
mod signs;
mod summary;
mod tap;
mod words;

pub(crate) use evidence::Evidence;
pub(crate) use lines::Text;
