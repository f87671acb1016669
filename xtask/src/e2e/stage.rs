//! A scratch project with the hooks installed, and what can be seen of it afterwards.

use anyhow::Result;
use camino::{Utf8Path, Utf8PathBuf};
use ralph_base::state::{Id, SessionDir, StateDir};
use ralph_project::install::{Place, plan_install};
use serde_json::Value;
use test_support::TestRepo;

use super::client::Client;

/// A hook that reads its input and says nothing.
pub(super) const DOES_NOTHING: &str = "cat > /dev/null";

/// The session of a scenario: its state can be prepared before it begins.
pub(super) const SESSION: &str = "11111111-2222-4333-8444-555555555555";

/// A scratch project and the client that runs in it.
pub(super) struct Stage<'a> {
    pub(super) name: &'static str,
    pub(super) client: &'a Client,
    pub(super) binaries: &'a Utf8Path,
    pub(super) repo: TestRepo,
    pub(super) state: StateDir,
    /// How many sessions ran so far.
    pub(super) sessions: usize,
}

impl<'a> Stage<'a> {
    /// A repository with two commits, `.ralph/` and the hooks installed. Binaries built for
    /// debugging are large, so git is told to pass them over.
    pub(super) fn new(
        name: &'static str,
        client: &'a Client,
        binaries: &'a Utf8PathBuf,
    ) -> Result<Self> {
        let repo = TestRepo::on_disk();
        repo.write(".gitignore", "*.log\n/.claude/hooks/\n");
        let state = StateDir::of_project(repo.root());
        state.prepare()?;
        let stage = Self { name, client, binaries, repo, state, sessions: 0 };
        stage.install(&stage.place(), false)?;
        stage.repo.commit_all("the hooks");
        Ok(stage)
    }

    /// The project.
    pub(super) fn root(&self) -> &Utf8Path {
        self.repo.root()
    }

    /// The project's shared settings.
    pub(super) fn place(&self) -> Place {
        Place::project(self.root())
    }

    /// Installs the hooks as a user would.
    pub(super) fn install(&self, place: &Place, strict: bool) -> Result<()> {
        Ok(plan_install(place, self.binaries, self.client.version, strict)?.apply()?)
    }

    /// Puts a shell script in place of an installed hook.
    pub(super) fn stand_in(&self, hook: &str, script: &str) -> Result<()> {
        let name = format!(".claude/hooks/{hook}");
        // The binary must go first: writing through it would fail while it runs.
        fs_err::remove_file(self.root().join(&name))?;
        self.repo.write(&name, format!("#!/bin/sh\n{script}\n"));
        self.repo.chmod(&name, 0o755);
        self.repo.commit_all("a stand-in");
        Ok(())
    }

    /// Our state of the scenario's session.
    pub(super) fn session_state(&self) -> Result<SessionDir> {
        Ok(self.state.session(&Id::parse(SESSION)?))
    }

    /// The project's configuration.
    pub(super) fn configure(&self, text: &str) -> Result<()> {
        Ok(fs_err::write(self.state.config(), text)?)
    }

    /// The absolute path of a file, as tools are given it.
    pub(super) fn path(&self, name: &str) -> String {
        self.root().join(name).into_string()
    }

    /// The text of a file; empty if there is none.
    pub(super) fn read(&self, name: &str) -> String {
        fs_err::read_to_string(self.root().join(name)).unwrap_or_default()
    }

    /// The journal's lines with this event.
    pub(super) fn journal(&self, event: &str) -> Vec<Value> {
        let text = fs_err::read_to_string(self.state.journal()).unwrap_or_default();
        let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        lines.filter(|line| line.get("event").and_then(Value::as_str) == Some(event)).collect()
    }
}
