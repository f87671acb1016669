//! Decides what a failing run means. Agents need room to make and fix mistakes, so not every
//! failing run ends an attempt.

use crate::config::RollbackOn;

/// The circumstances of a test run that failed under a checkpoint.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Circumstances {
    /// When attempts are rolled back.
    pub on: RollbackOn,
    /// How many consecutive failing runs end an attempt.
    pub after_failures: u64,
    /// Consecutive failing runs before this one.
    pub failures_so_far: u64,
    /// Nothing has changed since the checkpoint.
    pub nothing_changed: bool,
    /// Only test files have changed since the checkpoint: tests are being written first.
    pub only_tests_changed: bool,
    /// All of these tests failed before anything was changed.
    pub failed_before: bool,
    /// The run began before the attempt was rolled back, so it says nothing about the files now.
    pub rolled_back_meanwhile: bool,
}

/// The consequence for the attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The tests already failed at the checkpoint; there is nothing to roll back.
    Baseline,
    /// Tests were written first and fail, as they should.
    RedPhase,
    /// The same tests failed before.
    FailedBefore,
    /// The run counts; `left` more failing runs are allowed.
    Strike {
        /// Failing runs until the attempt is rolled back.
        left: u64,
    },
    /// The run counts, but attempts are rolled back at the end of a story or not at all.
    Recorded,
    /// The attempt is rolled back.
    RollBack,
    /// Another run of the same attempt has led to a rollback already.
    RolledBackAlready,
}

/// Decides what a failing test run means.
pub fn decide(circumstances: &Circumstances) -> Outcome {
    let failures = circumstances.failures_so_far.saturating_add(1);
    if circumstances.rolled_back_meanwhile {
        Outcome::RolledBackAlready
    } else if circumstances.nothing_changed {
        Outcome::Baseline
    } else if circumstances.only_tests_changed {
        Outcome::RedPhase
    } else if circumstances.failed_before {
        Outcome::FailedBefore
    } else if circumstances.on != RollbackOn::Failure {
        Outcome::Recorded
    } else if failures >= circumstances.after_failures.max(1) {
        Outcome::RollBack
    } else {
        Outcome::Strike { left: circumstances.after_failures - failures }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(change: impl FnOnce(&mut Circumstances), expected: Outcome) {
        let on = RollbackOn::Failure;
        let mut circumstances = Circumstances { on, after_failures: 3, ..Circumstances::default() };
        change(&mut circumstances);
        assert_eq!(decide(&circumstances), expected);
    }

    #[test]
    fn the_last_strike_rolls_back_if_configured() {
        check(|_| {}, Outcome::Strike { left: 2 });
        check(|c| c.failures_so_far = 1, Outcome::Strike { left: 1 });
        check(|c| c.failures_so_far = 2, Outcome::RollBack);
        check(|c| c.failures_so_far = u64::MAX, Outcome::RollBack);
        check(|c| c.after_failures = 1, Outcome::RollBack);
        check(|c| c.after_failures = 0, Outcome::RollBack);
        for on in [RollbackOn::StoryEnd, RollbackOn::Never] {
            check(|c| (c.on, c.failures_so_far) = (on, 9), Outcome::Recorded);
        }
    }

    #[test]
    fn failures_not_caused_by_the_attempt_are_not_rolled_back() {
        check(|c| (c.nothing_changed, c.failures_so_far) = (true, 9), Outcome::Baseline);
        check(|c| (c.only_tests_changed, c.failures_so_far) = (true, 9), Outcome::RedPhase);
        check(|c| (c.failed_before, c.failures_so_far) = (true, 9), Outcome::FailedBefore);
        let gone = |c: &mut Circumstances| {
            (c.rolled_back_meanwhile, c.nothing_changed) = (true, true);
        };
        check(gone, Outcome::RolledBackAlready);
    }
}
