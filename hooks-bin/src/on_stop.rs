//! Holds the agent back while work is unfinished, and lets it go in the end.

use ralph_core::hook::Decision;

use crate::call::Call;
use crate::harness::{Failure, Hook};

/// The hook.
pub const HOOK: Hook = Hook {
    name: "ralph-on-stop",
    purpose: "Holds the agent back while work is unfinished, and lets it go in the end.",
    events: &["Stop", "SubagentStop", "TaskCompleted", "TeammateIdle", "StopFailure", "SessionEnd"],
    decide,
};

fn decide(_call: &Call<'_>) -> Result<Decision, Failure> {
    Ok(Decision::NoOpinion)
}
