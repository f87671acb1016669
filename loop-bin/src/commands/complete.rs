//! `ralph-loop complete`: the agent's report on its story. The loop reads it when the agent has
//! ended; with `success`, the checks must pass before it is recorded.

use clap::Args;
use ralph_base::env::Env;
use ralph_base::state::Lock;
use ralph_project::claim::{Claim, ClaimStatus};
use ralph_project::project::Project;
use serde::Deserialize;

use super::{Subcommand, said, until_asked_to_end};
use crate::exit::Failure;
use crate::here;
use crate::in_progress::{NO_STORY, attempt_of, refuse_red_checks, story_under_way};

pub(super) const COMMAND: Subcommand = Subcommand {
    name: "complete",
    args: Complete::augment_args,
    run: |call| said(call.parsed::<Complete>()?.answer(call.env, &until_asked_to_end()?)),
};

/// Report that a story is done, partly done or blocked (for the agent)
///
/// The agent uses this to report on its story. With `success`, the verify commands run first, and the
/// report is refused if one of them fails. The loop commits and ticks once the agent has stopped.
#[derive(Debug, Args, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Complete {
    /// The story's id
    pub(crate) story: String,
    /// success, partial or blocked
    #[arg(long, default_value = "success", value_parser = parse_status)]
    #[serde(default = "success")]
    pub(crate) status: ClaimStatus,
    /// What was done, or what is blocking the story
    #[arg(long, default_value = "", hide_default_value = true)]
    #[serde(default)]
    pub(crate) summary: String,
}

fn success() -> ClaimStatus {
    ClaimStatus::Success
}

fn parse_status(text: &str) -> Result<ClaimStatus, serde_json::Error> {
    serde_json::from_value(text.into())
}

impl Complete {
    /// Records the report once the checks pass; `stop` cancels running checks.
    pub(crate) fn answer(&self, env: &Env, stop: &dyn Fn() -> bool) -> Result<String, Failure> {
        let project = here::project(env)?;
        let config = here::config(&project, env, &[])?;
        let plan = here::plan(&project, env, &config)?;
        let unknown = || Failure::because(format!("{} has no story {}", plan.path(), self.story));
        let story = plan.story(&self.story).ok_or_else(unknown)?;
        refuse_if_not_under_way(&project, &story.id)?;
        if self.status == ClaimStatus::Success {
            let refusal = format!("{} is not done", story.id);
            refuse_red_checks(env, (&project, &config), stop, &refusal)?;
        }
        project.own_state().prepare()?;
        Claim::new(&story.id, self.status, &self.summary).save(project.own_state())?;
        let what = match self.status {
            ClaimStatus::Success if config.verify.commands.is_empty() => {
                "recorded. Stop now; the loop commits your changes and ticks the story. There are \
                 no checks, so the story stays open if nothing has changed."
            }
            ClaimStatus::Success => "recorded. Stop now; the loop commits and ticks.",
            ClaimStatus::Partial => "recorded as partly done. Stop now.",
            ClaimStatus::Blocked => "recorded as blocked. Stop now.",
        };
        Ok(format!("{}: {what}", story.id))
    }
}

/// Refuses a report on another story, which nobody would read. The current story is the one of our
/// loop's attempt, or the one that another loop has recorded.
fn refuse_if_not_under_way(project: &Project, story: &str) -> Result<(), Failure> {
    let run_dir = project.run_dir();
    let is_alone = run_dir.is_some_and(|run_dir| Lock::holder(&run_dir.lock()).is_none());
    if attempt_of(project)?.is_some() && is_alone {
        return Err(Failure::because(format!(
            "no loop is working on {story} any more, so nothing was recorded; the next \
             `ralph-loop` run will continue the attempt"
        )));
    }
    let instead = match story_under_way(project)? {
        Some(id) if id.eq_ignore_ascii_case(story) => return Ok(()),
        Some(id) => format!("the current story is {id}"),
        None => NO_STORY.to_owned(),
    };
    Err(Failure::because(format!("{story} is not in progress, so nothing was recorded; {instead}")))
}
