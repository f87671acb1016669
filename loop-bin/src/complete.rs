//! `ralph-loop complete`: the agent's own word about its story. The loop reads it when the agent
//! has ended; a story that is said to be done is checked here first.

use std::process::ExitCode;

use clap::Args;
use ralph_base::env::Env;
use ralph_base::state::{Lock, RunDir, StateDir};
use ralph_project::checks::{CheckContext, CheckRules, run_checks};
use ralph_project::claim::{Claim, ClaimStatus};
use ralph_project::config::Config;
use ralph_project::project::Project;
use ralph_project::under_way::Attempt;

use crate::exit::Failure;
use crate::here;
use crate::run::RunRecord;
use crate::terminal::say;

/// Report that a story is done, partly done or blocked (for the agent)
///
/// The agent uses this to report on its story. With `success`, the verify commands run first, and the
/// report is refused if one of them fails. The loop commits and ticks once the agent has stopped.
#[derive(Debug, Args)]
pub(crate) struct Complete {
    /// The story's id
    story: String,
    /// success, partial or blocked
    #[arg(long, default_value = "success", value_parser = parse_status)]
    status: ClaimStatus,
    /// What was done, or what is blocking the story
    #[arg(long, default_value = "")]
    summary: String,
}

fn parse_status(text: &str) -> Result<ClaimStatus, &'static str> {
    match text {
        "success" => Ok(ClaimStatus::Success),
        "partial" => Ok(ClaimStatus::Partial),
        "blocked" => Ok(ClaimStatus::Blocked),
        _ => Err("expected success, partial or blocked"),
    }
}

impl Complete {
    pub(crate) fn run(&self, env: &Env) -> Result<ExitCode, Failure> {
        let project = here::project(env)?;
        let config = here::config(&project, env, &[])?;
        let plan = here::plan(&project, env, &config)?;
        let unknown = || Failure::because(format!("{} has no story {}", plan.path(), self.story));
        let story = plan.story(&self.story).ok_or_else(unknown)?;
        refuse_if_not_under_way(&project, &story.id)?;
        if self.status == ClaimStatus::Success {
            refuse_red_checks(env, &project, &config, &format!("{} is not done", story.id))?;
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
        say(format!("{}: {what}", story.id));
        Ok(ExitCode::SUCCESS)
    }
}

/// What an agent says to be done is checked first; `refusal` is what it is told otherwise.
pub(crate) fn refuse_red_checks(
    env: &Env,
    project: &Project,
    config: &Config,
    refusal: &str,
) -> Result<(), Failure> {
    let verify = &config.verify;
    // The agent works in its copy, and that is what is checked.
    let work = env.workspace().filter(|_| env.run().is_some());
    let dir = work.unwrap_or_else(|| project.root().to_owned());
    let record = RunDir::of_project(project.root()).map(|dir| RunRecord::load(&dir));
    let failed_before = record.transpose()?.flatten().unwrap_or_default().failed_before;
    let rules = Some(CheckRules { config, failed_before: &failed_before });
    let context = CheckContext { dir: &dir, run: "", left: None, rules };
    let checks = run_checks(context, &verify.commands, verify.timeout.limit(), &|| false)?;
    match checks.last().filter(|check| !check.passed()) {
        Some(failed) => Err(Failure::because(format!(
            "{refusal}: `{}` {}; fix this and try again\n{}",
            failed.name(),
            failed.verdict(),
            failed.excerpt()
        ))),
        None => Ok(()),
    }
}

/// Nobody would read the word about another story. The story under way is that of our loop's
/// attempt, or the one that somebody else's loop has written down.
fn refuse_if_not_under_way(project: &Project, story: &str) -> Result<(), Failure> {
    let state: &StateDir = project.own_state();
    let run_dir = RunDir::of_project(project.root());
    let attempt = run_dir.as_ref().map(Attempt::load).transpose()?.flatten();
    let attempt = attempt.map(|attempt| attempt.story);
    let is_alone = run_dir.is_some_and(|run_dir| Lock::holder(&run_dir.lock()).is_none());
    if attempt.is_some() && is_alone {
        return Err(Failure::because(format!(
            "no loop is working on {story} any more, so nothing was recorded; the next \
             `ralph-loop` run will continue the attempt"
        )));
    }
    let noted = || fs_err::read_to_string(state.current_story()).ok();
    let under_way = attempt.or_else(noted).map(|id| id.trim().to_owned());
    let instead = match under_way.filter(|id| !id.is_empty()) {
        Some(id) if id.eq_ignore_ascii_case(story) => return Ok(()),
        Some(id) => format!("the current story is {id}"),
        None => "no story is in progress; run `ralph-loop` to start one".to_owned(),
    };
    Err(Failure::because(format!("{story} is not in progress, so nothing was recorded; {instead}")))
}
