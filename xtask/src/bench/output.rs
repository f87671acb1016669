//! The loop while its agent prints a great deal: memory must not grow with it.

use anyhow::{Result, bail};
use camino::Utf8Path;
use serde_json::json;

use super::loop_time::loop_program;
use super::stage::{Stage, write};

/// The most memory that the loop may have resident, in KiB.
pub(crate) const LOOP_MEMORY: u64 = 32 * 1024;

/// What the loop took while its agent printed so much.
pub(crate) struct Flood {
    pub(crate) megabytes: usize,
    pub(crate) seconds: f64,
    /// The peak of resident memory in KiB.
    pub(crate) peak: u64,
}

/// Measures each size once for time and once for memory.
pub(crate) fn run(binaries: &Utf8Path, megabytes: &[usize]) -> Result<Vec<Flood>> {
    megabytes.iter().map(|size| flood(binaries, *size)).collect()
}

fn flood(binaries: &Utf8Path, megabytes: usize) -> Result<Flood> {
    let stage = project(binaries, megabytes)?;
    let ended = loop_program(&stage, &stage.repo.scratch().path("agent.sh")).run()?;
    if !ended.status.success() {
        bail!("the loop failed with {megabytes} MB of output: {ended:?}");
    }
    let stage = project(binaries, megabytes)?;
    let peak = loop_program(&stage, &stage.repo.scratch().path("agent.sh")).peak_memory()?;
    Ok(Flood { megabytes, seconds: ended.time.as_secs_f64(), peak })
}

/// One story, and an agent that reports every step of it in the client's own format.
fn project(binaries: &Utf8Path, megabytes: usize) -> Result<Stage> {
    let stage = Stage::new(binaries)?;
    write(&stage.state().plan(1), b"- [ ] US-001: Print a lot\n")?;
    stage.repo.commit_all("a plan");
    let line = json!({
        "type": "user", "session_id": super::stage::SESSION,
        "message": {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "toolu_01", "content": "x".repeat(3000)},
        ]},
    });
    let line = line.to_string();
    // Whole lines: half an event at the end would be an agent that broke off.
    let lines = (megabytes << 20) / line.len();
    let agent = format!("#!/bin/sh\necho done >work.txt\nyes '{line}' | head -n {lines}\n");
    stage.repo.scratch().script("agent.sh", &agent);
    Ok(stage)
}
