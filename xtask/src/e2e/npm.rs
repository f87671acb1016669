//! Packages from the npm registry, in a cache under `target/`.

use anyhow::{Context, Result, bail};
use camino::Utf8PathBuf;

use crate::run;

/// Whether npm is installed.
pub(crate) fn is_installed() -> bool {
    run::output(run::command("npm").arg("--version")).is_ok()
}

/// Returns the folder with these packages, downloading them unless they are in the cache.
pub(crate) fn packages(name: &str, packages: &[String]) -> Result<Utf8PathBuf> {
    let cache = run::root().join("target/e2e");
    let folder = cache.join(name);
    if folder.exists() {
        return Ok(folder);
    }
    if !is_installed() {
        bail!(
            "npm is missing: {name} comes from the npm registry; install node and npm (for \
             instance `apt-get install nodejs npm`) and run this again"
        );
    }
    // Beside the final folder, so that an interrupted download never looks complete.
    let part = cache.join(format!("part-{name}"));
    if part.exists() {
        fs_err::remove_dir_all(&part)?;
    }
    fs_err::create_dir_all(&part)?;
    // The packages' scripts only move files; nothing of a download needs to run here.
    let mut install = run::command("npm");
    install.args(["install", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel", "error"]);
    install.args(["--prefix", part.as_str()]).args(packages);
    run::run(&mut install).with_context(|| format!("could not fetch {name} from npm"))?;
    fs_err::rename(&part, &folder)?;
    Ok(folder)
}
