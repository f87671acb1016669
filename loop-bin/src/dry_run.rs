//! `--dry-run`: what a run would do, in lines or as one JSON object; nothing is written and no agent
//! runs.

use ralph_core::checks::one_line;
use ralph_core::config::{Config, Mode, RollbackOn};
use ralph_core::env::Env;
use ralph_core::listing::named_files;
use ralph_core::plan::{Next, Plan};
use ralph_core::state::{Lock, LockError};
use serde::Serialize;

use crate::exit::{Failure, Success};
use crate::here;
use crate::run::start::{Preflight, client_options, look_for_recovery};
use crate::terminal::{counted, say};

/// What a run would do. Scripts read these names: they are only ever added to.
#[derive(Debug, Serialize)]
struct Prospect {
    project: String,
    mode: &'static str,
    plan: Option<PlanNow>,
    agent: String,
    hooks: Option<String>,
    verify: Vec<String>,
    rollback: &'static str,
    /// Where the agent works, and the branch on which its work lands.
    workspace: String,
    branch: String,
    max_iterations: u64,
    attempts_per_story: u64,
    timeout_s: u64,
    /// What the run and each story may cost and take; 0 means no limit.
    max_cost_usd: f64,
    max_duration_s: u64,
    story_max_cost_usd: f64,
    story_max_duration_s: u64,
    /// What an interrupted run left, and what becomes of it.
    left: Vec<String>,
    warnings: Vec<String>,
}

/// Where the plan stands.
#[derive(Debug, Serialize)]
struct PlanNow {
    path: String,
    open: usize,
    done: usize,
    blocked: usize,
    optional: usize,
    next: Option<NextStory>,
    /// Why there is no next story.
    nothing_because: Option<&'static str>,
}

#[derive(Debug, Serialize)]
struct NextStory {
    id: String,
    title: String,
}

/// Shows it.
pub(crate) fn show(env: &Env, preflight: &Preflight) -> Result<Success, Failure> {
    let prospect = prospect(env, preflight)?;
    match preflight.config.run.json_events {
        true => say(serde_json::to_string(&prospect)?),
        false => lines(&prospect).iter().for_each(say),
    }
    Ok(Success::Done)
}

fn prospect(env: &Env, preflight: &Preflight) -> Result<Prospect, Failure> {
    let Config { run, agent, limits, .. } = &preflight.config;
    let options = client_options(env, &preflight.project, &preflight.config);
    let mut warnings = Vec::new();
    for problem in &preflight.problems {
        warnings.push(format!("{problem}: the run would be refused"));
    }
    warnings.extend(preflight.doubts.iter().cloned());
    warnings.extend(options.warning);
    warnings.extend(options.kept.left);
    if !preflight.uncommitted.is_empty() && !preflight.workspace.is_in_place() {
        let files = named_files(&preflight.uncommitted);
        warnings.push(format!("uncommitted, so not in the copy that the agent works in: {files}"));
    }
    warnings.extend(preflight.plan.iter().flat_map(here::warnings));
    if let Some(held) = Lock::holder(&preflight.run_dir.lock()) {
        warnings.push(format!("{}: the run would be refused", LockError::Held(held)));
    }
    Ok(Prospect {
        project: preflight.project.root().to_string(),
        mode: match run.mode {
            Mode::Building => "building",
            Mode::Planning => "planning",
        },
        plan: preflight.plan.as_ref().map(plan_now),
        agent: agent.command.clone(),
        hooks: options.told,
        verify: preflight.config.verify.commands.clone(),
        rollback: match preflight.config.rollback.on {
            RollbackOn::Failure => "failure",
            RollbackOn::StoryEnd => "story-end",
            RollbackOn::Never => "never",
        },
        workspace: preflight.workspace.top().to_string(),
        branch: preflight.target.current_branch(),
        max_iterations: run.max_iterations,
        attempts_per_story: limits.attempts_per_story,
        timeout_s: agent.timeout.0,
        max_cost_usd: limits.max_cost_usd,
        max_duration_s: limits.max_duration.0,
        story_max_cost_usd: limits.story_max_cost_usd,
        story_max_duration_s: limits.story_max_duration.0,
        left: look_for_recovery(&preflight.project)?,
        warnings,
    })
}

fn plan_now(plan: &Plan) -> PlanNow {
    let counts = plan.counts();
    let (next, nothing_because) = match plan.next_story(&Default::default()) {
        Next::Story(story) => {
            (Some(NextStory { id: story.id.clone(), title: story.title.clone() }), None)
        }
        Next::Complete => (None, Some("the plan is complete")),
        Next::Stuck { .. } => (None, Some("what is left is blocked")),
    };
    PlanNow {
        path: here::shown(plan.path()).into_string(),
        open: counts.open,
        done: counts.done,
        blocked: counts.blocked,
        optional: counts.optional,
        next,
        nothing_because,
    }
}

fn lines(prospect: &Prospect) -> Vec<String> {
    let mut lines = vec![format!("Project   {}", prospect.project)];
    if prospect.mode == "planning" {
        let what = "the agent writes or refreshes the plan, and nothing else is kept";
        lines.push(format!("Mode      planning: {what}"));
    }
    if let Some(plan) = &prospect.plan {
        lines.push(format!("Plan      {}", plan.path));
        lines.push(format!(
            "Stories   {} open, {} done, {} blocked, {} optional",
            plan.open, plan.done, plan.blocked, plan.optional
        ));
        lines.push(match &plan.next {
            Some(NextStory { id, title }) => format!("Next      {id} {title}"),
            None => format!("Next      nothing: {}", plan.nothing_because.unwrap_or_default()),
        });
    }
    lines.push(format!("Agent     {}", prospect.agent));
    lines.extend(prospect.hooks.iter().map(|told| format!("Hooks     {told}")));
    match prospect.verify.as_slice() {
        [] => lines.push("Verify    nothing is set".to_owned()),
        commands => {
            lines.extend(commands.iter().map(|command| format!("Verify    {}", one_line(command))))
        }
    }
    lines.push(format!("Workspace {}", prospect.workspace));
    lines.push(format!("Branch    {}", prospect.branch));
    lines.push(limits(prospect));
    lines.extend(prospect.left.iter().map(|left| format!("Left      {left}")));
    lines.extend(prospect.warnings.iter().map(|warning| format!("Warning   {warning}")));
    lines
}

/// Every limit that is set.
fn limits(prospect: &Prospect) -> String {
    let iterations = match prospect.max_iterations {
        0 => "any number of iterations".to_owned(),
        most => counted(most as usize, "iteration", "iterations"),
    };
    let time = match prospect.timeout_s {
        0 => "any time".to_owned(),
        seconds => format!("{seconds} s"),
    };
    let mut line = format!(
        "Limits    {iterations}, {} a story, {time} an iteration",
        counted(prospect.attempts_per_story as usize, "attempt", "attempts"),
    );
    for (cost, seconds, of) in [
        (prospect.max_cost_usd, prospect.max_duration_s, "run"),
        (prospect.story_max_cost_usd, prospect.story_max_duration_s, "story"),
    ] {
        if cost > 0.0 {
            line.push_str(&format!(", ${cost:.2} a {of}"));
        }
        if seconds > 0 {
            line.push_str(&format!(", {seconds} s a {of}"));
        }
    }
    line
}
