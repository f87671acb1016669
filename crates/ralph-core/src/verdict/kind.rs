//! What a judgement says: its kind, the counts and the tests that failed. No judging here.

use ralph_base::state::{Event, LastVerdict};
use serde::Serialize;

/// What a finished command says about the tests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Verdict {
    /// What it comes down to.
    pub kind: Kind,
    /// The test runner, where it is known (`pytest`, `jest`, `cargo test` …).
    pub runner: Option<&'static str>,
    /// The numbers that the runner printed; zero where it printed none.
    pub counts: Counts,
    /// The names of the tests that failed, as far as they were printed.
    pub failing: Vec<String>,
}

impl Verdict {
    /// The verdict on a command that ran no test runner, or of which nothing can be said.
    pub fn not_a_test() -> Self {
        Self { kind: Kind::NotATest, runner: None, counts: Counts::default(), failing: Vec::new() }
    }

    /// For the journal.
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

    /// For the gates and the loop, whose run this is.
    pub fn as_last(&self, command: &str, output: &str, run: &str) -> LastVerdict {
        let what = if self.kind == Kind::Failed { self.what_failed(output) } else { None };
        LastVerdict {
            verdict: self.kind.name().to_owned(),
            command: command.chars().take(500).collect(),
            runner: self.runner.map(str::to_owned),
            tests: self.failing.clone(),
            what: what.unwrap_or_default(),
            run: run.to_owned(),
            ..LastVerdict::default()
        }
    }
}

/// The five ways in which a command can end, as far as tests are concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Tests ran and at least one failed, or the run broke a rule such as a coverage threshold.
    Failed,
    /// Tests ran and none failed.
    Passed,
    /// No test could run, or a part of them could not be loaded: a compile or import error.
    Errored,
    /// A runner was started, but it ran no test.
    NoTests,
    /// No tests were run, or the record cannot tell.
    NotATest,
}

impl Kind {
    /// The name in the journal.
    pub fn name(self) -> &'static str {
        match self {
            Self::Failed => "failed",
            Self::Passed => "passed",
            Self::Errored => "errored",
            Self::NoTests => "no-tests",
            Self::NotATest => "not-a-test",
        }
    }
}

/// How many tests ended how.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Tests that passed.
    pub passed: u64,
    /// Tests that failed.
    pub failed: u64,
    /// Tests that were skipped, pending, ignored or still to be written.
    pub skipped: u64,
    /// Tests that ended with an error of their own rather than with a failed check.
    pub errored: u64,
}

impl Counts {
    /// Failed and errored together: a failed run has at least one of them, where it printed counts.
    pub fn bad(&self) -> u64 {
        self.failed.saturating_add(self.errored)
    }
}
