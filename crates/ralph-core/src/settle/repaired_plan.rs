//! The plan on disk after the agent had its hands on it.

use std::io;

use super::attempt::Attempt;
use super::plan_sighting::is_as_seen;
use super::procedure::{Place, SettleError};
use crate::plan::{self, Finding, Format, Plan, Repaired, keep_text, repair};
use crate::state::{self, Event, StateDir};

/// Undoes what the agent did to stories that are not its own, and writes the plan if that changed
/// it.
pub fn repair_plan(place: &Place<'_>, attempt: &Attempt) -> Result<Repaired, SettleError> {
    mend(place, attempt, |before, after| repair(before, after, Some(&attempt.story)))
}

/// The same for an attempt whose run was interrupted. Where the plan is not as it was when the run
/// was last alive, what is written there is taken for somebody's own: all but ticks is kept.
pub fn repair_interrupted(place: &Place<'_>, attempt: &Attempt) -> Result<Repaired, SettleError> {
    if is_as_seen(place.state, &attempt.plan) {
        return repair_plan(place, attempt);
    }
    mend(place, attempt, |before, after| keep_text(before, after, &attempt.story))
}

fn mend(
    place: &Place<'_>,
    attempt: &Attempt,
    repair: impl FnOnce(&Plan, Option<&[u8]>) -> Repaired,
) -> Result<Repaired, SettleError> {
    let before = attempt.plan_before(place)?;
    // A folder, a pipe or a file that is too large in the place of the plan is as good as none.
    let after = plan::read_file(&attempt.plan).unwrap_or_default();
    let mut repaired = repair(&before, after.as_deref());
    let was_in_the_way = clear_the_way(place.state, attempt)?;
    if was_in_the_way {
        repaired.findings.retain(|finding| *finding != Finding::Vanished);
        repaired.findings.push(Finding::NotAFile);
    }
    if was_in_the_way || after.as_deref() != Some(repaired.bytes.as_slice()) {
        if let Some(found) = after.filter(|found| is_worth_keeping(&before, found, &repaired)) {
            // Somebody else may have written there meanwhile: nothing of it is lost.
            let logs = place.state.logs();
            let path = state::keep_content_as_found(&attempt.plan, &found, &logs)?;
            repaired.findings.push(Finding::KeptAsFound { path });
        }
        state::replace_users(&attempt.plan, &repaired.bytes)?;
    }
    if let Some(obstacle) = state::in_the_way(&attempt.progress, true) {
        state::keep_as_found(&obstacle, &place.state.logs())?;
        repaired.findings.push(Finding::ProgressNotAFile);
    }
    if !repaired.findings.is_empty() {
        let findings = repaired.findings.iter().map(ToString::to_string).collect();
        place.journal.append(&Event::PlanRepaired { findings })?;
    }
    Ok(repaired)
}

/// Whether more is undone than ticks: those of an agent's own story are undone in most iterations.
fn is_worth_keeping(before: &Plan, found: &[u8], repaired: &Repaired) -> bool {
    let is_tick = |finding: &Finding| {
        matches!(finding, Finding::Ticked { .. } | Finding::Unchecked { .. } | Finding::TextKept)
    };
    if before.format() != Format::Markdown {
        return !repaired.findings.iter().all(is_tick);
    }
    let mark = |at: usize| {
        at.checked_sub(1).and_then(|at| found.get(at)) == Some(&b'[')
            && found.get(at + 1) == Some(&b']')
    };
    let is_same = |(at, (one, other)): (usize, (&u8, &u8))| one == other || mark(at);
    found.len() != repaired.bytes.len()
        || !found.iter().zip(&repaired.bytes).enumerate().all(is_same)
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
