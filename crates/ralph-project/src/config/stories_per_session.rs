//! How many stories one session works on: a number, or `"auto"`.

use serde::{Deserialize, Serialize};

use super::values::at_least_one;

/// How many stories one session of the agent works on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", expecting = "expected at least 1 story, or \"auto\"")]
pub enum StoriesPerSession {
    /// As many as fit into the context.
    Auto,
    /// This many.
    #[serde(untagged, deserialize_with = "at_least_one")]
    AtMost(u64),
}
