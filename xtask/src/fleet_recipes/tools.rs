//! What a recipe needs on this machine: installed where we may, named where we may not.

use anyhow::{Context, Result};
use camino::{Utf8Path, Utf8PathBuf};
use nix::unistd::geteuid;

use crate::run;

/// A program, and the Debian package that has it.
pub(super) type Tool = (&'static str, &'static str);

/// Where programs are, those of a system's own services too.
pub(super) const PATH: &str = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin";

/// Sees to it that these are there; says what is lacking.
pub(super) fn provide(tools: &[Tool]) -> Option<String> {
    let missing = missing(tools);
    if !missing.is_empty() && geteuid().is_root() {
        let mut install = run::command("apt-get");
        install.args(["install", "--yes", "--quiet", "--no-install-recommends"]);
        // What fails is seen by what is missing afterwards.
        let _ = run::run(install.args(&missing).env("DEBIAN_FRONTEND", "noninteractive"));
    }
    let missing = self::missing(tools);
    (!missing.is_empty()).then(|| format!("it needs `apt-get install {}`", missing.join(" ")))
}

fn missing(tools: &[Tool]) -> Vec<&'static str> {
    let folders = format!("{}:{PATH}", std::env::var("PATH").unwrap_or_default());
    let is_there =
        |program: &str| folders.split(':').any(|dir| Utf8Path::new(dir).join(program).exists());
    tools.iter().filter(|(program, _)| !is_there(program)).map(|(_, package)| *package).collect()
}

/// A folder with programs of a package from the Python index, fetched unless it is there.
pub(super) fn from_python_index(package: &str) -> Result<Utf8PathBuf> {
    let folder = run::root().join("target/e2e").join(package);
    if !folder.join("done").exists() {
        run::run(run::command("python3").args(["-m", "venv", folder.as_str()]))
            .context("`apt-get install python3-venv` may be missing")?;
        run::run(
            run::command(folder.join("bin/pip").as_str()).args(["install", "--quiet", package]),
        )?;
        fs_err::write(folder.join("done"), "")?;
    }
    Ok(folder.join("bin"))
}
