//! The real client, from the npm registry, in a cache under `target/`.

use anyhow::{Result, bail};
use camino::{Utf8Path, Utf8PathBuf};
use ralph_project::install::ClientVersion;

use super::npm;
use crate::run;

const PACKAGE: &str = "@anthropic-ai/claude-code";

/// A client that is ready to run.
pub(super) struct Client {
    pub(super) version: ClientVersion,
    /// The program and its first arguments.
    pub(super) command: Vec<String>,
}

/// The client of this version, fetched unless it is in the cache.
pub(super) fn install(version: &str) -> Result<Client> {
    let version: ClientVersion = version.parse()?;
    let package = [format!("{PACKAGE}@{version}")];
    let folder = npm::packages(&format!("client-{version}"), &package)?;
    let command = program(&folder)?;
    Ok(Client { version, command })
}

/// Newer packages bring a native program in a package of its own, older ones run on node.
fn program(folder: &Utf8Path) -> Result<Vec<String>> {
    let scope = folder.join("node_modules/@anthropic-ai");
    for entry in fs_err::read_dir(&scope)? {
        let native = Utf8PathBuf::try_from(entry?.path())?.join("claude");
        // Where the C library is another one, its package is there, too, but does not run.
        if native.is_file() && run::output(run::command(native.as_str()).arg("--version")).is_ok() {
            return Ok(vec![native.into_string()]);
        }
    }
    let script = scope.join("claude-code/cli.js");
    if script.is_file() {
        return Ok(vec!["node".to_owned(), script.into_string()]);
    }
    bail!("{folder} holds no client that runs here; remove that folder to fetch it again")
}
