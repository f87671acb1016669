//! How a hook's time grows with its surroundings: plan, journal, reads, transcript, files.

use anyhow::Result;
use camino::Utf8Path;
use serde_json::Value;

use super::hooks;
use super::program::{Contender, Measured, measure};
use super::stage::Stage;

/// The maximum ratio of the slowest time to the fastest.
const FLAT: f64 = 1.2;

/// The measurements of one quantity that grows.
pub(crate) struct Growth {
    /// The quantity, and the hook that reads it.
    pub(crate) name: &'static str,
    /// The times from the smallest to the largest size, named by size.
    pub(crate) sizes: Vec<Measured>,
    /// The maximum ratio, if there is one.
    pub(crate) bar: Option<f64>,
}

impl Growth {
    /// Returns the ratio of the largest size's time to the smallest size's.
    pub(crate) fn ratio(&self) -> f64 {
        let median = |one: Option<&Measured>| one.map_or(1.0, |one| one.time.median);
        median(self.sizes.last()) / median(self.sizes.first())
    }
}

/// Functions that create a project of a size, and the hook that is measured in it.
type Make = fn(&Stage, usize) -> Result<()>;
type Probe = fn(&Stage) -> Contender;

const STORIES: &[usize] = &[10, 100, 1_000, 10_000];
const LINES: &[usize] = &[1, 1_000, 1_000_000];
/// A file is recorded once per session, so these are different files.
const READS: &[usize] = &[1, 100, 1_000];
const FILES: &[usize] = &[100, 5_000, 50_000];
const MEGABYTES: &[usize] = &[0, 100, 500];

const DIMENSIONS: [(&str, &[usize], Make, Probe); 8] = [
    ("stories in the plan: on-stop under the loop", STORIES, Stage::set_attempt, stop_of_run),
    ("stories in the plan: pre-prompt under the loop", STORIES, Stage::set_attempt, prompt),
    ("lines in the journal: pre-prompt", LINES, Stage::set_journal, prompt),
    ("lines in the journal: on-stop", LINES, Stage::set_journal, stop),
    (
        "reads in the session's log: edit of a file read first of all",
        READS,
        Stage::set_reads,
        |at| tool(at, hooks::edit(at, "src/lib.rs"), ""),
    ),
    ("reads in the session's log: edit of a file never read", READS, Stage::set_reads, |at| {
        tool(at, hooks::edit(at, "a.txt"), "read-before-edit")
    }),
    ("files in the repository: allowed command", FILES, Stage::set_files, |at| {
        tool(at, hooks::bash("PreToolUse", "cargo build"), "")
    }),
    (TRANSCRIPT, MEGABYTES, Stage::set_megabytes, stop),
];

/// The client writes what the hook reads at the end, so this time may grow a little.
const TRANSCRIPT: &str = "megabytes of transcript (a hole with real lines at its end): on-stop";

/// Measures all quantities.
pub(crate) fn run(binaries: &Utf8Path, rounds: usize) -> Result<Vec<Growth>> {
    let mut all = Vec::new();
    for (name, sizes, make, probe) in DIMENSIONS {
        let mut stages = Vec::new();
        for size in sizes {
            let stage = Stage::new(binaries)?;
            make(&stage, *size)?;
            stages.push(stage);
        }
        // A file written a moment ago may still change unnoticed, and is read more carefully.
        std::thread::sleep(super::SETTLED);
        let contenders = stages.iter().zip(sizes);
        let contenders =
            contenders.map(|(stage, size)| Contender { name: size.to_string(), ..probe(stage) });
        let sizes = measure(&contenders.collect::<Vec<_>>(), rounds)?;
        let bar = if name == TRANSCRIPT { None } else { Some(FLAT) };
        all.push(Growth { name, sizes, bar });
    }
    Ok(all)
}

fn stop(stage: &Stage) -> Contender {
    Contender::new("", stage.hook("ralph-on-stop", hooks::stop()))
}

fn stop_of_run(stage: &Stage) -> Contender {
    let mut contender = stop(stage);
    contender.program.vars.push(("RALPH_RUN".into(), "run-1".into()));
    contender
}

fn prompt(stage: &Stage) -> Contender {
    Contender::new("", stage.hook("ralph-pre-prompt", hooks::prompt()))
}

fn tool(stage: &Stage, input: Value, answer: &'static str) -> Contender {
    let hook = stage.hook("ralph-pre-tool", input);
    Contender { answer: Some(answer), ..Contender::new("", hook) }
}
