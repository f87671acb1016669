//! What the words of a test summary mean; the vocabulary itself is `words.toml`.

/// What became of the tests that a number counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    Passed,
    Failed,
    Errored,
    Skipped,
    /// Failures that were announced as such, and warnings: neither good nor bad.
    Neutral,
    /// How many there are or ran, whatever became of them.
    Total,
}

/// What a number counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    Test,
    /// Files, suites, features: several tests each.
    Suite,
    /// Assertions and steps: several to a test.
    Assertion,
}

/// One word of a summary, as far as it matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Meaning {
    Outcome(Outcome),
    Unit(Unit),
    /// Turns a failure into an expected one.
    Expected,
    /// `no tests`, `no errors`: a zero.
    Zero,
    /// Announces what is about to run; such a line tells no outcome.
    Announcement,
    Filler,
}

// `meaning`, from `words.toml`.
include!(concat!(env!("OUT_DIR"), "/words.rs"));
