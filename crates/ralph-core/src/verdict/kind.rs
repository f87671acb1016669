//! What a judgement says: its kind, the counts and the tests that failed. No judging here.

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

/// Which rule of the policy decided; `docs/verdicts.md` has them in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PolicyRule {
    /// No command of the line runs tests, or none that can be told.
    NoTestCommand,
    /// The runner gives this exit code a meaning of its own.
    RunnersCode,
    /// Failed tests are counted.
    Counted,
    /// A file could not be loaded, or the run could not start.
    NotLoaded,
    /// The output says that there was nothing to run.
    NothingRan,
    /// The exit code of the tests decides alone.
    ExitCode,
    /// The exit code is hidden, and the summary decides.
    Summary,
    /// The exit code is hidden, there is no summary, and a phrase decides.
    Phrase,
    /// Neither exit code nor output tell.
    Unknown,
}

impl PolicyRule {
    /// What it says, in a sentence.
    pub fn sentence(self) -> &'static str {
        match self {
            Self::NoTestCommand => "no command on this line is known to run tests",
            Self::RunnersCode => "this exit code has a special meaning for the runner",
            Self::Counted => "the output counts failed tests",
            Self::NotLoaded => "a test file could not be loaded, or the test run could not start",
            Self::NothingRan => "the output says that there were no tests to run",
            Self::ExitCode => "the exit code comes from the tests, so it decides",
            Self::Summary => "the exit code does not come from the tests, so the summary decides",
            Self::Phrase => "without an exit code or a summary, a phrase in the output decides",
            Self::Unknown => "neither the exit code nor the output shows how the tests ended",
        }
    }
}

/// A verdict with its reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Judgement {
    /// What it comes down to.
    pub verdict: Verdict,
    /// Which rule decided.
    pub rule: PolicyRule,
    /// The line of the output on which it rests, if it is a single one.
    pub evidence: Option<String>,
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
