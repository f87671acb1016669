//! Records the prompt, and adds what the agent should know about the story under way.

use ralph_core::hook::Decision;

use crate::call::Call;
use crate::harness::{Failure, Hook};

/// The hook.
pub const HOOK: Hook = Hook {
    name: "ralph-pre-prompt",
    purpose: "Records the prompt, and adds what the agent should know about the story under way.",
    events: &["UserPromptSubmit"],
    decide,
};

fn decide(_call: &Call<'_>) -> Result<Decision, Failure> {
    Ok(Decision::NoOpinion)
}
