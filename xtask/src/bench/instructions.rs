//! Instructions that a hook executes, counted by valgrind: the same on a busy machine as on an
//! idle one, so that a regression shows where times only scatter.

use std::process::Command;

use anyhow::{Context, Result, bail};

use super::hooks::Case;
use super::stage::Stage;

/// Whether valgrind is there to count.
pub(crate) fn can_count() -> bool {
    Command::new("valgrind").arg("--version").output().is_ok_and(|output| output.status.success())
}

/// The count of each case, in order.
pub(crate) fn count_all(stage: &Stage, cases: &[Case]) -> Result<Vec<(String, u64)>> {
    cases.iter().map(|case| Ok((case.name.to_owned(), count(stage, case)?))).collect()
}

fn count(stage: &Stage, case: &Case) -> Result<u64> {
    let line =
        ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", &stage.ours(case.hook)];
    let line = line.map(str::to_owned).to_vec();
    let program = stage.program(line, stage.input(case.input.clone()));
    let contender = case.played_by(program, case.name);
    (contender.before)()?;
    let ended = contender.program.run()?;
    if !ended.status.success() {
        bail!("{}: valgrind failed: {}", case.name, ended.errors);
    }
    // `==123== Collected : 456789`
    let collected = ended.errors.lines().find_map(|line| line.split_once("Collected :"));
    let (_, number) = collected.context("valgrind told no count")?;
    Ok(number.trim().parse()?)
}
