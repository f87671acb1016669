//! Notices failing test runs, and takes the attempt back without losing it.

use ralph_core::hook::Decision;

use crate::call::Call;
use crate::harness::{Failure, Hook};

/// The hook.
pub const HOOK: Hook = Hook {
    name: "ralph-post-tool",
    purpose: "Notices failing test runs, and takes the attempt back without losing it.",
    events: &["PostToolUse", "PostToolUseFailure"],
    decide,
};

fn decide(_call: &Call<'_>) -> Result<Decision, Failure> {
    Ok(Decision::NoOpinion)
}
