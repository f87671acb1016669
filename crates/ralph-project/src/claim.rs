//! The agent's claim about its story, on disk: written by `ralph-loop complete`, and read when the
//! story is settled. It is only a claim; the checks and the loop decide about the story.

use std::io;

use serde::{Deserialize, Serialize};

use ralph_base::secrets::mask;
use ralph_base::state::{self, StateDir};

/// The status that the agent claims for its story.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ClaimStatus {
    /// It is done.
    Success,
    /// It is partly done.
    Partial,
    /// A person is needed.
    Blocked,
}

/// The agent's claim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// The story that it is about.
    pub story: String,
    /// The claimed status.
    pub status: ClaimStatus,
    /// What was done, or what is in the way.
    pub summary: String,
    at: String,
}

impl Claim {
    /// Returns a claim that is made now.
    pub fn new(story: &str, status: ClaimStatus, summary: &str) -> Self {
        let (story, summary) = (story.to_owned(), mask(summary));
        Self { story, status, summary, at: state::now() }
    }

    /// Loads the claim about a story; `None` if there is none, or it cannot be parsed.
    pub fn load(state: &StateDir, story: &str) -> Option<Self> {
        let claim: Self = serde_json::from_slice(&state::read(state.claim()).ok()?).ok()?;
        // An agent can write the file itself.
        (claim.story == story).then(|| Self { summary: mask(&claim.summary), ..claim })
    }

    /// Writes the claim.
    pub fn save(&self, state: &StateDir) -> io::Result<()> {
        state::replace(&state.claim(), &serde_json::to_vec_pretty(self)?)
    }

    /// Returns why the story is not done, if that is what the agent claims.
    pub fn denial(&self) -> Option<String> {
        match self.status {
            ClaimStatus::Success => None,
            ClaimStatus::Partial => {
                Some(format!("the agent says that the story is only partly done: {}", self.summary))
            }
            ClaimStatus::Blocked => Some(format!("the agent says: {}", self.summary)),
        }
    }
}
