//! What the agent's own commands ask about its story: which one it is, and whether its checks pass.

use ralph_base::env::Env;
use ralph_base::state;
use ralph_base::supervised::Door;
use ralph_project::checks::{CheckContext, CheckRules, run_checks};
use ralph_project::config::Config;
use ralph_project::project::Project;
use ralph_project::under_way::Attempt;

use crate::exit::Failure;
use crate::record::RunRecord;

/// Runs the checks, and refuses with `refusal` and the output of the first that fails. Returns
/// the names of the checks that passed.
pub(crate) fn refuse_red_checks(
    env: &Env,
    (project, config): (&Project, &Config),
    stop: &dyn Fn() -> bool,
    refusal: &str,
) -> Result<Vec<String>, Failure> {
    let verify = &config.verify;
    // Checks run in the copy that the agent works in.
    let work = if env.run().is_some() { env.workspace() } else { None };
    let dir = work.unwrap_or_else(|| project.root().to_owned());
    let record = project.run_dir().map(|dir| RunRecord::load(&dir));
    let failed_before = record.transpose()?.flatten().unwrap_or_default().failed_before;
    let text = attempt_of(project)?.map(|attempt| attempt.text).unwrap_or_default();
    let rules = Some(CheckRules::new(config, &failed_before, &text));
    let context = CheckContext { dir: &dir, run: "", left: None, rules, door: &Door::default() };
    let checks = run_checks(context, &verify.commands, verify.timeout.limit(), stop)?;
    match checks.last().filter(|check| !check.passed()) {
        Some(failed) => Err(Failure::because(format!(
            "{refusal}: `{}` {}; fix this and try again\n{}",
            failed.name(),
            failed.verdict(),
            failed.excerpt()
        ))),
        None => Ok(checks.iter().map(|check| check.name()).collect()),
    }
}

/// The answer if no story is in progress.
pub(crate) const NO_STORY: &str = "no story is in progress; run `ralph-loop` to start one";

/// The id of the current story.
pub(crate) fn story_under_way(project: &Project) -> Result<Option<String>, Failure> {
    let noted = || state::read_text(project.own_state().current_story()).ok();
    let story = attempt_of(project)?.map(|attempt| attempt.story).or_else(noted);
    Ok(story.map(|id| id.trim().to_owned()).filter(|id| !id.is_empty()))
}

/// Our loop's current attempt.
pub(crate) fn attempt_of(project: &Project) -> Result<Option<Attempt>, Failure> {
    let run_dir = project.run_dir();
    Ok(run_dir.as_ref().map(Attempt::load).transpose()?.flatten())
}
