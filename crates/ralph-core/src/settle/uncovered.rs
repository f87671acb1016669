//! Files that were there and ignored before an attempt, and that the attempt's changes of ignore
//! rules would sweep into its commit: a `.env`, for instance. And the reverse: new files that the
//! attempt's own rules keep out of it.

use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use super::attempt::Attempt;
use super::named_files::named_files;
use super::procedure::{Place, SettleError};
use crate::git::{
    Checkpoint, CheckpointError, Status, Target, are_rules_changed, cover_again, hidden_since,
    uncovered_since,
};

/// The time of a file's last change of any kind: seconds, and billionths of one.
type Instant = (i64, i64);

/// What became of files that were ignored.
pub(super) enum Uncovered {
    /// The rules are as they were, or hide nothing less.
    None,
    /// These are ignored again; the tree is as told.
    Covered(Vec<PathBuf>, Box<Status>),
    /// They are part of a commit of the agent's, or its rules show them whatever else is ignored.
    Exposed(String),
}

/// Keeps such files out of the commit that is about to be made of these files. Where no rules were
/// changed no git is started.
pub(super) fn keep_out(
    place: &Place<'_>,
    attempt: &Attempt,
    status: &Status,
    files: &[PathBuf],
) -> Result<Uncovered, SettleError> {
    let Some((target, began)) = rules_changed_since(place, files)? else {
        return Ok(Uncovered::None);
    };
    let find = |files: &[PathBuf]| {
        uncovered_since(place.repo, &target, began, files).map_err(CheckpointError::from)
    };
    let committed = find(&added_by_commits(place, attempt, status)?)?;
    if !committed.is_empty() {
        let names = named_files(&committed);
        return Ok(Uncovered::Exposed(format!(
            "a commit of the agent's holds files that were there and ignored before: {names}; \
             commit without them, and keep them ignored"
        )));
    }
    let uncovered = find(&status.new)?;
    if uncovered.is_empty() {
        return Ok(Uncovered::None);
    }
    cover(place, attempt, &target, &uncovered.into_iter().collect::<Vec<_>>(), status)
}

fn cover(
    place: &Place<'_>,
    attempt: &Attempt,
    target: &Target,
    uncovered: &[PathBuf],
    status: &Status,
) -> Result<Uncovered, SettleError> {
    let why = format!("ralph: ignored before {} changed the rules", attempt.story);
    let set = uncovered.iter().cloned().collect();
    let now = cover_again(place.repo, target, &set, status, &why).map_err(CheckpointError::from)?;
    let exposed: Vec<&PathBuf> = now.new.iter().filter(|path| set.contains(*path)).collect();
    if !exposed.is_empty() {
        let names = named_files(exposed);
        return Ok(Uncovered::Exposed(format!(
            "the new ignore rules show files that were there and ignored before: {names}; keep \
             them ignored"
        )));
    }
    Ok(Uncovered::Covered(uncovered.to_vec(), Box::new(now)))
}

/// New files that rules of the attempt's own hide, so that its commit does not hold them.
pub(super) fn hidden(place: &Place<'_>, files: &[PathBuf]) -> Result<Vec<PathBuf>, SettleError> {
    let Some((target, began)) = rules_changed_since(place, files)? else { return Ok(Vec::new()) };
    Ok(hidden_since(place.repo, &target, began).map_err(CheckpointError::from)?)
}

/// Where and when the attempt began, if it changed ignore rules.
fn rules_changed_since(
    place: &Place<'_>,
    files: &[PathBuf],
) -> Result<Option<(Target, Instant)>, SettleError> {
    let Ok(written) = fs_err::metadata(place.state.checkpoint()) else { return Ok(None) };
    let began = (written.ctime(), written.ctime_nsec());
    if !are_rules_changed(place.repo, files, began) {
        return Ok(None);
    }
    let Some(checkpoint) = Checkpoint::load(place.state)? else { return Ok(None) };
    Ok(Some((checkpoint.target(place.repo).map_err(CheckpointError::from)?, began)))
}

/// The files that commits of the agent's added.
fn added_by_commits(
    place: &Place<'_>,
    attempt: &Attempt,
    status: &Status,
) -> Result<Vec<PathBuf>, SettleError> {
    let (Some(old), Some(new)) = (&attempt.head, &status.head) else { return Ok(Vec::new()) };
    if old == new {
        return Ok(Vec::new());
    }
    Ok(super::commit::files_added_between(place.repo, old, new)?)
}
