//! How an attempt ended, if it did not land.

use board::saved::RETRY;
use serde::{Deserialize, Serialize};

/// The outcome of an iteration; `post_iteration` and the journal get its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Outcome {
    Success,
    Failed,
    Timeout,
    Blocked,
    NoChanges,
    Quota,
    Interrupted,
    Budget,
    Handoff,
    Partial,
}

impl Outcome {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Failed => "failed",
            Self::Timeout => "timeout",
            Self::Blocked => "blocked",
            Self::NoChanges => "no_changes",
            Self::Quota => "quota",
            Self::Interrupted => "interrupted",
            Self::Budget => "budget",
            Self::Handoff => "handoff",
            Self::Partial => "partial",
        }
    }

    /// Whether the next attempt continues the work after this outcome.
    pub(crate) fn is_resumed(word: &str) -> bool {
        let resumed = [Self::Quota, Self::Interrupted, Self::Budget, Self::Handoff, Self::Partial];
        resumed.into_iter().any(|outcome| outcome.word() == word) || word == RETRY
    }

    /// Whether the next attempt resumes the client's session: if the agent was not at fault, its context
    /// should not be paid for twice.
    pub(crate) fn keeps_session(word: &str) -> bool {
        [Self::Quota, Self::Interrupted, Self::Budget].iter().any(|outcome| outcome.word() == word)
    }
}

/// An attempt that does not land. It is on disk while being saved, because it has been counted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Discarding {
    pub(crate) outcome: Outcome,
    pub(crate) why: String,
    /// Why the story is given up, if it is.
    pub(crate) set_aside: Option<String>,
}

impl Discarding {
    pub(crate) fn new(outcome: Outcome, why: &str) -> Self {
        Self { outcome, why: why.to_owned(), set_aside: None }
    }

    pub(crate) fn interrupted() -> Self {
        Self::new(Outcome::Interrupted, "interrupted")
    }
}
