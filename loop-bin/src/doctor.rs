//! `ralph-loop doctor`: looks for what could go wrong overnight, and says how to fix it.

mod live;
mod surroundings;
mod traps;

use std::os::unix::fs::PermissionsExt;

use camino::Utf8Path;
use clap::{Arg, ArgAction, Command};
use nix::unistd::geteuid;
use ralph_core::checks::one_line;
use ralph_core::config::Config;
use ralph_core::env::Env;
use ralph_core::git::{Git, Repo, Status};
use ralph_core::install::HOOK_NAMES;
use ralph_core::project::Project;
use ralph_core::state::Lock;

use crate::agent::{Client, Installed};
use crate::exit::{Failure, Success};
use crate::run::start::{look_for_recovery, run_dir};
use crate::terminal::{counted, say};
use crate::workspace::{Source, cache, include_size};
use crate::{agent, here, install, trust};

/// Less than this leaves no room for a build.
const LEAST_FREE_MIB: u64 = 1024;

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Finding {
    Good(String),
    Worth(String),
    Bad(String),
}

/// Something is wrong.
#[derive(Debug, thiserror::Error)]
#[error("{0} found")]
struct Unwell(String);

/// The subcommand.
pub(crate) fn command() -> Command {
    Command::new("doctor")
        .about("Check git, agent, hooks, config, plan and disk; say how to fix each")
        .arg(Arg::new("live").long("live").action(ArgAction::SetTrue).help(
            "Also run the agent once, with a prompt of one line, and see whether the hooks fire",
        ))
}

/// Examines.
pub(crate) fn run(env: &Env, live: bool) -> Result<Success, Failure> {
    let project = here::project(env)?;
    let (config, broken) = Config::load_or_default(&project.own_state().config(), env);
    let mut findings = git(&project);
    findings.push(match broken {
        Some(error) => Finding::Bad(format!("the configuration: {error}")),
        None => Finding::Good("the configuration can be read".to_owned()),
    });
    findings.extend(plan(&project, env, &config));
    findings.extend(traps::prompt(&project, env, &config));
    findings.extend(traps::scripts(&project));
    findings.extend(hands(&project, env, &config));
    findings.extend(the_agent(env, &project, &config));
    findings.push(checks(&config));
    findings.extend(traps::programs(&project, env, &config));
    findings.extend(hooks(&project, env));
    findings.push(lock(&project));
    findings.extend(left(&project));
    findings.extend(copy(&project, env, &config));
    findings.extend(surroundings::look(&project, env, &config));
    findings.extend(disk(&project));
    if live {
        findings.push(live::try_hooks(env, &project, &config)?);
    }
    let count = findings.iter().filter(|finding| matches!(finding, Finding::Bad(_))).count();
    for finding in &findings {
        match finding {
            Finding::Good(text) => say(format!("ok       {text}")),
            Finding::Worth(text) => say(format!("note     {text}")),
            Finding::Bad(text) => say(format!("PROBLEM  {text}")),
        }
    }
    match count {
        0 => Ok(Success::Done),
        count => Err(Unwell(counted(count, "problem", "problems")).into()),
    }
}

/// Who else can write what we obey.
fn hands(project: &Project, env: &Env, config: &Config) -> Vec<Finding> {
    let Ok(plan) = here::plan(project, env, config) else { return Vec::new() };
    trust::doubts(project.own_state(), plan.path()).into_iter().map(Finding::Worth).collect()
}

fn git(project: &Project) -> Vec<Finding> {
    let version = match Git::at(project.root().as_std_path()).line(&["--version"]) {
        Ok(version) => Finding::Good(version),
        Err(error) => return vec![Finding::Bad(error.to_string())],
    };
    let repo = match Repo::open(project.root()) {
        Ok(repo) => repo,
        Err(error) => return vec![version, Finding::Bad(error.to_string())],
    };
    let tree = match (repo.refuse_if_busy(), Status::read(&repo)) {
        (Err(error), _) => Finding::Bad(error.to_string()),
        (_, Err(error)) => Finding::Bad(error.to_string()),
        (_, Ok(status)) if !status.is_clean(&repo) => Finding::Worth(
            "there is uncommitted work, which the copy that the agent works in does not have"
                .to_owned(),
        ),
        _ => Finding::Good("the work tree is clean".to_owned()),
    };
    let mut findings = vec![version, tree];
    findings.extend(traps::locks(&repo));
    findings.extend(traps::signing(&repo));
    findings
}

fn plan(project: &Project, env: &Env, config: &Config) -> Vec<Finding> {
    match here::plan(project, env, config) {
        Ok(plan) => {
            let open = counted(plan.counts().open, "open story", "open stories");
            let good = Finding::Good(format!("{}: {open}", here::shown(plan.path())));
            let doubts = here::warnings(&plan).into_iter().map(Finding::Worth);
            std::iter::once(good).chain(doubts).collect()
        }
        Err(error) => vec![Finding::Bad(error.to_string())],
    }
}

fn the_agent(env: &Env, project: &Project, config: &Config) -> Vec<Finding> {
    let command = &config.agent.command;
    let Some(program) = agent::program_of(command) else {
        return vec![Finding::Worth(format!("the agent `{command}` cannot be looked up"))];
    };
    let path = env.get("PATH").unwrap_or_default();
    if !agent::is_found(program, &path, project.root()) {
        let advice = "install it, or set [agent] command";
        let missing = agent::not_found(program, project.root());
        return vec![Finding::Bad(format!("{missing}; {advice}"))];
    }
    if let Some(script) = traps::missing_script(command, project.root()) {
        let advice = "put it there, or set [agent] command";
        return vec![Finding::Bad(format!(
            "the agent's script `{script}` was not found; {advice}"
        ))];
    }
    // Other agents are not asked, because they may take it for work.
    let client = Client::find(command);
    let version =
        client.and_then(|client| installer::version_text(client.program(), project.root()));
    let mut findings = vec![match version {
        Some(version) => Finding::Good(format!("the agent `{program}` is there: {version}")),
        None => Finding::Good(format!("the agent `{program}` is there")),
    }];
    let skips = command.contains("--dangerously-skip-permissions");
    if skips && geteuid().is_root() && env.get("IS_SANDBOX").is_none() {
        findings.push(Finding::Bad(
            "the client refuses --dangerously-skip-permissions as root; run as another user, or set \
             IS_SANDBOX=1 in a sandbox"
                .to_owned(),
        ));
    }
    findings
}

fn checks(config: &Config) -> Finding {
    match config.verify.commands.as_slice() {
        [] => Finding::Worth(
            "no verify commands are set; a story counts as done when the agent says so".to_owned(),
        ),
        commands => {
            let names: Vec<String> = commands.iter().map(|command| one_line(command)).collect();
            Finding::Good(format!("verified by: {}", names.join(", ")))
        }
    }
}

/// One line for all hooks that are in the same state.
fn hooks(project: &Project, env: &Env) -> Vec<Finding> {
    let installed = Installed::anywhere(env, project);
    let beside = install::folder_of_this_program().unwrap_or_default();
    let (registered, others): (Vec<&str>, Vec<&str>) =
        HOOK_NAMES.into_iter().partition(|name| installed.has_any(name));
    let (here, missing): (Vec<&str>, Vec<&str>) =
        others.into_iter().partition(|name| beside.join(name).is_file());
    let (passed, broken): (Vec<&str>, Vec<&str>) =
        here.into_iter().partition(|name| is_executable(&beside.join(name)));
    let mut findings: Vec<Finding> = broken
        .iter()
        .map(|name| {
            let file = beside.join(name);
            Finding::Bad(format!("{file} is not executable; run `chmod +x {file}`"))
        })
        .collect();
    for (names, state) in [
        (registered, "registered with the client"),
        (passed, "beside ralph-loop, which passes them to Claude Code"),
    ] {
        if !names.is_empty() {
            findings.push(Finding::Good(format!("hooks {state}: {}", names.join(", "))));
        }
    }
    if !missing.is_empty() {
        let names = missing.join(", ");
        findings.push(Finding::Worth(format!(
            "hooks neither registered nor beside ralph-loop: {names}; copy them there"
        )));
    }
    findings
}

fn is_executable(path: &Utf8Path) -> bool {
    fs_err::metadata(path).is_ok_and(|metadata| metadata.permissions().mode() & 0o111 != 0)
}

fn lock(project: &Project) -> Finding {
    let run_dir = Repo::open(project.root()).ok().and_then(|repo| run_dir(&repo).ok());
    let held = run_dir.and_then(|run_dir| Lock::holder(&run_dir.lock()));
    match held {
        None => Finding::Good("no other loop runs here".to_owned()),
        Some(held) => {
            let pid = held.by.map(|by| by.pid).unwrap_or_default();
            Finding::Worth(format!("a loop runs here already, process {pid}"))
        }
    }
}

/// What a run that was interrupted left.
fn left(project: &Project) -> Vec<Finding> {
    match look_for_recovery(project) {
        Ok(lines) => lines.into_iter().map(Finding::Worth).collect(),
        Err(failure) => vec![Finding::Bad(failure.to_string())],
    }
}

/// The copy that the agent works in.
fn copy(project: &Project, env: &Env, config: &Config) -> Vec<Finding> {
    let Ok(repo) = Repo::open(project.root()) else { return Vec::new() };
    let source = match Source::of(project, &repo) {
        Ok(source) => source,
        Err(error) => return vec![Finding::Bad(error.to_string())],
    };
    if config.workspace.in_place {
        return vec![Finding::Worth("the agent works in the project's own tree".to_owned())];
    }
    let folder = match cache::folder(env, config, &source.top) {
        Ok(folder) => folder,
        Err(error) => return vec![Finding::Bad(error.to_string())],
    };
    let mut findings = vec![match folder.exists() {
        true => Finding::Good(format!("the agent works in a copy: {folder}")),
        false => Finding::Good(format!("the agent will work in a copy: {folder}")),
    }];
    match include_size(&source) {
        Ok((0, _)) => {}
        Ok((bytes, files)) => findings.push(Finding::Good(format!(
            ".worktreeinclude brings {} in {}",
            cache::spoken(bytes),
            counted(files, "file", "files")
        ))),
        Err(error) => findings.push(Finding::Bad(error.to_string())),
    }
    findings
}

fn disk(project: &Project) -> Option<Finding> {
    let stat = nix::sys::statvfs::statvfs(project.root().as_std_path()).ok()?;
    let free = stat.blocks_available() as u64 * stat.fragment_size() as u64 / 1024 / 1024;
    Some(match free {
        0..LEAST_FREE_MIB => Finding::Bad(format!("only {free} MiB of disk are free; make room")),
        _ => Finding::Good(format!("{} GiB of disk are free", free / 1024)),
    })
}
