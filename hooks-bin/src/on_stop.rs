//! Holds the agent back while work is unfinished, and lets it go in the end.
//!
//! What is unfinished is judged by the gates in the core; the order of the questions is in
//! `stop.rs`.

mod continuation;
mod decisions;
mod gates;
mod leaving;
mod left_behind;
mod our_loop;
mod review;
mod session;
mod stop;

use ralph_core::hook::Decision;
use ralph_project::leftovers::LeftoverKind;

use crate::call::Call;
use crate::harness::{Failure, Hook};

/// The hook.
pub const HOOK: Hook = Hook {
    name: "ralph-on-stop",
    purpose: "Keeps the agent from stopping while work is unfinished, within limits.",
    events: &["Stop", "SubagentStop", "TaskCompleted", "TeammateIdle", "StopFailure", "SessionEnd"],
    decide,
};

fn decide(call: &Call<'_>) -> Result<Decision, Failure> {
    match call.input.event.as_str() {
        "Stop" => Ok(stop::decide(call)),
        "SubagentStop" => Ok(stop::decide_subagent(call)),
        "TaskCompleted" => left_behind::decide(call, &LeftoverKind::ALL),
        "TeammateIdle" => left_behind::decide(call, &LeftoverKind::DEBUGGING),
        "StopFailure" => Ok(leaving::failed(call)),
        _ => Ok(leaving::ended(call)),
    }
}
