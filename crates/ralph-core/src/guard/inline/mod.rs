//! Programs of other languages on the command line: `python -c`, `node -e`, `awk 'BEGIN{…}'`.
//!
//! They are not parsed. Calls that start processes or remove and write files are found by name,
//! and the fixed texts in their parentheses are read as the command that they amount to.

mod meaning;
mod programs;
mod source;

pub(super) use programs::commands;
