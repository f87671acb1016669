//! The tools: what each of them is called, and which of our commands it is.

use std::sync::Arc;

use ralph_base::env::Env;
use ralph_project::claim::ClaimStatus;
use ralph_project::strikes::{LONGEST_LESSON, add_lesson};
use rmcp::handler::server::tool::schema_for_input;
use rmcp::model::Tool;
use rmcp::schemars::{self, JsonSchema};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::stories::{AddStory, current_story};
use crate::complete::{Checking, Complete, NO_STORY, refuse_red_checks, story_under_way};
use crate::exit::Failure;
use crate::here;
use crate::request_merge::RequestMerge;
use crate::status::Status;
use crate::verified::Verified;

/// Who calls.
pub(super) struct Caller<'a> {
    pub(super) env: &'a Env,
    /// Whether nobody waits for the answer any more.
    pub(super) stop: &'a dyn Fn() -> bool,
}

/// What a tool does with what it was given.
type Act = Box<dyn Fn(Value, &Caller<'_>) -> Result<String, Failure> + Send + Sync>;

/// A tool of the agent's.
pub(super) struct AgentTool {
    /// As the client is told.
    pub(super) described: Tool,
    pub(super) call: Act,
}

/// All tools.
pub(super) fn tools() -> Vec<AgentTool> {
    vec![
        tool(
            "current_story",
            "Show the story that you work on, with its details",
            |_: Nothing, by| current_story(by.env),
        ),
        tool(
            "complete_story",
            "Report that your story is done, partly done or blocked. With `success` the checks run \
             first, and the report is refused if one of them fails",
            |said: Complete, by| said.answer(by.env, by.stop),
        ),
        tool(
            "report_blocked",
            "Report that your story cannot be done without a person",
            |said: Blocked, by| said.answer(by),
        ),
        tool(
            "request_merge",
            "Leave a merge request for the user instead of pushing or merging",
            |said: RequestMerge, by| said.answer(by.env),
        ),
        tool(
            "add_story",
            "Add a story to the end of the plan, for work that is not part of yours",
            |said: AddStory, by| said.answer(by.env),
        ),
        tool(
            "note_lesson",
            "Note a short lesson for all later attempts; it goes into every prompt",
            |said: Lesson, by| said.answer(by.env),
        ),
        tool(
            "verify",
            "Without arguments, run the checks and show what fails. With them, record how far the \
             verification of this session is; what is not so is refused",
            |said: Verified, by| verify(&said, by),
        ),
        tool(
            "status",
            "Show where the run stands, and what waits for a person",
            |_: Nothing, by| Status::default().answer(by.env),
        ),
    ]
}

fn tool<T: DeserializeOwned + JsonSchema + 'static>(
    name: &'static str,
    description: &'static str,
    act: fn(T, &Caller<'_>) -> Result<String, Failure>,
) -> AgentTool {
    let schema = schema_for_input::<T>().unwrap_or_else(|_| Arc::default());
    let call: Act = Box::new(move |given, caller| {
        act(serde_json::from_value(given).map_err(Failure::usage)?, caller)
    });
    AgentTool { described: Tool::new(name, description, schema), call }
}

/// Takes no arguments.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Nothing {}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Blocked {
    /// What is blocking the story, and what a person should do about it
    summary: String,
}

impl Blocked {
    fn answer(self, by: &Caller<'_>) -> Result<String, Failure> {
        if self.summary.trim().is_empty() {
            return Err(Failure::usage("say what is blocking the story"));
        }
        let story = story_under_way(&here::project(by.env)?)?;
        let story = story.ok_or_else(|| Failure::because(NO_STORY))?;
        let claim = Complete { story, status: ClaimStatus::Blocked, summary: self.summary };
        claim.answer(by.env, by.stop)
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Lesson {
    /// What was learned, in a sentence or two
    lesson: String,
}

impl Lesson {
    /// Where the lessons of rollbacks are; during a run they wait in the git folder.
    fn answer(&self, env: &Env) -> Result<String, Failure> {
        let length = self.lesson.trim().chars().count();
        if length == 0 || length > LONGEST_LESSON {
            return Err(Failure::usage(format!(
                "a lesson goes into every prompt, so it has 1 to {LONGEST_LESSON} characters; this \
                 one has {length}"
            )));
        }
        let project = here::project(env)?;
        project.own_state().prepare()?;
        let run_dir = project.run_dir().filter(|_| env.run().is_some());
        add_lesson(project.own_state(), run_dir.as_ref(), &self.lesson)?;
        Ok("noted; it goes into every prompt from now on".to_owned())
    }
}

fn verify(said: &Verified, by: &Caller<'_>) -> Result<String, Failure> {
    if *said != Verified::default() {
        return said.answer(by.env, by.stop);
    }
    let project = here::project(by.env)?;
    let config = here::config(&project, by.env, &[])?;
    let checking = Checking { env: by.env, project: &project, config: &config, stop: by.stop };
    let passed = refuse_red_checks(&checking, "not verified")?;
    if passed.is_empty() {
        return Ok("there are no checks, so nothing was verified".to_owned());
    }
    Ok(format!("all checks passed: `{}`", passed.join("`, `")))
}
