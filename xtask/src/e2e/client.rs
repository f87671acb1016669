//! The real agents, from the npm registry, in a cache under `target/`.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};
use camino::{Utf8Path, Utf8PathBuf};
use serde::Deserialize;

use super::npm;
use crate::run;

/// The agent that has its own scenarios.
pub(super) const CLAUDE: &str = "claude";

/// The properties of an agent; `xtask/agents.toml` explains the fields.
#[derive(Deserialize, Clone)]
#[serde(deny_unknown_fields)]
pub(super) struct Row {
    package: String,
    pub(super) version: String,
    #[serde(default)]
    also: Vec<String>,
    #[serde(default)]
    program: Vec<String>,
    #[serde(default)]
    pub(super) impossible: BTreeMap<String, String>,
}

/// An agent that is ready to run.
pub(super) struct Client {
    pub(super) name: String,
    pub(super) version: String,
    /// The program and its first arguments.
    pub(super) command: Vec<String>,
    pub(super) row: Row,
}

/// Reads all agents.
pub(super) fn rows() -> Result<BTreeMap<String, Row>> {
    Ok(toml::from_str(&fs_err::read_to_string(run::root().join("xtask/agents.toml"))?)?)
}

/// Returns the agent in this version, downloading it unless it is in the cache.
pub(super) fn install(name: &str, version: Option<&str>) -> Result<Client> {
    let row = rows()?.remove(name).with_context(|| format!("agents.toml does not know {name}"))?;
    let version = version.unwrap_or(&row.version).to_owned();
    let mut packages = vec![format!("{}@{version}", row.package)];
    packages.extend(row.also.iter().cloned());
    let modules =
        npm::packages(&format!("agent-{name}-{version}"), &packages)?.join("node_modules");
    let command = if row.program.is_empty() {
        claude(&modules)?
    } else {
        row.program.iter().map(|word| word.replace("{MODULES}", modules.as_str())).collect()
    };
    Ok(Client { name: name.to_owned(), version, command, row })
}

/// Returns the command of Claude Code: newer packages contain a native program in a package of its
/// own, older ones run on node.
fn claude(modules: &Utf8Path) -> Result<Vec<String>> {
    let scope = modules.join("@anthropic-ai");
    for entry in fs_err::read_dir(&scope)? {
        let native = Utf8PathBuf::try_from(entry?.path())?.join("claude");
        // With a different C library, its package exists too, but does not run.
        if native.is_file() && run::output(run::command(native.as_str()).arg("--version")).is_ok() {
            return Ok(vec![native.into_string()]);
        }
    }
    let script = scope.join("claude-code/cli.js");
    if script.is_file() {
        return Ok(vec!["node".to_owned(), script.into_string()]);
    }
    bail!("{modules} holds no client that runs here; remove that folder to fetch it again")
}
