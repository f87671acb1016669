//! The real client, from the npm registry, in a cache under `target/`.

use anyhow::{Context, Result, bail};
use camino::{Utf8Path, Utf8PathBuf};
use ralph_project::install::ClientVersion;

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
    let cache = run::root().join("target/e2e");
    let folder = cache.join(format!("client-{version}"));
    if !folder.exists() {
        fetch(version, &cache, &folder)?;
    }
    let command = program(&folder)?;
    Ok(Client { version, command })
}

/// Fetches into a folder beside the final one, so that an interrupted download leaves nothing that
/// looks complete.
fn fetch(version: ClientVersion, cache: &Utf8Path, folder: &Utf8Path) -> Result<()> {
    let npm = run::output(run::command("npm").arg("--version"));
    if npm.is_err() {
        bail!(
            "npm is missing: the real client comes from the npm registry; install node and npm \
             (for instance `apt-get install nodejs npm`) and run this again"
        );
    }
    let part = cache.join(format!("part-{version}"));
    if part.exists() {
        fs_err::remove_dir_all(&part)?;
    }
    fs_err::create_dir_all(&part)?;
    // The package's scripts only move files about; nothing of a download needs to run here.
    let mut install = run::command("npm");
    install.args(["install", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel", "error"]);
    install.args(["--prefix", part.as_str(), &format!("{PACKAGE}@{version}")]);
    run::run(&mut install)
        .with_context(|| format!("could not fetch the client {version} from the npm registry"))?;
    fs_err::rename(&part, folder)?;
    Ok(())
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
