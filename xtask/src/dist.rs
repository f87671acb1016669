//! The five release binaries, statically linked: a hook that needs no dynamic loader starts sooner
//! and runs wherever it is copied. Beside them, below `share`, completions.

use anyhow::{Context, Result};
use camino::{Utf8Path, Utf8PathBuf};

use crate::run;

/// What people copy.
pub(crate) const BINARIES: [&str; 5] =
    ["ralph-loop", "ralph-pre-tool", "ralph-post-tool", "ralph-on-stop", "ralph-pre-prompt"];

/// Where they are.
pub(crate) const FOLDER: &str = "target/dist";

/// No dynamic loader, and addresses that are fixed when linking: a program that can be loaded
/// anywhere first has to correct thousands of pointers in its tables, page by page.
const FLAGS: &str = "-C target-feature=+crt-static -C relocation-model=static";

const COMPLETIONS: [(&str, &str); 3] = [
    ("bash", "bash-completion/completions/ralph-loop"),
    ("zsh", "zsh/site-functions/_ralph-loop"),
    ("fish", "fish/vendor_completions.d/ralph-loop.fish"),
];

/// Builds them and returns the folder that holds them.
pub(crate) fn run() -> Result<Utf8PathBuf> {
    let target = target()?;
    let mut build = run::command("cargo");
    // The target is named although it is the host: otherwise the flag would also hold for derive
    // macros, which are dynamic libraries and cannot be linked that way.
    build.args(["build", "--release", "--target", &target, "--bins"]);
    build.args(["--package", "ralph-hooks", "--package", "ralph-loop"]);
    build.env("RUSTFLAGS", if target.contains("linux") { FLAGS } else { "" });
    run::run(&mut build)?;
    let built = run::root().join("target").join(target).join("release");
    let dist = run::root().join(FOLDER);
    fs_err::create_dir_all(&dist)?;
    for name in BINARIES {
        // A running binary cannot be overwritten, but it can be replaced.
        let fresh = dist.join(format!("{name}.new"));
        fs_err::copy(built.join(name), &fresh)?;
        fs_err::rename(&fresh, dist.join(name))?;
        println!("{}", dist.join(name));
    }
    write_share(&dist)?;
    Ok(dist)
}

/// Completions, from the program itself.
fn write_share(dist: &Utf8Path) -> Result<()> {
    let program = dist.join("ralph-loop");
    let share = dist.join("share");
    for (shell, path) in COMPLETIONS {
        let text = run::output(run::command(program.as_str()).args(["completions", shell]))?;
        let path = share.join(path);
        path.parent().map_or(Ok(()), fs_err::create_dir_all)?;
        fs_err::write(path, text)?;
    }
    Ok(())
}

/// The machine that cargo-dist asks for, else this one.
fn target() -> Result<String> {
    if let Ok(target) = std::env::var("CARGO_DIST_TARGET") {
        return Ok(target);
    }
    let version = run::output(run::command("rustc").arg("-vV"))?;
    let line = version.lines().find_map(|line| line.strip_prefix("host: "));
    line.map(str::to_owned).context("rustc does not say which machine this is")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_of_a_release_name_the_same_version_and_programs() {
        let read = |name: &str| fs_err::read_to_string(run::root().join(name)).unwrap();
        let version = env!("CARGO_PKG_VERSION");
        let release = read("dist-workspace.toml");
        assert!(release.contains(&format!("\nversion = \"{version}\"\n")));
        assert!(release.contains(&format!("\nbinaries = {BINARIES:?}\n")));
        assert!(release.contains(&format!("\nout-dir = \"{FOLDER}\"\n")));
        let feature = read("xtask/packaging/devcontainer/devcontainer-feature.json");
        assert!(feature.contains(&format!("\"version\": \"{version}\"")));
    }
}
