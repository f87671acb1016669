//! Everything that must pass before a change lands, cheapest first.

use anyhow::{Result, bail};

use crate::{dist, run};

/// Random cases for the rollback properties: more than an ordinary test run takes the time for.
const CASES: &str = "1000";

/// Random commands for the guard: a slice of the long run.
const FUZZED: &str = "200000";

/// A slice of the fault campaigns: `cargo xtask nightly` runs them at full length.
const ROUNDS: &str = "10";
const SECONDS: &str = "20";

/// A round with several workers starts more than one run of eight stories.
const WORKERS_SECONDS: &str = "60";

/// Where packages are built: apart, because what was built of an earlier one would be used again.
const PACKAGED: &str = "target/packaged";

/// Runs every check.
pub(crate) fn run() -> Result<()> {
    run::cargo(&["fmt", "--all", "--check"])?;
    run::cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"])?;
    run::run(
        run::command("cargo")
            .args(["doc", "--workspace", "--no-deps", "--quiet"])
            .env("RUSTDOCFLAGS", "-D warnings"),
    )?;
    run::run(
        run::command("cargo")
            .args(["test", "--workspace"])
            .env("RALPH_INTERNAL__CASES", CASES)
            .env("RALPH_INTERNAL__REQUIRE_MOUNTS", "1"),
    )?;
    let packages = [
        "-p",
        "ralph-loop-shell",
        "-p",
        "ralph-loop-base",
        "-p",
        "ralph-loop-core",
        "-p",
        "ralph-loop-project",
    ];
    forget_packages()?;
    let apart = ["package", "--quiet", "--allow-dirty", "--target-dir", PACKAGED];
    run::cargo(&[&apart[..], &packages].concat())?;
    static_binaries()?;
    dist::run_task(&["guard"])?;
    dist::run_task(&["fuzz-guard", "--cases", FUZZED])?;
    // Not the person beside a run: what happens in the same instant is left to chance, so that belongs
    // to the long campaigns.
    for campaign in ["kill", "disk", "concurrency", "hostile", "agents"] {
        let bounds = ["--rounds", ROUNDS, "--seconds", SECONDS, "--binaries", "target/dist"];
        dist::run_task(&[&["torture", campaign][..], &bounds].concat())?;
    }
    let bounds = ["--rounds", ROUNDS, "--seconds", WORKERS_SECONDS, "--binaries", "target/dist"];
    dist::run_task(&[&["torture", "workers"][..], &bounds].concat())?;
    // Programs that are linked statically do not look at a clock that we set: as built for tests.
    dist::run_task(&["torture", "clock", "--rounds", ROUNDS, "--binaries", "target/debug"])?;
    dist::run_task(&["verdicts"])
}

/// Removes what an earlier packaging left with cargo, which does not see that a package has changed
/// while its version has not.
fn forget_packages() -> Result<()> {
    let built = run::root().join(PACKAGED);
    if built.is_dir() {
        fs_err::remove_dir_all(built)?;
    }
    let sources = dist::cargo_home().join("registry/src");
    for registry in sources.read_dir_utf8().into_iter().flatten().flatten() {
        for package in registry.path().read_dir_utf8().into_iter().flatten().flatten() {
            if package.file_name().starts_with("ralph-loop-") {
                fs_err::remove_dir_all(package.path())?;
            }
        }
    }
    Ok(())
}

/// A dynamic loader in a binary would make every hook slower, silently.
fn static_binaries() -> Result<()> {
    let folder = dist::run()?;
    for name in dist::BINARIES {
        let binary = fs_err::read(folder.join(name))?;
        let loader = b"/lib64/ld-linux";
        if binary.windows(loader.len()).any(|part| part == loader) {
            bail!("{name} is not linked statically");
        }
    }
    Ok(())
}
