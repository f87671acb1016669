//! `ralph-loop fleet`: prints jobs for engines; nothing is submitted.

use std::process::ExitCode;

use askama::Template;
use clap::{Args, ValueEnum};
use ralph_base::env::Env;
use ralph_core::git::Git;
use ralph_core::plan::{Plan, State};

use super::Subcommand;
use crate::boards::fleet::server::address;
use crate::boards::fleet::{enter, named};
use crate::exit::Failure;
use crate::here;
use crate::plan_choice::PlanChoice;
use crate::terminal::say_as_it_is;

pub(super) const COMMAND: Subcommand = Subcommand {
    name: "fleet",
    args: Fleet::augment_args,
    run: |call| call.parsed::<Fleet>()?.run(call.env),
};

/// Print a job for Slurm, Kubernetes, CI or GNU parallel that works on every open story
#[derive(Debug, Args)]
pub(crate) struct Fleet {
    engine: Engine,
    #[command(flatten)]
    choice: PlanChoice,
    /// The container image with git, ralph-loop and the agent, for engines that run containers
    #[arg(long, value_name = "IMAGE", default_value = "your-image-with-ralph-loop")]
    image: String,
    /// Further options of each task, such as "--max-cost 20"
    #[arg(long, value_name = "OPTIONS", default_value = "", allow_hyphen_values = true)]
    options: String,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Engine {
    /// A script that submits a Slurm job for each story, after those that it depends on
    Slurm,
    /// An Indexed Job
    Kubernetes,
    /// A workflow with a job for each story, after those that it depends on
    GithubActions,
    /// A pipeline with a job for each story, after those that it depends on
    GitlabCi,
    /// A GNU parallel command line
    Parallel,
}

/// The job that is printed.
#[derive(Template)]
#[template(path = "fleet.txt", escape = "none")]
struct Job<'a> {
    fleet: &'a Fleet,
    /// In order of dependency.
    tasks: Vec<Task>,
    /// The command of a task, without its story.
    command: String,
}

/// The id of an open story, its name, and the names of those that it depends on.
type Task = (String, String, Vec<String>);

impl Fleet {
    pub(crate) fn run(&self, env: &Env) -> Result<ExitCode, Failure> {
        let (env, _server) = &enter(env, self.choice.fleet.as_deref())?;
        let project = here::project(env)?;
        let plan = here::plan(&project, env, &self.choice.config(env, &project)?)?;
        let origin = Git::at(project.root()).line(&["remote", "get-url", "origin"]);
        let none = |_| Failure::usage("the project has no origin; name the server with --fleet");
        let (remote, options) = (address(&origin.map_err(none)?)?, &self.options);
        let remote = without_user(&remote);
        let command = format!("ralph-loop --fleet {remote} {options} --story").replace("  ", " ");
        let none = || Failure::because("no story of the plan is open");
        let tasks = Some(tasks(&plan)).filter(|tasks| !tasks.is_empty()).ok_or_else(none)?;
        say_as_it_is(&Job { fleet: self, tasks, command }.render()?);
        Ok(ExitCode::SUCCESS)
    }
}

/// The open stories, in order of dependency.
fn tasks(plan: &Plan) -> Vec<Task> {
    let open = |id: &str| plan.story(id).filter(|story| story.state == State::Open);
    let mut left: Vec<_> = plan.stories().iter().filter_map(|story| open(&story.id)).collect();
    let mut tasks: Vec<Task> = Vec::new();
    while !left.is_empty() {
        let is_first = |id: &String| open(id).is_none_or(|story| !left.contains(&story));
        let ready = left.iter().position(|story| story.depends.iter().all(is_first));
        // Plans with circular dependencies are refused when read.
        let story = left.remove(ready.unwrap_or_default());
        let after = story.depends.iter().filter_map(|id| Some(named(&open(id)?.id))).collect();
        tasks.push((story.id.clone(), named(&story.id), after));
    }
    tasks
}

/// The address without a user name, which may be a token: jobs are committed.
fn without_user(remote: &str) -> String {
    let user = |rest: &str| rest.split('/').next().and_then(|host| host.find('@'));
    match remote.split_once("://") {
        Some((scheme @ ("http" | "https"), rest)) => {
            let host = user(rest).and_then(|at| rest.get(at + 1..)).unwrap_or(rest);
            format!("{scheme}://{host}")
        }
        _ => remote.to_owned(),
    }
}
