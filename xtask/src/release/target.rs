//! The machines that there are packages for.

use anyhow::{Context, Result, ensure};
use camino::Utf8Path;

use super::VERSION;
use crate::run;

/// A machine, as each kind of package names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Target {
    /// As rustc does.
    pub(crate) triple: &'static str,
    /// As Debian does, if it has such machines.
    pub(super) debian: Option<&'static str>,
    /// As node does: the system and the processor.
    pub(super) node: [&'static str; 2],
}

/// All of them. What is linked to musl comes first: it is what we publish for Linux.
const TARGETS: [Target; 5] = [
    target("x86_64-unknown-linux-musl", Some("amd64"), ["linux", "x64"]),
    target("aarch64-unknown-linux-musl", Some("arm64"), ["linux", "arm64"]),
    target("x86_64-apple-darwin", None, ["darwin", "x64"]),
    target("aarch64-apple-darwin", None, ["darwin", "arm64"]),
    target("x86_64-unknown-linux-gnu", Some("amd64"), ["linux", "x64"]),
];

const fn target(
    triple: &'static str,
    debian: Option<&'static str>,
    node: [&'static str; 2],
) -> Target {
    Target { triple, debian, node }
}

impl Target {
    /// The one with this triple.
    pub(super) fn find(triple: &str) -> Result<Self> {
        let names = TARGETS.map(|target| target.triple).join(", ");
        let found = TARGETS.into_iter().find(|target| target.triple == triple);
        found.with_context(|| format!("there are no packages for {triple}, only for {names}"))
    }

    /// Those that were asked for; if none were, those for Linux, as far as the compiler has them.
    pub(super) fn chosen(asked: &[String]) -> Result<Vec<Self>> {
        if !asked.is_empty() {
            let chosen: Vec<Self> =
                asked.iter().map(|triple| Self::find(triple)).collect::<Result<_>>()?;
            for target in &chosen {
                ensure!(target.is_installed()?, "{}", target.missing());
            }
            return Ok(chosen);
        }
        let mut chosen = Vec::new();
        for target in TARGETS.into_iter().filter(|target| target.triple.ends_with("linux-musl")) {
            if target.is_installed()? {
                chosen.push(target);
            } else {
                println!("passed over: {}", target.missing());
            }
        }
        ensure!(!chosen.is_empty(), "there is nothing to build for");
        Ok(chosen)
    }

    /// Whether the compiler has its libraries.
    fn is_installed(self) -> Result<bool> {
        let mut ask = run::command("rustc");
        ask.args(["--print", "target-libdir", "--target", self.triple]);
        Ok(Utf8Path::new(run::output(&mut ask)?.trim()).exists())
    }

    fn missing(self) -> String {
        format!("{0} (needs `rustup target add {0}`)", self.triple)
    }

    /// Programs that run those for such machines elsewhere.
    pub(super) fn emulators(self) -> [String; 2] {
        let processor = self.triple.split('-').next().unwrap_or_default();
        [format!("qemu-{processor}-static"), format!("qemu-{processor}")]
    }

    /// Whether this machine is one of them.
    pub(super) fn is_here(self) -> bool {
        let system = match std::env::consts::OS {
            "macos" => "apple",
            other => other,
        };
        self.triple.starts_with(std::env::consts::ARCH) && self.triple.contains(system)
    }

    /// The name of its archive, and of the folder in it.
    pub(super) fn archive(self) -> String {
        format!("ralph-loop-{VERSION}-{}", self.triple)
    }

    /// The npm package that holds the programs for such machines.
    pub(super) fn npm_package(self) -> String {
        let [system, processor] = self.node;
        format!("ralph-loop-{system}-{processor}")
    }

    /// The npm packages of all of them.
    pub(super) fn npm_packages() -> impl Iterator<Item = String> {
        TARGETS.into_iter().map(Self::npm_package)
    }
}
