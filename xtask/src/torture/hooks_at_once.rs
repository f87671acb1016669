//! 64 hooks at the same instant: no line of the journal is torn or missing, no read is forgotten,
//! and of many failing test runs one is rolled back.

use std::io::Write;
use std::process::{Child, Stdio};

use anyhow::{Context, Result};
use ralph_base::state::StateDir;
use ralph_core::git::{Checkpoint, Repo};
use serde_json::{Value, json};

use super::oracle;
use super::stage::Stage;

const HOOKS: usize = 64;

/// All of them, in so many sessions.
pub(super) fn run(stage: &Stage, sessions: usize) -> Result<Vec<String>> {
    let state = StateDir::of_project(stage.repo.root());
    state.prepare()?;
    let repo = Repo::open(stage.repo.root())?;
    Checkpoint::create(&repo, &state, "before")?;
    stage.repo.write("attempt.txt", "that fails");
    for n in 0..HOOKS {
        stage.repo.write(format!("build/{n}.txt"), "read by a hook");
    }
    let children: Vec<Child> =
        (0..HOOKS).map(|n| call(stage, n, sessions)).collect::<Result<_>>()?;
    let mut found = Vec::new();
    for child in children {
        let output = child.wait_with_output()?;
        if output.status.code() != Some(0) || !output.stderr.is_empty() {
            found.push(format!("a hook ended badly: {output:?}"));
        }
    }
    found.extend(journal(stage));
    found.extend(reads(stage, &state, sessions));
    if stage.path("attempt.txt").exists() {
        found.push("the attempt was not rolled back".to_owned());
    }
    found.extend(stage.work.differences(&super::users_work::UsersWork::read(&stage.repo)));
    Checkpoint::clear(&state)?;
    found.extend(oracle::leftovers(stage));
    Ok(found)
}

/// A third is denied, a third reads, a third runs tests that fail.
fn call(stage: &Stage, n: usize, sessions: usize) -> Result<Child> {
    let (hook, event, tool, given) = match n % 3 {
        0 => {
            let command = format!("git push origin number-{n}");
            ("ralph-pre-tool", "PreToolUse", "Bash", json!({"command": command}))
        }
        1 => {
            let file = stage.path(&format!("build/{n}.txt"));
            ("ralph-post-tool", "PostToolUse", "Read", json!({"file_path": file}))
        }
        _ => ("ralph-post-tool", "PostToolUseFailure", "Bash", json!({"command": "pytest"})),
    };
    let failed = event == "PostToolUseFailure";
    let error = "Exit code 1\nFAILED test_a.py::test_b\n=== 1 failed in 0.1s ===";
    let input = json!({
        "hook_event_name": event,
        "session_id": format!("s-{}", n % sessions),
        "cwd": stage.repo.root(),
        "tool_name": tool,
        "tool_input": given,
        "tool_response": {"type": "text"},
        "error": failed.then_some(error),
    });
    let mut command = stage.program(stage.binary(hook).as_str());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn()?;
    let mut stdin = child.stdin.take().context("no pipe")?;
    stdin.write_all(input.to_string().as_bytes())?;
    Ok(child)
}

fn journal(stage: &Stage) -> Vec<String> {
    let mut found = Vec::new();
    let (mut rolled_back, mut denied) = (0, 0);
    for line in stage.read(".ralph/events.jsonl").lines() {
        let Ok(event) = serde_json::from_str::<Value>(line) else {
            found.push(format!("a line is torn: {line}"));
            continue;
        };
        match event.get("event").and_then(Value::as_str) {
            Some("rolled_back") => rolled_back += 1,
            Some("denied") => denied += 1,
            Some("hook_error") => found.push(format!("a hook failed: {line}")),
            _ => {}
        }
    }
    let wanted = (0..HOOKS).filter(|n| n % 3 == 0).count();
    if denied != wanted || rolled_back != 1 {
        found.push(format!("{denied} of {wanted} denials, {rolled_back} rollbacks"));
    }
    found
}

fn reads(stage: &Stage, state: &StateDir, sessions: usize) -> Vec<String> {
    let mut found = Vec::new();
    for n in (0..HOOKS).filter(|n| n % 3 == 1) {
        let Ok(id) = ralph_base::state::Id::parse(&format!("s-{}", n % sessions)) else { continue };
        let log = fs_err::read_to_string(state.session(&id).reads()).unwrap_or_default();
        let wanted = format!("Read: {}", stage.path(&format!("build/{n}.txt")));
        if !log.lines().any(|line| line == wanted) {
            found.push(format!("{id} forgot that it read build/{n}.txt"));
        }
    }
    found
}
