//! One row of the table: how a runner is started, and what its exit codes mean.

use crate::verdict::kind::Kind;

/// One test runner.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Runner {
    /// Its name in verdicts.
    pub(crate) name: &'static str,
    /// How it is started; any of these. See `command/pattern.rs` for the notation.
    pub(crate) invoked: &'static [&'static str],
    /// Exit codes that tell more than "not zero".
    pub(crate) exits: &'static [(i32, Kind)],
    /// Whether exit code 0 proves that no test failed.
    pub(crate) exit_tells: bool,
    /// Whether it prints a summary for every crate, project or module, so that they are summed up.
    pub(crate) one_summary_per_part: bool,
}

impl Runner {
    pub(super) const fn new(name: &'static str, invoked: &'static [&'static str]) -> Self {
        Self { name, invoked, exits: &[], exit_tells: true, one_summary_per_part: false }
    }

    pub(super) const fn exits(mut self, exits: &'static [(i32, Kind)]) -> Self {
        self.exits = exits;
        self
    }

    /// Ends with 0 whatever happened to its tests, so that only its summary tells.
    pub(super) const fn exit_is_silent(mut self) -> Self {
        self.exit_tells = false;
        self
    }

    pub(super) const fn one_summary_per_part(mut self) -> Self {
        self.one_summary_per_part = true;
        self
    }

    /// What `code` means to this runner, if it is special.
    pub(crate) fn exit(&self, code: i32) -> Option<Kind> {
        self.exits.iter().find(|(special, _)| *special == code).map(|(_, kind)| *kind)
    }
}
