//! The loop's own time per iteration, and the time to create the copy in which the agent works.
//!
//! The time of an iteration is the difference between a long and a short run, so that neither the
//! start nor the copy counts; the time of the agent's command line, which a shell has to read, is
//! measured separately and subtracted. The time for the copy is the difference between a first and
//! a second run with the same number of stories.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use camino::Utf8Path;

use super::program::{Program, Spread};
use super::stage::{Stage, write};

/// The maximum ratio of an iteration's time in the largest repository to that in the smallest.
pub(crate) const BAR: f64 = 3.0;

/// The number of stories in the short run and in the long one.
const SHORT: usize = 1;
const LONG: usize = 11;

/// The measured times for one repository size.
pub(crate) struct LoopTime {
    /// The number of files in the repository.
    pub(crate) files: usize,
    pub(crate) iteration: Spread,
    pub(crate) copy: Spread,
}

/// The number of files in each repository, and the number of rounds.
const REPOSITORIES: [(usize, usize); 3] = [(100, 15), (5_000, 7), (50_000, 3)];

/// Measures in repositories of all sizes.
pub(crate) fn run(binaries: &Utf8Path) -> Result<Vec<LoopTime>> {
    REPOSITORIES.into_iter().map(|(files, rounds)| measured(binaries, files, rounds)).collect()
}

fn measured(binaries: &Utf8Path, files: usize, rounds: usize) -> Result<LoopTime> {
    let (mut iterations, mut copies) = (Vec::new(), Vec::new());
    // Deleted at the end: after deleting files, a disk is slow to create new ones for a minute.
    let mut used = Vec::new();
    for _ in 0..rounds {
        let (few, many) = (project(binaries, files)?, project(binaries, files)?);
        let (short, long) = (loop_run(&few, 1, SHORT)?, loop_run(&many, 1, LONG)?);
        let again = loop_run(&few, SHORT + 1, SHORT)?;
        let steps = (LONG - SHORT) as u32;
        let agent = agent_alone(&few)?;
        iterations.push((long.saturating_sub(short) / steps).saturating_sub(agent));
        copies.push(short.saturating_sub(again));
        used.extend([few, many]);
    }
    Ok(LoopTime { files, iteration: Spread::of(&iterations), copy: Spread::of(&copies) })
}

/// Creates a project with an agent that ends at once.
fn project(binaries: &Utf8Path, files: usize) -> Result<Stage> {
    let stage = Stage::new(binaries)?;
    stage.set_files(files)?;
    stage.repo.scratch().script("agent.sh", AGENT);
    Ok(stage)
}

const AGENT: &str = "#!/bin/sh\necho \"$RALPH_RUN $$\" >>work.txt\n";

/// Runs the loop over this many stories, starting at a number, and returns the time.
fn loop_run(stage: &Stage, first: usize, stories: usize) -> Result<Duration> {
    let last = first + stories - 1;
    let plan: String = (first..=last).map(|n| format!("- [ ] US-{n:03}: Story {n}\n")).collect();
    write(&stage.state().plan(1), plan.as_bytes())?;
    stage.repo.commit_all("a plan");
    let ended = loop_program(stage, &stage.repo.scratch().path("agent.sh")).run()?;
    let commits = stage.repo.git(["rev-list", "--count", "--grep=^feat", "HEAD"]);
    let is_complete = ended.status.success() && commits.trim() == last.to_string();
    ensure!(is_complete, "the loop made {} commits of {last}: {ended:?}", commits.trim());
    Ok(ended.time)
}

/// Returns the loop in a project, with an agent.
fn loop_program(stage: &Stage, agent: &Utf8Path) -> Program {
    let line = vec![stage.ours("ralph-loop"), "--agent".into(), agent.to_string()];
    Program {
        folder: Some(stage.repo.root().to_owned()),
        vars: stage.repo.isolation(),
        ..stage.program(line, Vec::new())
    }
}

/// Measures the agent's command line alone.
fn agent_alone(stage: &Stage) -> Result<Duration> {
    let agent = stage.repo.scratch().path("agent.sh");
    let started = Instant::now();
    for _ in 0..LONG {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", agent.as_str()]).current_dir(stage.repo.scratch().root()).env_clear();
        let status = command.envs(stage.repo.isolation()).stdin(Stdio::null()).status()?;
        ensure!(status.success(), "{agent} failed: {status}");
    }
    Ok(started.elapsed() / LONG as u32)
}
