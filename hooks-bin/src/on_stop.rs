//! Keeps the agent from stopping while work is unfinished, within limits.
//!
//! Each question reads what it needs and returns a `Stop`; the first that applies decides.
//! `stop.rs` records the decision and answers.
//!
//! 1. Is the context nearly full? Then a fresh session should continue.
//! 2. Is something still running? Then nothing is judged while work is unfinished.
//! 3. Is there a next story, and was this session asked to continue? (`continuation.rs`)
//! 4. Is a gate unmet? (`gates.rs`)

mod continuation;
mod gates;
mod leftovers;
mod session;
mod stop;

use ralph_core::hook::{BackgroundTask, Decision, Input};
use ralph_project::config::check;
use ralph_project::gate::{self, Fill, StopStatus, Who};
use ralph_project::leftovers::LeftoverKind;

use self::continuation::Next;
use self::session::Session;
use self::stop::Stop;
use crate::call::Call;
use crate::harness::{Failure, Hook};

/// The hook.
pub const HOOK: Hook = Hook {
    name: "ralph-on-stop",
    purpose: "Keeps the agent from stopping while work is unfinished, within limits.",
    events: &["Stop", "SubagentStop", "TaskCompleted", "TeammateIdle", "StopFailure", "SessionEnd"],
    decide,
    mistake: check::mistake_beside_guard,
};

fn decide(call: &Call<'_>) -> Result<Decision, Failure> {
    match call.input.event.as_str() {
        "Stop" => Ok(session_stops(call)),
        "SubagentStop" => Ok(subagent_stops(call)),
        "TaskCompleted" => leftovers::decide(call, &LeftoverKind::ALL),
        "TeammateIdle" => leftovers::decide(call, &LeftoverKind::DEBUGGING),
        "StopFailure" => Ok(service_failed(call)),
        _ => Ok(stop::session_ended(&Session::new(call, Who::Session))),
    }
}

fn session_stops(call: &Call<'_>) -> Decision {
    let mut session = Session::new(call, Who::Session);
    let stop = if !session.is_gated {
        Some(Stop::allow(StopStatus::Allowed, None))
    } else if let Some(fill) = session.read_context().filter(Fill::is_at_limit) {
        let note = format!("context limit reached: {}", fill.in_words());
        Some(Stop { handoff: Some(fill), ..Stop::allow(StopStatus::Handoff, Some(note)) })
    } else if let Some(stop) = background_tasks(call.input).or_else(|| wake_up(call.input)) {
        Some(stop)
    } else {
        match continuation::decide(&session) {
            Next::Decided(stop) => Some(stop),
            Next::Gates(status) => Some(gates::decide(&session, status)),
            Next::AskedByAnotherHook => None,
        }
    };
    stop.map(|stop| stop::conclude(&session, stop)).unwrap_or_default()
}

/// Holds a subagent back by the gates on its work, if its type is configured as gated.
fn subagent_stops(call: &Call<'_>) -> Decision {
    let agent_type = call.input.agent_type.as_deref().unwrap_or_default();
    let id = call.input.agent_id.as_deref().unwrap_or(agent_type);
    let session = Session::new(call, Who::Other(format!("agent {id}")));
    let gated = session.is_gated && gate::is_gated(agent_type, &session.config.stop.subagents);
    if !gated || background_tasks(call.input).is_some() {
        return Decision::NoOpinion;
    }
    stop::conclude(&session, gates::decide(&session, StopStatus::Allowed))
}

/// Records that the agent's service failed, so that no `Stop` follows. If the prompt is too long, a
/// fresh session should continue.
fn service_failed(call: &Call<'_>) -> Decision {
    let session = Session::new(call, Who::Session);
    let words = call.input.last_assistant_message.as_deref().unwrap_or_default();
    let is_full = words.to_ascii_lowercase().starts_with("prompt is too long");
    let status = if is_full { StopStatus::Handoff } else { StopStatus::ApiError };
    if session.is_bound {
        stop::conclude(&session, Stop::allow(status, call.input.error.clone()));
    }
    Decision::NoOpinion
}

/// Lets the session stop while something runs in the background.
fn background_tasks(input: &Input) -> Option<Stop> {
    // A subagent that stops is itself still listed as running.
    let is_awaited = |task: &&BackgroundTask| {
        task.status == "running" && input.agent_id.as_ref() != Some(&task.id)
    };
    let running: Vec<&BackgroundTask> = input.background_tasks.iter().filter(is_awaited).collect();
    if running.is_empty() {
        return None;
    }
    let has_agent = running.iter().any(|task| task.kind.as_deref() == Some("subagent"));
    let status = if has_agent { StopStatus::Working } else { StopStatus::Waiting };
    let names = running.iter().map(|task| {
        let name = task.description.as_ref().or(task.command.as_ref()).unwrap_or(&task.id);
        name.chars().take(200).collect()
    });
    let note = format!("waiting for {}", names.collect::<Vec<String>>().join(", "));
    Some(Stop::allow(status, Some(note)))
}

/// Lets the session stop while it waits for a time that it set itself. What recurs never ends, so nothing
/// waits for it.
fn wake_up(input: &Input) -> Option<Stop> {
    let planned = input.session_crons.iter().find(|planned| !planned.recurring)?;
    let what: String = planned.prompt.chars().take(200).collect();
    Some(Stop::allow(StopStatus::Working, Some(format!("waiting to be woken up: {what}"))))
}
