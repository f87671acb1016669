//! How programs are started for an attempt: below a keeper, and in the sandbox if there is one. Also
//! the folders besides the copy that they may write.

use std::collections::{BTreeMap, BTreeSet};

use camino::{Utf8Path, Utf8PathBuf};
use nix::unistd::{AccessFlags, access};
use ralph_base::env::Env;
use ralph_base::linux::own_program;
use ralph_base::state::{self, PROJECT_MARKER, RunDir, fingerprint};
use ralph_base::supervised::Door;
use ralph_core::git::Git;
use ralph_project::config::{Config, SandboxMode};
use ralph_project::failure::Failure;
use ralph_project::install::data_folders;
use ralph_project::project::Project;
use ralph_project::review::command_line;
use sandbox::{Found, Limits, Policy, Request, Settings, Support};

use crate::git_settings::GitSettings;
use crate::source::{Source, text_path};
use crate::{ONLY_WORKER, cache, own_git_name, room_name};

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
    /// For the loop's own git over the copy: like that for checks, but the loop's git folder may be
    /// written, and git has no settings but those there.
    pub(crate) git: Door,
    /// For programs that this git runs on files: like that for checks.
    pub(crate) filters: Door,
    /// The folder to which hooks of the attempt write.
    pub state: Utf8PathBuf,
    /// What each step of the attempt may use.
    pub limits: Limits,
    /// The temporary folder of the attempt.
    tmp: Utf8PathBuf,
    /// The file that names the project of the copies, and what it says.
    record: (Utf8PathBuf, Utf8PathBuf),
    /// Folders that the client needs and cannot make inside.
    plugins: Vec<Utf8PathBuf>,
    /// The parts that policies are made from; `None` without a sandbox.
    basis: Option<Basis>,
    policies: Vec<Policy>,
}

/// What all sandbox policies of an attempt have in common.
#[derive(Debug, Clone)]
struct Basis {
    home: Utf8PathBuf,
    copy: Utf8PathBuf,
    starts: Vec<Utf8PathBuf>,
    tmp: Utf8PathBuf,
    state: Utf8PathBuf,
    read_only: Vec<Utf8PathBuf>,
    settings: Settings,
    found: Found,
    env: BTreeMap<String, String>,
}

/// The attempt for which doors are made.
pub(crate) struct Attempt<'a> {
    pub(crate) env: &'a Env,
    pub(crate) config: &'a Config,
    pub(crate) source: &'a Source,
    /// The project's git settings.
    pub(crate) git: &'a GitSettings,
    /// The folder of the copies.
    pub(crate) cache: &'a Utf8Path,
    pub(crate) worker: &'a str,
    /// The top of the copy, or of the project in place.
    pub(crate) top: &'a Utf8Path,
}

/// Substrings of messages by which programs report a denied access.
const SAYS_REFUSED: [&str; 5] =
    ["ermission denied", "EACCES", "EPERM", "not permitted", "Read-only"];

/// The places in the list of policies of those for checks and for the loop's own git.
const CHECKS: usize = 1;
const GIT: usize = 4;

/// Folders that no check should write to.
const SYSTEM: [&str; 6] = ["/usr", "/etc", "/bin", "/sbin", "/lib", "/boot"];

/// Describes the sandbox of a run in a few words: whether it is on, or why not.
pub fn in_words(config: &Config) -> String {
    let support = sandbox::support();
    match sandbox_of(config) {
        Ok(Some(found)) if found.missing.is_empty() => format!("on ({})", found.in_words()),
        Ok(Some(found)) => {
            let missing = found.missing.join(", ");
            format!("on ({}, which cannot restrict {missing})", found.in_words())
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
    let known = names.clone().find(|name| sandbox::is_agent(name));
    known.or_else(|| names.next()).map(str::to_owned)
}

/// Returns what the programs that are started need, and what git's settings say.
fn found(attempt: &Attempt<'_>, home: &Utf8Path) -> Found {
    let Attempt { env, config, source, git, top, .. } = *attempt;
    let mut shown = sandbox::programs(home, &env.get("PATH").unwrap_or_default());
    let own = own_program().ok().and_then(|own| Utf8PathBuf::from_path_buf(own).ok());
    shown.extend(own.as_deref().and_then(Utf8Path::parent).map(Utf8Path::to_owned));
    let lines = [&config.agent.command, &command_line(config)];
    let words = lines.into_iter().flat_map(|line| line.split_whitespace()).map(Utf8Path::new);
    shown.extend(words.filter(|word| word.is_absolute()).map(Utf8Path::to_owned));
    shown.extend(git.paths(home));
    // In place, git needs the settings of the project.
    let judged = if top == source.top { Vec::new() } else { git.files(source, home) };
    let [git_settings, git_credentials] = git.of_user();
    Found { shown, judged, git_settings, git_credentials }
}

/// Returns a path without links, as far as it exists.
fn real(path: Utf8PathBuf) -> Utf8PathBuf {
    let there = cache::existing(&path);
    let rest = path.strip_prefix(there).unwrap_or(Utf8Path::new(""));
    let found = there.canonicalize_utf8().unwrap_or_else(|_| there.to_owned());
    found.components().chain(rest.components()).collect()
}

/// Returns a path that no other user has taken: in the folder of temporary files anybody can take any.
fn free_name(path: &Utf8Path) -> Utf8PathBuf {
    let others = (0..100).map(|count| format!("{path}-{}{count}", std::process::id()).into());
    let is_free =
        |path: &Utf8PathBuf| path.symlink_metadata().map_or(true, |found| cache::is_ours(&found));
    std::iter::once(path.to_owned()).chain(others).find(is_free).unwrap_or_else(|| path.to_owned())
}

impl Basis {
    fn policy(&self, agent: Option<&str>, is_setup: bool) -> Policy {
        let Self { home, copy, starts, tmp, state, read_only, settings, found, env } = self;
        Policy::new(&Request {
            home,
            copy,
            starts,
            tmp,
            state,
            read_only,
            agent,
            is_setup,
            found,
            settings,
            env,
        })
    }
}

impl Doors {
    /// Returns the doors of an attempt, without creating any folder.
    pub(crate) fn of(attempt: &Attempt<'_>) -> Result<Self, Failure> {
        let config = attempt.config;
        let agents = [&config.agent.command, &command_line(config)].map(|line| agent_of(line));
        let [agent, reviewer] = agents.each_ref().map(Option::as_deref);
        let whom = [(agent, false), (None, false), (None, true), (reviewer, false), (None, false)];
        let mut doors = Self::for_whom(attempt, &whom)?;
        if let Some(policy) = doors.policies.get_mut(GIT) {
            let Attempt { cache, worker, source, .. } = attempt;
            policy.write.extend([own_git_name(worker), room_name(worker)].map(|it| cache.join(it)));
            // Git's extension for large files writes there.
            policy.write.extend(text_path(&source.shared.join("lfs")).map(Utf8Path::to_owned));
            policy.git_settings.clear();
        }
        let own = own_program()?;
        let made = |n: usize| sandbox::door(&own, doors.policies.get(n), doors.limits);
        let [agent, checks, setup, reviewer, git] = [0, CHECKS, 2, 3, GIT].map(made);
        let git = if doors.are_sandboxed() { git } else { Door::default() };
        let filters = doors.policies.get(CHECKS).map(|policy| sandbox::inner_door(&own, policy));
        let filters = filters.unwrap_or_default();
        Ok(Self { agent, checks, setup, reviewer, git, filters, ..doors })
    }

    /// Creates the folders, and looks up what can be read now, for the doors that are used often.
    pub fn open(&mut self) -> Result<(), Failure> {
        self.create_folders()?;
        let [_, checks, _, _, git] = &*self.policies else { return Ok(()) };
        let checks = checks.looked_up();
        let git =
            Policy { write: git.write.clone(), git_settings: String::new(), ..checks.clone() };
        let own = own_program()?;
        self.checks = sandbox::door(&own, Some(&checks), self.limits);
        self.git = sandbox::door(&own, Some(&git), self.limits);
        Ok(())
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
        let Attempt { env, config, source, cache, worker, top, .. } = *attempt;
        // Nothing below a folder of this name is accessed through links.
        let state = cache.join(format!("state-{worker}")).join(PROJECT_MARKER);
        let record = (cache::record(env, cache).unwrap_or_default(), source.top.clone());
        let limits = Limits { processes: config.limits.processes, memory: config.limits.memory };
        if sandbox_of(config)?.is_none() {
            return Ok(Self { state, limits, record, ..Self::default() });
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
        let home = env.home().unwrap_or_default();
        let mut basis = Basis {
            found: found(attempt, &home),
            home,
            copy: top.to_owned(),
            starts: [top.join(&source.inside), cache.join(room_name(worker))].map(real).into(),
            tmp: free_name(&env.temp_dir().join(name)),
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
        let plugins = data_folders(env);
        let basis = Some(basis);
        Ok(Self { state, limits, tmp, record, plugins, policies, basis, ..Self::default() })
    }

    /// Returns the policy for a command that the user tries; `None` without a sandbox. Creates its
    /// folders.
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
        let git = &GitSettings::read(&Git::at(top.as_std_path()))?;
        let attempt = Attempt { env, config, source: &source, git, cache, worker, top: &copy };
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
            let is_closed = || !is_in(path, &checks.write) && is_mine();
            !is_in(path, &checks.withheld) && (checks.hides(path).is_some() || is_closed())
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
            refused.iter().cloned().partition(|path| {
                path.exists() && checks.hides(path).is_some() && !is_in(path, &closed)
            });
        let hidden = hidden.iter().filter_map(|path| checks.hides(path)).collect();
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

    /// Returns the removed variables that an output names.
    pub fn removed(&self, output: &str) -> Vec<&str> {
        let removed = self.policies.get(CHECKS).into_iter().flat_map(|policy| &policy.remove);
        let is_other = |c: char| !c.is_alphanumeric() && c != '_';
        let words: BTreeSet<&str> = output.split(is_other).collect();
        removed.map(String::as_str).filter(|name| words.contains(name)).collect()
    }

    /// Returns what is in the home folder under hidden names, if there is a sandbox: what checks may
    /// read of it, and what not.
    pub fn dot_files(&self) -> Option<(Vec<Utf8PathBuf>, Vec<Utf8PathBuf>)> {
        let (basis, checks) = (self.basis.as_ref()?, self.policies.get(CHECKS)?);
        let entries = basis.home.read_dir_utf8().into_iter().flatten().flatten();
        let mut named: Vec<_> = entries.map(|entry| entry.into_path()).collect();
        named.retain(|path| path.file_name().is_some_and(|name| name.starts_with('.')));
        named.sort();
        Some(named.into_iter().partition(|path| checks.hides(path).is_none()))
    }

    /// Returns what checks may write, if there is a sandbox.
    pub(crate) fn writable(&self) -> impl Iterator<Item = &Utf8Path> {
        let checks = self.policies.get(CHECKS).into_iter().flat_map(|policy| &policy.write);
        checks.map(Utf8PathBuf::as_path)
    }

    /// Returns the user's home folder, if there is a sandbox.
    pub(crate) fn home(&self) -> Option<&Utf8Path> {
        self.basis.as_ref().map(|basis| basis.home.as_path())
    }

    /// Returns the folder of all copies of the project, where only the loop writes.
    pub(crate) fn copies(&self) -> &Utf8Path {
        self.state.ancestors().nth(2).unwrap_or(&self.state)
    }

    /// Whether there is a sandbox.
    pub fn are_sandboxed(&self) -> bool {
        !self.policies.is_empty()
    }

    /// Creates the folders that may be written: rules only apply to existing folders.
    pub fn create_folders(&self) -> Result<(), Failure> {
        // The folder of all copies is closed to others, with everything in it.
        cache::make_private(self.copies())?;
        fs_err::create_dir_all(&self.state)?;
        let (record, top) = &self.record;
        if let Some(records) = record.parent() {
            cache::make_private(records)?;
            if state::read_text(record).ok().as_deref() != Some(top.as_str()) {
                state::replace(record, top.as_str().as_bytes())?;
            }
            state::make_private(record)?;
        }
        if !self.are_sandboxed() {
            return Ok(());
        }
        cache::make_private(&self.tmp)?;
        sandbox::create_folders(&self.policies);
        for folder in &self.plugins {
            // The client reports a missing one better than we could.
            let _ = fs_err::create_dir_all(folder);
        }
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
