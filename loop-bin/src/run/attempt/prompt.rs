//! What the agent reads: its prompt, and the variables around it.

use camino::Utf8Path;
use ralph_base::env::{MAILBOX, WORKER, WORKSPACE};
use ralph_base::listing::first_few;
use ralph_base::state::{self, StateDir};
use ralph_core::plan::Plan;
use ralph_project::config::{self, Key, Kind, keys};
use ralph_project::gate::{Standing, Ticking, instruction};
use ralph_project::prompt::{self, Template, Values};
use ralph_project::strikes::{LESSONS_TITLE, last_failure, lessons};
use ralph_project::under_way::Attempt;

use super::{Around, Assignment, Desk};
use crate::exit::Failure;
use crate::run::context::Context;
use client::path_of_agent;

/// How many tests that failed before are named.
const KNOWN_NAMED: usize = 20;

/// How much of earlier entries, lessons and failures a prompt holds.
pub(in crate::run) const LONGEST_PART: usize = 16 * 1024;

/// The prompt's template: the user's beside the plan, or our own.
pub(crate) fn template(plan: &Utf8Path) -> Result<Template, Failure> {
    read_template(&StateDir::prompt_beside(plan), prompt::BUILDING)
}

/// The same for a review.
pub(crate) fn review_template(plan: &Utf8Path) -> Result<Template, Failure> {
    read_template(&StateDir::review_prompt_beside(plan), prompt::REVIEW)
}

fn read_template(path: &Utf8Path, ours: &str) -> Result<Template, Failure> {
    let parsed = match fs_err::read_to_string(path) {
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

/// Variables for the agent's client and its hooks. Settings that were given as flags reach the hooks as
/// variables, because a hook sees no flags.
pub(in crate::run) fn agent_variables(
    context: &Context,
    desk: &Desk,
    plan: &Utf8Path,
) -> Vec<(String, String)> {
    let mut vars = vec![
        ("RALPH_RUN".to_owned(), desk.run.clone()),
        ("RALPH_ROOT".to_owned(), context.project.root().to_string()),
        (WORKSPACE.to_owned(), desk.copy.root().to_string()),
        ("RALPH_STORY_FILE".to_owned(), desk.state().current_story().into_string()),
        ("PLAN_PATH".to_owned(), desk.copy.shown_path(plan).into_string()),
        (MAILBOX.to_owned(), desk.dir.mailbox().into_string()),
    ];
    // Empty where there is one, so that none is inherited.
    let worker = desk.project.worker().map_or("", |worker| worker.as_str());
    vars.push((WORKER.to_owned(), worker.to_owned()));
    // The prompt tells the agent to run `ralph-loop`.
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

/// The prompt for a new session. `before` is about the attempt that this one continues.
pub(super) fn prompt(
    around: Around<'_>,
    desk: &Desk,
    attempt: &Attempt,
    assignment: &Assignment,
    before: &str,
) -> Result<String, Failure> {
    let (context, books) = (around.context, around.books);
    let entries = ralph_project::progress::progress_excerpt(&assignment.progress, LONGEST_PART);
    let guardrails = lessons(context.state(), Some(&context.run_dir))?;
    // The template has a heading for them.
    let guardrails = guardrails.replacen(LESSONS_TITLE, "", 1);
    let failure = failure_text(around, before);
    let [plan_path, progress_path] =
        [&books.plan, &books.progress].map(|path| desk.copy.shown_path(path));
    let story = assignment.plan.story(&attempt.story);
    let values = Values {
        story_id: &attempt.story,
        story_title: &attempt.title,
        story_details: story.map_or("", |story| &story.details),
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
    Ok(task(&books.plan) + &rendered + &from_user(&assignment.messages))
}

/// What sends a session on to its next story.
pub(super) fn next_story(
    around: Around<'_>,
    attempt: &Attempt,
    plan: &Plan,
    messages: &str,
) -> Result<String, Failure> {
    let gone = || Failure::because(format!("{} was just removed from the plan", attempt.story));
    let story = plan.story(&attempt.story).ok_or_else(gone)?;
    let limit = around.context.config.run.max_iterations;
    let standing = Standing { iteration: attempt.iteration.saturating_sub(1), limit };
    let before = "The last story has landed and is ticked.";
    Ok(instruction(Some(before), plan, story, standing, &Ticking::Us) + &from_user(messages))
}

/// Messages from the user, behind any other text.
pub(in crate::run) fn from_user(messages: &str) -> String {
    if messages.is_empty() {
        return String::new();
    }
    format!("\n\n## From the user, just now\n\n{messages}")
}

/// The whole task, where another loop's plan has it beside it and no template of ours is there.
fn task(plan: &Utf8Path) -> String {
    let task = state::read_text(StateDir::task_beside(plan)).unwrap_or_default();
    if task.trim().is_empty() || StateDir::prompt_beside(plan).exists() {
        return String::new();
    }
    let end = task.floor_char_boundary(LONGEST_PART);
    format!("# The task\n\n{}\n\n# Your part\n\n", task.get(..end).unwrap_or_default().trim())
}

/// The last failure of the story, and what is known of the attempt that this one continues.
fn failure_text(around: Around<'_>, before: &str) -> String {
    let failure = last_failure(around.context.state(), &around.key.to_string()).unwrap_or_default();
    let known = around.failed_before.values().flat_map(|before| &before.tests);
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
