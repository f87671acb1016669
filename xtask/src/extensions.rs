//! `cargo xtask extensions`: removes each extension of [`EXTENSIONS`] in a copy of the tree, one at a time. The rest
//! must compile without a warning.

use std::process::Output;

use anyhow::{Context, Result, ensure};
use camino::{Utf8Path, Utf8PathBuf};
use clap::Args;

use crate::run;
use crate::tidy::extensions::{EXTENSIONS, Extension};

/// Which extensions are removed.
#[derive(Debug, Args)]
pub(crate) struct Extensions {
    /// Only this one, by its file or folder.
    #[arg(long, value_name = "PATH")]
    only: Option<String>,
}

/// Runs the task; failures are listed at the end, so that one does not hide another.
pub(crate) fn run(wanted: &Extensions) -> Result<()> {
    let tree = run::root().join("target/extensions/tree");
    copy_tree(&tree)?;
    let whole = check(&tree)?;
    ensure!(is_clean(&whole), "the whole tree: {}", said(&whole));
    let is_wanted = |one: &&Extension| wanted.only.as_ref().is_none_or(|only| one.path == only);
    let mut failed = Vec::new();
    let mut tried = 0;
    for extension in EXTENSIONS.iter().filter(is_wanted) {
        let changed = remove(&tree, extension).with_context(|| extension.path)?;
        let output = check(&tree)?;
        let verdict = if is_clean(&output) { "can be deleted" } else { "CANNOT be deleted" };
        println!("{}: {verdict}", extension.path);
        if !is_clean(&output) {
            failed.push(format!("{}:\n{}", extension.path, said(&output)));
        }
        put_back(&tree, extension, &changed)?;
        tried += 1;
    }
    ensure!(tried > 0, "there is no such extension");
    ensure!(failed.is_empty(), "{}", failed.join("\n"));
    println!("{tried} extensions can be deleted");
    Ok(())
}

/// The files of the tree, without what earlier copies had besides.
fn copy_tree(tree: &Utf8Path) -> Result<()> {
    if tree.exists() {
        fs_err::remove_dir_all(tree)?;
    }
    let list = ["ls-files", "--cached", "--others", "--exclude-standard"];
    for name in run::output(run::command("git").args(list))?.lines() {
        let from = run::root().join(name);
        if from.is_file() {
            copy(&from, &tree.join(name))?;
        }
    }
    Ok(())
}

fn copy(from: &Utf8Path, to: &Utf8Path) -> Result<()> {
    fs_err::create_dir_all(to.parent().context("a file is in a folder")?)?;
    fs_err::copy(from, to)?;
    Ok(())
}

/// Checks the programs with one target folder for all copies.
fn check(tree: &Utf8Path) -> Result<Output> {
    let mut cargo = run::command("cargo");
    cargo.args(["check", "--offline", "--quiet", "--package", "ralph-loop"]).current_dir(tree);
    cargo.env("CARGO_TARGET_DIR", run::root().join("target/extensions/target"));
    Ok(cargo.output()?)
}

/// Whether it compiled, without any warning.
fn is_clean(output: &Output) -> bool {
    output.status.success() && output.stderr.is_empty()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Removes an extension; returns the files that have changed.
fn remove(tree: &Utf8Path, extension: &Extension) -> Result<Vec<Utf8PathBuf>> {
    let path = tree.join(extension.path);
    if path.is_dir() {
        fs_err::remove_dir_all(path)?
    } else {
        fs_err::remove_file(path)?
    }
    let mut changed = Vec::new();
    for (file, line) in extension.lines {
        let text = fs_err::read_to_string(tree.join(file))?;
        let kept: Vec<&str> = text.lines().filter(|one| one.trim() != *line).collect();
        ensure!(kept.len() + 1 == text.lines().count(), "{file}: `{line}` is not there once");
        fs_err::write(tree.join(file), kept.join("\n") + "\n")?;
        changed.push(Utf8PathBuf::from(*file));
    }
    Ok(changed)
}

/// Restores the files that have changed, and those of the extension.
fn put_back(tree: &Utf8Path, extension: &Extension, changed: &[Utf8PathBuf]) -> Result<()> {
    let of_it = run::output(run::command("git").args(["ls-files", extension.path]))?;
    let files = of_it.lines().map(Utf8PathBuf::from).chain(changed.iter().cloned());
    files.into_iter().try_for_each(|file| copy(&run::root().join(&file), &tree.join(&file)))
}
