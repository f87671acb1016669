//! The plan on disk after the agent had its hands on it.

use std::io;

use super::attempt::Attempt;
use super::procedure::{Place, SettleError};
use crate::plan::{self, Finding, Plan, Repaired, repair};
use crate::state::{self, Event, StateDir};

/// Undoes what the agent did to stories that are not its own, and writes the plan if that changed
/// it.
pub fn repair_plan(place: &Place<'_>, attempt: &Attempt) -> Result<Repaired, SettleError> {
    let before = attempt.plan_before(place)?;
    // A folder, a pipe or a file that is too large in the place of the plan is as good as none.
    let after = plan::read_file(&attempt.plan).unwrap_or_default();
    let mut repaired = repair(&before, after.as_deref(), Some(&attempt.story));
    let was_in_the_way = clear_the_way(place.state, attempt)?;
    if was_in_the_way {
        repaired.findings.retain(|finding| *finding != Finding::Vanished);
        repaired.findings.push(Finding::NotAFile);
    }
    if was_in_the_way || after.as_deref() != Some(repaired.bytes.as_slice()) {
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

/// Repairs the plan once more, after something ran that the agent may have written; tells what is
/// new since it was repaired before.
pub(super) fn repair_after(
    place: &Place<'_>,
    attempt: &Attempt,
    known: &Repaired,
) -> Result<Vec<Finding>, SettleError> {
    if is_still(attempt, &known.bytes) {
        return Ok(Vec::new());
    }
    let mut repaired = repair_plan(place, attempt)?;
    repaired.findings.retain(|finding| !known.findings.contains(finding));
    Ok(repaired.findings)
}

/// The same after the commit, for what git hooks did to the plan with its tick. What they put into
/// the commit itself goes out of it with the next one.
pub(super) fn repair_ticked(
    place: &Place<'_>,
    attempt: &Attempt,
    ticked: Vec<u8>,
) -> Result<Vec<Finding>, SettleError> {
    if is_still(attempt, &ticked) {
        return Ok(Vec::new());
    }
    let ticked = Attempt { plan_before: ticked, ..attempt.clone() };
    Ok(repair_plan(place, &ticked)?.findings)
}

fn is_still(attempt: &Attempt, bytes: &[u8]) -> bool {
    let now = plan::read_file(&attempt.plan).ok().flatten();
    now.as_deref() == Some(bytes)
        && state::in_the_way(&attempt.plan, attempt.plan_is_link).is_none()
}

/// Puts the plan of an attempt that a crash interrupted back where nobody can read it any more: the
/// loop begins with its plan. Tells whether it had to.
pub fn put_plan_in_place(state: &StateDir, attempt: &Attempt) -> io::Result<bool> {
    let was_in_the_way = clear_the_way(state, attempt)?;
    let is_missing = !attempt.plan.exists();
    if is_missing {
        state::replace_users(&attempt.plan, &attempt.plan_before)?;
    }
    Ok(was_in_the_way || is_missing)
}

/// Where an agent put a link or a folder in the place of the plan, that is moved away and kept.
fn clear_the_way(state: &StateDir, attempt: &Attempt) -> io::Result<bool> {
    match state::in_the_way(&attempt.plan, attempt.plan_is_link) {
        Some(obstacle) => state::keep_as_found(&obstacle, &state.logs()).map(|_| true),
        None => Ok(false),
    }
}

/// The plan as it is on disk.
pub(super) fn plan_now(place: &Place<'_>, attempt: &Attempt) -> Result<Plan, SettleError> {
    let bytes = plan::read_file(&attempt.plan)?.unwrap_or_else(|| attempt.plan_before.clone());
    Ok(Plan::parse(&attempt.plan, bytes, &place.plan_options())?)
}
