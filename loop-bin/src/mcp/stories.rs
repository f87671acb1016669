//! The story that is worked on, and one more.

use std::cell::RefCell;

use ralph_base::env::Env;
use ralph_base::state;
use ralph_core::plan::Plan;
use ralph_project::project_plan;
use rmcp::schemars::{self, JsonSchema};
use serde::Deserialize;

use crate::complete::{NO_STORY, attempt_of, story_under_way};
use crate::exit::Failure;
use crate::here;

/// The story under way, as the plan has it.
pub(super) fn current_story(env: &Env) -> Result<String, Failure> {
    let project = here::project(env)?;
    let Some(id) = story_under_way(&project)? else { return Ok(NO_STORY.to_owned()) };
    let config = here::config(&project, env, &[])?;
    let plan = here::plan(&project, env, &config)?;
    let unknown = || Failure::because(format!("{} has no story {id}", plan.path()));
    let story = plan.story(&id).ok_or_else(unknown)?;
    let mut text = format!("{}: {}", story.id, story.title);
    if let Some(attempt) = attempt_of(&project)? {
        let (iteration, attempt) = (attempt.iteration, attempt.number);
        text.push_str(&format!("\nIteration {iteration}, attempt {attempt} at this story"));
    }
    for check in &config.verify.commands {
        text.push_str(&format!("\nMust pass: `{check}`"));
    }
    if !story.details.trim().is_empty() {
        text.push_str(&format!("\n\n{}", story.details.trim_end()));
    }
    Ok(text)
}

/// A story for the plan.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct AddStory {
    /// What is to be done, on one line, without an id
    title: String,
    /// Notes, steps and acceptance criteria, one on each line
    #[serde(default)]
    details: String,
}

impl AddStory {
    /// Puts it into the plan where the agent works: the loop takes new stories over with the story
    /// that lands, and a person's own session writes into the person's own plan.
    pub(super) fn answer(&self, env: &Env) -> Result<String, Failure> {
        let title = self.title.split_whitespace().collect::<Vec<_>>().join(" ");
        if title.is_empty() {
            return Err(Failure::usage("the story has no title"));
        }
        let project = here::project(env)?;
        let config = here::config(&project, env, &[])?;
        let plan = project_plan::find(&project, env, &config, project.work_root())?;
        let path = plan.path();
        let attempt =
            attempt_of(&project)?.filter(|attempt| env.run() == Some(attempt.run.clone()));
        let is_copy = project.work_root() != project.root();
        if is_copy && attempt.as_ref().is_some_and(|attempt| attempt.plan == path) {
            return Err(Failure::because(format!(
                "{path} is not part of your copy, so no story can be added to it; tell the user in \
                 your summary"
            )));
        }
        let added = RefCell::new(None);
        state::edit_users(path, |text| {
            let plan = Plan::parse(path, text?.to_vec(), &config.plan).ok()?;
            let (id, bytes) = plan.with_story(&title, self.details.trim_end())?;
            added.replace(Some(id));
            Some(bytes)
        })?;
        let Some(id) = added.take() else {
            return Err(Failure::because(format!(
                "this story does not fit at the end of {path}: the plan would read differently, or \
                 has a story of that title; use another title, and details without headings"
            )));
        };
        Ok(match attempt {
            Some(attempt) => {
                format!("{id} added; it stays in the plan once {} lands", attempt.story)
            }
            None => format!("{id} added to {path}"),
        })
    }
}
