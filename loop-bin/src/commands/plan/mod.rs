//! `ralph-loop plan`: a plan from an idea, by an interview in the terminal, or from issues of the forge.

use std::io::IsTerminal;
use std::process::{Command, ExitCode};

use camino::Utf8PathBuf;
use clap::Args;
use client::{is_found, program_of};
use ralph_base::env::Env;
use ralph_base::state;
use ralph_core::git::Repo;
use ralph_core::plan::{self, Options, Plan};
use ralph_project::client::Client;
use ralph_project::config::{Config, Flag};
use ralph_project::install::quoted;
use ralph_project::project::Project;

use super::Subcommand;
use crate::exit::Failure;
use crate::forge::{Forge, Issue, MOST_ISSUES, remote_of};
use crate::here;
use crate::terminal::say;

/// What the agent is asked to do in an interview.
const INTERVIEW: &str = include_str!("interview.md");

pub(super) const COMMAND: Subcommand = Subcommand {
    name: "plan",
    args: PlanCommand::augment_args,
    run: |call| call.parsed::<PlanCommand>()?.run(call.env),
};

/// Write a plan: from an idea, by an interview in the terminal, or from issues
///
/// The plan is written to the next `.ralph/PRD-N/plan.md` and shown; nothing is started.
#[derive(Debug, Args)]
pub(crate) struct PlanCommand {
    /// What you want, in a sentence; the agent asks at most eight questions
    #[arg(value_name = "IDEA", required_unless_present = "label")]
    idea: Option<String>,
    /// Make a story of each open issue with this label, with `gh` or `glab`
    #[arg(id = "label", long = "from-issues", value_name = "LABEL", conflicts_with = "idea")]
    label: Option<String>,
    /// The agent that asks
    #[arg(long, value_name = "AGENT", conflicts_with = "label")]
    agent: Option<String>,
}

impl PlanCommand {
    pub(crate) fn run(&self, env: &Env) -> Result<ExitCode, Failure> {
        let project = here::project(env)?;
        let numbers = project.own_state().prd_numbers();
        let number = numbers.last().map_or(1, |last| last + 1);
        let path = project.own_state().plan(number);
        let agent = self.agent.iter().map(|agent| Flag::new("agent.command", agent.as_str()));
        let config = here::config(&project, env, &agent.collect::<Vec<_>>())?;
        match (&self.label, &self.idea) {
            (Some(label), _) => from_issues(&project, label, &path, &config.plan)?,
            (None, Some(idea)) => interview(env, &project, &config, idea, &path)?,
            (None, None) => {
                return Err(Failure::usage(
                    "describe what you want in a sentence, or pass --from-issues",
                ));
            }
        }
        let plan = plan::load(&path, &config.plan)?;
        for story in plan.stories() {
            say(format!("{}  {}", story.id, story.title).as_str());
        }
        say(format!("wrote {path}; review it, then run `ralph-loop --prd {number}`").as_str());
        Ok(ExitCode::SUCCESS)
    }
}

/// One story for each issue that no plan has yet.
fn from_issues(
    project: &Project,
    label: &str,
    path: &Utf8PathBuf,
    options: &Options,
) -> Result<(), Failure> {
    let (root, repo) = (project.root(), Repo::open(project.root())?);
    let (_, url) = remote_of(repo.git(), "")?;
    let forge = Forge::of(&url, root)?;
    let numbers = project.own_state().prd_numbers().into_iter();
    let plans =
        numbers.map(|it| state::read_text(project.own_state().plan(it)).unwrap_or_default());
    let plans = plans.collect::<String>();
    let is_there = |issue: &Issue| plans.lines().any(|line| line == link(issue));
    let found = forge.issues(root, label)?;
    if found.len() >= MOST_ISSUES {
        say(format!("only the first {MOST_ISSUES} issues were read; there may be more"));
    }
    let (known, issues): (Vec<Issue>, Vec<Issue>) = found.into_iter().partition(is_there);
    for Issue { number, .. } in &known {
        say(format!("{}-{number} is in a plan already", forge.prefix()));
    }
    if issues.is_empty() {
        let more = if known.is_empty() { "" } else { " and is in no plan yet" };
        return Err(Failure::because(format!("no open issue has the label {label}{more}")));
    }
    let story = |issue: &Issue| {
        let text = issue.body.as_deref().unwrap_or_default();
        Plan::story_of_issue(&id(forge.prefix(), issue), &issue.title, &link(issue), text)
    };
    let stories: String = issues.iter().map(story).collect();
    let text = format!("# Issues labelled {label}\n{stories}");
    let plan = Plan::parse(path, text.into_bytes(), options).map_err(|error| {
        Failure::because(format!(
            "nothing was written, because the plan could not be read: {error}"
        ))
    })?;
    let is_none = |issue: &&Issue| plan.story(&id(forge.prefix(), issue)).is_none();
    if let Some(Issue { title, url, .. }) = issues.iter().find(is_none) {
        return Err(Failure::because(format!(
            "{url} cannot become a story: its title `{title}` is that of a plan section; rename it"
        )));
    }
    project.own_state().prepare()?;
    fs_err::create_dir_all(path.parent().unwrap_or(root))?;
    Ok(state::replace(path, plan.bytes())?)
}

/// The line of a story that names its issue.
fn link(issue: &Issue) -> String {
    format!("Issue: {}", issue.url)
}

fn id(prefix: &str, issue: &Issue) -> String {
    format!("{prefix}-{}", issue.number)
}

#[expect(clippy::disallowed_methods, reason = "this is the door for a session of the user's own")]
/// Has the user's own agent ask what it needs to know, in this terminal, and write the plan.
fn interview(
    env: &Env,
    project: &Project,
    config: &Config,
    idea: &str,
    path: &Utf8PathBuf,
) -> Result<(), Failure> {
    let (agent, folders) =
        (by_hand(&config.agent.command, &config.agent.model), env.get("PATH").unwrap_or_default());
    let is_missing = |name: &String| !is_found(name, &folders, project.root());
    if let Some(missing) = program_of(&agent).filter(is_missing) {
        return Err(Failure::because(format!(
            "the agent `{missing}` was not found; install it, or name another with --agent, \
             RALPH_AGENT, or `command` under [agent] in the configuration"
        )));
    }
    if !std::io::stdin().is_terminal() {
        return Err(Failure::because(
            "an interview needs a terminal; to have the plan written without one, put what you want \
             into specs/ and run `ralph-loop --mode planning`",
        ));
    }
    let prompt = INTERVIEW.replace("{{IDEA}}", idea).replace("{{PLAN_PATH}}", path.as_str());
    let line = format!("{agent} \"$0\"");
    let status =
        Command::new("sh").args(["-c", &line, &prompt]).current_dir(project.root()).status();
    status.map_err(|error| Failure::because(format!("cannot start {agent}: {error}")))?;
    if path.is_file() { Ok(()) } else { Err(Failure::because(format!("{path} was not written"))) }
}

/// The agent's command without what only a run needs, and with its model.
fn by_hand(command: &str, model: &str) -> String {
    let Some(client) = Client::find(command) else { return command.to_owned() };
    let of_runs: Vec<&str> = client.dialect.start.split_whitespace().skip(1).collect();
    let words = command.split_whitespace().filter(|word| !of_runs.contains(word));
    let line = words.collect::<Vec<_>>().join(" ");
    let option = client.dialect.model.replace("{}", &quoted(model.into()));
    let client = if !model.is_empty() { Client::find(&line) } else { None };
    client.map(|client| client.with(&option)).unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interview_uses_the_agents_command_and_model() {
        let start =
            "claude -p --dangerously-skip-permissions --output-format stream-json --verbose";
        for (command, model, expected) in [
            (start, "", "claude"),
            (start, "opus", "claude --model 'opus'"),
            ("A=1 nice claude --model haiku -p", "", "A=1 nice claude --model haiku"),
            ("codex exec --json -", "gpt", "codex --model 'gpt'"),
            ("my-agent -x", "opus", "my-agent -x"),
        ] {
            assert_eq!(by_hand(command, model), expected);
        }
    }
}
