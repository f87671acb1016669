//! Checks that take too long for every change: the fault campaigns at full length, all scenarios
//! with both clients and every other agent, more random cases, fleets with real engines, the
//! benchmark, the pages, the packages and the trial.

use anyhow::{Result, ensure};

use crate::{dist, run, task};

/// The campaigns, with the number of rounds of each.
const CAMPAIGNS: [&str; 7] = [
    "hostile --rounds 300",
    "hostile-in-place --rounds 300",
    "kill --rounds 300",
    "workers --rounds 200",
    "disk --rounds 300",
    "person --rounds 500",
    "person-undisturbed --rounds 200",
];

const TASKS: [&str; 11] = [
    "extensions",
    "torture escape --binaries target/dist",
    "torture liar --binaries target/dist",
    "e2e --binaries target/dist",
    // Only an older client has tasks and teammates.
    "e2e --binaries target/dist --client-version 2.1.63 --only held-back",
    "e2e --agent all --binaries target/dist",
    "bench --binaries target/dist",
    "bench --check --binaries target/dist",
    "pages --binaries target/dist",
    "book",
    "trial",
];

/// Packs the published crates, in an order in which each one finds its dependencies.
const PACKAGE: &str = "package --quiet --allow-dirty -p ralph-loop-shell -p ralph-loop-base \
                       -p ralph-loop-core -p ralph-loop-project";

/// Runs all checks; failures are listed at the end, so that one does not hide another.
pub(crate) fn run(seed: u64) -> Result<()> {
    dist::run()?;
    let mut failed = Vec::new();
    let mut note = |line: &str, result: Result<()>| {
        failed.extend(result.err().map(|error| format!("{line}: {error:#}")));
    };
    for campaign in CAMPAIGNS {
        let line = format!("torture {campaign} --seed {seed} --binaries target/dist");
        note(&line, task(&line));
    }
    for line in TASKS {
        note(line, task(line));
    }
    let mut properties = run::command("cargo");
    properties.args(["test", "--package", "ralph-loop-core", "--test", "it", "properties"]);
    properties.env("RALPH_INTERNAL__RANDOM", "1").env("RALPH_INTERNAL__CASES", "5000");
    note("properties", run::run(&mut properties));
    let mut engines = run::command("xtask/engines/try.sh");
    note("engines", run::run(engines.arg("target/dist")));
    note(PACKAGE, run::cargo(PACKAGE));
    ensure!(failed.is_empty(), "{}", failed.join("\n"));
    Ok(())
}
