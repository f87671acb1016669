//! How a session last stopped, for the loop that waits for it and the hook that runs at its end.

use std::io;

use serde::{Deserialize, Serialize};

use super::state_file::{self, Reading};
use ralph_base::state::SessionDir;

/// How a stop was allowed. The words are an interface: they appear in the journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopStatus {
    /// No gate blocked it.
    Allowed,
    /// The context is nearly full: a fresh session should continue.
    Handoff,
    /// Commands still run in the background, and no gate was evaluated.
    Waiting,
    /// Subagents are still at work, and no gate was evaluated.
    Working,
    /// The plan has no story left.
    #[serde(rename = "COMPLETE")]
    Complete,
    /// Stories remain, but no iterations.
    #[serde(rename = "REACHED_LIMIT")]
    ReachedLimit,
    /// Something is unmet, but further blocking would not help.
    LetGo,
    /// The agent's service failed.
    ApiError,
    /// The session is over.
    Ended,
}

impl StopStatus {
    /// Returns the word that is used in the journal and in the file.
    pub fn word(self) -> &'static str {
        match self {
            Self::Allowed => "allowed",
            Self::Handoff => "handoff",
            Self::Waiting => "waiting",
            Self::Working => "working",
            Self::Complete => "COMPLETE",
            Self::ReachedLimit => "REACHED_LIMIT",
            Self::LetGo => "let_go",
            Self::ApiError => "api_error",
            Self::Ended => "ended",
        }
    }
}

/// How a session last stopped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastStop {
    /// How it was allowed.
    pub status: StopStatus,
    /// Further information about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The story that was still open then, if that was recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub incomplete: Option<String>,
}

impl LastStop {
    /// Returns a stop with this status.
    pub fn new(status: StopStatus, note: Option<String>) -> Self {
        Self { status, note, incomplete: None }
    }

    /// Reads how the session last stopped; `None` if it did not.
    pub fn load(session: &SessionDir) -> Option<Self> {
        match state_file::read::<Self>(&session.last_stop()) {
            Reading::Found(stop) => Some(stop),
            _ => None,
        }
    }

    /// Writes the stop.
    pub fn save(&self, session: &SessionDir) -> io::Result<()> {
        state_file::write(&session.last_stop(), self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn status_words_are_the_same_in_journal_and_file() {
        use StopStatus::*;
        for status in
            [Allowed, Handoff, Waiting, Working, Complete, ReachedLimit, LetGo, ApiError, Ended]
        {
            assert_eq!(serde_json::to_value(status).unwrap(), status.word());
        }
    }
}
