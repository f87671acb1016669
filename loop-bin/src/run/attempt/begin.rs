//! The beginning of an attempt: the copy at the job's base, and what the agent needs in it.

use std::time::Instant;

use ralph_base::fault;
use ralph_base::listing::named_files;
use ralph_base::state::{self, StateDir};
use ralph_core::git::Checkpoint;
use ralph_project::config::Config;
use ralph_project::failed_before::FailedBefore;
use ralph_project::strikes::Memory;
use ralph_project::under_way::Attempt;

use super::{Around, Assignment, Desk, Reporter};
use crate::exit::Failure;
use crate::saved::{self, SavedAttempt};
use crate::terminal::in_words;
use work_copy::git_output::base_of;
use work_copy::in_place::ProtectedFiles;
use work_copy::{Start, Workspace, changed_by_setup, needs_setup, set_up};

/// What an agent reads that continues the work of an earlier attempt.
const WORK_IS_THERE: &str =
    "Work from an earlier attempt is already in your working tree; continue with it.";

/// Prepares the copy for an agent; returns what the prompt says about the attempt that this one continues.
pub(super) fn begin(
    around: Around<'_>,
    desk: &mut Desk,
    attempt: &Attempt,
    assignment: &mut Assignment,
) -> Result<String, Failure> {
    let start = Start::of(attempt);
    let (context, stop) = (around.context, || around.context.is_interrupted());
    prepare((&context.config, &stop), around.reporter, &mut desk.copy, start, &desk.run)?;
    // Plan and progress as the agent is given them, so that what it does to them is known.
    state::replace_unsynced(&desk.dir.plan_given(), assignment.plan.bytes())?;
    state::replace_unsynced(&desk.dir.progress_given(), &assignment.progress)?;
    let mut before = String::new();
    if let Some(kept) = &assignment.resumed {
        let is_there;
        (before, is_there) = resume(around, &mut desk.copy, kept, start)?;
        if !is_there {
            // A resumed session would expect its work.
            assignment.session = None;
        }
    }
    // After the work of an earlier attempt, which knows only the plan of its own time.
    give_books(around, &mut desk.copy, assignment)?;
    if desk.copy.is_in_place {
        let (root, state) = (around.context.project.root(), around.context.state());
        desk.protected = ProtectedFiles::remember(root, state, &around.books.plan);
    }
    take_checkpoint(around, desk, attempt)?;
    state::remove_if_there(desk.state().claim())?;
    fault::point("attempt.begun");
    Ok(before)
}

/// The copy at a commit, with what a fresh clone lacks and its setup done.
pub(in crate::run) fn prepare(
    (config, stop): (&Config, &dyn Fn() -> bool),
    reporter: &Reporter,
    copy: &mut Workspace,
    start: Start<'_>,
    run: &str,
) -> Result<(), Failure> {
    let (is_new, begun) = (!copy.exists(), Instant::now());
    copy.reset(start)?;
    copy.carry(&config.run.specs)?;
    if is_new {
        let (top, took) = (copy.top(), in_words(begun.elapsed()));
        reporter.line(format!("the agent works in a copy: {top} (created in {took})"));
    }
    let setup = &config.workspace.setup;
    if needs_setup(copy, setup) {
        reporter.line(format!("setting up the copy: {}", setup.join(", ")));
        reporter.doing("setting up the copy");
    }
    let begun = Instant::now();
    if !set_up(copy, setup, config.verify.timeout.limit(), run, stop)? {
        return Ok(());
    }
    reporter.line(format!("the copy is set up ({})", in_words(begun.elapsed())));
    let changed = changed_by_setup(copy)?;
    if !changed.is_empty() {
        reporter.warn(format!(
            "the setup changes tracked files, so every attempt would commit them: {}; use a \
             command that leaves lock files unchanged, or commit the changes",
            named_files(&changed)
        ));
    }
    Ok(())
}

/// Plan and progress as the agent finds them.
fn give_books(
    around: Around<'_>,
    copy: &mut Workspace,
    assignment: &Assignment,
) -> Result<(), Failure> {
    let books = around.books;
    copy.give(&books.plan, assignment.plan.bytes())?;
    if !assignment.progress.is_empty() {
        copy.give(&books.progress, &assignment.progress)?;
    }
    let beside = StateDir::loop_progress_beside(&books.plan);
    if let Some(text) = state::read_if_there(&beside)? {
        copy.give(&beside, &text)?;
    }
    Ok(())
}

/// Lays the work of an attempt into the copy; returns what the agent reads about it, and whether the work
/// is there.
fn resume(
    around: Around<'_>,
    copy: &mut Workspace,
    kept: &SavedAttempt,
    start: Start<'_>,
) -> Result<(String, bool), Failure> {
    let SavedAttempt { id, why, details, .. } = kept;
    let story = &kept.key.story;
    let text = match kept.outcome.as_deref() {
        Some(saved::RETRY) if details.trim().is_empty() => String::new(),
        Some(saved::RETRY) => format!("Hint from the user: {details}"),
        _ => format!("The last attempt, {id}, ended: {why}"),
    };
    let git = copy.source.git();
    let base = base_of(&git, kept.base.as_deref())?;
    if git.run(&["diff-tree", "--quiet", &base, &kept.commit]).is_ok() {
        // A person may have asked for another try with nothing but a hint.
        return Ok((text, true));
    }
    if copy.overlay(&kept.commit, start)?.is_some() {
        around.reporter.warn(format!(
            "{story}: attempt {id} conflicts with work that landed since, so the story starts \
             over; view it with `ralph-loop attempts {id}`"
        ));
        return Ok((text, false));
    }
    around.reporter.line(format!("{story}: continuing from attempt {id}"));
    Ok((format!("{WORK_IS_THERE}\n{text}"), true))
}

/// What hooks roll back to while the agent works.
fn take_checkpoint(around: Around<'_>, desk: &Desk, attempt: &Attempt) -> Result<(), Failure> {
    let repo = &desk.copy.repo()?;
    let message = format!("before {}", attempt.story);
    let status = desk.copy.status(repo, Start::of(attempt))?;
    let state = desk.state();
    let checkpoint = Checkpoint::create_for(repo, state, &message, Some(&desk.run), status)?;
    if !around.failed_before.is_empty() {
        let mut known = FailedBefore::default();
        around.failed_before.values().for_each(|before| known.extend(before));
        Memory::begin(state, &checkpoint, known)?;
    }
    Ok(())
}
