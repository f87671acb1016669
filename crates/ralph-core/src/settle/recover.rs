//! After a crash in the middle of settling: the tick and its commit are both there, or neither is.

use super::attempt::Attempt;
use super::bookkeeping::record_done;
use super::changed::changed_files;
use super::commit;
use super::marker::Marker;
use super::own_commit;
use super::procedure::{Done, Place, Report, SettleError, weakened};
use super::repaired_plan::{plan_now, repair_interrupted};
use super::taken_out::keep_taken_out;
use crate::fault;
use crate::git::{Unreturned, end_orphaned_commit, unstage_all};
use crate::plan::{Finding, Repaired, State};
use crate::state;

/// What was found and done.
#[derive(Debug, Clone, PartialEq)]
pub enum Recovered {
    /// Nothing was being settled.
    Nothing,
    /// The commit was there; the rest was finished.
    Finished {
        /// The story that is done.
        story: String,
        /// Its commit.
        commit: Option<String>,
        /// Uncommitted work from before it that is not in the tree any more, kept for undo.
        taken_out: Option<Box<Unreturned>>,
    },
    /// The commit was not there; the tick was taken back, and the work is as the agent left it.
    Undone {
        /// The story, which is open again.
        story: String,
        /// What else was found in the plan.
        findings: Vec<Finding>,
        /// Whether files were changed since, so that what is there may not be the agent's alone.
        is_changed: bool,
    },
}

/// Finishes or undoes a settling that was interrupted.
pub fn recover(place: &Place<'_>) -> Result<Recovered, SettleError> {
    let Some(marker) = Marker::load(place.state)? else { return Ok(Recovered::Nothing) };
    let attempt = Attempt::load(place.state)?.filter(|attempt| attempt.story == marker.story);
    let Some(attempt) = attempt else {
        // The attempt's file goes just before the marker, so all else was done.
        Marker::clear(place.state)?;
        return Ok(Recovered::Nothing);
    };
    // It may be another story than the one that our caller believes to be under way.
    let journal = place.journal.for_story(&attempt.story);
    let place = &Place { journal: &journal, ..*place };
    // The commit may be made yet.
    end_orphaned_commit(place.repo.top(), &|| false);
    let made = own_commit::made_since(place, &attempt, marker.head.as_deref())?;
    let Some(commit) = made else {
        let is_changed = !marker.has_seen(place.repo, &changed_files(place, &attempt)?);
        let Repaired { bytes, findings, .. } = repair_interrupted(place, &attempt)?;
        if bytes != attempt.plan_before {
            // What somebody wrote into it since is part of the plan from now on.
            Attempt { plan_before: bytes, ..attempt.clone() }.save(place.state)?;
        }
        unstage_all(place.repo)?;
        fault::point("recover.undone");
        Marker::clear(place.state)?;
        return Ok(Recovered::Undone { story: attempt.story, findings, is_changed });
    };
    let plan = plan_now(place, &attempt)?;
    if plan.story(&attempt.story).is_some_and(|story| story.state != State::Done) {
        state::replace_users(&attempt.plan, &plan.tick(&attempt.story)?)?;
    }
    fault::point("recover.committed");
    let files = commit::files_between(place.repo, attempt.head.as_deref(), &commit)?;
    let weakened = weakened(place, &attempt, &files)?;
    let commit = Some(commit);
    let taken_out = keep_taken_out(place, &attempt)?;
    let done = Done { commit: commit.clone(), files, weakened, taken_out, ..Done::default() };
    record_done(place, &attempt, &Report::default(), &done)?;
    Ok(Recovered::Finished { story: attempt.story, commit, taken_out: done.taken_out })
}
