//! How a hook's time grows with what lies around it: plan, journal, reads, transcript, files.

use anyhow::Result;
use camino::Utf8Path;
use serde_json::{Value, json};

use super::rounds::{Contender, Measured, measure};
use super::stage::{Stage, write};

/// How much slower the largest may be than the smallest.
pub(crate) const FLAT: f64 = 1.2;

/// One thing that grows.
pub(crate) struct Growth {
    /// What grows, and which hook looks at it.
    pub(crate) name: &'static str,
    /// From the smallest to the largest.
    pub(crate) sizes: Vec<(String, Measured)>,
    /// Whether it has to stay flat.
    pub(crate) bar: Option<f64>,
}

impl Growth {
    /// The largest next to the smallest.
    pub(crate) fn ratio(&self) -> f64 {
        let medians = || self.sizes.iter().map(|(_, measured)| measured.time.median);
        medians().next_back().unwrap_or(1.0) / medians().next().unwrap_or(1.0)
    }
}

/// A thing that grows: its sizes, how a project of a size is made, and what is measured in it.
struct Dimension {
    name: &'static str,
    sizes: &'static [usize],
    make: fn(&Stage, usize) -> Result<()>,
    probe: fn(&Stage, usize) -> Result<Contender>,
    bar: Option<f64>,
}

/// Measures all of them.
pub(crate) fn run(binaries: &Utf8Path, rounds: usize, dense: bool) -> Result<Vec<Growth>> {
    let mut all = Vec::new();
    for dimension in DIMENSIONS {
        let mut stages = Vec::new();
        for size in dimension.sizes {
            let stage = Stage::new(binaries)?;
            (dimension.make)(&stage, *size)?;
            stages.push(stage);
        }
        // What was written a moment ago may still change unseen, and is looked at more closely.
        std::thread::sleep(super::SETTLED);
        let mut contenders = Vec::new();
        for (stage, size) in stages.iter().zip(dimension.sizes) {
            contenders.push((dimension.probe)(stage, *size)?);
        }
        let measured = measure(&contenders, rounds)?;
        let sizes = measured.into_iter().map(|one| (one.name.clone(), one)).collect();
        all.push(Growth { name: dimension.name, sizes, bar: dimension.bar });
    }
    if dense {
        all.push(dense_transcript(binaries, rounds)?);
    }
    Ok(all)
}

const DIMENSIONS: &[Dimension] = &[
    Dimension {
        name: "stories in the plan: on-stop under the loop",
        sizes: &[10, 100, 1_000, 10_000],
        make: |stage, size| {
            stage.set_plan(size)?;
            stage.set_attempt(size)
        },
        probe: |stage, size| stop_under_the_loop(stage, &size.to_string()),
        bar: Some(FLAT),
    },
    Dimension {
        name: "stories in the plan: on-stop with a story that another tool gave out",
        sizes: &[10, 100, 1_000, 10_000],
        make: |stage, size| {
            stage.set_plan(size)?;
            stage.set_own_loop()?;
            write(&stage.state().current_story(), b"US-001\n")
        },
        probe: |stage, size| stop(stage, &size.to_string()),
        bar: Some(FLAT),
    },
    Dimension {
        name: "stories in the plan: pre-prompt under the loop",
        sizes: &[10, 100, 1_000, 10_000],
        make: |stage, size| {
            stage.set_plan(size)?;
            stage.set_attempt(size)
        },
        probe: |stage, size| Ok(prompt(stage, &size.to_string())),
        bar: Some(FLAT),
    },
    Dimension {
        name: "lines in the journal: pre-prompt",
        sizes: &[1, 1_000, 1_000_000],
        make: |stage, size| {
            stage.set_journal(size)?;
            write(&stage.state().current_story(), b"US-010\n")
        },
        probe: |stage, size| Ok(prompt(stage, &size.to_string())),
        bar: Some(FLAT),
    },
    Dimension {
        name: "lines in the journal: on-stop",
        sizes: &[1, 1_000, 1_000_000],
        make: |stage, size| stage.set_journal(size),
        probe: |stage, size| stop(stage, &size.to_string()),
        bar: Some(FLAT),
    },
    Dimension {
        name: "reads in the session's log: edit of a file read first of all",
        sizes: &[1, 1_000, 100_000],
        make: |stage, size| stage.set_reads(size),
        probe: |stage, size| Ok(edit(stage, "src/lib.rs", "", &size.to_string())),
        bar: Some(FLAT),
    },
    Dimension {
        name: "reads in the session's log: edit of a file never read",
        sizes: &[1, 1_000, 100_000],
        make: |stage, size| stage.set_reads(size),
        probe: |stage, size| Ok(edit(stage, "a.txt", "deny", &size.to_string())),
        bar: Some(FLAT),
    },
    Dimension {
        name: "files in the repository: allowed command",
        sizes: &[100, 5_000, 50_000],
        make: |stage, size| stage.set_files(size),
        probe: |stage, size| Ok(command(stage, "cargo build", &size.to_string())),
        bar: Some(FLAT),
    },
    Dimension {
        name: "megabytes of transcript (a hole with real lines at its end): on-stop",
        sizes: &[0, 100, 500],
        make: |stage, size| {
            stage.set_transcript("transcript.jsonl", (size as u64) << 20)?;
            Ok(())
        },
        probe: |stage, size| stop(stage, &size.to_string()),
        bar: None,
    },
];

/// The same of real lines throughout: 500 MB of them, so only where it is asked for.
fn dense_transcript(binaries: &Utf8Path, rounds: usize) -> Result<Growth> {
    let (empty, full) = (Stage::new(binaries)?, Stage::new(binaries)?);
    full.set_dense_transcript("transcript.jsonl", 500 << 20)?;
    let measured = measure(&[stop(&empty, "0")?, stop(&full, "500")?], rounds)?;
    let sizes = measured.into_iter().map(|one| (one.name.clone(), one)).collect();
    Ok(Growth {
        name: "megabytes of transcript (real lines throughout): on-stop",
        sizes,
        bar: None,
    })
}

fn contender(stage: &Stage, hook: &str, input: Value, size: &str) -> Contender {
    Contender::new(size, stage.hook(hook, input))
}

fn stop(stage: &Stage, size: &str) -> Result<Contender> {
    let input = json!({
        "hook_event_name": "Stop", "stop_hook_active": false,
        "last_assistant_message": "All tests pass.", "background_tasks": [],
    });
    Ok(contender(stage, "ralph-on-stop", input, size))
}

fn stop_under_the_loop(stage: &Stage, size: &str) -> Result<Contender> {
    let mut contender = stop(stage, size)?;
    contender.program.vars.push(("RALPH_RUN".into(), "run-1".into()));
    Ok(contender)
}

fn prompt(stage: &Stage, size: &str) -> Contender {
    let input = json!({"hook_event_name": "UserPromptSubmit", "prompt": "Go on, please."});
    contender(stage, "ralph-pre-prompt", input, size)
}

fn command(stage: &Stage, command: &str, size: &str) -> Contender {
    let input = json!({
        "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": command},
    });
    contender(stage, "ralph-pre-tool", input, size)
}

fn edit(stage: &Stage, file: &str, answer: &'static str, size: &str) -> Contender {
    let input = json!({
        "hook_event_name": "PreToolUse", "tool_name": "Edit",
        "tool_input": {"file_path": stage.repo.root().join(file), "old_string": "a", "new_string": "b"},
    });
    Contender { answer: Some(answer), ..contender(stage, "ralph-pre-tool", input, size) }
}
