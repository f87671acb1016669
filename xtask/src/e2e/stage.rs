//! A scratch project with the hooks installed, in which scenarios are played.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::process::Command;

use anyhow::{Result, ensure};
use camino::{Utf8Path, Utf8PathBuf};
use ralph_base::state::StateDir;
use scripted_model::Reach;
use test_support::TestRepo;

use super::client::{CLAUDE, Client};
use super::npm;
use super::scenario::Scenario;
use crate::run;

/// The session id of a scenario, fixed so that its state can be prepared in advance.
pub(super) const SESSION: &str = "11111111-2222-4333-8444-555555555555";

/// An address on loopback on which no server listens.
const NOBODY: &str = "http://127.0.0.1:9";

/// Functions that the scripts of scenarios may call.
const PRELUDE: &str = include_str!("../../e2e/prelude.sh");

/// An expectation that was not met: the scenario is red.
#[derive(Debug)]
pub(super) struct Unmet(pub(super) String);

/// A missing feature of the client that the scenario needs: the scenario proves nothing.
#[derive(Debug)]
pub(super) struct Lacking(pub(super) String);

impl fmt::Display for Unmet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for Lacking {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Unmet {}
impl std::error::Error for Lacking {}

/// A scratch project and the client that runs in it.
pub(super) struct Stage<'a> {
    pub(super) name: &'a str,
    pub(super) client: &'a Client,
    pub(super) binaries: &'a Utf8Path,
    pub(super) repo: TestRepo,
    /// The number of sessions so far.
    pub(super) sessions: usize,
}

impl<'a> Stage<'a> {
    /// Creates a repository with `.ralph/`, and with the hooks for Claude Code: other agents get
    /// theirs from the loop. Binaries built for debugging are large, so git ignores them.
    pub(super) fn new(name: &'a str, client: &'a Client, binaries: &'a Utf8Path) -> Result<Self> {
        let repo = if client.name == CLAUDE {
            TestRepo::on_disk()
        } else {
            TestRepo::below(run::root().join("target/e2e").as_std_path())
        };
        repo.write(".gitignore", "*.log\n/.claude/hooks/\n");
        StateDir::of_project(repo.root()).prepare()?;
        let stage = Self { name, client, binaries, repo, sessions: 0 };
        let words: Vec<String> = client.command.iter().map(|part| format!("'{part}'")).collect();
        let script = format!("#!/bin/sh\nexec {} \"$@\"\n", words.join(" "));
        stage.repo.scratch().script(&format!("tools/{}", client.name), &script);
        if client.name == CLAUDE {
            stage.script("ralph-loop install --client-version $VERSION\ncommit 'the hooks'")?;
        }
        Ok(stage)
    }

    /// Prepares the project for a scenario.
    pub(super) fn set_up(&self, scenario: &Scenario) -> Result<()> {
        if !scenario.npm.is_empty() {
            let packages = npm::packages(&scenario.name, &scenario.npm)?;
            fs_err::os::unix::fs::symlink(packages, self.npm())?;
        }
        self.script(&scenario.setup)?;
        for (text, name) in
            [(&scenario.plan, ".ralph/PRD-1/plan.md"), (&scenario.config, ".ralph/config.toml")]
        {
            if let Some(text) = text {
                self.repo.write(name, self.fill(text));
            }
        }
        if scenario.plan.is_some() || scenario.config.is_some() {
            self.script("commit 'the plan'")?;
        }
        Ok(())
    }

    /// Runs a shell script in the project; if it fails, the scenario is red.
    pub(super) fn script(&self, script: &str) -> Result<()> {
        let mut shell = run::command("sh");
        shell.args(["-c", &format!("{PRELUDE}\nset -eux\n{script}")]);
        let tools = self.repo.scratch().path("tools");
        shell.env("PATH", format!("{tools}:{}:{}", self.binaries, system_path()));
        self.surround(&mut shell, NOBODY);
        let output = shell.output()?;
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8_lossy(&said).into_owned();
        let last: Vec<&str> = said.lines().rev().take(8).collect();
        let last: Vec<&str> = last.into_iter().rev().collect();
        ensure!(output.status.success(), Unmet(format!("failed:\n{}", last.join("\n"))));
        Ok(())
    }

    /// Returns the names that scenarios use, as variables in scripts and in braces elsewhere.
    fn names(&self) -> [(&'static str, String); 13] {
        let scratch = self.repo.scratch();
        let xtask = std::env::current_exe().unwrap_or_default();
        [
            ("ROOT", self.repo.root().to_string()),
            ("SCRATCH", scratch.root().to_string()),
            ("COPY", self.copy().to_string()),
            ("LOGS", self.logs().to_string()),
            ("BINARIES", self.binaries.to_string()),
            ("SOURCES", run::root().to_string()),
            ("NPM", self.npm().to_string()),
            ("XTASK", xtask.to_string_lossy().into_owned()),
            ("SYSTEM_PATH", system_path()),
            ("SESSION", SESSION.to_owned()),
            ("VERSION", self.client.version.clone()),
            ("AGENT", self.client.name.clone()),
            ("SETTINGS", self.reach("").settings.into_keys().collect::<Vec<_>>().join(" ")),
        ]
    }

    /// Replaces the names in braces in a text.
    pub(super) fn fill(&self, text: &str) -> String {
        let replaced = |text: String, (name, value): (&str, String)| {
            text.replace(&format!("{{{name}}}"), &value)
        };
        self.names().into_iter().fold(text.to_owned(), replaced)
    }

    /// Returns the agent's copy: `<cache>/ralph/<name>-<lower half of the path's FNV-1a>/1`.
    fn copy(&self) -> Utf8PathBuf {
        let root = self.repo.root();
        let hash = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        let hash = root.as_str().bytes().fold(0xcbf2_9ce4_8422_2325, hash) as u32;
        let name = root.file_name().unwrap_or_default();
        self.home().join(".cache/ralph").join(format!("{name}-{hash:08x}/1"))
    }

    /// Returns the path of the client, under its usual name.
    pub(super) fn claude(&self) -> Utf8PathBuf {
        self.repo.scratch().path("tools/claude")
    }

    fn npm(&self) -> Utf8PathBuf {
        self.repo.scratch().path("npm")
    }

    pub(super) fn home(&self) -> Utf8PathBuf {
        self.repo.scratch().path("home")
    }

    /// Returns the folder with the requests of the last session.
    pub(super) fn logs(&self) -> Utf8PathBuf {
        let Client { name, version, .. } = self.client;
        let name = format!("{name}-{version}-{}-{}", self.name, self.sessions);
        run::root().join("target/e2e/logs").join(name)
    }

    /// Sets the environment of a machine without any settings, except for the model's address and
    /// the variables that the command itself sets.
    pub(super) fn surround(&self, command: &mut Command, base_url: &str) {
        let own: Vec<(OsString, OsString)> = command
            .get_envs()
            .filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned())))
            .collect();
        command.current_dir(self.repo.root()).env_clear().envs(self.repo.isolation());
        command.env("PATH", format!("{}:{}", self.repo.scratch().path("tools"), system_path()));
        command.envs(self.names());
        command.envs(self.reach(base_url).env);
        command.envs(own);
    }

    /// Writes the user's settings for this agent.
    pub(super) fn write_settings(&self, base_url: &str) -> Result<()> {
        for (name, text) in self.reach(base_url).settings {
            let path = self.home().join(name);
            fs_err::create_dir_all(path.parent().unwrap_or(&path))?;
            fs_err::write(path, text)?;
        }
        Ok(())
    }

    /// Reads the user's settings.
    pub(super) fn settings(&self) -> BTreeMap<String, Option<Vec<u8>>> {
        let read = |name: String| (name.clone(), fs_err::read(self.home().join(name)).ok());
        self.reach("").settings.into_keys().map(read).collect()
    }

    /// Returns what leads the client to the model.
    pub(super) fn reach(&self, base_url: &str) -> Reach {
        Reach::find(&self.client.name, base_url).unwrap_or_default()
    }
}

/// Returns the `PATH` of the system's own programs, including node.
fn system_path() -> String {
    std::env::var("PATH").unwrap_or_default()
}
