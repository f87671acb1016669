//! What must hold before a story is done, and who looks at it a second time.

#![expect(missing_docs, reason = "the keys are described once, in KEYS")]

use serde::{Deserialize, Serialize};

use super::seconds::Seconds;
use ralph_base::texts::texts;

/// The table `[verify]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Verify {
    #[serde(deserialize_with = "texts")]
    pub commands: Vec<String>,
    pub timeout: Seconds,
    pub baseline: Baseline,
    pub allow_no_tests: bool,
    pub require_checks: bool,
    pub prove: Prove,
}

impl Default for Verify {
    fn default() -> Self {
        Self {
            commands: Vec::new(),
            timeout: Seconds(1800),
            baseline: Baseline::Check,
            allow_no_tests: false,
            require_checks: false,
            prove: Prove::Warn,
        }
    }
}

/// What is done with the checks before the first story.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Baseline {
    /// They are run, and must pass.
    Check,
    /// They are run, and what fails then does not count against a story.
    Ignore,
    /// They are not run.
    Skip,
}

/// What is done about tests of a story that pass without its change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Prove {
    /// The user is told.
    Warn,
    /// The story is not done.
    Refuse,
    /// Nobody asks.
    Off,
}

/// The table `[tests]`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Tests {
    #[serde(deserialize_with = "texts")]
    pub commands: Vec<String>,
    pub weakened: Weakened,
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

/// The table `[review]`: another agent reads the work before it lands.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Review {
    pub enabled: bool,
    pub command: String,
}
