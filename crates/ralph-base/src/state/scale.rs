//! What is known about a landed story. The words are the same in commits, journal, report and status.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What is known about a landed story, best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scale {
    /// The checks passed, and new tests failed without the change.
    Proven,
    /// The checks passed.
    Checked,
    /// The checks passed, with remarks.
    #[serde(rename = "to review")]
    ToReview,
    /// No check ran.
    Unchecked,
}

impl Scale {
    /// All of them, best first.
    pub const ALL: [Self; 4] = [Self::Proven, Self::Checked, Self::ToReview, Self::Unchecked];

    /// Returns its name.
    pub fn word(self) -> &'static str {
        match self {
            Self::Proven => "proven",
            Self::Checked => "checked",
            Self::ToReview => "to review",
            Self::Unchecked => "unchecked",
        }
    }

    /// Returns the one with this name.
    pub fn of_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scale| scale.word() == word.trim())
    }

    /// Returns whether a person should look at the story.
    pub fn needs_review(self) -> bool {
        self >= Self::ToReview
    }
}

impl fmt::Display for Scale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}
