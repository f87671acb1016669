//! The agent's own word about its story, on disk: given by `ralph-loop complete`, read by whoever
//! settles. It is a word only; what becomes of the story is the checks' and the loop's to say.

use std::io;

use serde::{Deserialize, Serialize};

use ralph_base::state::{self, StateDir};

/// What the agent says about its story.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ClaimStatus {
    /// It is done.
    Success,
    /// A part of it is.
    Partial,
    /// A person is needed.
    Blocked,
}

/// The agent's word.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// The story that it is about.
    pub story: String,
    /// What it says.
    pub status: ClaimStatus,
    /// What was done, or what is in the way.
    pub summary: String,
    at: String,
}

impl Claim {
    /// A word that is given now.
    pub fn new(story: &str, status: ClaimStatus, summary: &str) -> Self {
        let (story, summary) = (story.to_owned(), summary.to_owned());
        Self { story, status, summary, at: state::now() }
    }

    /// The word about a story; none if there is none, or none that we understand.
    pub fn load(state: &StateDir, story: &str) -> Option<Self> {
        let claim: Self = serde_json::from_slice(&state::read(state.claim()).ok()?).ok()?;
        (claim.story == story).then_some(claim)
    }

    /// Writes it down.
    pub fn save(&self, state: &StateDir) -> io::Result<()> {
        state::replace(&state.claim(), &serde_json::to_vec_pretty(self)?)
    }

    /// Why the story is not done by the agent's own word, if that is what it says.
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
