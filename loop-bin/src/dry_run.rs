//! `--dry-run`: what a run would do; nothing is written and no agent runs.

use ralph_core::config::{Mode, RollbackOn};
use ralph_core::env::Env;
use ralph_core::git::Status;
use ralph_core::plan::{Next, Plan};
use ralph_core::state::LockError;

use crate::agent::ClientOptions;
use crate::exit::{Failure, Success};
use crate::run::Ground;
use crate::terminal::{counted, say};
use crate::{here, locks, outlook};

/// Shows it.
pub(crate) fn show(env: &Env, ground: Ground) -> Result<Success, Failure> {
    let Ground { project, config, repo, plan, missing_agent } = ground;
    say(format!("Project   {}", project.root()));
    if config.run.mode == Mode::Planning {
        say("Mode      planning: the agent writes or refreshes the plan, and nothing else is kept");
    }
    if let Some(plan) = &plan {
        show_plan(plan);
    }
    say(format!("Agent     {}", config.agent.command));
    if let Some(program) = missing_agent {
        say(format!("Warning   the agent `{program}` was not found: the run would be refused"));
    }
    let options = ClientOptions::find(env, &project, &config.agent.command);
    options.told.iter().for_each(|told| say(format!("Hooks     {told}")));
    options.warning.iter().for_each(|warning| say(format!("Warning   {warning}")));
    match config.verify.commands.as_slice() {
        [] => say("Verify    nothing is set"),
        commands => commands.iter().for_each(|command| say(format!("Verify    {command}"))),
    }
    let rollback = match config.rollback.on {
        RollbackOn::Failure | RollbackOn::StoryEnd => "an attempt in vain is taken back",
        RollbackOn::Never => "never",
    };
    say(format!("Rollback  {rollback}"));
    let iterations = match config.run.max_iterations {
        0 => "any number of iterations".to_owned(),
        most => counted(most as usize, "iteration", "iterations"),
    };
    say(format!(
        "Limits    {iterations}, {} a story, {} s an iteration",
        counted(config.limits.attempts_per_story as usize, "attempt", "attempts"),
        config.agent.timeout
    ));
    let outlook = outlook::look(&project, &config)?;
    outlook.lines.iter().for_each(|line| say(format!("Left      {line}")));
    if !outlook.is_attempts && !Status::read(&repo)?.is_clean(&repo) {
        let then = if config.run.allow_dirty {
            "it would be kept aside"
        } else {
            "the run would be refused"
        };
        say(format!("Warning   there is uncommitted work: {then}"));
    }
    if let Some(held) = locks::holder(&project, &repo) {
        let held = LockError::Held(held);
        say(format!("Warning   {held}: the run would be refused"));
    }
    Ok(Success::Done)
}

fn show_plan(plan: &Plan) {
    let counts = plan.counts();
    say(format!("Plan      {}", here::shown(plan.path())));
    say(format!(
        "Stories   {} open, {} done, {} blocked, {} optional",
        counts.open, counts.done, counts.blocked, counts.optional
    ));
    say(match plan.next_story(&Default::default()) {
        Next::Story(story) => format!("Next      {} {}", story.id, story.title),
        Next::Complete => "Next      nothing: the plan is complete".to_owned(),
        Next::Stuck { .. } => "Next      nothing: what is left is blocked".to_owned(),
    });
}
