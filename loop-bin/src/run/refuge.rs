//! A copy of the keepsake in the git folder, there for as long as an agent is at work.
//!
//! The keepsake itself is in memory. Where the agent removes `.ralph/` and the loop is killed before
//! it could put anything back, the next start finds this copy, and with it the plan, the attempt
//! and the work that was kept aside.

use std::fs::{File, TryLockError};
use std::io;

use camino::{Utf8Path, Utf8PathBuf};
use ralph_core::env::Env;
use ralph_core::fault;
use ralph_core::git::Repo;
use ralph_core::project::Project;
use ralph_core::settle::{self, Attempt};
use ralph_core::state::{self, Lock, StateDir};
use serde::{Deserialize, Serialize};

use super::Request;
use super::draft::Draft;
use super::keepsake::{Keepsake, Kept};
use super::left_behind;
use super::record::Record;
use crate::exit::Failure;
use crate::terminal::View;
use crate::{aside, here};

/// A loop lives whose agent removed the lock's file.
#[derive(Debug, thiserror::Error)]
#[error("another loop is at work in {root}, and its agent removed .ralph; wait for its end")]
struct StillAtWork {
    root: Utf8PathBuf,
}

/// The first line of the copy; the files' contents follow, one after the other.
#[derive(Debug, Serialize, Deserialize)]
struct Head {
    version: u32,
    root: Utf8PathBuf,
    files: Vec<Kept>,
    lengths: Vec<usize>,
}

/// The version of the file's format.
const VERSION: u32 = 1;

/// The copy, held by this process.
#[derive(Debug)]
pub(super) struct Refuge {
    file: File,
}

impl Drop for Refuge {
    fn drop(&mut self) {
        // Explicit, because a child that inherited the descriptor would keep the lock alive.
        let _ = self.file.unlock();
    }
}

impl Refuge {
    /// Writes the copy. The lock on it tells others that its loop lives, even if the agent removes
    /// the project's own lock.
    pub(super) fn open(repo: &Repo, root: &Utf8Path, keepsake: &Keepsake) -> io::Result<Self> {
        let path = repo
            .own_file(state::REFUGE)
            .ok_or_else(|| io::Error::other("the git folder is not UTF-8"))?;
        // Files of the tree come back with the checkpoint.
        let state = StateDir::of_project(root);
        let files = keepsake.files().iter().filter(|kept| kept.path.starts_with(state.root()));
        let files: Vec<Kept> = files.cloned().collect();
        let lengths = files.iter().map(|kept| kept.content.len()).collect();
        let head = Head { version: VERSION, root: root.to_owned(), files, lengths };
        let mut content = serde_json::to_vec(&head)?;
        content.push(b'\n');
        head.files.iter().for_each(|kept| content.extend_from_slice(&kept.content));
        // It guards against an agent, not against a power cut.
        state::replace_unsynced(&path, &content)?;
        let file = fs_err::File::open(&path)?.into_parts().0;
        // Whoever looks at it right now holds the lock for an instant only, and lets it go.
        let _ = file.try_lock();
        fault::point("refuge.opened");
        Ok(Self { file })
    }
}

/// Puts back what an agent removed from `.ralph/` before its loop was killed; before anything else
/// is looked at, because plan and settings may be among it. Where somebody wrote another plan since,
/// the run's record alone is put back: it names the work that was kept aside.
pub(super) fn bring_back(env: &Env, request: &Request) -> Result<(), Failure> {
    let project = here::project(env)?;
    // Settings that are wrong are told of by whoever needs them, and so is a missing repository.
    let settings = here::config(&project, env, &request.flags).unwrap_or_default().run;
    if settings.dry_run {
        return Ok(());
    }
    let view = View::new(env, settings.json_events);
    if project.own_state().run().exists() {
        make_draft_readable(&project, &view)?;
        return put_plan_in_place(&project, &view);
    }
    if is_untrodden(project.root()) {
        return Ok(());
    }
    let Ok(repo) = Repo::open(project.root()) else { return Ok(()) };
    match find(&repo, &project)? {
        Some((root, keepsake)) => empty(&repo, &root, &keepsake, &view),
        None => tell_of_work_aside(&repo, &view),
    }
}

/// Whether no run ever saved anything here: a first start need not ask git for it.
fn is_untrodden(root: &Utf8Path) -> bool {
    let folder = root.join(".git");
    let has = |name| folder.join(name).exists();
    folder.is_dir() && !has(state::SAVED_LEDGER) && !has(state::REFUGE)
}

/// The plan of an attempt that a crash interrupted, where the agent left none that could be read.
fn put_plan_in_place(project: &Project, view: &View) -> Result<(), Failure> {
    let state = project.own_state();
    if Lock::holder(&state.lock()).is_some() {
        return Ok(());
    }
    // An attempt that cannot be understood is told of by whoever takes it up.
    let Ok(Some(attempt)) = Attempt::load(state) else { return Ok(()) };
    if attempt.plan.symlink_metadata().is_err()
        && let Ok(repo) = Repo::open(project.root())
        && settle::is_of_another_branch(&repo, &attempt, &attempt.plan)?
    {
        let plan = [(&*attempt.plan, &*attempt.plan_before)];
        return left_behind::tell(&repo, &attempt, &plan, state, view);
    }
    if settle::put_plan_in_place(state, &attempt)? {
        view.warn(format!("{} was no file any more; put back", attempt.plan));
    }
    Ok(())
}

/// The same after planning that a crash interrupted.
fn make_draft_readable(project: &Project, view: &View) -> Result<(), Failure> {
    let state = project.own_state();
    if !state.planning().exists() || Lock::holder(&state.lock()).is_some() {
        return Ok(());
    }
    // Notes that cannot be understood are told of by whoever takes them up.
    let Ok(Some(draft)) = Draft::load(state) else { return Ok(()) };
    let Ok(repo) = Repo::open(project.root()) else { return Ok(()) };
    if let Some(kept) = draft.make_readable(&repo, state)? {
        view.warn(format!("planning was interrupted; the plan is as it was, and {kept}"));
    }
    Ok(())
}

fn empty(repo: &Repo, root: &Utf8Path, keepsake: &Keepsake, view: &View) -> Result<(), Failure> {
    let state = StateDir::of_project(root);
    let mut mended = keepsake.put_back_run(&state)?;
    let (mut attempt, mut left) = (None, Vec::new());
    if !has_another_plan(&state, keepsake) {
        mended.extend(keepsake.put_back_notes(&state)?);
        attempt = Attempt::load_without_plan(&state).ok().flatten();
        for kept in keepsake.files() {
            if let Some(attempt) = &attempt
                && settle::is_of_another_branch(repo, attempt, &kept.path)?
            {
                left.push(kept);
            }
        }
        mended.extend(keepsake.put_back_missing(&state, &left)?);
    }
    for put_back in &mended {
        view.warn(put_back.told("the agent"));
    }
    match attempt {
        Some(attempt) if !left.is_empty() => {
            let left: Vec<_> = left.iter().map(|kept| (&*kept.path, &*kept.content)).collect();
            left_behind::tell(repo, &attempt, &left, &state, view)
        }
        _ => Ok(remove(repo)?),
    }
}

/// Without a record of the run nobody knows whether it came back, so it is for the user to say.
pub(super) fn tell_of_work_aside(repo: &Repo, view: &View) -> Result<(), Failure> {
    let args = ["for-each-ref", "--sort=-refname", "--format=%(refname)", aside::REFS];
    let names = repo.git().line(&args)?;
    if let Some(name) = names.lines().find(|name| !aside::is_safety_copy(name)) {
        view.warn(format!(
            "{name} holds uncommitted work that an earlier run kept aside, and the record of that \
             run is gone; unless it came back, `git cherry-pick --no-commit -m 1 {name}` brings it \
             back"
        ));
    }
    Ok(())
}

/// The copy that a killed loop left, if there is one of this project; and the project's folder,
/// which nobody finds by its `.ralph/` any more.
fn find(repo: &Repo, project: &Project) -> Result<Option<(Utf8PathBuf, Keepsake)>, Failure> {
    let Some(path) = repo.own_file(state::REFUGE) else { return Ok(None) };
    let Ok(file) = fs_err::File::open(&path) else { return Ok(None) };
    let Some((root, keepsake)) = fs_err::read(&path).ok().and_then(|text| parse(&text)) else {
        remove(repo)?;
        return Ok(None);
    };
    // A project of its own inside that one lost nothing.
    let is_apart = || Ok::<_, Failure>(has_state(project) || !here::folder()?.starts_with(&root));
    if project.root() != root && is_apart()? {
        return Ok(None);
    }
    match file.into_parts().0.try_lock_shared() {
        Err(TryLockError::WouldBlock) => Err(Failure::Locked(Box::new(StillAtWork { root }))),
        _ => Ok(Some((root, keepsake))),
    }
}

fn has_state(project: &Project) -> bool {
    project.own_state().root().is_dir()
}

fn parse(text: &[u8]) -> Option<(Utf8PathBuf, Keepsake)> {
    let end = text.iter().position(|byte| *byte == b'\n')?;
    let head: Head = serde_json::from_slice(text.get(..end)?).ok()?;
    let state = StateDir::of_project(&head.root);
    let mut at = end + 1;
    let mut files = Vec::new();
    for (kept, length) in head.files.iter().zip(&head.lengths) {
        let content = text.get(at..at.checked_add(*length)?)?.to_vec();
        at += length;
        // An agent may have written here as well; it does not make us write elsewhere.
        kept.path.starts_with(state.root()).then_some(())?;
        files.push(Kept { content, ..kept.clone() });
    }
    (head.version == VERSION).then(|| (head.root, Keepsake::of(files)))
}

/// Whether the plan of the run is there, and is not the one that the agent began with.
fn has_another_plan(state: &StateDir, keepsake: &Keepsake) -> bool {
    let plan = Record::load(state).ok().flatten().map(|record| record.plan);
    let kept = plan.and_then(|plan| keepsake.files().iter().find(|kept| kept.path == plan));
    kept.is_some_and(|kept| fs_err::read(&kept.path).is_ok_and(|now| now != kept.content))
}

/// Removes the copy: everything is where it belongs.
pub(super) fn remove(repo: &Repo) -> io::Result<()> {
    let Some(path) = repo.own_file(state::REFUGE) else { return Ok(()) };
    state::remove_if_there(path)
}
