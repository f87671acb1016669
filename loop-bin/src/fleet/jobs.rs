//! Jobs for engines that people have: one task for each open story, with the dependencies of the stories where the
//! engine can express them. Nothing is submitted.

use std::process::ExitCode;

use askama::Template;
use clap::Args;
use ralph_base::env::Env;
use ralph_core::git::Git;
use ralph_core::plan::{Plan, State, Story};

use crate::exit::Failure;
use crate::here;
use crate::plan_choice::PlanChoice;
use crate::terminal::say_as_it_is;

/// For whom a job is printed.
#[derive(Debug, Args)]
pub(super) struct Job {
    #[command(flatten)]
    choice: PlanChoice,
    /// The server; defaults to the project's origin
    #[arg(long, value_name = "REMOTE")]
    remote: Option<String>,
    /// The container image with git, ralph-loop and the agent, for engines that run containers
    #[arg(long, value_name = "IMAGE", default_value = "your-image-with-ralph-loop")]
    image: String,
    /// Further options of each task, such as "--max-cost 20"
    #[arg(long, value_name = "OPTIONS", default_value = "", hide_default_value = true)]
    options: String,
}

/// An open story.
struct Task {
    id: String,
    /// The same as part of a name.
    name: String,
    /// The names of those that it depends on.
    after: Vec<String>,
}

/// The job of an engine.
#[derive(Template)]
#[template(escape = "none")]
enum Printed<'a> {
    #[template(path = "fleet-slurm.sh")]
    Slurm { all: &'a Tasks },
    #[template(path = "fleet-kubernetes.yaml")]
    Kubernetes { all: &'a Tasks },
    #[template(path = "fleet-github-actions.yaml")]
    GithubActions { all: &'a Tasks },
    #[template(path = "fleet-gitlab-ci.yaml")]
    GitlabCi { all: &'a Tasks },
    #[template(path = "fleet-parallel.sh")]
    Parallel { all: &'a Tasks },
}

struct Tasks {
    tasks: Vec<Task>,
    /// The command of a task, but for its story.
    command: String,
    image: String,
}

impl Job {
    pub(super) fn print(&self, env: &Env, engine: &str) -> Result<ExitCode, Failure> {
        let project = here::project(env)?;
        let config = self.choice.config(env, &project)?;
        let plan = here::plan(&project, env, &config)?;
        let origin = || Git::at(project.root()).line(&["remote", "get-url", "origin"]);
        let remote = match &self.remote {
            Some(remote) => remote.clone(),
            None => origin().map_err(|_| {
                Failure::usage("the project has no origin; name the server with --remote")
            })?,
        };
        let options =
            if self.options.is_empty() { String::new() } else { format!(" {}", self.options) };
        let command = format!("ralph-loop --fleet {remote}{options} --story");
        let all = &Tasks { tasks: tasks(&plan)?, command, image: self.image.clone() };
        let job = match engine {
            "slurm" => Printed::Slurm { all },
            "kubernetes" => Printed::Kubernetes { all },
            "github-actions" => Printed::GithubActions { all },
            "gitlab-ci" => Printed::GitlabCi { all },
            _ => Printed::Parallel { all },
        };
        say_as_it_is(&job.render().map_err(|error| Failure::because(error.to_string()))?);
        Ok(ExitCode::SUCCESS)
    }
}

/// The open stories, each behind those that it depends on.
fn tasks(plan: &Plan) -> Result<Vec<Task>, Failure> {
    let mut left: Vec<&Story> =
        plan.stories().iter().filter(|story| story.state == State::Open).collect();
    let mut tasks: Vec<Task> = Vec::new();
    while !left.is_empty() {
        let waits = |story: &&&Story| {
            story
                .depends
                .iter()
                .any(|id| left.iter().any(|other| other.id.eq_ignore_ascii_case(id)))
        };
        let Some(next) = left.iter().position(|story| !waits(&story)) else {
            return Err(Failure::because("the open stories depend on each other in a circle"));
        };
        let story = left.remove(next);
        let is_behind =
            |task: &&Task| story.depends.iter().any(|id| task.id.eq_ignore_ascii_case(id));
        let after = tasks.iter().filter(is_behind).map(|task| task.name.clone()).collect();
        tasks.push(Task { id: story.id.clone(), name: named(&story.id), after });
    }
    Ok(tasks)
}

/// An id as part of a name that every engine takes.
fn named(id: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    id.chars().map(plain).collect()
}
