//! Values of settings: the words that some keys take, and numbers with bounds.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

/// What the loop does with the plan.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Works through its stories.
    #[default]
    Building,
    /// Writes or refreshes it.
    Planning,
}

/// What is done with the checks before the first story.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Baseline {
    /// They are run, and must pass.
    #[default]
    Check,
    /// They are run, and what fails then does not count against a story.
    Ignore,
    /// They are not run.
    Skip,
}

/// What is done about tests of a story that pass without its change.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Prove {
    /// The user is told.
    #[default]
    Warn,
    /// The story is not done.
    Refuse,
    /// Nobody asks.
    Off,
}

/// Whether attempts run in the sandbox.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SandboxMode {
    /// Where the kernel has it.
    #[default]
    Auto,
    /// They do, or the run does not start.
    Require,
    /// They do not.
    Off,
}

/// When an attempt is rolled back.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RollbackOn {
    /// As soon as enough test runs failed.
    Failure,
    /// When the iteration ends without success.
    #[default]
    StoryEnd,
    /// Never by itself.
    Never,
}

/// What a lifecycle script that fails on its own account does to the loop.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FailBehavior {
    /// The loop goes on.
    #[default]
    Continue,
    /// The loop ends.
    Abort,
}

/// What exit code 1 of the script `next_iteration` does.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Skip {
    /// The iteration is over.
    #[default]
    Iteration,
    /// The script is asked again after a pause.
    Wait,
}

/// What happens when everything passes, but fewer tests run or they check less than before.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Weakened {
    /// The user is told; removing a test can be right.
    #[default]
    Report,
    /// The story is not done.
    Refuse,
    /// Nothing.
    Ignore,
}

/// The pull requests that are opened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PullRequests {
    /// No pull request.
    #[default]
    None,
    /// One for what a run landed.
    Run,
    /// One for each story, in the place of landing it.
    Story,
}

/// A part of the whole. `80` for 80 % would never be reached, and nobody would notice.
pub(super) fn part<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let number = f64::deserialize(deserializer)?;
    if (0.0..=1.0).contains(&number) {
        return Ok(number);
    }
    Err(D::Error::custom(format!("{number} is not between 0 and 1; write 80% as 0.8")))
}

/// An amount of money. What is no number, or below zero, would be no limit at all.
pub(super) fn amount<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let number = f64::deserialize(deserializer)?;
    if number.is_finite() && number >= 0.0 {
        return Ok(number);
    }
    Err(D::Error::custom(format!("{number} is not a valid amount; use 0 for no limit")))
}

/// A number that would mean nothing if it were zero: neither "none" nor "without limit" is to be had.
pub(super) fn at_least_one<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    match u64::deserialize(deserializer)? {
        0 => Err(D::Error::custom("invalid number 0; the minimum is 1")),
        number => Ok(number),
    }
}
