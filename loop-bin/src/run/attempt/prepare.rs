//! Prepares what an agent starts with: the copy at the attempt's base, the prompt, and the variables.

use std::time::Instant;

use camino::Utf8Path;
use ralph_base::env::{MAILBOX, STATE_DIR, WORKER, WORKSPACE};
use ralph_base::fault;
use ralph_base::listing::{first_few, named_files};
use ralph_base::state::{self, StateDir};
use ralph_core::git::Checkpoint;
use ralph_core::plan::State;
use ralph_project::config::{self, Config, Key, Kind, keys};
use ralph_project::failed_before::FailedBefore;
use ralph_project::gate::{IterationCount, Ticking, instruction};
use ralph_project::progress::progress_excerpt;
use ralph_project::project_plan;
use ralph_project::prompt::{self, Template, Values};
use ralph_project::strikes::{LESSONS_TITLE, Memory, last_failure, lessons};
use ralph_project::under_way::Attempt;

use super::{Assignment, Desk, Job, Reporter};
use crate::exit::Failure;
use crate::run::take_over::{clear_own, sweep};
use crate::saved::SavedAttempt;
use crate::terminal::in_words;
use client::path_of_agent;
use work_copy::git_output::base_of;
use work_copy::in_place::ProtectedFiles;
use work_copy::{Start, Workspace, changed_by_setup, is_used, needs_setup, set_up, withheld};

/// The prompt's text for an agent that continues an earlier attempt.
const WORK_IS_THERE: &str =
    "Work from an earlier attempt is already in your working tree; continue with it.";

/// Prepares the copy for an agent; returns the prompt's text about the attempt that this one continues.
pub(super) fn begin(
    job: &Job,
    desk: &mut Desk,
    attempt: &Attempt,
    assignment: &mut Assignment,
) -> Result<String, Failure> {
    if desk.session.is_none() {
        // Left by an earlier attempt.
        desk.copy.doors.remove_tmp();
    }
    desk.copy.doors.open()?;
    clear_own(&[desk.state().checkpoint(), desk.state().claim()])?;
    sweep(desk.state())?;
    let start = Start::of(attempt);
    prepare_copy(job, &mut desk.copy, start)?;
    // Plan and progress as given to the agent, so that its changes to them can be determined.
    state::replace_unsynced(&desk.dir.plan_given(), assignment.plan.bytes())?;
    state::replace_unsynced(&desk.dir.progress_given(), &assignment.progress)?;
    let mut before = String::new();
    if let Some(kept) = &assignment.resumed {
        let is_there;
        (before, is_there) = resume(job, &mut desk.copy, kept, start)?;
        if !is_there {
            // A resumed session would expect its work to be there.
            assignment.session = None;
        }
    }
    // After the earlier attempt's work, which has an older plan.
    let (copy, books) = (&mut desk.copy, &job.books);
    copy.give(&books.plan, assignment.plan.bytes())?;
    if !assignment.progress.is_empty() {
        copy.give(&books.progress, &assignment.progress)?;
    }
    let mut beside = project_plan::beside(job.context.project.root(), &books.plan);
    beside.push(StateDir::loop_progress_beside(&books.plan));
    for file in beside {
        if let Some(text) = state::read_if_there(&file)? {
            copy.give(&file, &text)?;
        }
    }
    if copy.is_in_place {
        let [plan, progress] = start.books;
        ProtectedFiles::remember(copy, (plan, Some(progress)))?;
    }
    take_checkpoint(job, desk, attempt)?;
    fault::point("attempt.begun");
    Ok(before)
}

/// Checks out a commit in the copy, for a step of an attempt.
pub(in crate::run) fn prepare_copy(
    job: &Job,
    copy: &mut Workspace,
    start: Start<'_>,
) -> Result<(), Failure> {
    let (config, stop) = (&job.context.config, || job.context.is_interrupted());
    prepare((config, &stop), &job.reporter, copy, start, &job.run)
}

/// Checks out a commit in the copy, adds what a fresh clone lacks, and runs the setup.
pub(in crate::run) fn prepare(
    (config, stop): (&Config, &dyn Fn() -> bool),
    reporter: &Reporter,
    copy: &mut Workspace,
    start: Start<'_>,
    run: &str,
) -> Result<(), Failure> {
    let (is_new, begun) = (!copy.exists(), Instant::now());
    match copy.reset(start) {
        // A landed commit may have added something that blocks the checkout.
        Err(failure) if !is_new && !copy.is_in_place && !failure.is_transient() => {
            log::warn!("creating a new copy: {failure}");
            copy.throw_away()?;
            copy.reset(start)?;
        }
        done => done?,
    }
    copy.carry(&config.run.specs)?;
    if is_new {
        let (top, took) = (copy.top(), in_words(begun.elapsed()));
        reporter.line(format!("the agent works in a copy: {top} (created in {took})"));
    }
    let setup = &config.workspace.setup;
    let (mut before, mut why) = (Vec::new(), None);
    if needs_setup(copy, setup) {
        before = changed_by_setup(copy)?;
        why = withheld(copy, start.tip)?;
        let without = why.iter().map(|why| format!(" (without credentials: {why})"));
        reporter.line(format!(
            "setting up the copy: {}{}",
            setup.join(", "),
            without.collect::<String>()
        ));
        reporter.doing("setting up the copy");
    }
    let begun = Instant::now();
    let limits = (config.verify.timeout.limit(), why.is_none());
    let ran = set_up(copy, setup, limits, run, stop);
    if ran.is_err() && is_used(copy) && !stop() {
        reporter.line("the setup failed in a used copy; creating a new one");
        copy.throw_away()?;
        return prepare((config, stop), reporter, copy, start, run);
    }
    if !ran? {
        return Ok(());
    }
    reporter.line(format!("the copy is set up ({})", in_words(begun.elapsed())));
    let mut changed = changed_by_setup(copy)?;
    changed.retain(|path| !before.contains(path));
    if !changed.is_empty() {
        reporter.warn(format!(
            "the setup changes tracked files, so every attempt would commit them: {}; use a \
             command that leaves lock files unchanged, or commit the changes",
            named_files(&changed)
        ));
    }
    Ok(())
}

/// Applies an attempt's work to the copy; returns the prompt's text about it, and whether it could be
/// applied.
fn resume(
    job: &Job,
    copy: &mut Workspace,
    kept: &SavedAttempt,
    start: Start<'_>,
) -> Result<(String, bool), Failure> {
    let SavedAttempt { id, why, .. } = kept;
    let story = &kept.key.story;
    let text = if kept.is_retry() {
        String::new()
    } else {
        format!("The last attempt, {id}, did not land: {why}")
    };
    let git = copy.source.git();
    let base = base_of(&git, kept.base.as_deref())?;
    if git.run(&["diff-tree", "--quiet", &base, &kept.commit]).is_ok() {
        // The user may have asked for a retry with only a hint.
        return Ok((text, true));
    }
    if copy.overlay(&kept.commit, start)?.is_some() {
        job.reporter.warn(format!(
            "{story}: attempt {id} conflicts with work that landed since, so the story starts \
             over; view it with `ralph-loop attempts {id}`"
        ));
        return Ok((text, false));
    }
    job.reporter.line(format!("{story}: continuing from attempt {id}"));
    Ok((format!("{WORK_IS_THERE}\n{text}"), true))
}

/// The checkpoint to which hooks roll back while the agent works.
fn take_checkpoint(job: &Job, desk: &Desk, attempt: &Attempt) -> Result<(), Failure> {
    let repo = &desk.copy.repo()?;
    let message = format!("before {}", attempt.story);
    let status = desk.copy.status(repo, Start::of(attempt))?;
    let state = desk.state();
    let checkpoint = Checkpoint::create_for(repo, state, &message, Some(&desk.run), status)?;
    if !job.failed_before.is_empty() {
        let mut known = FailedBefore::default();
        job.failed_before.values().for_each(|before| known.extend(before));
        Memory::begin(state, &checkpoint, known)?;
    }
    Ok(())
}

/// The most names of earlier failures in a prompt.
const KNOWN_NAMED: usize = 20;

/// The most characters of the lessons or failures in a prompt.
const LONGEST_PART: usize = 16 * 1024;

/// The prompt's template: the user's, beside the plan, or our own.
pub(crate) fn template(plan: &Utf8Path) -> Result<Template, Failure> {
    read_template(&StateDir::prompt_beside(plan), prompt::BUILDING)
}

/// The template in a file or, if there is none, our own.
pub(crate) fn read_template(path: &Utf8Path, ours: &str) -> Result<Template, Failure> {
    let parsed = match state::read_text(path) {
        Ok(text) if text.trim().is_empty() => {
            return Err(Failure::usage(format!(
                "{path} is empty, so the agent would get no prompt; write one, or delete the file"
            )));
        }
        Ok(text) => Template::parse(&text),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Template::parse(ours),
        Err(error) => return Err(error.into()),
    };
    parsed.map_err(|error| Failure::usage(format!("{path}: {error}")))
}

/// Variables for the agent and its hooks. Settings from flags are passed as variables, because hooks
/// see no flags.
pub(super) fn agent_variables(job: &Job, desk: &Desk) -> Vec<(String, String)> {
    let context = &job.context;
    let mut vars = vec![
        ("RALPH_RUN".to_owned(), desk.run.clone()),
        ("RALPH_ROOT".to_owned(), context.project.root().to_string()),
        (WORKSPACE.to_owned(), desk.copy.root().to_string()),
        ("RALPH_STORY_FILE".to_owned(), desk.state().current_story().into_string()),
        ("PLAN_PATH".to_owned(), desk.copy.shown_path(&job.books.plan).into_string()),
        (MAILBOX.to_owned(), desk.state().mailbox().into_string()),
        (STATE_DIR.to_owned(), desk.state().own().to_string()),
        // Claude Code then names the reason in its output.
        ("CLAUDE_CODE_STARTUP_FAILURE_RESULTS".to_owned(), "1".to_owned()),
    ];
    // Cleared if unused, so that nothing is inherited.
    let worker = desk.project.worker().map_or("", |worker| worker.as_str());
    vars.push((WORKER.to_owned(), worker.to_owned()));
    // The prompt tells the agent to run `ralph-loop`, so it must be in PATH.
    let path = path_of_agent(&context.path, desk.copy.root());
    if path != context.path {
        vars.push(("PATH".to_owned(), path));
    }
    let settled = ["loop.plan", "loop.prd"];
    for Key { name, env, kind, .. } in keys().filter(|key| !settled.contains(&key.name)) {
        let given = context.flags.iter().filter(|flag| flag.key == *name);
        let mut values: Vec<&str> = given.map(|flag| flag.value.as_str()).collect();
        let (Some(env), false) = (env, values.is_empty()) else { continue };
        let value = match kind {
            Kind::List => config::as_variable(&values),
            _ => values.pop().unwrap_or_default().to_owned(),
        };
        vars.push(((*env).to_owned(), value));
    }
    vars
}

/// The prompt for a new session. `before` is the text about the attempt that this one continues.
pub(super) fn prompt(
    job: &Job,
    desk: &Desk,
    attempt: &Attempt,
    assignment: &Assignment,
    before: &str,
) -> Result<String, Failure> {
    let (context, books) = (&job.context, &job.books);
    let guardrails = lessons(context.state(), Some(&context.run_dir))?;
    // The template has a heading for messages.
    let guardrails = guardrails.replacen(LESSONS_TITLE, "", 1);
    let failure = failure_text(job, before);
    let [plan_path, progress_path] =
        [&books.plan, &books.progress].map(|path| desk.copy.shown_path(path));
    let stories = assignment.plan.stories().iter();
    let done: Vec<(&str, &str)> = stories
        .filter(|story| story.state == State::Done)
        .map(|story| (story.id.as_str(), story.title.as_str()))
        .collect();
    let entries = progress_excerpt(&assignment.progress, &done, progress_path.as_str());
    let story = assignment.plan.story(&attempt.story);
    let mut details = story.map(|story| story.details.clone()).unwrap_or_default();
    let beside = project_plan::beside(context.project.root(), &books.plan);
    let beside = first_few(beside.iter().map(|file| desk.copy.shown_path(file)), usize::MAX);
    if !beside.is_empty() {
        details.push_str(&format!("\n\nThe purpose of this work is described in {beside}."));
    }
    let values = Values {
        story_id: &attempt.story,
        story_title: &attempt.title,
        story_details: &details,
        plan_path: plan_path.as_str(),
        progress_path: progress_path.as_str(),
        progress: &entries,
        guardrails: end_of(&guardrails),
        failure: end_of(&failure),
        iteration: attempt.iteration,
        max_iterations: context.config.run.max_iterations,
        verify: &context.config.verify.commands,
        spec_dir: &context.config.run.specs,
        ..Values::default()
    };
    let rendered = template(&books.plan)?.render(&values);
    Ok(task(&books.plan) + &rendered + &hint(assignment) + &from_user(&assignment.messages))
}

/// The message that gives a session its next story.
pub(super) fn next_story(
    job: &Job,
    attempt: &Attempt,
    assignment: &Assignment,
) -> Result<String, Failure> {
    let plan = &assignment.plan;
    let gone = || Failure::because(format!("{} was just removed from the plan", attempt.story));
    let story = plan.story(&attempt.story).ok_or_else(gone)?;
    let limit = job.context.config.run.max_iterations;
    let count = IterationCount { iteration: attempt.iteration.saturating_sub(1), limit };
    let before = "The last story has landed and is ticked.";
    let next = instruction(Some(before), plan, story, count, &Ticking::Us);
    Ok(next + &hint(assignment) + &from_user(&assignment.messages))
}

fn hint(Assignment { hint, .. }: &Assignment) -> String {
    if hint.is_empty() { String::new() } else { format!("\n\nHint from the user: {hint}") }
}

/// The user's messages, to be appended to another text.
pub(in crate::run) fn from_user(messages: &str) -> String {
    if messages.is_empty() {
        return String::new();
    }
    format!("\n\n## From the user, just now\n\n{messages}")
}

/// The whole task from a file that other loops keep beside the plan, unless there is a template.
fn task(plan: &Utf8Path) -> String {
    let task = state::read_text(StateDir::task_beside(plan)).unwrap_or_default();
    if task.trim().is_empty() || StateDir::prompt_beside(plan).exists() {
        return String::new();
    }
    let end = task.floor_char_boundary(LONGEST_PART);
    format!("# The task\n\n{}\n\n# Your part\n\n", task.get(..end).unwrap_or_default().trim())
}

/// The story's last failure, and the text about the attempt that this one continues.
fn failure_text(job: &Job, before: &str) -> String {
    let failure = last_failure(job.context.state(), &job.key.to_string()).unwrap_or_default();
    let known = job.failed_before.values().flat_map(|before| &before.tests);
    let known = first_few(known, KNOWN_NAMED);
    if known.is_empty() {
        return format!("{failure}\n\n{before}");
    }
    format!("{failure}\n\n{before}\n\nThese tests failed before and do not count: {known}")
}

fn end_of(text: &str) -> &str {
    let start = text.ceil_char_boundary(text.len().saturating_sub(LONGEST_PART));
    text.get(start..).unwrap_or_default()
}

/// The current session's id as a hook noted it, because plain-text output does not contain it.
pub(super) fn working_session(state: &StateDir) -> Option<String> {
    let text = state::read_text(state.working_session()).ok()?;
    Some(text.trim().to_owned()).filter(|id| !id.is_empty())
}
