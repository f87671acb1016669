//! The checkpoint that an attempt would be rolled back to: read as state is read, and whether
//! anything still refreshes it.

use std::io;
use std::time::Duration;

use ralph_base::state::{self, StateDir};
use ralph_core::git::{Checkpoint, SnapshotError};

/// A loop writes a checkpoint for each attempt; one that is older belongs to no attempt.
const LONGEST_LIFE: Duration = Duration::from_secs(24 * 60 * 60);

/// The checkpoint; none if there is none. A pipe in its place is refused, not waited for.
pub fn checkpoint(state: &StateDir) -> Result<Option<Checkpoint>, SnapshotError> {
    match state::open_regular(state.checkpoint()) {
        Ok(_) => Checkpoint::load(state),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Why a checkpoint is stale, if it is: no story is under way, and work went on since. Whoever
/// returned to it would lose commits that were made by hand. `head` is what is checked out.
pub fn stale(
    state: &StateDir,
    checkpoint: &Checkpoint,
    head: Option<&str>,
) -> Option<&'static str> {
    if state.current_story().exists() {
        return None;
    }
    if head != checkpoint.commit.as_deref() {
        return Some("no story is in progress and commits were made after it");
    }
    // A time in the future says that the clock was set back, and nothing about the age.
    let written = fs_err::metadata(state.checkpoint()).and_then(|found| found.modified()).ok()?;
    let is_old = written.elapsed().is_ok_and(|age| age > LONGEST_LIFE);
    is_old.then_some("no story is in progress and it is more than a day old")
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use test_support::Scratch;

    use super::*;

    #[test]
    fn a_checkpoint_is_stale_once_work_went_on_without_a_story() {
        let scratch = Scratch::new();
        let state = StateDir::of_project(scratch.root());
        let commit = "a".repeat(40);
        let path = scratch.file(".ralph/.checkpoint", &commit);
        let found = checkpoint(&state).unwrap().unwrap();
        let stale = |head: &str| stale(&state, &found, Some(head)).unwrap_or_default();
        assert_eq!(stale(&commit), "");
        assert_eq!(stale("b"), "no story is in progress and commits were made after it");
        let age = |hours: u64| SystemTime::now() - Duration::from_secs(hours * 60 * 60);
        let file = fs_err::OpenOptions::new().write(true).open(path).unwrap();
        file.file().set_modified(age(23)).unwrap();
        assert_eq!(stale(&commit), "");
        file.file().set_modified(age(25)).unwrap();
        assert_eq!(stale(&commit), "no story is in progress and it is more than a day old");
        file.file().set_modified(SystemTime::now() + Duration::from_secs(3600)).unwrap();
        assert_eq!(stale(&commit), "");
        scratch.file(".ralph/current-story", "US-001\n");
        assert_eq!(stale("b"), "");
    }

    #[test]
    fn a_pipe_in_its_place_is_an_error_and_none_is_none() {
        let scratch = Scratch::new();
        let state = StateDir::of_project(scratch.root());
        assert_eq!(checkpoint(&state).unwrap(), None);
        scratch.pipe(".ralph/.checkpoint");
        let error = checkpoint(&state).unwrap_err().to_string();
        assert!(error.ends_with("is not a regular file"), "{error}");
    }
}
