//! Machines without cargo, for trying packages: Debian as it is installed, in a folder of its own, or
//! where that cannot be had, this machine with an empty home and without cargo in its path.

use anyhow::{Context, Result};
use camino::{Utf8Path, Utf8PathBuf};
use test_support::{Scratch, own_mounts};

use crate::run;

/// What is on such a machine besides what every Debian has.
const INCLUDED: &str = "--include=curl,git,npm";
const RELEASE: &str = "bookworm";

/// Kept between runs: it takes minutes to make.
const IMAGE: &str = "target/machine/debian.tar";

/// What remains of a machine: its own programs, git and node among them, but nothing of cargo.
const PATH: &str = "/usr/bin:/bin:/usr/sbin:/sbin";

/// Changes into the folder that is its first argument, and runs the others there. The devices are ours.
const ENTER: &str = "root=$1; shift
mount --rbind /dev \"$root/dev\" && mount -t proc proc \"$root/proc\" && exec chroot \"$root\" \"$@\"";

/// Where a package is tried.
pub(super) struct Machine {
    scratch: Scratch,
    /// How its folder becomes the root of programs; none for this machine.
    enter: Option<Vec<&'static str>>,
}

impl Machine {
    /// This machine, with nothing of its user's.
    pub(super) fn here() -> Self {
        Self { scratch: Scratch::new(), enter: None }
    }

    /// A machine of its own from an image, with these packages on it.
    pub(super) fn own(image: &Utf8Path, packages: &Utf8Path) -> Result<Self> {
        let enter = own_mounts().context("this machine does not allow mounts")?;
        let scratch = Scratch::new();
        // Nobody but root may make devices, and we have some.
        let mut unpack = run::command("tar");
        unpack.args(["-xf", image.as_str(), "--exclude=./dev/*", "-C", scratch.root().as_str()]);
        run::output(&mut unpack)?;
        let folder = scratch.dir("packages");
        for package in packages.read_dir_utf8()? {
            let package = package?;
            fs_err::copy(package.path(), folder.join(package.file_name()))?;
        }
        Ok(Self { scratch, enter: Some(enter) })
    }

    /// Runs a script there with this argument and these variables, and without a network where it is a
    /// machine of its own; returns what it printed.
    pub(super) fn run(&self, script: &str, kind: &str, variables: &[String]) -> Result<String> {
        let root = self.scratch.root();
        let script = self.scratch.file("try.sh", script);
        let (home, temporary) = (self.scratch.dir("root"), self.scratch.dir("tmp"));
        // As programs see them there.
        let seen = |path: Utf8PathBuf| match (&self.enter, path.strip_prefix(root)) {
            (Some(_), Ok(below)) => Utf8Path::new("/").join(below),
            _ => path,
        };
        let mut command = run::command(if self.enter.is_some() { "unshare" } else { "env" });
        if let Some(enter) = &self.enter {
            command.args(enter.iter().skip(1)).args(["--pid", "--fork", "--net"]);
            command.args(["sh", "-c", ENTER, "enter", root.as_str(), "env"]);
        }
        command.args(["-i", &format!("PATH={PATH}"), &format!("HOME={}", seen(home))]);
        command.arg(format!("TMPDIR={}", seen(temporary))).args(variables);
        run::output(command.args(["sh", seen(script).as_str(), kind]))
    }
}

/// The image, made unless it was made before; else why there is none.
pub(super) fn image() -> Result<Utf8PathBuf> {
    let image = run::root().join(IMAGE);
    own_mounts().context("this machine does not allow mounts")?;
    if !image.exists() {
        let part = image.with_extension("part.tar");
        fs_err::create_dir_all(run::root().join("target/machine"))?;
        let mut make = run::command("mmdebstrap");
        make.args(["--variant=apt", INCLUDED, RELEASE, part.as_str()]);
        run::output(&mut make)?;
        fs_err::rename(part, &image)?;
    }
    Ok(image)
}
