//! What is written down of a decision about a stop.

use ralph_base::state::{Event, StopFacts};
use ralph_project::gate::StopStatus;

use crate::call::Call;

/// The gates of a next story, of its checks, and of lines that were left behind.
pub(super) const CONTINUATION: &str = "CONTINUATION";
pub(super) const CHECKS: &str = "CHECKS";
pub(super) const LEFTOVERS: &str = "LEFTOVERS";

/// A stop was blocked, by these gates.
pub(super) fn blocked(call: &Call<'_>, gates: &[&str], reasons: Vec<String>) {
    call.journal(&Event::StopBlocked { reasons, stop: facts(call, gates) });
}

/// A stop was allowed, although these gates are unmet.
pub(super) fn allowed(call: &Call<'_>, status: StopStatus, note: Option<String>, gates: &[&str]) {
    let status = status.word().to_owned();
    call.journal(&Event::StopAllowed { status, note, stop: facts(call, gates) });
}

fn facts(call: &Call<'_>, gates: &[&str]) -> StopFacts {
    let given = |text: &str| if text.is_empty() { None } else { Some(text.to_owned()) };
    StopFacts {
        hook_event: given(&call.input.event),
        agent_type: call.input.agent_type.as_deref().and_then(given),
        gates: gates.iter().map(|gate| (*gate).to_owned()).collect(),
    }
}
