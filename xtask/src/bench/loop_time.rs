//! The loop's own time per iteration, and what it takes to make the copy in which the agent works.
//!
//! The time of an iteration is the difference between a long run and a short one, so that neither
//! starting up nor the copy counts; what the agent's command line takes, which a shell has to read, is
//! measured alone and taken off. The time for the copy is the difference between a first run and a
//! second one of as many stories.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use camino::Utf8Path;

use super::program::{Program, Spread};
use super::stage::{Stage, write};

/// How much longer an iteration may take in the largest repository than in the smallest.
pub(crate) const BAR: f64 = 3.0;

/// Stories of the short run and of the long one.
const SHORT: usize = 1;
const LONG: usize = 11;

/// What was measured.
pub(crate) struct LoopTime {
    /// Files in the repository.
    pub(crate) files: usize,
    pub(crate) iteration: Spread,
    pub(crate) copy: Spread,
}

/// Files in the repositories in which the loop is measured, and how often.
const REPOSITORIES: [(usize, usize); 3] = [(100, 15), (5_000, 7), (50_000, 3)];

/// Measures in repositories of all sizes.
pub(crate) fn run(binaries: &Utf8Path) -> Result<Vec<LoopTime>> {
    REPOSITORIES.into_iter().map(|(files, rounds)| measured(binaries, files, rounds)).collect()
}

fn measured(binaries: &Utf8Path, files: usize, rounds: usize) -> Result<LoopTime> {
    let (mut iterations, mut copies) = (Vec::new(), Vec::new());
    // Removed at the end: for a minute after files were removed a disk is slow to make new ones.
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

/// A project with an agent that ends at once.
fn project(binaries: &Utf8Path, files: usize) -> Result<Stage> {
    let stage = Stage::new(binaries)?;
    stage.set_files(files)?;
    stage.repo.scratch().script("agent.sh", AGENT);
    Ok(stage)
}

const AGENT: &str = "#!/bin/sh\necho \"$RALPH_RUN $$\" >>work.txt\n";

/// A run of so many stories, from a number on.
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

/// The loop in a project, with an agent.
fn loop_program(stage: &Stage, agent: &Utf8Path) -> Program {
    let line = vec![stage.ours("ralph-loop"), "--agent".into(), agent.to_string()];
    Program {
        folder: Some(stage.repo.root().to_owned()),
        vars: stage.repo.isolation(),
        ..stage.program(line, Vec::new())
    }
}

/// The agent's command line alone.
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
