//! Words and numbers of summaries, by unit, and their meaning.

/// The counts for one unit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Numbers {
    pub(crate) passed: Option<u64>,
    pub(crate) failed: Option<u64>,
    pub(crate) errored: Option<u64>,
    pub(crate) skipped: Option<u64>,
    pub(crate) neutral: Option<u64>,
    pub(crate) total: Option<u64>,
}

impl Numbers {
    pub(crate) fn add(&mut self, outcome: Outcome, number: u64) {
        let slot = match outcome {
            Outcome::Passed => &mut self.passed,
            Outcome::Failed => &mut self.failed,
            Outcome::Errored => &mut self.errored,
            Outcome::Skipped => &mut self.skipped,
            Outcome::Neutral => &mut self.neutral,
            // A total may be printed twice ("Ran 3 tests", "3 total"); the larger one is kept.
            Outcome::Total => {
                self.total = Some(self.total.unwrap_or_default().max(number));
                return;
            }
        };
        *slot = Some(slot.unwrap_or_default().saturating_add(number));
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        use Outcome::{Errored, Failed, Neutral, Passed, Skipped, Total};
        let Self { passed, failed, errored, skipped, neutral, total } = *other;
        let outcomes = [Passed, Failed, Errored, Skipped, Neutral, Total];
        let numbers = [passed, failed, errored, skipped, neutral, total];
        for (outcome, number) in outcomes.into_iter().zip(numbers) {
            number.into_iter().for_each(|number| self.add(outcome, number));
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns whether both may be parts of one run; runners often leave out zeros.
    pub(crate) fn is_part_like(&self, other: &Self) -> bool {
        let has_parts =
            |numbers: &Self| numbers.passed.or(numbers.failed).or(numbers.errored).is_some();
        has_parts(self) && has_parts(other) && self.total.is_some() == other.total.is_some()
    }

    /// Returns the sum of failed and errored.
    pub(crate) fn bad(&self) -> u64 {
        self.failed.unwrap_or_default().saturating_add(self.errored.unwrap_or_default())
    }

    /// Returns the part of the total that is not accounted for, if no failures are counted.
    pub(crate) fn missing(&self) -> u64 {
        let Self { passed: Some(passed), failed: None, errored: None, total: Some(total), .. } =
            self
        else {
            return 0;
        };
        let others = self.skipped.unwrap_or(0).saturating_add(self.neutral.unwrap_or(0));
        total.saturating_sub(passed.saturating_add(others))
    }

    /// Returns passed as printed, or else the total minus the others.
    pub(crate) fn good(&self) -> Option<u64> {
        self.passed.or_else(|| {
            let total = self.total?;
            Some(total.saturating_sub(self.bad()).saturating_sub(self.skipped.unwrap_or_default()))
        })
    }
}

/// The content of one summary line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) tests: Numbers,
    pub(crate) suites: Numbers,
    pub(crate) assertions: Numbers,
    /// An outcome without a number: `FAILED`, `All tests passed`.
    pub(crate) word: Option<Outcome>,
    /// Whether the line names what is counted or judged (`tests`, `result`), and is not just a bare
    /// outcome word.
    pub(crate) named: bool,
}

impl Tally {
    pub(crate) fn numbers_mut(&mut self, unit: Unit) -> &mut Numbers {
        match unit {
            Unit::Test => &mut self.tests,
            Unit::Suite => &mut self.suites,
            Unit::Assertion => &mut self.assertions,
        }
    }

    pub(crate) fn has_numbers(&self) -> bool {
        !(self.tests.is_empty() && self.suites.is_empty() && self.assertions.is_empty())
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        self.tests.merge(&other.tests);
        self.suites.merge(&other.suites);
        self.assertions.merge(&other.assertions);
        self.named |= other.named;
        // A bad word outweighs good ones in the same summary.
        if self.word != Some(Outcome::Failed) {
            self.word = other.word.or(self.word);
        }
    }

    /// Returns whether it is a summary beyond doubt: an outcome, and besides it another count, the
    /// name of what is counted, or a word. Dates, ratios and lone numbers in a log are not.
    pub(crate) fn is_sure(&self) -> bool {
        [self.tests, self.suites, self.assertions].iter().any(|numbers| {
            let outcomes = [numbers.passed, numbers.failed, numbers.errored, numbers.skipped];
            let stated = outcomes.iter().chain([&numbers.total]).flatten().count();
            let judged = outcomes.iter().flatten().count() > 0;
            stated > 0 && (judged && (self.named || stated > 1) || self.word.is_some())
        }) || !self.has_numbers() && self.named && self.word.is_some()
    }

    /// Returns whether any number or word in it is bad.
    pub(crate) fn is_bad(&self) -> bool {
        self.tests.bad() > 0
            || self.suites.bad() > 0
            // A test may be supposed to fail: if tests are counted, their assertions say nothing.
            || (self.assertions.bad() > 0 && self.tests.failed.is_none())
            || self.word == Some(Outcome::Failed)
            || self.misses_some()
    }

    /// Returns whether fewer passed than ran, without a reason: `Total: 3`, `Passed: 2`.
    fn misses_some(&self) -> bool {
        self.word != Some(Outcome::Passed) && self.tests.missing() > 0
    }

    /// Returns whether it reports that something passed.
    pub(crate) fn is_good(&self) -> bool {
        !self.is_bad()
            && (self.tests.good() > Some(0)
                || (self.tests.is_empty()
                    && (self.suites.good() > Some(0) || self.assertions.good() > Some(0)))
                || (self.word == Some(Outcome::Passed) && !self.is_none()))
    }

    /// Returns whether it reports that nothing ran: zero passed, or all skipped.
    pub(crate) fn is_none(&self) -> bool {
        let all_skipped = self.tests.good().is_none() && self.tests.skipped > Some(0);
        self.tests.bad() == 0 && (self.tests.good() == Some(0) || all_skipped)
    }
}

/// The outcome of the tests that a number counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    Passed,
    Failed,
    Errored,
    Skipped,
    /// Expected failures, and warnings: neither good nor bad.
    Neutral,
    /// The total number that exist or ran, whatever their outcome.
    Total,
}

/// The unit that a number counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    Test,
    /// Files, suites, features: each contains several tests.
    Suite,
    /// Assertions and steps: several in each test.
    Assertion,
}

/// The meaning of a word in a summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Meaning {
    Outcome(Outcome),
    Unit(Unit),
    /// Turns a failure into an expected one.
    Expected,
    /// `no tests`, `no errors`: a zero.
    Zero,
    /// Announces what is about to run; such a line reports no outcome.
    Announcement,
    Filler,
}

// `meaning`, from `words.toml`.
include!(concat!(env!("OUT_DIR"), "/words.rs"));
