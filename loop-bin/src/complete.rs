//! `ralph-loop complete`: the agent's own word about its story. The loop reads it when the agent
//! has ended; a story that is said to be done is checked here first.

use std::process::ExitCode;

use clap::Args;
use ralph_base::env::Env;
use ralph_base::state::{Lock, RunDir, StateDir};
use ralph_project::checks::{CheckContext, CheckRules, run_checks};
use ralph_project::claim::{Claim, ClaimStatus};
use ralph_project::project::Project;
use ralph_project::under_way::Attempt;

use crate::exit::Failure;
use crate::here;
use crate::run::RunRecord;
use crate::terminal::say;

/// Say that a story is done, partly done or blocked; for the agent
///
/// For the agent: says how its story stands. With `success` the verify commands are run first, and the
/// word is refused when one of them fails. The loop commits and ticks when the agent has ended.
#[derive(Debug, Args)]
pub(crate) struct Complete {
    /// The story's id
    story: String,
    /// success, partial or blocked
    #[arg(long, default_value = "success", value_parser = parse_status)]
    status: ClaimStatus,
    /// What was done, or what is in the way
    #[arg(long, default_value = "")]
    summary: String,
}

fn parse_status(text: &str) -> Result<ClaimStatus, &'static str> {
    match text {
        "success" => Ok(ClaimStatus::Success),
        "partial" => Ok(ClaimStatus::Partial),
        "blocked" => Ok(ClaimStatus::Blocked),
        _ => Err("one of success, partial and blocked is wanted"),
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
            let verify = &config.verify;
            let limit = verify.timeout.limit();
            // The agent works in its copy, and that is what is checked.
            let work = env.workspace().filter(|_| env.run().is_some());
            let dir = work.unwrap_or_else(|| project.root().to_owned());
            let record = RunDir::of_project(project.root()).map(|dir| RunRecord::load(&dir));
            let failed_before = record.transpose()?.flatten().unwrap_or_default().failed_before;
            let rules = Some(CheckRules { config: &config, failed_before: &failed_before });
            let context = CheckContext { dir: &dir, run: "", rules };
            let checks = run_checks(context, &verify.commands, limit, &|| false)?;
            if let Some(failed) = checks.last().filter(|check| !check.passed()) {
                return Err(Failure::because(format!(
                    "{} is not done: `{}` {}; fix that and try again\n{}",
                    story.id,
                    failed.name(),
                    failed.verdict(),
                    failed.excerpt()
                )));
            }
        }
        project.own_state().prepare()?;
        Claim::new(&story.id, self.status, &self.summary).save(project.own_state())?;
        let what = match self.status {
            ClaimStatus::Success if config.verify.commands.is_empty() => {
                "noted. End now; the loop commits what you changed and ticks. There are no checks, so \
             without a change the story stays open."
            }
            ClaimStatus::Success => "noted. End now; the loop commits and ticks.",
            ClaimStatus::Partial => "noted as partly done. End now.",
            ClaimStatus::Blocked => "noted as blocked. End now.",
        };
        say(format!("{}: {what}", story.id));
        Ok(ExitCode::SUCCESS)
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
            "no loop is at work on {story} any more, so nothing was recorded; the next `ralph-loop` \
             keeps the attempt and goes on with it"
        )));
    }
    let noted = || fs_err::read_to_string(state.current_story()).ok();
    let under_way = attempt.or_else(noted).map(|id| id.trim().to_owned());
    let instead = match under_way.filter(|id| !id.is_empty()) {
        Some(id) if id.eq_ignore_ascii_case(story) => return Ok(()),
        Some(id) => format!("the story under way is {id}"),
        None => "no story is under way; `ralph-loop` begins one".to_owned(),
    };
    Err(Failure::because(format!("{story} is not under way, so nothing was recorded; {instead}")))
}
