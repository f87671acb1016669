//! The test runners that are known by name, from `runners.toml`.

use super::command::pattern;
use super::kind::Kind;

/// What is special about the runners of one row; the file explains it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Row {
    exits: &'static [(i32, Kind)],
    pub(crate) ends_with_zero: bool,
    pub(crate) one_summary_per_part: bool,
    pub(crate) says: &'static str,
}

impl Row {
    /// What `code` means here, if it is special.
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

// `ROWS`; `STARTS`: for each program, sorted by name, the words that must follow, with the runner's
// name and row; and `PLACES`: the options of programs that name the place where they work.
include!(concat!(env!("OUT_DIR"), "/runners.rs"));

/// The runner that `program` with `args` is.
pub(crate) fn find(program: &str, args: &[&str]) -> Option<Runner> {
    let at = STARTS.binary_search_by(|(name, _)| (*name).cmp(program)).ok()?;
    let (_, starts) = STARTS.get(at)?;
    let (_, name, row) = starts.iter().find(|(words, ..)| pattern::matches(words, args))?;
    Some(Runner { name, row: ROWS.get(*row)? })
}

/// The options of a program that name the place where it works, or a file in it.
pub(super) fn place_options(program: &str) -> Option<&'static str> {
    let at = PLACES.binary_search_by(|(name, _)| (*name).cmp(program)).ok()?;
    PLACES.get(at).map(|(_, options)| *options)
}
