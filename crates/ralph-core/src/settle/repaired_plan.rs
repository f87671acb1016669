//! The plan on disk after the agent had its hands on it.

use super::attempt::Attempt;
use super::procedure::{Place, SettleError};
use crate::plan::{self, Plan, Repaired, repair};
use crate::state::{self, Event};

/// Undoes what the agent did to stories that are not its own, and writes the plan if that changed
/// it.
pub fn repair_plan(place: &Place<'_>, attempt: &Attempt) -> Result<Repaired, SettleError> {
    let before = attempt.plan_before(place)?;
    // A folder, a pipe or a file that is too large in the place of the plan is as good as none.
    let after = plan::read_file(&attempt.plan).unwrap_or_default();
    let repaired = repair(&before, after.as_deref(), Some(&attempt.story));
    if after.as_deref() != Some(repaired.bytes.as_slice()) {
        if let Some(found) = after.filter(|_| !repaired.findings.is_empty()) {
            // Somebody else may have written there meanwhile: nothing of it is lost.
            state::replace_unsynced(&place.state.plan_as_found(), &found)?;
        }
        state::replace_users(&attempt.plan, &repaired.bytes)?;
    }
    if !repaired.findings.is_empty() {
        let findings = repaired.findings.iter().map(ToString::to_string).collect();
        place.journal.append(&Event::PlanRepaired { findings })?;
    }
    Ok(repaired)
}

/// The plan as it is on disk.
pub(super) fn plan_now(place: &Place<'_>, attempt: &Attempt) -> Result<Plan, SettleError> {
    let bytes = plan::read_file(&attempt.plan)?.unwrap_or_else(|| attempt.plan_before.clone());
    Ok(Plan::parse(&attempt.plan, bytes, &place.plan_options())?)
}
