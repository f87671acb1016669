//! The test runners known by name, from `runners.toml`.

use super::command::pattern;
use super::kind::Kind;
use shell_reader::sorted;

/// Properties of the runners in one row; the file explains them.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Row {
    exits: &'static [(i32, Kind)],
    pub(crate) ends_with_zero: bool,
    pub(crate) one_summary_per_part: bool,
    pub(crate) says: &'static str,
}

impl Row {
    /// Returns the special meaning of `code` for these runners, if any.
    pub(crate) fn exit(&self, code: i32) -> Option<Kind> {
        self.exits.iter().find(|(special, _)| *special == code).map(|(_, kind)| *kind)
    }
}

/// A runner that was started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Runner {
    pub(crate) name: &'static str,
    pub(crate) row: &'static Row,
}

/// The words that must follow the program, the runner's name, and its index in `ROWS`.
type Start = (&'static str, &'static str, usize);

// `ROWS`, and `STARTS`: for each program, sorted by name, the ways to start a runner.
include!(concat!(env!("OUT_DIR"), "/runners.rs"));

/// Returns the runner that `program` with `args` starts, if any.
pub(crate) fn find(program: &str, args: &[&str]) -> Option<Runner> {
    let starts = sorted::find(STARTS, program)?;
    let (_, name, row) = starts.iter().find(|(words, ..)| pattern::matches(words, args))?;
    Some(Runner { name, row: ROWS.get(*row)? })
}
