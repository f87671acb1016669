//! `ralph-loop answer`: answers the question with which an agent ended, and reopens its story.

use std::process::ExitCode;

use clap::Args;
use ralph_base::env::Env;
use run_history::{RunHistory, Situation};

use super::Subcommand;
use super::retry::Retry;
use crate::exit::Failure;
use crate::here;
use crate::plan_choice::{PlanChoice, plan_with_work};

pub(super) const COMMAND: Subcommand = Subcommand {
    name: "answer",
    args: Answer::augment_args,
    run: |call| call.parsed::<Answer>()?.run(call.env),
};

/// Answer the question of an agent, and reopen its story with question and answer in the prompt
#[derive(Debug, Args)]
pub(crate) struct Answer {
    #[command(flatten)]
    choice: PlanChoice,
    /// The story's id
    story: String,
    /// The answer
    #[arg(required = true)]
    text: Vec<String>,
}

impl Answer {
    pub(crate) fn run(&self, env: &Env) -> Result<ExitCode, Failure> {
        let text = self.text.join(" ");
        if text.trim().is_empty() {
            return Err(Failure::usage("the answer is empty; write it after the story's id"));
        }
        let project = here::project(env)?;
        let config = self.choice.config(env, &project)?;
        let mut history = RunHistory::open(project.root(), project.own_state())?;
        if let Ok(plan) = plan_with_work(env, &project, &config) {
            history.add_plans([&plan]);
        }
        let run = history.find("last");
        let needs = history.needs(run.as_ref(), &Situation::default());
        let is_it = |name: &str| name.eq_ignore_ascii_case(&self.story);
        let asked =
            needs.stories.iter().find(|story| is_it(&story.name) || is_it(&story.key.story));
        let question = asked.and_then(|story| story.question()).ok_or_else(|| {
            Failure::because(format!(
                "no agent has asked about {}; `ralph-loop status` shows what needs you",
                self.story
            ))
        })?;
        let hint = format!("You asked: {question}\nThe answer: {text}");
        Retry::answered(self.choice.clone(), &self.story, hint).run(env)
    }
}
