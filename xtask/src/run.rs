//! Runs programs from the root of the workspace, and fails if they fail.

use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use camino::{Utf8Path, Utf8PathBuf};

/// Returns the root of the workspace.
pub(crate) fn root() -> Utf8PathBuf {
    let here = Utf8Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_owned()
}

/// Runs cargo with these arguments, separated by spaces.
pub(crate) fn cargo(words: &str) -> Result<()> {
    run(command("cargo").args(words.split(' ')))
}

/// Builds the programs for tests and returns their folder.
pub(crate) fn built() -> Result<Utf8PathBuf> {
    cargo("build --quiet --package ralph-hooks --package ralph-loop")?;
    Ok(root().join("target/debug"))
}

/// Returns a command that runs in the root of the workspace.
pub(crate) fn command(program: &str) -> Command {
    let mut command = Command::new(program);
    command.current_dir(root());
    command
}

/// Runs a program with its output shown, and prints how long it took.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let shown = format!("{command:?}");
    println!("$ {shown}");
    let started = Instant::now();
    let status = command.status().with_context(|| format!("could not start {shown}"))?;
    if !status.success() {
        bail!("{shown} failed: {status}");
    }
    println!("{} s", started.elapsed().as_secs());
    Ok(())
}

/// Runs a program and returns its standard output.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let shown = format!("{command:?}");
    let output = command.output().with_context(|| format!("could not start {shown}"))?;
    if !output.status.success() {
        bail!("{shown} failed: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(String::from_utf8(output.stdout)?)
}
