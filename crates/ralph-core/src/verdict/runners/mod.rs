//! The table of test runners: one row each, by language family.
//!
//! A row says how a runner is started and which of its exit codes mean something special. How its
//! summary is read is said nowhere: the shapes in `output` are shared by all of them.

mod compiled;
mod functional;
mod javascript;
mod jvm;
mod python;
mod ruby_php;
mod scripts;
mod tools;

use super::kind::Kind;

/// One test runner.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Runner {
    /// Its name in verdicts.
    pub(crate) name: &'static str,
    /// How it is started; any of these. See [`super::command::pattern`] for the notation.
    pub(crate) invoked: &'static [&'static str],
    /// Exit codes that tell more than "not zero".
    pub(crate) exits: &'static [(i32, Kind)],
    /// Whether exit code 0 proves that no test failed.
    pub(crate) exit_tells: bool,
    /// Whether it prints a summary for every crate, project or module, so that they are summed up.
    pub(crate) one_summary_per_part: bool,
}

impl Runner {
    const fn new(name: &'static str, invoked: &'static [&'static str]) -> Self {
        Self { name, invoked, exits: &[], exit_tells: true, one_summary_per_part: false }
    }

    const fn exits(mut self, exits: &'static [(i32, Kind)]) -> Self {
        self.exits = exits;
        self
    }

    /// Ends with 0 whatever happened to its tests, so that only its summary tells.
    const fn exit_is_silent(mut self) -> Self {
        self.exit_tells = false;
        self
    }

    const fn one_summary_per_part(mut self) -> Self {
        self.one_summary_per_part = true;
        self
    }

    /// What `code` means to this runner, if it is special.
    pub(crate) fn exit(&self, code: i32) -> Option<Kind> {
        self.exits.iter().find(|(special, _)| *special == code).map(|(_, kind)| *kind)
    }
}

/// All rows; the first that matches an invocation is taken.
pub(crate) fn all() -> impl Iterator<Item = &'static Runner> {
    [
        python::ROWS,
        javascript::ROWS,
        compiled::ROWS,
        jvm::ROWS,
        ruby_php::ROWS,
        functional::ROWS,
        scripts::ROWS,
        tools::ROWS,
    ]
    .into_iter()
    .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique() {
        let mut names: Vec<_> = all().map(|row| row.name).collect();
        names.sort_unstable();
        let before = names.len();
        names.dedup();
        assert_eq!(names.len(), before);
    }
}
