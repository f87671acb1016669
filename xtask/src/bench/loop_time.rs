//! The loop's own time per iteration, next to the git commands that any such loop must run.
//!
//! Both run in repositories of their own that are alike. The time of an iteration is the difference
//! between a long run and a short one, so that starting up does not count; what the agent's command
//! line takes, which a shell has to read, is measured alone and taken off.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use camino::Utf8Path;

use super::spawn::Program;
use super::stage::{Stage, write};
use super::statistics::Spread;

/// How much longer an iteration may take than the bare commands.
pub(crate) const BAR: f64 = 1.5;

/// Stories of the short run and of the long one.
const SHORT: usize = 1;
const LONG: usize = 11;

/// What was measured.
pub(crate) struct LoopTime {
    /// Files in the repository.
    pub(crate) files: usize,
    pub(crate) iteration: Spread,
    pub(crate) bare: Spread,
}

impl LoopTime {
    /// The one by the other.
    pub(crate) fn ratio(&self) -> f64 {
        self.iteration.median / self.bare.median
    }
}

/// Measures in repositories with so many files.
pub(crate) fn run(binaries: &Utf8Path, files: usize, rounds: usize) -> Result<LoopTime> {
    let (mut iterations, mut bare) = (Vec::new(), Vec::new());
    // Removed at the end: for a minute after files were removed a disk is slow to make new ones.
    let mut used = Vec::new();
    for _ in 0..rounds {
        let project = |stories| project(binaries, files, stories);
        let (few, many, other) = (project(SHORT)?, project(LONG)?, project(LONG)?);
        let (short, long) = (loop_run(&few, SHORT)?, loop_run(&many, LONG)?);
        let (agent, commands) = bare_run(&other, LONG)?;
        used.extend([few, many, other]);
        let steps = (LONG - SHORT) as u32;
        iterations.push((long.saturating_sub(short) / steps).saturating_sub(agent));
        bare.push(commands);
    }
    match (Spread::of(&iterations), Spread::of(&bare)) {
        (Some(iteration), Some(bare)) => Ok(LoopTime { files, iteration, bare }),
        _ => bail!("no rounds, no times"),
    }
}

/// A project with open stories and an agent that ends at once.
fn project(binaries: &Utf8Path, files: usize, stories: usize) -> Result<Stage> {
    let stage = Stage::new(binaries)?;
    let plan: String = (1..=stories).map(|n| format!("- [ ] US-{n:03}: Story {n}\n")).collect();
    write(&stage.state().plan(1), plan.as_bytes())?;
    stage.set_files(files)?;
    stage.repo.commit_all("a plan");
    stage.repo.scratch().script("agent.sh", AGENT);
    Ok(stage)
}

const AGENT: &str = "#!/bin/sh\necho \"$RALPH_RUN $$\" >>work.txt\n";

fn loop_run(stage: &Stage, stories: usize) -> Result<Duration> {
    let ended = loop_program(stage, &stage.repo.scratch().path("agent.sh")).run()?;
    let commits = stage.repo.git(["rev-list", "--count", "--grep=feat", "HEAD"]);
    if !ended.status.success() || commits.trim() != stories.to_string() {
        bail!("the loop made {} commits of {stories}: {ended:?}", commits.trim());
    }
    Ok(ended.time)
}

/// The loop in a project, with an agent.
pub(crate) fn loop_program(stage: &Stage, agent: &Utf8Path) -> Program {
    let line = vec![stage.ours("ralph-loop"), "--agent".into(), agent.to_string()];
    Program {
        folder: Some(stage.repo.root().to_owned()),
        vars: stage.repo.isolation(),
        ..stage.program(line, Vec::new())
    }
}

/// What the loop leaves in the tree besides the agent's work, so that both commit as much: a tick in
/// the plan, and the progress of the iteration before.
fn bookkeeping(stage: &Stage, number: usize) -> Result<()> {
    let plan = stage.state().plan(1);
    let ticked = fs_err::read_to_string(&plan)?.replacen("[ ]", "[x]", 1);
    write(&plan, ticked.as_bytes())?;
    let progress = stage.state().progress(1);
    let mut log = fs_err::read_to_string(&progress).unwrap_or_default();
    log.push_str(&format!(
        "\n## Iteration {number} - US-{number:03}\n- Status: SUCCESS\n- Files changed: work.txt\n"
    ));
    write(&progress, log.as_bytes())
}

/// The agent alone, and the commands alone; each for one iteration.
fn bare_run(stage: &Stage, stories: usize) -> Result<(Duration, Duration)> {
    let agent = stage.repo.scratch().path("agent.sh");
    let (mut working, mut committing) = (Duration::ZERO, Duration::ZERO);
    for number in 1..=stories {
        let message = format!("feat(US-{number:03}): Story {number}");
        working += timed(stage, &["/bin/sh", "-c", agent.as_str()])?;
        bookkeeping(stage, number)?;
        committing += timed(stage, &["git", "add", "--all"])?;
        committing += timed(stage, &["git", "commit", "--quiet", "-m", &message])?;
    }
    Ok((working / stories as u32, committing / stories as u32))
}

fn timed(stage: &Stage, line: &[&str]) -> Result<Duration> {
    let (Some(program), arguments) = (line.first(), line.get(1..).unwrap_or_default()) else {
        bail!("an empty command line");
    };
    let mut command = Command::new(program);
    command.args(arguments).current_dir(stage.repo.root()).env_clear();
    command.envs(stage.repo.isolation()).stdin(Stdio::null());
    let begun = Instant::now();
    let status = command.status()?;
    let time = begun.elapsed();
    if !status.success() {
        bail!("{line:?} failed: {status}");
    }
    Ok(time)
}
