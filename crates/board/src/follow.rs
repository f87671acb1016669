//! The user's branch follows ours: the branch, and where it is checked out in the project, index and files.
//!
//! The order, all of it under git's own lock on the index, which says that it is ours:
//!
//! 1. Wait until no git is at work; lock the index; check that none has begun.
//! 2. Refuse what would overwrite or disturb the user's work; then it waits.
//! 3. Make a copy of the index ready, and keep every file that will change by a hard link.
//! 4. Write a note, from here on an interrupted step is undone; have git lock the ref.
//! 5. Files, the user's own text of plan and progress, index, ref.
//! 6. Remove note, links and lock.
//!
//! `git commit` reads HEAD, then the index, and then locks the index; so a writer goes the other way
//! round. Were the ref moved first, a commit in between would revert the story; were the index unlocked
//! before the ref is moved, a commit would contain it.

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

/// Moves a branch; where it is checked out in the project, index and files go along. Where they cannot,
/// nothing is moved: the work is safe on our branch, whatever keeps it from the files.
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
    // No git that was at work here before can still move HEAD, and none that starts now gets far.
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

/// Moves a branch that is not checked out. `git switch` unlocks the index before it moves HEAD, so a
/// branch that is checked out by now is put back: none, its files have to go along.
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

/// What keeps a branch from being moved, whatever its files are.
fn unready(place: &Checkout, branch: &str, found: &Branch) -> Option<Cause> {
    let elsewhere = found.elsewhere().map(|path| Cause::Elsewhere(path.to_owned()));
    elsewhere.or_else(|| place.busy(branch, found.is_here).map(Cause::Busy))
}

/// Why a branch has not been moved to work that is on top of it, for those who only look.
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

/// What to make of a branch that git did not move.
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

/// Undoes a step that a crash interrupted, under the lock that was held then: nobody comes in between.
/// What is the user's own by now stays as it is. The work is on our branch, and follows again.
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

/// Ends a step, which may have been interrupted at any point: unless the branch has the work, all goes
/// back to what it was.
fn settle(place: &Checkout, with_index: bool) -> Result<(), Failure> {
    if let Some(note) = place.note() {
        let tip = resolve(&place.git, &full(&note.branch))?;
        if !tip.map_or(Ok(false), |tip| is_ancestor(&place.git, &note.new, &tip))? {
            place.undo(&note, with_index)?;
        }
    }
    Ok(place.clean()?)
}
