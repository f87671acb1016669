//! An attempt whose run was interrupted: whose is what happened to the branch since?

use camino::Utf8Path;

use super::attempt::{self, Attempt};
use super::changed::below_top;
use super::marker::Marker;
use super::own_commit;
use super::procedure::{Place, SettleError};
use super::repaired_plan::repair_plan;
use crate::git::{GitError, Repo, Status, last_sighting};

/// Whether HEAD is elsewhere than the run left it, so that somebody else has moved it since. Moves
/// that an agent made while its run was alive are the attempt's, and so is the story's own commit.
pub fn is_moved_since(place: &Place<'_>, attempt: &Attempt) -> Result<bool, SettleError> {
    let now = Status::read(place.repo)?;
    let is_at = |branch: &Option<String>, commit: &Option<String>| {
        now.branch == *branch && now.head == *commit
    };
    if is_at(&attempt.branch, &attempt.head) {
        return Ok(false);
    }
    let seen = last_sighting(place.repo, &attempt.run);
    if seen.is_some_and(|seen| is_at(&seen.branch, &seen.commit)) {
        return Ok(false);
    }
    let marker = Marker::load(place.state)?.filter(|marker| marker.story == attempt.story);
    let Some(marker) = marker else { return Ok(true) };
    if is_at(&attempt.branch, &marker.head) {
        return Ok(false);
    }
    Ok(own_commit::made_since(place, attempt, marker.head.as_deref())?.is_none())
}

/// Whether a story was being ticked and committed when its run ended.
pub fn is_settling(place: &Place<'_>, attempt: &Attempt) -> Result<bool, SettleError> {
    let marker = Marker::load(place.state)?;
    Ok(marker.is_some_and(|marker| marker.story == attempt.story))
}

/// Forgets an attempt without a change to tree, index or branch. The plan is repaired, unless it is
/// as it was committed: then whoever moved the branch chose that plan.
pub fn abandon(place: &Place<'_>, attempt: &Attempt) -> Result<(), SettleError> {
    if !is_plan_committed(place.repo, &attempt.plan)? {
        repair_plan(place, attempt)?;
    }
    attempt::end(place.state)?;
    Marker::clear(place.state)?;
    Ok(())
}

/// Whether a plan is as it was committed.
pub fn is_plan_committed(repo: &Repo, plan: &Utf8Path) -> Result<bool, GitError> {
    let Some(path) = below_top(repo, plan) else { return Ok(false) };
    let object = format!("HEAD:{}", path.display());
    match repo.git().run(&["cat-file", "blob", &object]) {
        Ok(committed) => Ok(fs_err::read(plan).is_ok_and(|now| now == committed)),
        Err(GitError::Failed { .. }) => Ok(false),
        Err(error) => Err(error),
    }
}
