//! How a run is shown, and who is told of it.

#![expect(missing_docs, reason = "the keys are described once, in KEYS")]

use serde::{Deserialize, Serialize};

/// The table `[notify]`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Notify {
    pub command: String,
}
