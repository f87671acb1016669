//! Finds agents, checks and scripts that cannot be started, before the first story.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use camino::Utf8Path;
use nix::unistd::geteuid;
use ralph_base::env::Env;
use ralph_base::linux::IS_MACOS;
use ralph_base::supervised::{self, CheckEnd};
use ralph_core::git::Repo;
use ralph_core::plan::State;
use ralph_project::checks::one_line;
use ralph_project::client::Client;
use ralph_project::config::{Config, Flag, Mode};
use ralph_project::diagnosis::Diagnosis;
use ralph_project::dialect::Dialect;
use ralph_project::install::HOOK_NAMES;

use super::plan_file::find_plan;
use super::preflight::Preflight;
use crate::exit::Failure;
use crate::forge::pull_request;
use crate::here;
use crate::run::scripts::broken;
use client::{ClientOptions, folder_of_this_program, is_executable};
use work_copy::doors::Doors;

/// How long a hook may take to say what it is, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// Findings about hooks that cannot be started where the agent will work: each is started once, and only
/// says what it is. A hook that does not run guards nothing.
pub(crate) fn hooks_that_fail(
    options: &ClientOptions,
    config: &Config,
    doors: &Doors,
) -> Result<Vec<Diagnosis>, Failure> {
    let folder = folder_of_this_program().unwrap_or_default();
    let hooks = HOOK_NAMES.map(|name| folder.join(name)).into_iter();
    let mut findings = Vec::new();
    if !options.brings_hooks() {
        return Ok(findings);
    }
    doors.create_folders()?;
    for hook in hooks.filter(|hook| is_executable(hook)) {
        let mut command = doors.agent.command(hook.as_str());
        command.arg("--help");
        let ran = supervised::run(command, b"", Some(PATIENCE), &|| false, None);
        let why = match ran {
            Ok((CheckEnd::Exited(Some(code)), _)) if ![126, 127].contains(&code) => continue,
            Ok((_, said)) => said.trim().to_owned(),
            Err(error) => error.to_string(),
        };
        let why = format!("the hook {hook} cannot be started, so it guards nothing: {why}");
        findings.push(ClientOptions::without_hooks(&why, config));
    }
    Ok(findings)
}

/// Findings about agents, checks and scripts that cannot be started.
pub(super) fn look_for_programs(
    preflight: &mut Preflight,
    env: &Env,
    repo: &Repo,
    uncommitted: &[PathBuf],
) {
    let path = env.get("PATH").unwrap_or_default();
    let (root, command) = (preflight.project.root(), &preflight.config.agent.command);
    if let Some(trouble) = trouble_with(AGENT, command, root, &path) {
        preflight.agent_problem(trouble);
    }
    let others = other_agents(preflight, &path);
    preflight.findings.extend(others);
    let skips = client::completed(&preflight.config.agent.command)
        .contains("--dangerously-skip-permissions");
    if skips && geteuid().is_root() && env.get("IS_SANDBOX").is_none() {
        preflight.agent_problem(
            "the client does not accept --dangerously-skip-permissions as root; run as another \
             user, or set IS_SANDBOX=1 in a container"
                .to_owned(),
        );
    }
    if IS_MACOS
        && Client::find(&preflight.config.agent.command).is_some()
        && is_out_of_reach_of_the_keychain(env)
    {
        preflight.note(KEYCHAIN.to_owned());
    }
    for wrong in broken(preflight.project.own_state(), preflight.project.root()) {
        preflight.note(wrong);
    }
    if preflight.config.run.mode == Mode::Building {
        if pull_request::is_wanted(&preflight.config)
            && let Err(why) = pull_request::way(repo, &preflight.target.branch)
        {
            preflight.note(format!("this run will end without a pull request: {why}"));
        }
        for line in preflight.config.verify.commands.clone() {
            if let Some(needs) = uncommitted_file(preflight, &line, repo, uncommitted) {
                preflight.problem(format!("the check `{}` needs {needs}", one_line(&line)));
            }
        }
    }
}

/// What is said where the client will probably not find its login.
const KEYCHAIN: &str = "the client keeps its login in the Keychain, which it cannot read over ssh or \
                        from launchd; run `claude setup-token` and set CLAUDE_CODE_OAUTH_TOKEN";

/// Whether this session was begun over ssh or by launchd, and no variable holds a key.
fn is_out_of_reach_of_the_keychain(env: &Env) -> bool {
    let keys = ["CLAUDE_CODE_OAUTH_TOKEN", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"];
    let service = env.get("XPC_SERVICE_NAME").unwrap_or_else(|| "0".to_owned());
    // Terminals are applications.
    let by_launchd = service != "0" && !service.starts_with("application.");
    (env.get("SSH_CONNECTION").is_some() || by_launchd)
        && keys.iter().all(|key| env.get(key).is_none())
}

/// Fallback agents, and agents that open stories name, that are not installed.
fn other_agents(preflight: &Preflight, path: &str) -> Vec<Diagnosis> {
    let open =
        preflight.plan.iter().flat_map(|plan| plan.stories().iter().map(move |it| (plan, it)));
    let open = open.filter(|(_, story)| story.state == State::Open);
    let named = open.filter_map(|(plan, story)| plan.setting(story, "agent"));
    let names: BTreeSet<String> = named.chain(preflight.config.agent.fallback.clone()).collect();
    let trouble = |name: &String| match Dialect::find(name) {
        None => Some(Diagnosis::Note(format!("`{name}` in the plan is not a known agent"))),
        Some(_) => {
            trouble_with(OTHER_AGENT, name, preflight.project.root(), path).map(Diagnosis::Problem)
        }
    };
    names.iter().filter_map(trouble).collect()
}

/// A file that a check names and that the copy will not have.
fn uncommitted_file(
    preflight: &Preflight,
    line: &str,
    repo: &Repo,
    files: &[PathBuf],
) -> Option<String> {
    let tip = preflight.target.tip().ok().and_then(|tip| tip.commit);
    let tip = tip.unwrap_or_else(|| "HEAD".to_owned());
    let file = line.split_whitespace().find(|word| {
        let word = word.trim_start_matches("./");
        let Some(below) =
            preflight.workspace.source.below_top(&preflight.project.root().join(word))
        else {
            return false;
        };
        let object = format!("{tip}:{below}");
        files.iter().any(|file| file.as_path() == below.as_std_path())
            && repo.git().run(&["cat-file", "-e", &object]).is_err()
    })?;
    Some(format!("{file}, which is not in the agent's copy because it is not committed; commit it"))
}

/// All problems that can be found independently, so that they are reported together.
pub(crate) fn troubles(env: &Env, flags: &[Flag]) -> Vec<String> {
    let Ok(project) = here::project(env) else { return Vec::new() };
    let Ok(config) = here::config(&project, env, flags) else { return Vec::new() };
    let path = env.get("PATH").unwrap_or_default();
    let repo = Repo::open(project.root()).map(drop).map_err(Failure::from);
    let plan = find_plan(&project, env, &config).map(drop);
    let mut found: Vec<String> =
        [repo, plan].into_iter().filter_map(Result::err).map(|error| error.to_string()).collect();
    let flaw = flaw_in_command(&config);
    let command = &config.agent.command;
    found.extend(flaw.or_else(|| trouble_with(AGENT, command, project.root(), &path)));
    found
}

/// Mistakes in the agent's command.
pub(super) fn flaw_in_command(config: &Config) -> Option<String> {
    let command = &config.agent.command;
    client::flaw_in(command).map(|flaw| {
        format!(
            "the agent's command `{command}` {flaw}; fix it where it is set: --agent, RALPH_AGENT, \
             or `command` under [agent]"
        )
    })
}

/// What is started, and what to do where it is missing.
const AGENT: (&str, &str) = ("agent", "pass another with --agent");
const OTHER_AGENT: (&str, &str) = ("other agent", "name another in the plan or with --fallback");

/// Why a program cannot be started, if known.
pub(crate) fn trouble_with(
    (who, instead): (&str, &str),
    line: &str,
    root: &Utf8Path,
    path: &str,
) -> Option<String> {
    let script = client::script_of(line).filter(|script| !root.join(script).is_file());
    let program = || client::program_of(line).filter(|name| !client::is_found(name, path, root));
    let missing = script.or_else(program)?;
    if root.join(&missing).is_file() {
        return Some(format!("the {who} `{missing}` is not executable; run `chmod +x {missing}`"));
    }
    let is_path = missing.contains(['/', '.']);
    let place = if is_path { root.as_str() } else { "PATH" };
    Some(format!("the {who} `{missing}` was not found in {place}; install it, or {instead}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_keychain_is_out_of_reach_over_ssh_and_from_launchd_without_a_key() {
        for (vars, expected) in [
            (vec![], false),
            (vec![("XPC_SERVICE_NAME", "0")], false),
            (vec![("XPC_SERVICE_NAME", "application.com.example.terminal.1.2")], false),
            (vec![("XPC_SERVICE_NAME", "com.example.nightly")], true),
            (vec![("SSH_CONNECTION", "1 2 3 4")], true),
            (vec![("SSH_CONNECTION", "1 2 3 4"), ("CLAUDE_CODE_OAUTH_TOKEN", "x")], false),
        ] {
            let env = Env::of(vars.clone());
            assert_eq!(is_out_of_reach_of_the_keychain(&env), expected, "{vars:?}");
        }
    }
}
