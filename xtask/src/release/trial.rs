//! Each package, installed into an empty folder of a machine without cargo, and used: the demo runs,
//! the hooks go into a project, and the guard answers.

use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use camino::{Utf8Path, Utf8PathBuf};
use serde_json::json;
use test_support::{Scratch, run_with_input};

use super::VERSION;
use super::target::Target;
use crate::run;

/// What remains of the machine: its own programs, git and node among them, but nothing of cargo.
const PATH: &str = "/usr/bin:/bin:/usr/sbin:/sbin";

/// Tries what there is for this machine.
pub(super) fn run(target: Target, packages: &Utf8Path) -> Result<()> {
    let archive = packages.join(format!("{}.tar.gz", target.archive()));
    used("archive", |machine| {
        let prefix = machine.scratch.dir("local");
        let archive = archive.as_str();
        let unpack = ["-xzf", archive, "-C", prefix.as_str(), "--strip-components=1"];
        machine.run(machine.command("tar").args(unpack))?;
        Ok(prefix.join("bin"))
    })?;
    if let Some(architecture) = target.debian {
        let package = packages.join(format!("ralph-loop_{VERSION}_{architecture}.deb"));
        used("Debian package", |machine| unpacked_by_dpkg(machine, &package))?;
    }
    let names = ["ralph-loop".to_owned(), target.npm_package()];
    let npm = names.map(|name| packages.join(format!("{name}-{VERSION}.tgz")));
    used("npm package", |machine| {
        let folder = machine.scratch.dir("app");
        let mut install = machine.command("npm");
        install.args(["install", "--offline", "--no-audit", "--no-fund"]).args(&npm);
        machine.run(install.current_dir(&folder))?;
        let mut npx = machine.command("npx");
        let version = machine.run(npx.args(["ralph-loop", "--version"]).current_dir(&folder))?;
        ensure!(version.starts_with(&format!("ralph-loop {VERSION}")), "npx: {version}");
        Ok(folder.join("node_modules/.bin"))
    })
}

/// As dpkg does it on a machine that has nothing yet.
fn unpacked_by_dpkg(machine: &Machine, package: &Utf8Path) -> Result<Utf8PathBuf> {
    let root = machine.scratch.dir("root");
    for folder in ["updates", "info", "triggers"] {
        machine.scratch.dir(&format!("root/var/lib/dpkg/{folder}"));
    }
    machine.scratch.file("root/var/lib/dpkg/status", "");
    let mut dpkg = machine.command("dpkg");
    // Git is on the machine, but not in the list of that folder.
    dpkg.args(["--root", root.as_str(), "--force-not-root,depends", "--install"]);
    machine.run(dpkg.arg(package))?;
    Ok(root.join("usr/bin"))
}

/// A home and a temporary folder without anything in them.
struct Machine {
    scratch: Scratch,
}

impl Machine {
    fn command(&self, program: &str) -> Command {
        let mut command = run::command(program);
        command.env_clear().env("PATH", PATH).env("HOME", self.scratch.dir("home"));
        command.env("TMPDIR", self.scratch.dir("tmp")).current_dir(self.scratch.root());
        command
    }

    fn run(&self, command: &mut Command) -> Result<String> {
        run::output(command)
    }
}

/// Installs a package and uses it; says how long that took.
fn used(what: &str, install: impl FnOnce(&Machine) -> Result<Utf8PathBuf>) -> Result<()> {
    let machine = Machine { scratch: Scratch::new() };
    ensure!(
        machine.command("sh").args(["-c", "! command -v cargo"]).status()?.success(),
        "cargo is in {PATH}"
    );
    let started = Instant::now();
    let folder = install(&machine).with_context(|| format!("could not install the {what}"))?;
    use_it(&machine, &folder).with_context(|| format!("the {what} does not work"))?;
    println!("{what}: installed, demo, hooks in {:.1} s", started.elapsed().as_secs_f64());
    Ok(())
}

fn use_it(machine: &Machine, folder: &Utf8Path) -> Result<()> {
    let ralph_loop = || {
        let mut command = machine.command(folder.join("ralph-loop").as_str());
        command.env("PATH", format!("{folder}:{PATH}"));
        command
    };
    let shown = machine.run(ralph_loop().arg("demo"))?;
    ensure!(shown.contains("3 of 3 stories done"), "the demo ended otherwise:\n{shown}");
    let project = machine.scratch.dir("project");
    let mut install = ralph_loop();
    install.args(["install", "--client-version", "2.1.325"]).current_dir(&project);
    machine.run(&mut install)?;
    let guard = project.join(".claude/hooks/ralph-pre-tool");
    let call = json!({
        "hook_event_name": "PreToolUse",
        "session_id": "s",
        "cwd": project,
        "tool_name": "Bash",
        "tool_input": {"command": "git push"},
    });
    let answer = run_with_input(&mut machine.command(guard.as_str()), call.to_string().as_bytes());
    let answer = String::from_utf8_lossy(&answer.stdout).into_owned();
    ensure!(answer.contains("\"deny\""), "the guard let a push go: {answer}");
    Ok(())
}
