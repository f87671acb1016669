//! How programs are started for an attempt: below a keeper, and in the sandbox if there is one. Also
//! the folders besides the copy that they may write.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::Permissions;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

use camino::{Utf8Path, Utf8PathBuf};
use nix::unistd::{AccessFlags, access};
use ralph_base::env::Env;
use ralph_base::linux::own_program;
use ralph_base::state::{self, PROJECT_MARKER, RunDir, fingerprint};
use ralph_base::supervised::Door;
use ralph_project::config::{Config, SandboxMode};
use ralph_project::failure::Failure;
use ralph_project::project::Project;
use ralph_project::review::command_line;
use sandbox::{Limits, Policy, Request, Settings, Support};

use crate::source::Source;
use crate::{ONLY_WORKER, cache};

/// How programs are started for an attempt.
#[derive(Debug, Clone, Default)]
pub struct Doors {
    /// For the agent.
    pub agent: Door,
    /// For the reviewer, which may be another agent.
    pub reviewer: Door,
    /// For checks, git hooks, and commands that the user tries.
    pub checks: Door,
    /// For the setup of a copy that no agent has touched.
    pub setup: Door,
    /// The folder to which hooks of the attempt write.
    pub state: Utf8PathBuf,
    /// What each step of the attempt may use.
    pub limits: Limits,
    /// The temporary folder of the attempt.
    tmp: Utf8PathBuf,
    /// The parts that policies are made from; `None` without a sandbox.
    basis: Option<Basis>,
    policies: Vec<Policy>,
}

/// What all sandbox policies of an attempt have in common.
#[derive(Debug, Clone)]
struct Basis {
    home: Utf8PathBuf,
    copy: Utf8PathBuf,
    tmp: Utf8PathBuf,
    state: Utf8PathBuf,
    read_only: Vec<Utf8PathBuf>,
    settings: Settings,
    env: BTreeMap<String, String>,
}

/// The attempt for which doors are made.
pub(crate) struct Attempt<'a> {
    pub(crate) env: &'a Env,
    pub(crate) config: &'a Config,
    pub(crate) source: &'a Source,
    /// The folder of the copies.
    pub(crate) cache: &'a Utf8Path,
    pub(crate) worker: &'a str,
    /// The top of the copy, or of the project in place.
    pub(crate) top: &'a Utf8Path,
}

/// Substrings of messages by which programs report a denied access.
const SAYS_REFUSED: [&str; 5] =
    ["ermission denied", "EACCES", "EPERM", "not permitted", "Read-only"];

/// Folders that no check should write to.
const SYSTEM: [&str; 6] = ["/usr", "/etc", "/bin", "/sbin", "/lib", "/boot"];

/// Describes the sandbox of a run in a few words: whether it is on, or why not.
pub fn in_words(config: &Config) -> String {
    let support = sandbox::support();
    match sandbox_of(config) {
        Ok(Some(Support { abi, missing })) if missing.is_empty() => format!("on (Landlock {abi})"),
        Ok(Some(Support { abi, missing })) => {
            let missing = missing.join(", ");
            format!("on (Landlock {abi}, which cannot restrict {missing})")
        }
        _ if config.sandbox.mode == SandboxMode::Off => "off".to_owned(),
        _ => format!("not used: {}", sandbox::Error::Unsupported(support.abi)),
    }
}

/// Returns what the kernel can enforce; `None` if the sandbox is not used. It is an error if the
/// sandbox is required but not supported.
pub fn sandbox_of(config: &Config) -> Result<Option<Support>, Failure> {
    let support = sandbox::support();
    match config.sandbox.mode {
        SandboxMode::Off => Ok(None),
        _ if support.is_enough() => Ok(Some(support)),
        SandboxMode::Auto => Ok(None),
        SandboxMode::Require => Err(Failure::usage(format!(
            "{}; use a newer kernel, or start with --sandbox auto",
            sandbox::Error::Unsupported(support.abi)
        ))),
    }
}

fn is_in(path: &Utf8Path, folders: &[Utf8PathBuf]) -> bool {
    folders.iter().any(|folder| path.starts_with(folder))
}

/// Returns the agent that a command line starts, perhaps by way of others: `timeout 60 claude -p`.
fn agent_of(line: &str) -> Option<String> {
    let script = shell_reader::read(line);
    let mut names = script.commands.iter().filter_map(|command| command.name());
    names.find(|name| sandbox::is_agent(name)).map(str::to_owned)
}

impl Basis {
    fn policy(&self, agent: Option<&str>, is_setup: bool) -> Policy {
        let Self { home, copy, tmp, state, read_only, settings, env } = self;
        Policy::new(&Request { home, copy, tmp, state, read_only, agent, is_setup, settings, env })
    }
}

impl Doors {
    /// Returns the doors of an attempt, without creating any folder.
    pub(crate) fn of(attempt: &Attempt<'_>) -> Result<Self, Failure> {
        let config = attempt.config;
        let agents = [&config.agent.command, &command_line(config)].map(|line| agent_of(line));
        let [agent, reviewer] = agents.each_ref().map(Option::as_deref);
        let whom = [(agent, false), (None, false), (None, true), (reviewer, false)];
        let doors = Self::for_whom(attempt, &whom)?;
        let own = own_program()?;
        let made = |n: usize| sandbox::door(&own, doors.policies.get(n), doors.limits);
        let [agent, checks, setup, reviewer] = [0, 1, 2, 3].map(made);
        Ok(Self { agent, checks, setup, reviewer, ..doors })
    }

    /// Returns configured writable paths that do not exist: no rule can be made for them.
    pub fn missing(&self) -> Vec<&Utf8Path> {
        let listed = self.policies.first().into_iter().flat_map(|policy| &policy.listed);
        listed.map(Utf8PathBuf::as_path).filter(|path| !path.exists()).collect()
    }

    /// Returns the door for an agent by name; for an empty name that of the run's own agent.
    pub fn for_agent(&self, name: &str) -> Result<Door, Failure> {
        let Some(basis) = self.basis.as_ref().filter(|_| !name.is_empty()) else {
            return Ok(self.agent.clone());
        };
        let policy = basis.policy(Some(name), false);
        sandbox::create_folders(std::slice::from_ref(&policy));
        Ok(sandbox::door(&own_program()?, Some(&policy), self.limits))
    }

    /// Creates one policy per entry of `whom`: an agent, if any, and whether it is for the setup.
    fn for_whom(attempt: &Attempt<'_>, whom: &[(Option<&str>, bool)]) -> Result<Self, Failure> {
        let Attempt { env, config, source, cache, worker, top } = *attempt;
        // Nothing below a folder of this name is accessed through links.
        let state = cache.join(format!("state-{worker}")).join(PROJECT_MARKER);
        let limits = Limits { processes: config.limits.processes, memory: config.limits.memory };
        if sandbox_of(config)?.is_none() {
            return Ok(Self { state, limits, ..Self::default() });
        }
        // A short name, because a socket's path may have only 108 bytes.
        let name = format!("ralph-{:08x}-{worker}", fingerprint(cache.as_str().as_bytes()) as u32);
        let sandbox = &config.sandbox;
        let settings = Settings {
            write: sandbox.write.clone(),
            hide: sandbox.hide.clone(),
            show: sandbox.show.clone(),
            env: sandbox.env.clone(),
        };
        let mut basis = Basis {
            home: env.home().unwrap_or_default(),
            copy: top.to_owned(),
            tmp: env.temp_dir().join(name),
            state: state.clone(),
            read_only: vec![cache.to_owned()],
            settings,
            env: env.all(),
        };
        let shared = source.shared.to_string_lossy().into_owned();
        if top == source.top {
            // The git folder of a linked work tree is elsewhere.
            basis.settings.write.push(shared);
        } else {
            basis.read_only.extend([shared.into(), source.top.clone()]);
        }
        let policies =
            whom.iter().map(|&(agent, is_setup)| basis.policy(agent, is_setup)).collect();
        let tmp = basis.tmp.clone();
        Ok(Self { state, limits, tmp, policies, basis: Some(basis), ..Self::default() })
    }

    /// Returns the policy for a command that the user tries, without starting git; `None` without a
    /// sandbox. Creates its folders.
    pub fn to_try(
        env: &Env,
        project: &Project,
        config: &Config,
    ) -> Result<Option<Policy>, Failure> {
        let git_dir = RunDir::of_project(project.root());
        let git_dir = git_dir.and_then(|dir| Some(dir.root().parent()?.to_owned()));
        let git_dir = git_dir.unwrap_or_else(|| project.root().join(".git")).into_std_path_buf();
        // A linked work tree names its common git folder in this file.
        let shared = state::read_text(git_dir.join("commondir")).unwrap_or_default();
        let has_git = |folder: &&Utf8Path| folder.join(".git").exists();
        let top = project.root().ancestors().find(has_git).unwrap_or(project.root()).to_owned();
        let source = Source {
            inside: Utf8PathBuf::new(),
            shared: git_dir.join(shared.trim()),
            git_dir,
            top: top.clone(),
            filters: Default::default(),
        };
        let cache = cache::folder(env, config, &top)?;
        let copy = cache.join(ONLY_WORKER);
        let (cache, worker) = (&cache, ONLY_WORKER);
        let attempt = Attempt { env, config, source: &source, cache, worker, top: &copy };
        let mut doors = Self::for_whom(&attempt, &[(None, false)])?;
        doors.create_folders()?;
        Ok(doors.policies.pop())
    }

    /// Returns the paths that the sandbox denied: the last path of each line that reports a denial.
    pub fn refused(&self, output: &str) -> BTreeSet<Utf8PathBuf> {
        let [_, checks, ..] = &*self.policies else { return BTreeSet::new() };
        // In an agent's log, one line may contain several lines of output.
        let lines = output.lines().flat_map(|line| line.split("\\n"));
        let lines = lines.filter(|line| SAYS_REFUSED.iter().any(|words| line.contains(words)));
        // Node's word for starting a program, which no sandbox of ours denies.
        let lines = lines.filter(|line| !line.contains("spawn "));
        let is_edge = |c: char| c.is_whitespace() || "'\"`‘’“”()[]<>,;\\".contains(c);
        let last = |line: &str| {
            let mut words = line.split(is_edge).map(|word| word.trim_end_matches([':', '.']));
            words.rfind(|word| word.starts_with('/') && word.len() > 1).map(Utf8PathBuf::from)
        };
        let is_refused = |path: &Utf8PathBuf| {
            let is_there = |path: &&Utf8Path| path.exists();
            // A path that the user cannot write either was not denied by the sandbox.
            let is_mine = || {
                path.ancestors()
                    .find(is_there)
                    .is_some_and(|it| access(it.as_std_path(), AccessFlags::W_OK).is_ok())
            };
            is_in(path, &checks.hide) || !is_in(path, &checks.write) && is_mine()
        };
        lines.filter_map(last).filter(is_refused).collect()
    }

    /// Returns the `[sandbox]` settings that would allow a check to access denied paths, except
    /// those that would open the home folder, the copies, or settings of agents.
    pub fn settings_for(&self, refused: &BTreeSet<Utf8PathBuf>) -> Vec<String> {
        let (Some(basis), [_, checks, ..]) = (&self.basis, &*self.policies) else {
            return Vec::new();
        };
        let closed: Vec<_> = basis.read_only.iter().chain(&checks.of_agents).cloned().collect();
        let is_wide = |path: &Utf8Path| {
            let mut narrower = closed.iter().chain([&basis.home]);
            is_in(path, &closed)
                || narrower.any(|it| it.starts_with(path))
                || SYSTEM.iter().any(|it| path.starts_with(it))
        };
        let (hidden, others): (BTreeSet<_>, BTreeSet<_>) =
            refused.iter().cloned().partition(|path| is_in(path, &checks.hide));
        // A rule needs an existing path, and is usually wanted for more than one file.
        let there = others.iter().filter_map(|path| {
            let folder = path.ancestors().find(|path| path.is_dir())?;
            [folder, path]
                .into_iter()
                .find(|path| path.exists() && !is_wide(path))
                .map(Utf8Path::to_owned)
        });
        let line = |(name, paths): (&str, BTreeSet<Utf8PathBuf>)| {
            let paths = paths.iter().map(|path| format!("{path:?}")).collect::<Vec<_>>().join(", ");
            Some(format!("{name} = [{paths}]")).filter(|_| !paths.is_empty())
        };
        [("write", there.collect()), ("show", hidden)].into_iter().filter_map(line).collect()
    }

    /// Whether there is a sandbox.
    pub fn are_sandboxed(&self) -> bool {
        !self.policies.is_empty()
    }

    /// Creates the folders that may be written: rules only apply to existing folders.
    pub fn create_folders(&self) -> Result<(), Failure> {
        fs_err::create_dir_all(&self.state)?;
        if !self.are_sandboxed() {
            return Ok(());
        }
        match fs_err::create_dir(&self.tmp) {
            Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => {
                return Err(error.into());
            }
            _ => {}
        }
        let found = fs_err::symlink_metadata(&self.tmp)?;
        if !found.is_dir() || found.uid() != nix::unistd::getuid().as_raw() {
            return Err(Failure::because(format!(
                "{} belongs to another user; remove it, or set TMPDIR to another folder",
                self.tmp
            )));
        }
        fs_err::set_permissions(&self.tmp, Permissions::from_mode(0o700))?;
        sandbox::create_folders(&self.policies);
        Ok(())
    }

    /// Deletes the temporary folder, once nothing of the attempt is running.
    pub fn remove_tmp(&self) {
        if self.are_sandboxed() {
            // Leftovers do no harm.
            let _ = crate::remove_all(self.tmp.as_std_path());
        }
    }
}
