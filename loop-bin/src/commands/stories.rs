//! `ralph-loop stories`: lists the plan as it was read.

use std::process::ExitCode;

use clap::Args;
use ralph_base::env::Env;
use ralph_core::plan::{State, Story};
use serde_json::{Value, json};

use super::Subcommand;
use crate::boards::fleet;
use crate::exit::Failure;
use crate::here;
use crate::plan_choice::{PlanChoice, plan_with_work};
use crate::terminal::say;

pub(super) const COMMAND: Subcommand = Subcommand {
    name: "stories",
    args: Stories::augment_args,
    run: |call| call.parsed::<Stories>()?.run(call.env),
};

/// List the plan's stories as Ralph reads them
#[derive(Debug, Args)]
pub(crate) struct Stories {
    #[command(flatten)]
    choice: PlanChoice,
    /// Print the stories as one JSON array
    #[arg(long)]
    json: bool,
}

impl Stories {
    pub(crate) fn run(&self, env: &Env) -> Result<ExitCode, Failure> {
        let (env, _server) = &fleet::enter(env, self.choice.fleet.as_deref())?;
        let project = here::project(env)?;
        let plan = plan_with_work(env, &project, &self.choice.config(env, &project)?)?;
        if self.json {
            let row = |story: &Story| {
                json!({"id": story.id, "title": story.title, "state": word(story.state),
                    "depends": story.depends, "optional": story.optional, "line": story.line})
            };
            let rows: Vec<Value> = plan.stories().iter().map(row).collect();
            say(serde_json::to_string_pretty(&rows)?);
            return Ok(ExitCode::SUCCESS);
        }
        say(format!("{}", here::shown(plan.path())));
        here::story_lines(&plan).iter().for_each(say);
        here::warnings(&plan).iter().for_each(|warning| say(format!("note: {warning}")));
        Ok(ExitCode::SUCCESS)
    }
}

fn word(state: State) -> &'static str {
    match state {
        State::Open => "open",
        State::Done => "done",
        State::Blocked => "blocked",
    }
}
