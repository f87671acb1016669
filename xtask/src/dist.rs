//! The five release binaries, statically linked: a hook that needs no dynamic loader starts sooner
//! and runs wherever it is copied.

use std::process::Command;

use anyhow::{Context, Result};
use camino::Utf8PathBuf;

use crate::run;

/// What people copy.
pub(crate) const BINARIES: [&str; 5] =
    ["ralph-loop", "ralph-pre-tool", "ralph-post-tool", "ralph-on-stop", "ralph-pre-prompt"];

/// No dynamic loader, and addresses that are fixed when linking: a program that can be loaded
/// anywhere first has to correct thousands of pointers in its tables, page by page.
const FLAGS: &str = "-C target-feature=+crt-static -C relocation-model=static";

/// Builds them for this machine and returns the folder that holds them.
pub(crate) fn run() -> Result<Utf8PathBuf> {
    let release = build(&host()?)?;
    let dist = run::root().join("target/dist");
    fs_err::create_dir_all(&dist)?;
    for name in BINARIES {
        let built = release.join(name);
        // A running binary cannot be overwritten, but it can be replaced.
        let fresh = dist.join(format!("{name}.new"));
        fs_err::copy(&built, &fresh)?;
        fs_err::rename(&fresh, dist.join(name))?;
        println!("{}", dist.join(name));
    }
    Ok(dist)
}

/// Builds them for a machine and returns the folder where cargo puts them.
pub(crate) fn build(target: &str) -> Result<Utf8PathBuf> {
    let mut build = cargo("build", target);
    build.args(["--package", "ralph-hooks", "--package", "ralph-loop", "--bins"]);
    run::run(&mut build)?;
    Ok(run::root().join("target").join(target).join("release"))
}

/// Runs one of our own tasks as the released binaries are built, to measure what people get.
pub(crate) fn run_task(task: &[&str]) -> Result<()> {
    let mut command = cargo("run", &host()?);
    run::run(command.args(["--quiet", "--package", "xtask", "--"]).args(task))
}

/// Builds examples of a package in the same way and returns the folder that holds them.
pub(crate) fn build_examples(package: &str, names: &[&str]) -> Result<Utf8PathBuf> {
    let host = host()?;
    let mut build = cargo("build", &host);
    build.args(["--quiet", "--package", package]);
    run::run(build.args(names.iter().flat_map(|name| ["--example", name])))?;
    Ok(run::root().join("target").join(&host).join("release/examples"))
}

/// Cargo with the flags of the released binaries.
fn cargo(what: &str, target: &str) -> Command {
    let mut command = run::command("cargo");
    // The target is named although it is the host: otherwise the flag would also hold for derive
    // macros, which are dynamic libraries and cannot be linked that way.
    command.args([what, "--release", "--target", target]);
    let mut flags = Vec::new();
    if target.contains("linux") {
        flags.push(FLAGS.to_owned());
    }
    if target.contains("musl") {
        // Part of the compiler, as the libraries are: no other tools, also for another processor.
        flags.push("-C linker=rust-lld".to_owned());
        // Where the sources lie is nobody's business, and would make other bytes.
        flags.push(format!("--remap-path-prefix={}=/ralph", run::root()));
        flags.push(format!("--remap-path-prefix={}=/cargo", cargo_home()));
    }
    command.env("RUSTFLAGS", flags.join(" "));
    command
}

/// Where cargo keeps the sources of packages.
pub(crate) fn cargo_home() -> Utf8PathBuf {
    let home = std::env::var("HOME").unwrap_or_default();
    std::env::var("CARGO_HOME").map_or_else(|_| Utf8PathBuf::from(home).join(".cargo"), Into::into)
}

fn host() -> Result<String> {
    let version = run::output(run::command("rustc").arg("-vV"))?;
    let line = version.lines().find_map(|line| line.strip_prefix("host: "));
    line.map(str::to_owned).context("rustc does not say which machine this is")
}
