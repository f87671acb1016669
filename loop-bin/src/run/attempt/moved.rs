//! Rebases an attempt's work onto a target that has moved, and checks it again.

use crate::record::Outcome;
use ralph_base::listing::first_few;
use ralph_base::state;
use ralph_project::under_way::Attempt;

use super::prepare::prepare_copy;
use super::{Desk, Job, Stopped};
use crate::run::decide::WorkEnd;
use work_copy::{Imported, Staged, Start, Workspace};

/// Why rebased work has failed: if stories landed in between, they may be the cause.
pub(super) fn because_of_others(
    stopped: Stopped,
    copy: &Workspace,
    saved: &str,
    base: Option<&str>,
) -> Stopped {
    match stopped {
        Stopped::Work(WorkEnd::Failed(Outcome::Failed, why)) => {
            match landed_since(copy, saved, base) {
                Some(theirs) => WorkEnd::RedWithOthers(format!(
                    "checks failed together with the work that has landed since{theirs}: {why}"
                )),
                None => WorkEnd::failed(why),
            }
            .into()
        }
        stopped => stopped,
    }
}

/// Rebases the saved work onto the target's current tip.
pub(super) fn move_onto(
    job: &Job,
    desk: &mut Desk,
    attempt: &mut Attempt,
    saved: &str,
    (tip, branch): (Option<String>, String),
) -> Result<Staged, Stopped> {
    let story = &attempt.story;
    job.reporter.line(format!("{story}: the target moved; checking the work again"));
    let copy = &mut desk.copy;
    let books = [&attempt.plan, &attempt.progress];
    let start = Start { tip: tip.as_deref(), branch: &branch, books };
    let laid = lay_over(job, copy, saved, start);
    if let Err(Stopped::Work(_)) = laid {
        // The attempt before the rebase, so that it can be saved.
        copy.reset(Start::of(attempt))?;
        copy.overlay(saved, Start::of(attempt))?;
    }
    let staged = laid?;
    let progress = copy.left(&job.books.progress).unwrap_or_default();
    state::replace_unsynced(&desk.dir.progress_given(), &progress)?;
    (attempt.base, attempt.target) = (tip, branch);
    attempt.save(&desk.dir)?;
    Ok(staged)
}

/// Applies the changes of a commit to another commit and stages them.
pub(in crate::run) fn lay_over(
    job: &Job,
    copy: &mut Workspace,
    commit: &str,
    start: Start<'_>,
) -> Result<Staged, Stopped> {
    prepare_copy(job, copy, start)?;
    if let Some(said) = copy.overlay(commit, start)? {
        let theirs = landed_since(copy, commit, start.tip).unwrap_or_default();
        let why = format!("the work conflicts with work that has landed since{theirs}: {said}");
        return Err(WorkEnd::Conflict(why).into());
    }
    Ok(copy.stage(start, &job.books.ours, &Imported::default())?)
}

/// The stories that have landed since `since`, for messages; `None` if there are none.
fn landed_since(copy: &Workspace, commit: &str, tip: Option<&str>) -> Option<String> {
    let range = format!("{commit}^1..{}", tip?);
    let format = "--format=%h %(trailers:key=Ralph-Story,valueonly=true,separator=%x2C)";
    let listed = copy.source.git().line(&["log", "--reverse", format, &range]);
    let listed = listed.ok().filter(|listed| !listed.is_empty())?;
    let stories = listed.lines().filter_map(|line| line.split_once(' '));
    let stories = first_few(stories.map(|(_, story)| story).filter(|it| !it.is_empty()), 5);
    Some(if stories.is_empty() { stories } else { format!(" ({stories})") })
}
