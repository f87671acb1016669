//! The project's checkout follows its branch, as `git merge --ff-only` would let it.
//!
//! First it is made sure that no file which is to change holds anything of the user's; then the
//! branch is moved by compare-and-swap, at once the index with it, and then the files. All of it
//! happens under git's own lock on the index, and a note says what is going on: bringing index and
//! files along can be done again after a crash, as often as it takes.

use ralph_base::fault;
use ralph_core::git::GitError;

use super::checkout::{Checkout, Note, Step};
use super::index_lock::{self, IndexLock};
use super::loop_files::LoopFile;
use super::refs::{resolve, tip_of};
use super::waiting::{Advance, Cause};
use crate::exit::Failure;
use crate::workspace::Source;

/// Moves a branch; where it is checked out in the project, index and files follow. Where they cannot,
/// nothing is moved.
pub(super) fn follow(
    source: &Source,
    branch: &str,
    old: Option<&str>,
    new: &str,
    files: &[LoopFile],
) -> Result<Advance, Failure> {
    let place = Checkout::of(source);
    // No git that was at work here before can still move HEAD, and none that starts now gets far.
    let lock = IndexLock::take(&place.git_dir, &place.top)?;
    let (tip, is_here) = tip_of(&place.git, branch)?;
    if tip.as_deref() != old {
        return Ok(Advance::Moved);
    }
    let note = Note {
        branch: branch.to_owned(),
        old: old.map(str::to_owned),
        new: new.to_owned(),
        loop_files: files.iter().map(|file| file.path.clone()).collect(),
    };
    let next = match (is_here, &lock) {
        (false, _) => None,
        (true, None) => {
            return Ok(Advance::Waits(Cause::Locked(index_lock::path_in(&place.git_dir))));
        }
        (true, Some(_)) => {
            let step = Step::of(&place, &note, files)?;
            let in_the_way = step.in_the_way()?;
            if !in_the_way.is_empty() {
                return Ok(Advance::Waits(Cause::InTheWay(in_the_way)));
            }
            Some((step.index()?, step))
        }
    };
    place.save(&note)?;
    fault::point("follow.noted");
    if let Some(refused) = swap(&place, &note)? {
        place.forget()?;
        return Ok(refused);
    }
    fault::point("follow.swapped");
    if let Some((index, step)) = next {
        step.bring(&index)?;
    }
    place.forget()?;
    Ok(Advance::Landed)
}

/// Whether a crash left the project's files behind their branch, or its index locked.
pub(crate) fn is_interrupted(source: &Source) -> bool {
    let place = Checkout::of(source);
    place.note_path().is_file() || index_lock::is_left(&place.git_dir)
}

/// Finishes what a crash interrupted, under the lock that was held then: nobody comes in between.
/// What is the user's own by now stays as it is.
pub(crate) fn finish_interrupted(source: &Source) -> Result<(), Failure> {
    let place = Checkout::of(source);
    let left = IndexLock::left(&place.git_dir);
    let Ok(text) = fs_err::read(place.note_path()) else { return Ok(()) };
    let Ok(note) = serde_json::from_slice::<Note>(&text) else { return Ok(place.forget()?) };
    if tip_of(&place.git, &note.branch)? == (Some(note.new.clone()), true) {
        let lock = match left {
            Some(lock) => Some(lock),
            None => IndexLock::take(&place.git_dir, &place.top)?,
        };
        if lock.is_some() {
            let files = place.loop_files(&note);
            let mut step = Step::of(&place, &note, &files)?;
            step.kept = step.in_the_way()?;
            step.bring(&step.index()?)?;
        }
    }
    Ok(place.forget()?)
}

/// Moves the branch by compare-and-swap; says why, if it was not moved.
fn swap(place: &Checkout, note: &Note) -> Result<Option<Advance>, Failure> {
    let Note { branch, old, new, .. } = note;
    let from = old.as_deref().unwrap_or_default();
    match place.git.run(&["update-ref", "-m", "ralph: land a story", branch, new, from]) {
        Ok(_) => Ok(None),
        Err(GitError::Failed { stderr, .. }) if resolve(&place.git, branch)? == *old => {
            Ok(Some(Advance::Waits(Cause::Refused(stderr))))
        }
        Err(GitError::Failed { .. }) => Ok(Some(Advance::Moved)),
        Err(error) => Err(error.into()),
    }
}
