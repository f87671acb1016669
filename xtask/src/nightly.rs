//! What takes too long for every change: the fault campaigns at full length, fuzzing, the whole
//! benchmark, the recipes of a fleet, the pages as a site, and a release that is built twice.

use anyhow::{Result, ensure};

use crate::dist;

/// Campaigns and how many rounds each has.
const CAMPAIGNS: [(&str, &str); 10] = [
    ("kill", "300"),
    ("person", "500"),
    ("person-undisturbed", "200"),
    ("disk", "300"),
    ("concurrency", "60"),
    ("hostile", "300"),
    ("agents", "66"),
    ("clock", "60"),
    ("workers", "200"),
    ("fleet", "5"),
];

/// Programs that are linked statically do not look at a clock that we set.
const CLOCK: &str = "clock";

/// Inputs for each reader, and commands for the guard.
const INPUTS: &str = "1000000";
const COMMANDS: &str = "10000000";

/// Runs all of it; what fails is named at the end, so that one failure does not hide another.
pub(crate) fn run(seed: u64) -> Result<()> {
    dist::run()?;
    let seed = seed.to_string();
    let mut failed = Vec::new();
    let mut task = |task: &[&str]| {
        if let Err(error) = dist::run_task(task) {
            failed.push(format!("{}: {error:#}", task.join(" ")));
        }
    };
    for (campaign, rounds) in CAMPAIGNS {
        let binaries = if campaign == CLOCK { "target/debug" } else { "target/dist" };
        task(&["torture", campaign, "--rounds", rounds, "--seed", &seed, "--binaries", binaries]);
    }
    task(&["fuzz", "--cases", INPUTS, "--seed", &seed]);
    task(&["fuzz-guard", "--cases", COMMANDS, "--seed", &seed]);
    task(&["fleet-cost", "--binaries", "target/dist"]);
    task(&["fleet-recipes", "--binaries", "target/dist"]);
    task(&["book"]);
    task(&["bench", "--dense", "--binaries", "target/dist"]);
    task(&["release", "--twice", "--try"]);
    ensure!(failed.is_empty(), "{}", failed.join("\n"));
    Ok(())
}
