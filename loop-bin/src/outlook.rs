//! What a run that was interrupted left, and what the next start will do with it: for `status`,
//! `doctor` and `--dry-run`. Nothing is changed here.

use ralph_core::config::{Config, RollbackOn};
use ralph_core::git::{self, Repo, Status, Unreturned};
use ralph_core::project::Project;
use ralph_core::settle::{self, Attempt, Place, named_files};
use ralph_core::state::{Journal, Lock};

use crate::aside;
use crate::exit::Failure;
use crate::run::{Draft, Record};

/// What waits for the next start.
#[derive(Debug, Default)]
pub(crate) struct Outlook {
    /// One line for each thing.
    pub(crate) lines: Vec<String>,
    /// Whether what is uncommitted in the tree counts as an attempt's.
    pub(crate) is_attempts: bool,
}

/// Looks; there is nothing to tell while a loop runs.
pub(crate) fn look(project: &Project, config: &Config) -> Result<Outlook, Failure> {
    let state = project.own_state();
    let mut outlook = Outlook::default();
    if Lock::holder(&state.lock()).is_some() {
        return Ok(outlook);
    }
    if let Some(attempt) = Attempt::load_without_plan(state)? {
        outlook.tell_of(project, config, &attempt)?;
    }
    if let Some(draft) = Draft::load(state)? {
        let is_moved = draft.is_moved_since(&Repo::open(project.root())?)?;
        outlook.is_attempts |= !is_moved;
        let what = "planning was interrupted: the next start makes the plan what it was before, \
                    and names the `ralph-loop undo` that brings the draft back";
        outlook.lines.push(what.to_owned());
    }
    if !outlook.is_attempts && is_of_scripts(project)? {
        outlook.is_attempts = true;
        let what = "a run was killed while its scripts were at work: the next start goes on with \
                    what they left uncommitted";
        outlook.lines.push(what.to_owned());
    }
    if let Some(name) = work_aside(project)? {
        let id = aside::id_of(&name);
        outlook.lines.push(format!(
            "uncommitted work of yours is kept aside as {name}: `ralph-loop undo {id}` brings it \
             back now, and the next run when it ends"
        ));
    }
    Ok(outlook)
}

/// Whether something is uncommitted, and all of it was left by scripts of a run that was killed.
fn is_of_scripts(project: &Project) -> Result<bool, Failure> {
    let record = Record::load_or_tell(project.own_state())?.0;
    let record = record.filter(|record| record.finish.is_none());
    let Some(scripted) = record.and_then(|record| record.scripted) else { return Ok(false) };
    let repo = Repo::open(project.root())?;
    let mut changed = Status::read(&repo)?.changed;
    changed.retain(|path| !repo.is_untouched(path));
    Ok(!changed.is_empty() && scripted.covers(repo.top(), &changed))
}

/// The ref with uncommitted work of the user's that a run kept aside and never put back.
pub(crate) fn work_aside(project: &Project) -> Result<Option<String>, Failure> {
    let state = project.own_state();
    if Lock::holder(&state.lock()).is_some() {
        return Ok(None);
    }
    Ok(Record::load_or_tell(state)?.0.and_then(|record| record.aside))
}

/// Work of the user's that did not come back, because the loop changed the same files.
pub(crate) fn work_not_returned(project: &Project) -> Result<Vec<String>, Failure> {
    // Where there is no repository, nothing was ever kept.
    let Ok(repo) = Repo::open(project.root()) else { return Ok(Vec::new()) };
    let told = |kept: Unreturned| {
        let Unreturned { id, name, files } = kept;
        format!(
            "uncommitted work of yours did not come back, because the loop changed or removed it: {}; \
             `ralph-loop undo {id}` brings it back or tells what is in its way, and \
             `git update-ref -d {name}` forgets it",
            named_files(&files)
        )
    };
    Ok(git::unreturned(&repo)?.into_iter().map(told).collect())
}

impl Outlook {
    fn tell_of(
        &mut self,
        project: &Project,
        config: &Config,
        attempt: &Attempt,
    ) -> Result<(), Failure> {
        let (root, state) = (project.root(), project.own_state());
        let (repo, journal) = (Repo::open(root)?, Journal::new(state, "ralph-loop"));
        let place =
            Place { root, repo: &repo, state, config, journal: &journal, run: &attempt.run };
        let story = &attempt.story;
        let is_moved = settle::is_moved_since(&place, attempt)?;
        let is_settling = !is_moved && settle::is_settling(&place, attempt)?;
        let stays = !is_settling && config.rollback.on == RollbackOn::Never;
        self.is_attempts = !is_moved && !stays;
        self.lines.push(if is_moved {
            format!(
                "an attempt at {story} was interrupted, and the branch moved since: the next start \
                 keeps branch and tree as they are and begins {story} anew"
            )
        } else if is_settling {
            format!("{story} was being committed when its run ended: the next start finishes that")
        } else if stays {
            format!(
                "an attempt at {story} was interrupted, and the settings say that none is taken \
                 back: the next start keeps the tree as it is and begins {story} anew, if nothing \
                 is uncommitted"
            )
        } else {
            format!(
                "an attempt at {story} was interrupted: the next start takes back what it committed \
                 and what is uncommitted in the tree, and names the `ralph-loop undo` that brings \
                 it back"
            )
        });
        Ok(())
    }
}
