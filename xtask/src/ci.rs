//! All checks that must pass before a change lands, cheapest first. The dependencies are built
//! three times: for clippy and docs, for tests and tasks, and for the released programs.

use anyhow::{Result, ensure};

use crate::{dist, run, task};

/// The tasks for the released programs; `cargo xtask nightly` runs the campaigns at full length.
const TASKS: [&str; 9] = [
    "guard",
    "verdicts",
    "trial",
    "torture kill --seconds 20 --binaries target/dist",
    "torture person --seconds 20 --binaries target/dist",
    "torture escape --smoke --binaries target/dist",
    "torture liar --smoke --binaries target/dist",
    "e2e --smoke --binaries target/dist",
    "e2e --smoke --agent codex,copilot --binaries target/dist",
];

/// Runs every check.
pub(crate) fn run() -> Result<()> {
    run::cargo("fmt --all --check")?;
    run::run(run::command("shellcheck").args([
        "xtask/engines/try.sh",
        "xtask/packaging/action.sh",
        "xtask/packaging/portable.sh",
        "xtask/packaging/try.sh",
        "xtask/packaging/devcontainer/install.sh",
    ]))?;
    run::cargo("clippy --workspace --all-targets --all-features -- -D warnings")?;
    let mut doc = run::command("cargo");
    doc.args(["doc", "--workspace", "--no-deps", "--quiet"]);
    run::run(doc.env("RUSTDOCFLAGS", "-D warnings"))?;
    let mut test = run::command("cargo");
    test.args(["test", "--workspace", "--features", "slow-tests"]);
    test.env("RALPH_INTERNAL__REQUIRE_MOUNTS", "1").env("RALPH_INTERNAL__REQUIRE_GH", "1");
    run::run(&mut test)?;
    static_binaries()?;
    TASKS.into_iter().try_for_each(task)
}

/// Checks that the binaries are static: a dynamic loader would make every hook slower, unnoticed.
fn static_binaries() -> Result<()> {
    let folder = dist::run()?;
    for name in dist::BINARIES {
        let binary = fs_err::read(folder.join(name))?;
        let loader = b"/lib64/ld-linux";
        let is_dynamic = binary.windows(loader.len()).any(|part| part == loader);
        ensure!(!is_dynamic, "{name} is not linked statically");
    }
    Ok(())
}
