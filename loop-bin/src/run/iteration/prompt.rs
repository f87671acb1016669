//! What the agent is told: its prompt, and the variables around it.

use camino::Utf8Path;
use ralph_base::env::{MAILBOX, WORKER, WORKSPACE};
use ralph_base::listing::first_few;
use ralph_base::state::{self, StateDir};
use ralph_core::plan::Plan;
use ralph_project::config::{self, KEYS, Key, Kind};
use ralph_project::prompt::{self, Template, Values};
use ralph_project::strikes::{LESSONS_TITLE, last_failure, lessons};
use ralph_project::under_way::Attempt;

use crate::exit::Failure;
use crate::install::path_of_agent;
use crate::run::Run;

/// How many tests that failed before are named.
const KNOWN_NAMED: usize = 20;

/// How much of earlier entries, lessons and failures a prompt holds.
const LONGEST_PART: usize = 16 * 1024;

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

impl Run {
    /// What the agent's client and its hooks are told. Settings that were given as flags reach the
    /// hooks as variables, because a hook sees no flags.
    pub(in crate::run) fn agent_variables(&self) -> Vec<(String, String)> {
        let context = &self.context;
        let mut vars = vec![
            ("RALPH_RUN".to_owned(), context.run.clone()),
            ("RALPH_ROOT".to_owned(), context.project.root().to_string()),
            (WORKSPACE.to_owned(), self.workspace.root().to_string()),
            ("RALPH_STORY_FILE".to_owned(), context.state().current_story().into_string()),
            ("PLAN_PATH".to_owned(), self.workspace.shown_path(&self.books.plan).into_string()),
            (MAILBOX.to_owned(), context.run_dir.mailbox().into_string()),
        ];
        if let Some(worker) = context.project.worker() {
            vars.push((WORKER.to_owned(), worker.as_str().to_owned()));
        }
        // The prompt tells the agent to run `ralph-loop`.
        let path = path_of_agent(&self.context.path, self.workspace.root());
        if path != self.context.path {
            vars.push(("PATH".to_owned(), path));
        }
        let settled = ["loop.plan", "loop.prd"];
        for Key { name, env, kind, .. } in KEYS.iter().filter(|key| !settled.contains(&key.name)) {
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

    pub(in crate::run) fn prompt(&self, attempt: &Attempt, plan: &Plan) -> Result<String, Failure> {
        let progress = self.books.progress_text(attempt.base.as_deref());
        let entries = ralph_project::progress::progress_excerpt(&progress, LONGEST_PART);
        let guardrails = lessons(self.context.state(), Some(&self.context.run_dir));
        // The template has a heading for them.
        let guardrails = guardrails.unwrap_or_default().replacen(LESSONS_TITLE, "", 1);
        let failure = self.failure_text(&attempt.story);
        let (plan_path, progress_path) = (
            self.workspace.shown_path(&self.books.plan),
            self.workspace.shown_path(&self.books.progress),
        );
        let values = Values {
            story_id: &attempt.story,
            story_title: &attempt.title,
            story_details: plan.story(&attempt.story).map_or("", |story| &story.details),
            plan_path: plan_path.as_str(),
            progress_path: progress_path.as_str(),
            progress: &entries,
            guardrails: end_of(&guardrails),
            failure: end_of(&failure),
            iteration: attempt.iteration,
            max_iterations: self.context.config.run.max_iterations,
            verify: &self.context.config.verify.commands,
            spec_dir: &self.context.config.run.specs,
            ..Values::default()
        };
        let rendered = template(&self.books.plan)?.render(&values);
        Ok(self.task() + &rendered + &self.told_by_user())
    }

    /// The whole task, where another loop's plan has it beside it and no template of ours is there.
    fn task(&self) -> String {
        let plan = &self.books.plan;
        let task = state::read_text(StateDir::task_beside(plan)).unwrap_or_default();
        if task.trim().is_empty() || StateDir::prompt_beside(plan).exists() {
            return String::new();
        }
        let end = task.floor_char_boundary(LONGEST_PART);
        format!("# The task\n\n{}\n\n# Your part\n\n", task.get(..end).unwrap_or_default().trim())
    }

    /// What the user told meanwhile, behind any other text.
    pub(super) fn told_by_user(&self) -> String {
        if self.report.told.is_empty() {
            return String::new();
        }
        format!("\n\n## From the user, just now\n\n{}", self.report.told)
    }

    /// The last failure of the story, and what is known of the attempt that this one goes on with.
    fn failure_text(&self, story: &str) -> String {
        let failure = last_failure(self.context.state(), story).unwrap_or_default();
        let known = self.record.failed_before.values().flat_map(|before| &before.tests);
        let known = first_few(known, KNOWN_NAMED);
        if known.is_empty() {
            return format!("{failure}\n\n{}", self.before);
        }
        format!(
            "{failure}\n\n{}\n\nThese tests failed before and do not count: {known}",
            self.before
        )
    }
}

fn end_of(text: &str) -> &str {
    let start = text.ceil_char_boundary(text.len().saturating_sub(LONGEST_PART));
    text.get(start..).unwrap_or_default()
}
