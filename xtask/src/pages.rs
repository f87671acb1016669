//! `cargo xtask pages`: the report of a bad night in a headless Chromium, at two widths and in both
//! colour schemes. There must be no error, no request, nothing wider than the screen, and no
//! serious finding of axe; the picture in the documentation must match the page.

mod night;

use anyhow::{Context, Result, ensure};
use camino::Utf8PathBuf;
use clap::Args;

use crate::e2e::npm;
use crate::run;

/// The packages that drive the browser and check the pages.
const PACKAGES: [&str; 2] = ["puppeteer-core@24", "axe-core@4"];

/// The script that runs in node.
const SCRIPT: &str = include_str!("pages/look.mjs");

/// Which programs make the pages.
#[derive(Debug, Args)]
pub(crate) struct Pages {
    /// The folder of the programs.
    #[arg(long, default_value = "target/debug")]
    binaries: Utf8PathBuf,
    /// Replace the picture of the report in the documentation.
    #[arg(long)]
    update: bool,
}

/// Runs the task.
pub(crate) fn run(wanted: &Pages) -> Result<()> {
    let program = run::root().join(&wanted.binaries).join("ralph-loop");
    ensure!(program.is_file(), "{program} is missing; build it first");
    let folder = run::root().join("target/pages");
    fs_err::create_dir_all(&folder)?;
    let browser = npm::packages("browser", &PACKAGES.map(str::to_owned))?;
    let hostile = format!("<script>alert(1)</script> \u{202e}gnp.exe {}", "x".repeat(2000));
    let pages = [
        ("bad", night::page(&program, None)?),
        ("hostile", night::page(&program, Some(&hostile))?),
    ];
    let mut arguments = Vec::new();
    for (name, page) in pages {
        let path = folder.join(format!("{name}.html"));
        fs_err::write(&path, page)?;
        arguments.push(path);
    }
    // Beside the packages, so that it finds them.
    let script = browser.join("look.mjs");
    fs_err::write(&script, SCRIPT)?;
    run::run(
        run::command("node").arg(script).arg(chromium()?).args(arguments).current_dir(&folder),
    )?;
    night::keep_picture(&folder, wanted.update)
}

fn chromium() -> Result<&'static str> {
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let is_there = |name: &&str| run::output(run::command(name).arg("--version")).is_ok();
    names.into_iter().find(is_there).context("install chromium (`apt-get install chromium`)")
}
