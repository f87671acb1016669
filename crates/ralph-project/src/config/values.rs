//! Types of settings: keywords, and numbers with bounds.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

/// What the loop does with the plan.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Works through its stories.
    #[default]
    Building,
    /// Creates or updates it.
    Planning,
}

/// How the checks are treated before the first story.
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

/// What happens if tests of a story pass without its change.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Prove {
    /// The user is warned.
    #[default]
    Warn,
    /// The story is not done.
    Refuse,
    /// This is not checked.
    Off,
}

/// Whether attempts run in the sandbox.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SandboxMode {
    /// They do if the kernel supports it.
    #[default]
    Auto,
    /// They do, or the run does not start.
    Require,
    /// They do not.
    Off,
}

/// What a run does with an agent that this machine has not probed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Probing {
    /// It probes it once, and says what does not hold.
    #[default]
    Auto,
    /// It does not start unless everything holds that should.
    Require,
    /// It does not probe.
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
    /// Never automatically.
    Never,
}

/// How the loop reacts if a lifecycle script itself fails.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FailBehavior {
    /// The loop continues.
    #[default]
    Continue,
    /// The loop ends.
    Abort,
}

/// The effect of exit code 1 of the script `next_iteration`.
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
    /// The story lands, and a person should look at it; removing a test can be right.
    #[serde(alias = "report")]
    Review,
    /// The story is not done.
    #[default]
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
    /// One for the work that a run landed.
    Run,
    /// One for each story, instead of landing it.
    Story,
}

/// Reads a fraction. `80` for 80 % would never be reached, and nobody would notice.
pub(super) fn part<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let number = f64::deserialize(deserializer)?;
    if (0.0..=1.0).contains(&number) {
        return Ok(number);
    }
    Err(D::Error::custom(format!("{number} is not between 0 and 1; write 80% as 0.8")))
}

/// Reads an amount of money. NaN or a negative amount would be no limit at all.
pub(super) fn amount<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let number = f64::deserialize(deserializer)?;
    if number.is_finite() && number >= 0.0 {
        return Ok(number);
    }
    Err(D::Error::custom(format!("{number} is not a valid amount; use 0 for no limit")))
}

/// Reads a number that must not be zero, which would mean neither "none" nor "no limit".
pub(super) fn at_least_one<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    match u64::deserialize(deserializer)? {
        0 => Err(D::Error::custom("invalid number 0; the minimum is 1")),
        number => Ok(number),
    }
}
