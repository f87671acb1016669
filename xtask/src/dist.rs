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
const STATIC: &str = "-C target-feature=+crt-static -C relocation-model=static";

/// What makes the hooks small, where the linker is rustc's own: equal functions once, one segment for
/// code and constants, no tables for unwinding.
const SMALL: &str = "-C force-unwind-tables=no -C link-arg=-Wl,-O2,--icf=all \
    -C link-arg=-Wl,--no-rosegment -C link-arg=-Wl,-z,norelro -C link-arg=-Wl,--no-eh-frame-hdr";

/// What is asked at every start and needed by no hook, a third of what one executes: std asks where the stack of the
/// main thread ends, for its message about overflows, and glibc reads the list of everything that is mapped to answer
/// that; and glibc compares every variable with the names of its own settings (`GLIBC_TUNABLES`). `getpid` answers in
/// their place: it looks at no argument, writes nothing and never returns 0, which would stand for success; std then
/// goes without the answer, and glibc with its defaults.
const UNASKED: &str = "-C link-arg=-Wl,--defsym=pthread_getattr_np=getpid \
    -C link-arg=-Wl,--defsym=__tunables_init=getpid";

/// The target whose linker that is.
const OWN_LINKER: &str = "x86_64-unknown-linux-gnu";

const COMPLETIONS: [(&str, &str); 3] = [
    ("bash", "bash-completion/completions/ralph-loop"),
    ("zsh", "zsh/site-functions/_ralph-loop"),
    ("fish", "fish/vendor_completions.d/ralph-loop.fish"),
];

/// Builds them and returns the folder that holds them.
pub(crate) fn run() -> Result<Utf8PathBuf> {
    let target = target()?;
    let mut flags = if target.contains("linux") { STATIC.to_owned() } else { String::new() };
    flags.push_str(&short_paths());
    build(&target, "release", &flags)?;
    if target == OWN_LINKER {
        let script = run::root().join("xtask/packaging/hooks.ld");
        flags = format!("{flags} {SMALL} {UNASKED} -C link-arg=-Wl,-T,{script}");
    }
    build(&target, "hooks", &flags)?;
    build(&target, "large-hooks", &flags)?;
    let built = run::root().join("target").join(target);
    let dist = run::root().join(FOLDER);
    fs_err::create_dir_all(&dist)?;
    for name in BINARIES {
        // A running binary cannot be overwritten, but it can be replaced.
        let fresh = dist.join(format!("{name}.new"));
        // Written in one piece, as an archive would be unpacked: the kernel then maps large parts at once.
        let program = built.join(profile(name)).join(name);
        fs_err::write(&fresh, fs_err::read(&program)?)?;
        fs_err::set_permissions(&fresh, fs_err::metadata(&program)?.permissions())?;
        fs_err::rename(&fresh, dist.join(name))?;
        println!("{}", dist.join(name));
    }
    write_share(&dist)?;
    Ok(dist)
}

/// Has panics name files of packages without the folder into which this machine put them.
fn short_paths() -> String {
    let home = std::env::home_dir().unwrap_or_default().join(".cargo");
    let home = std::env::var_os("CARGO_HOME").map_or(home, Into::into);
    let folders = home.join("registry/src").read_dir().into_iter().flatten().flatten();
    let names = folders.filter_map(|folder| folder.path().to_str().map(str::to_owned));
    let names = names.filter(|name| !name.contains(char::is_whitespace));
    names.map(|name| format!(" --remap-path-prefix={name}/=")).collect()
}

/// How a program is built.
fn profile(name: &str) -> &'static str {
    match name {
        "ralph-loop" => "release",
        "ralph-post-tool" | "ralph-on-stop" => "large-hooks",
        _ => "hooks",
    }
}

fn build(target: &str, profile_name: &str, flags: &str) -> Result<()> {
    let mut build = run::command("cargo");
    // The target is named although it is the host: otherwise the flags would also hold for derive
    // macros, which are dynamic libraries and cannot be linked that way.
    build.args(["build", "--profile", profile_name, "--target", target]);
    for name in BINARIES.iter().filter(|name| profile(name) == profile_name) {
        build.args(["--bin", name]);
    }
    run::run(build.env("RUSTFLAGS", flags))
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
