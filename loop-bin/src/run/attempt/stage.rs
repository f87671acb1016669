//! What is in the copy when an agent has ended, as a tree.

use ralph_base::listing::named_files;
use ralph_base::state;
use ralph_project::progress::agents_lines;
use ralph_project::under_way::Attempt;

use super::work::read_agents_plan;
use super::{Around, Course, Desk, Stopped};
use crate::exit::Failure;
use crate::run::decide::{Outcome, WorkEnd};
use work_copy::{Imported, Staged, Start, import};

/// What an attempt left in its copy.
#[derive(Debug, Clone, Default)]
pub(in crate::run) struct Left {
    /// The tree; none if the copy cannot be read.
    pub(in crate::run) staged: Option<Staged>,
    /// What it left in its own repository.
    pub(in crate::run) imported: Imported,
}

impl Left {
    /// Whether there is anything worth keeping.
    pub(in crate::run) fn has_work(&self) -> bool {
        let has_files = self.staged.as_ref().is_some_and(|staged| !staged.files.is_empty());
        has_files || self.imported.head.is_some() || !self.imported.others.is_empty()
    }

    /// Whether the attempt changed anything, even if a hook rolled it back.
    pub(in crate::run) fn has_changes(&self) -> bool {
        self.has_work() || !self.imported.discarded.is_empty()
    }
}

/// The work of an agent that ended well. Commits of its own are part of it.
pub(super) fn staged_work(
    around: Around<'_>,
    desk: &mut Desk,
    course: &Course,
) -> Result<Left, Stopped> {
    let attempt = &course.attempt;
    keep_agents_progress(around, desk)?;
    let start = Start::of(attempt);
    let imported = import(&desk.copy, start);
    let staged = desk.copy.stage(start, around.books.ours(), &imported)?;
    if !staged.refused.is_empty() {
        let files = named_files(&staged.refused);
        around.reporter.warn(format!("{}: left out of the commit: {files}", attempt.story));
    }
    if let Some(why) = left_history(desk, attempt, &imported) {
        return Err(WorkEnd::failed(why).into());
    }
    if staged.files.is_empty() {
        let is_checked = !around.context.config.verify.commands.is_empty();
        if !course.facts.claimed || !is_checked {
            let why = "the agent changed nothing".to_owned();
            return Err(WorkEnd::Failed(Outcome::NoChanges, why).into());
        }
    }
    Ok(Left { staged: Some(staged), imported })
}

/// What is in the copy, whatever the agent did. A copy that is damaged beyond reading costs this attempt
/// and no more.
pub(in crate::run) fn left_in(
    around: Around<'_>,
    desk: &mut Desk,
    attempt: &Attempt,
) -> Result<Left, Failure> {
    if desk.copy.is_in_place && desk.dir.plan_given().is_file() {
        read_agents_plan(around, desk, attempt)?;
    }
    if !desk.copy.exists() {
        return Ok(Left::default());
    }
    let start = Start::of(attempt);
    let imported = import(&desk.copy, start);
    match desk.copy.stage(start, around.books.ours(), &imported) {
        Ok(staged) => Ok(Left { staged: Some(staged), imported }),
        // The work is there, and the next start keeps it.
        Err(error) if error.is_transient() => Err(error),
        Err(error) => {
            let story = &attempt.story;
            around.reporter.warn(format!("{story}: the copy cannot be read: {error}"));
            Ok(Left { staged: None, imported: Imported { head: None, ..imported } })
        }
    }
}

/// Keeps the lines that the agent added to its file of the progress, patterns with their heading. Before
/// anything is laid over another commit, whose progress has the lines of others.
fn keep_agents_progress(around: Around<'_>, desk: &Desk) -> Result<(), Failure> {
    let Some(left) = desk.copy.left(&around.books.progress) else { return Ok(()) };
    let (given, added) = (desk.dir.progress_given(), desk.dir.progress_added());
    let new = agents_lines(&state::read_if_there(&given)?.unwrap_or_default(), &left);
    let all = [state::read_if_there(&added)?.unwrap_or_default(), new].concat();
    state::replace_unsynced(&added, &all)?;
    Ok(state::replace_unsynced(&given, &left)?)
}

/// An agent that went back in history, or made its checkout sparse, would land a commit that removes the
/// work of others.
fn left_history(desk: &Desk, attempt: &Attempt, imported: &Imported) -> Option<String> {
    if imported.is_sparse {
        return Some(
            "the agent made its checkout sparse, so files are missing that it did not delete; keep \
             the full checkout"
                .to_owned(),
        );
    }
    let (base, head) = (attempt.base.as_deref()?, imported.head.as_deref()?);
    if !board::is_ancestor(&desk.copy.source.git(), head, base).unwrap_or(false) {
        return None;
    }
    Some(format!(
        "the agent moved back to {head:.8}, which does not contain its starting commit {base:.8}; \
         stay on the branch, and only add commits"
    ))
}
