//! Hostile input: fuzzed readers, ids that want to be paths, links that lead outside, files that
//! everybody may write, and keys that nobody may keep.

use std::os::unix::fs::PermissionsExt;

use anyhow::Result;
use camino::{Utf8Path, Utf8PathBuf};
use serde_json::{Value, json};
use test_support::{KeyShape, key_shapes, run_with_input};

use super::dice::Dice;
use super::links;
use super::stage::{PLANS, Stage};
use super::tally::Tally;
use crate::fuzz::READERS;

/// Inputs for a reader in one round.
const INPUTS: u64 = 2_000;

/// All kinds in turn, the bounds permitting.
pub(super) fn run(binaries: &Utf8Path, dice: &mut Dice, tally: &mut Tally) -> Result<()> {
    let mut round = 0;
    let mut shapes = Vec::new();
    while tally.goes_on() {
        match round % 5 {
            0 => {
                if let Some(reader) = READERS.get(round / 5 % READERS.len()) {
                    let found = reader.fuzz(INPUTS, dice.roll());
                    tally.round(&format!("fuzzed {}", reader.name()), INPUTS, found);
                }
            }
            1 => {
                let stage = Stage::new(binaries, PLANS[0]);
                let name = dice.pick(&IDS).copied().unwrap_or_default();
                tally.round(&format!("the id {name:?}"), 1, hostile_id(&stage, name));
            }
            2 => {
                let stage = Stage::new(binaries, PLANS[0]);
                let (name, found) = links::round(&stage, dice);
                tally.round(&name, 1, found);
            }
            3 => {
                let stage = Stage::new(binaries, PLANS[0]);
                tally.round("written by everybody", 1, writable_by_all(&stage));
            }
            _ => {
                if shapes.is_empty() {
                    shapes = key_shapes();
                }
                let stage = Stage::new(binaries, PLANS[0]).with_agent("blurts");
                if let Some(shape) = shapes.pop() {
                    tally.round(&format!("the key {}", shape.name), 1, key(&stage, &shape));
                }
            }
        }
        round += 1;
    }
    Ok(())
}

/// What a session or a story may be called by somebody who means no good.
const IDS: [&str; 9] =
    ["../../evil", "/tmp/evil", "..", ".git", "a/b", "evil\0name", "evil\nname", "-rf", "LONG"];

/// A session and a story of that name: nothing appears outside of the project, and in it nothing
/// but state.
fn hostile_id(stage: &Stage, id: &str) -> Result<Vec<String>> {
    let id = if id == "LONG" { "x".repeat(10_000) } else { id.to_owned() };
    let scratch = stage.repo.scratch().root();
    let before = listed(scratch);
    let mut found = Vec::new();
    for (hook, event) in [
        ("ralph-pre-tool", "PreToolUse"),
        ("ralph-post-tool", "PostToolUse"),
        ("ralph-on-stop", "Stop"),
        ("ralph-pre-prompt", "UserPromptSubmit"),
    ] {
        let input = json!({"hook_event_name": event, "session_id": id, "cwd": stage.repo.root(),
            "tool_name": "Read", "tool_input": {"file_path": stage.path("a.txt")},
            "tool_response": {}, "prompt": "hello", "stop_hook_active": false});
        let output = send(stage, hook, &input);
        if output.status.code() != Some(0) || !output.stderr.is_empty() {
            found.push(format!("{hook} ended badly: {output:?}"));
        }
    }
    let story = json!({"id": id, "title": "evil", "passes": false, "priority": 1});
    stage.repo.write("prd.json", json!({"userStories": [story]}).to_string());
    let args = ["--plan", "prd.json", "--max-iterations", "1", "--attempts", "1"];
    let begun = std::time::Instant::now();
    let mut command = stage.looped(&args)?;
    command.env("RALPH_AGENT", "echo done >work.txt");
    let ran = stage.wait(command.spawn()?, begun)?;
    if ran.hung || ran.said.contains("panicked at") {
        found.push(ran.said.clone());
    }
    let expected = |path: &Utf8PathBuf| {
        let below = path.strip_prefix(stage.repo.root()).unwrap_or(path);
        let known = ["prd.json", "progress.md", "work.txt"].iter().any(|name| below == *name);
        known
            || below.starts_with(".ralph")
            || below.starts_with(".git")
            || path.starts_with(scratch.join("home/.cache/ralph"))
            || path == &scratch.join("out")
    };
    for path in listed(scratch) {
        if !before.contains(&path) && !expected(&path) {
            found.push(format!("{path} appeared"));
        }
    }
    let state = stage.path(".ralph/state");
    if listed(&state).iter().any(|path| path.as_str().contains("evil")) {
        found.push(format!("a session called {id:?} has state"));
    }
    Ok(found)
}

fn listed(folder: &Utf8Path) -> Vec<Utf8PathBuf> {
    let mut found = Vec::new();
    super::oracle::walk(folder, &mut |path| found.push(path.to_owned()));
    found
}

/// A plan and settings that everybody may write: the loop says so.
fn writable_by_all(stage: &Stage) -> Result<Vec<String>> {
    for name in [stage.plan, ".ralph/config.toml"] {
        let open = std::fs::Permissions::from_mode(0o666);
        fs_err::set_permissions(stage.path(name), open)?;
    }
    let begun = std::time::Instant::now();
    let child = stage.looped(&["--max-iterations", "1"])?.spawn()?;
    let ran = stage.wait(child, begun)?;
    let told = ran.said.matches("is writable by everyone").count();
    Ok(if told == 2 { Vec::new() } else { vec![format!("told {told} times:\n{}", ran.said)] })
}

/// A key in a prompt, a denied command, a failing test, and in all that an agent says: it is in no
/// file that we keep, but for the agent's own raw output.
fn key(stage: &Stage, shape: &KeyShape) -> Result<Vec<String>> {
    let text = &shape.text;
    let session = json!({"session_id": "s-1", "cwd": stage.repo.root(), "tool_name": "Bash"});
    let calls = [
        ("ralph-pre-prompt", json!({"hook_event_name": "UserPromptSubmit", "prompt": text})),
        (
            "ralph-pre-tool",
            json!({"hook_event_name": "PreToolUse", "tool_input": {"command": format!("git push '{text}'")}}),
        ),
        (
            "ralph-post-tool",
            json!({"hook_event_name": "PostToolUseFailure", "tool_input": {"command": format!("KEY='{text}' pytest")},
                "error": format!("Exit code 1\nFAILED test_a.py::test_b - {text}\n{text}\n=== 1 failed in 0.1s ===")}),
        ),
        ("ralph-post-tool", json!({"hook_event_name": text, "tool_input": {}})),
        ("ralph-on-stop", json!({"hook_event_name": "Stop", "last_assistant_message": text})),
    ];
    for (hook, mut input) in calls {
        if let (Some(input), Some(session)) = (input.as_object_mut(), session.as_object()) {
            input.extend(session.clone());
        }
        send(stage, hook, &input);
    }
    let args = ["--max-iterations", "2", "--attempts", "1"];
    let mut command = stage.looped(&args)?;
    command.env("BLURTED", text);
    let begun = std::time::Instant::now();
    stage.wait(command.spawn()?, begun)?;
    let mut found = Vec::new();
    let raw = stage.path(".ralph/logs");
    for path in listed(&stage.path(".ralph")).iter().filter(|path| !path.starts_with(&raw)) {
        let kept = String::from_utf8_lossy(&fs_err::read(path)?).into_owned();
        if let Some(secret) = shape.secrets.iter().find(|secret| kept.contains(secret.as_str())) {
            found.push(format!("{path} holds {secret}"));
        }
    }
    let subjects = stage.repo.git(["log", "--all", "--format=%s %b"]);
    if shape.secrets.iter().any(|secret| subjects.contains(secret.as_str())) {
        found.push("a commit message holds it".to_owned());
    }
    Ok(found)
}

fn send(stage: &Stage, hook: &str, input: &Value) -> std::process::Output {
    let mut command = stage.program(stage.binary(hook).as_str());
    run_with_input(&mut command, input.to_string().as_bytes())
}
