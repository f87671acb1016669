//! An attempt whose run was interrupted: whose is what happened to the branch since?

use camino::Utf8Path;

use super::attempt::{self, Attempt};
use super::changed::below_top;
use super::marker::Marker;
use super::own_commit;
use super::procedure::{Place, SettleError};
use super::repaired_plan::repair_interrupted;
use crate::git::{GitError, Position, Repo, Status, last_sighting};
use crate::plan::Finding;

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

/// Whether a file is missing because somebody checked out another branch since the run was last
/// alive, one that does not have it. To put it back would put it into that branch.
pub fn is_of_another_branch(
    repo: &Repo,
    attempt: &Attempt,
    file: &Utf8Path,
) -> Result<bool, GitError> {
    let Some(now) = Position::of(repo) else { return Ok(false) };
    let is_elsewhere = now.branch != attempt.branch
        && last_sighting(repo, &attempt.run).as_ref() != Some(&now)
        && file.symlink_metadata().is_err();
    let (Some(head), true) = (&attempt.head, is_elsewhere) else { return Ok(false) };
    Ok(committed(repo, head, file)?.is_some() && committed(repo, "HEAD", file)?.is_none())
}

/// A file as a commit has it, if it does.
pub fn committed(repo: &Repo, commit: &str, file: &Utf8Path) -> Result<Option<Vec<u8>>, GitError> {
    let Some(path) = below_top(repo, file) else { return Ok(None) };
    match repo.git().run(&["cat-file", "blob", &format!("{commit}:{}", path.display())]) {
        Ok(content) => Ok(Some(content)),
        Err(GitError::Failed { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Forgets an attempt without a change to tree, index or branch. The plan is repaired, unless it is
/// as it was committed, or is not there: then whoever moved the branch chose that. Tells what was
/// found there.
pub fn abandon(place: &Place<'_>, attempt: &Attempt) -> Result<Vec<Finding>, SettleError> {
    let is_chosen = is_plan_committed(place.repo, &attempt.plan)?
        || is_of_another_branch(place.repo, attempt, &attempt.plan)?;
    let findings = match is_chosen {
        true => Vec::new(),
        false => repair_interrupted(place, attempt)?.findings,
    };
    attempt::end(place.state)?;
    Marker::clear(place.state)?;
    Ok(findings)
}

/// Whether a plan is as it was committed.
pub fn is_plan_committed(repo: &Repo, plan: &Utf8Path) -> Result<bool, GitError> {
    let committed = committed(repo, "HEAD", plan)?;
    Ok(committed.is_some_and(|committed| fs_err::read(plan).is_ok_and(|now| now == committed)))
}
