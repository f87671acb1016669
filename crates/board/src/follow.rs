//! Moves the user's branch to ours, and updates index and files if the project has it checked out.
//!
//! The order, all of it under git's own lock on the index, marked as ours:
//!
//! 1. Wait until no git is running; lock the index; check that none has started.
//! 2. Stop if the user's work would be overwritten or disturbed; the story's work then waits.
//! 3. Prepare a copy of the index, and keep every file that will change by a hard link.
//! 4. Write a note: from here on an interrupted step is undone. Have git lock the ref.
//! 5. Write the files, the user's own plan and progress, the index, and the ref.
//! 6. Remove the note, the links and the lock.
//!
//! `git commit` reads HEAD, then the index, and then locks the index; so a writer uses the opposite
//! order. If the ref were moved first, a commit in between would revert the story; if the index
//! were unlocked before the ref is moved, a commit would contain the story.

use ralph_base::{fault, state};
use ralph_core::git::{Git, GitError};

use super::cause::{Advance, Cause};
use super::checkout::{Checkout, Note};
use super::index_lock::{self, IndexLock};
use super::loop_files::LoopFile;
use super::refs::{Branch, full, is_ancestor, look_at, resolve};
use super::step::Step;
use ralph_project::failure::Failure;
use work_copy::Source;

/// Moves a branch and, if it is checked out in the project, updates index and files. If that is not
/// possible, nothing is moved: the work is safe on our branch, and waits.
pub(super) fn follow(
    source: &Source,
    branch: &str,
    old: Option<&str>,
    new: &str,
    files: &[LoopFile],
) -> Result<Advance, Failure> {
    let followed = try_to_follow(source, branch, old, new, files);
    followed.or_else(|failure| Ok(Advance::Waits(Cause::Failed(failure.to_string()))))
}

fn try_to_follow(
    source: &Source,
    branch: &str,
    old: Option<&str>,
    new: &str,
    files: &[LoopFile],
) -> Result<Advance, Failure> {
    finish_interrupted(source)?;
    let place = Checkout::of(source);
    // No git that was running before can still move HEAD, and a new one cannot take the lock.
    let lock = IndexLock::take(&place.git_dir, &place.top)?;
    fault::point("follow.locked");
    if lock.is_some() && place.note().is_some() {
        settle(&place, false)?;
    }
    let [found] = look_at(&place.git, [branch])?;
    if found.commit.as_deref() != old {
        return Ok(Advance::Moved);
    }
    if let Some(cause) = unready(&place, branch, &found) {
        return Ok(Advance::Waits(cause));
    }
    if lock.is_none() {
        return Ok(Advance::Waits(Cause::Locked(index_lock::path_in(&place.git_dir))));
    }
    if !found.is_here
        && let Some(advance) = move_alone(&place.git, branch, old, new)?
    {
        return Ok(advance);
    }
    let step = Step::of(&place, (old, new), files, place.next())?;
    let result = match step.obstacle.clone() {
        Some(cause) => Ok(Advance::Waits(cause)),
        None => step.prepare().and_then(|()| {
            let (old, new) = (old.map(str::to_owned), new.to_owned());
            bring(&place, &step, &Note { branch: branch.to_owned(), old, new })
        }),
    };
    let settled = settle(&place, true);
    result.and_then(|advance| settled.map(|()| advance))
}

/// Moves a branch that is not checked out. `git switch` unlocks the index before it moves HEAD: if
/// the branch is checked out meanwhile, moves it back and returns `None`: its files must follow.
pub(super) fn move_alone(
    git: &Git,
    branch: &str,
    old: Option<&str>,
    new: &str,
) -> Result<Option<Advance>, Failure> {
    let name = full(branch);
    let move_it =
        |from, to| git.prepare_ref(&name, from, to).and_then(|prepared| prepared.commit());
    if let Err(error) = move_it(old, new) {
        return unmoved(git, branch, old, error).map(Some);
    }
    let [found] = look_at(git, [branch])?;
    let is_back = |old| found.is_here && move_it(Some(new), old).is_ok();
    Ok(if old.is_some_and(is_back) { None } else { Some(Advance::Landed) })
}

fn bring(place: &Checkout, step: &Step<'_>, note: &Note) -> Result<Advance, Failure> {
    place.save(note)?;
    fault::point("follow.noted");
    let (branch, old) = (&note.branch, note.old.as_deref());
    let prepared = match place.git.prepare_ref(&full(branch), old, &note.new) {
        Ok(prepared) => prepared,
        Err(error) => return unmoved(&place.git, branch, old, error),
    };
    fault::point("follow.prepared");
    step.write_files()?;
    fault::point("follow.files");
    step.write_texts()?;
    fault::point("follow.texts");
    step.write_index()?;
    fault::point("follow.index");
    prepared.commit()?;
    fault::point("follow.moved");
    Ok(Advance::Landed)
}

/// Returns why a branch cannot be moved now, regardless of its files.
fn unready(place: &Checkout, branch: &str, found: &Branch) -> Option<Cause> {
    let elsewhere = found.elsewhere().map(|path| Cause::Elsewhere(path.to_owned()));
    elsewhere.or_else(|| place.busy(branch, found.is_here).map(Cause::Busy))
}

/// Returns why a branch has not been moved to work on top of it, without changing anything.
pub(super) fn why_not_here(
    source: &Source,
    branch: &str,
    old: Option<&str>,
    new: &str,
) -> Result<Cause, Failure> {
    let place = Checkout::of(source);
    let [found] = look_at(&place.git, [branch])?;
    if let Some(cause) = unready(&place, branch, &found) {
        return Ok(cause);
    }
    let lock = index_lock::path_in(&place.git_dir);
    if !found.is_here {
        return Ok(Cause::NotCheckedOut);
    }
    if lock.exists() && !index_lock::is_left(&place.git_dir) {
        return Ok(Cause::Locked(lock));
    }
    if is_interrupted(source) {
        return Ok(Cause::Interrupted);
    }
    let copy = place.scratch(&format!("index-look-{}", std::process::id()));
    let cause = Step::of(&place, (old, new), &[], copy.clone())?.obstacle;
    state::remove_if_there(copy)?;
    Ok(cause.unwrap_or(Cause::Nothing))
}

/// Returns the outcome for a branch that git did not move.
pub(super) fn unmoved(
    git: &Git,
    branch: &str,
    old: Option<&str>,
    error: GitError,
) -> Result<Advance, Failure> {
    match error {
        GitError::Locked { lock, .. } => Ok(Advance::Waits(Cause::Locked(lock.into()))),
        GitError::Failed { stderr, .. } if resolve(git, &full(branch))?.as_deref() == old => {
            Ok(Advance::Waits(Cause::Failed(stderr)))
        }
        GitError::Failed { .. } => Ok(Advance::Moved),
        error => Err(error.into()),
    }
}

/// Whether a crash left the project's files between two commits, or its index locked.
pub fn is_interrupted(source: &Source) -> bool {
    let place = Checkout::of(source);
    place.note_path().is_file() || index_lock::is_left(&place.git_dir)
}

/// Undoes a step that a crash interrupted, under the lock that was held then, so no process
/// interferes. Later changes by the user stay. The work is on our branch, and can follow again.
pub fn finish_interrupted(source: &Source) -> Result<(), Failure> {
    if !is_interrupted(source) {
        return Ok(());
    }
    let place = Checkout::of(source);
    let left = IndexLock::left(&place.git_dir, &place.top);
    let is_held = left.is_some();
    if let (true, Some(note)) = (is_held, place.note()) {
        place.free_ref(&note)?;
    }
    let take = || IndexLock::take(&place.git_dir, &place.top);
    match left.map_or_else(take, |lock| Ok(Some(lock)))? {
        Some(_lock) => settle(&place, is_held),
        None => Ok(()),
    }
}

/// Ends a step, which may have been interrupted at any point: restores the previous state unless
/// the branch already has the work.
fn settle(place: &Checkout, with_index: bool) -> Result<(), Failure> {
    if let Some(note) = place.note() {
        let tip = resolve(&place.git, &full(&note.branch))?;
        if !tip.map_or(Ok(false), |tip| is_ancestor(&place.git, &note.new, &tip))? {
            place.undo(&note, with_index)?;
        }
    }
    Ok(place.clean()?)
}
