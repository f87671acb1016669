//! Where a recipe is tried: a home, a temporary folder and a path of its own.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use camino::{Utf8Path, Utf8PathBuf};
use test_support::Scratch;

use super::FOLDER;
use super::tools::PATH;
use crate::run;

/// Reached only when something hangs.
const PATIENCE: Duration = Duration::from_secs(180);

const PULSE: Duration = Duration::from_millis(100);

/// Gone when it is dropped.
pub(super) struct Stage {
    pub(super) scratch: Scratch,
    /// Where programs are, ours first.
    pub(super) path: String,
}

impl Stage {
    pub(super) fn new(binaries: &Utf8Path) -> Result<Self> {
        let scratch = Scratch::new();
        scratch.file("home/.gitconfig", "[user]\nname = Ralph\nemail = ralph@example.com\n");
        scratch.dir("tmp");
        Ok(Self { scratch, path: format!("{binaries}:{PATH}") })
    }

    /// The path of a recipe's file.
    pub(super) fn recipe(&self, name: &str) -> Utf8PathBuf {
        run::root().join(FOLDER).join(name)
    }

    pub(super) fn home(&self) -> Utf8PathBuf {
        self.scratch.path("home")
    }

    /// A program that sees nothing else of this machine.
    pub(super) fn command(&self, program: &str) -> Command {
        let mut command = run::command(program);
        command.env_clear().env("PATH", &self.path).env("HOME", self.home()).env("LC_ALL", "C");
        command.env("TMPDIR", self.scratch.path("tmp")).current_dir(self.scratch.root());
        command
    }

    /// Starts a program; what it says goes into a file of this name.
    pub(super) fn start(&self, command: &mut Command, output: &str) -> Result<Child> {
        let file = fs_err::File::create(self.scratch.path(output))?.into_file();
        command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file);
        command.spawn().with_context(|| format!("could not start {command:?}"))
    }

    /// Waits until all of them have ended well.
    pub(super) fn all_end_well(&self, machines: Vec<(Child, String)>) -> Result<()> {
        for (mut machine, output) in machines {
            let status = machine.wait()?;
            ensure!(status.success(), "{status}:\n{}", self.scratch.read(&output));
        }
        Ok(())
    }

    /// Waits until a file says something.
    pub(super) fn until_says(&self, output: &str, words: &str) -> Result<()> {
        let path = self.scratch.path(output);
        until(&format!("{output} to say {words}"), || {
            Ok(fs_err::read_to_string(&path).unwrap_or_default().contains(words))
        })
    }

    /// The folders of the machines are gone.
    pub(super) fn expect_nothing_left(&self) -> Result<()> {
        let left: Vec<String> = self
            .scratch
            .path("tmp")
            .read_dir_utf8()?
            .flatten()
            .map(|entry| entry.file_name().to_owned())
            .filter(|name| name.starts_with("ralph-"))
            .collect();
        ensure!(left.is_empty(), "machines left {}", left.join(", "));
        Ok(())
    }
}

/// Waits for what others bring about.
pub(super) fn until(what: &str, condition: impl Fn() -> Result<bool>) -> Result<()> {
    let begun = Instant::now();
    while !condition()? {
        ensure!(begun.elapsed() < PATIENCE, "waited too long for {what}");
        std::thread::sleep(PULSE);
    }
    Ok(())
}

/// A port on loopback that nobody uses.
pub(super) fn free_port() -> Result<u16> {
    Ok(std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}
