//! How many stories one session works on: a number, or `"auto"`.

use serde::{Deserialize, Serialize};

/// How many stories one session of the agent works on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "StoriesRepr", into = "StoriesRepr")]
pub enum StoriesPerSession {
    /// This many.
    AtMost(u64),
    /// As many as fit into the context.
    Auto,
}

#[derive(Serialize, Deserialize)]
#[serde(untagged, expecting = "expected a number of stories, or \"auto\"")]
enum StoriesRepr {
    Number(u64),
    Word(String),
}

impl TryFrom<StoriesRepr> for StoriesPerSession {
    type Error = &'static str;

    fn try_from(value: StoriesRepr) -> Result<Self, Self::Error> {
        match value {
            StoriesRepr::Number(0) => Err("expected at least 1 story, or \"auto\""),
            StoriesRepr::Number(number) => Ok(Self::AtMost(number)),
            StoriesRepr::Word(word) if word == "auto" => Ok(Self::Auto),
            StoriesRepr::Word(_) => Err("expected a number of stories, or \"auto\""),
        }
    }
}

impl From<StoriesPerSession> for StoriesRepr {
    fn from(value: StoriesPerSession) -> Self {
        match value {
            StoriesPerSession::AtMost(number) => Self::Number(number),
            StoriesPerSession::Auto => Self::Word("auto".to_owned()),
        }
    }
}
