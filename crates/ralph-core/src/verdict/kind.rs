//! The data of a verdict: its kind, the counts and the failed tests. No logic here.

use ralph_base::state::{Event, LastVerdict};
use serde::Serialize;

/// The verdict on the tests of a finished command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Verdict {
    /// The outcome.
    pub kind: Kind,
    /// The test runner, if it is known (`pytest`, `jest`, `cargo test` …).
    pub runner: Option<&'static str>,
    /// The numbers that the runner printed; zero if it printed none.
    pub counts: Counts,
    /// The names of the failed tests, as far as they were printed.
    pub failing: Vec<String>,
}

impl Verdict {
    /// Returns the verdict on a command that ran no test runner, or whose result is unknown.
    pub fn not_a_test() -> Self {
        Self { kind: Kind::NotATest, runner: None, counts: Counts::default(), failing: Vec::new() }
    }

    /// Converts the verdict to an event for the journal.
    pub fn event(&self) -> Event {
        let known = self.counts != Counts::default();
        Event::Verdict {
            verdict: self.kind.name().to_owned(),
            runner: self.runner.map(str::to_owned),
            passed: known.then_some(self.counts.passed),
            failed: known.then_some(self.counts.bad()),
            tests: self.failing.clone(),
        }
    }

    /// Converts the verdict to a record for the gates and the loop, whose run is `run`.
    pub fn as_last(&self, command: &str, output: &str, run: &str) -> LastVerdict {
        let what = if self.kind == Kind::Failed { self.what_failed(output) } else { None };
        LastVerdict {
            verdict: self.kind.name().to_owned(),
            command: ralph_base::secrets::mask(command).chars().take(500).collect(),
            runner: self.runner.map(str::to_owned),
            tests: self.failing.clone(),
            what: what.unwrap_or_default(),
            run: run.to_owned(),
            ..LastVerdict::default()
        }
    }
}

/// The possible outcomes of a command with regard to tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Tests ran and at least one failed, or the run broke a rule such as a coverage threshold.
    Failed,
    /// Tests ran and none failed.
    Passed,
    /// No test could run, or some could not be loaded: a compile or import error.
    Errored,
    /// A runner was started, but it ran no test.
    NoTests,
    /// Tests were to run, but the exit code is hidden and the output proves nothing. Never a pass.
    Unknown,
    /// No tests were run.
    NotATest,
}

impl Kind {
    /// Returns the name used in the journal.
    pub fn name(self) -> &'static str {
        match self {
            Self::Failed => "failed",
            Self::Passed => "passed",
            Self::Errored => "errored",
            Self::NoTests => "no-tests",
            Self::Unknown => "unknown",
            Self::NotATest => "not-a-test",
        }
    }
}

/// The number of tests with each outcome.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Tests that passed.
    pub passed: u64,
    /// Tests that failed.
    pub failed: u64,
    /// Tests that were skipped, pending, ignored or not yet written.
    pub skipped: u64,
    /// Tests that ended with an error of their own rather than a failed check.
    pub errored: u64,
}

impl Counts {
    /// Returns failed plus errored tests; not zero for a failed run that printed counts.
    pub fn bad(&self) -> u64 {
        self.failed.saturating_add(self.errored)
    }
}
