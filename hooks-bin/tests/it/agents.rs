//! The hooks as agents other than Claude Code run them.

use serde_json::{Value, json};
use test_support::{Scratch, run_with_input};

use crate::client::{ON_STOP, POST_TOOL, PRE_TOOL};

fn project() -> Scratch {
    let scratch = Scratch::new();
    scratch.file(
        ".ralph/config.toml",
        "[stop]\nverify = true\n[verify]\ncommands = [\"test -f fixed.txt\"]\n",
    );
    scratch.file("a.txt", "hello\n");
    scratch
}

/// Runs a hook; returns what it printed and its exit code.
fn ask(program: &str, args: &[&str], scratch: &Scratch, payload: &Value) -> (String, Option<i32>) {
    let mut payload = payload.clone();
    payload["cwd"] = json!(scratch.root());
    payload["session_id"] = json!("s1");
    let mut command = test_support::program(program, &scratch.path("home"));
    command.args(args).current_dir(scratch.root());
    if args.is_empty() {
        command.env("COPILOT_CLI", "1");
    }
    let output = run_with_input(&mut command, payload.to_string().as_bytes());
    (String::from_utf8(output.stdout).unwrap(), output.status.code())
}

fn before(agent: &str, event: &str, tool: &str, input: Value) -> String {
    let payload = json!({"hook_event_name": event, "tool_name": tool, "tool_input": input});
    let args = ["--agent", agent];
    let args = if agent.is_empty() { &[][..] } else { &args };
    let (said, code) = ask(PRE_TOOL, args, &project(), &payload);
    assert_eq!(code, Some(0), "{agent} {tool}");
    said
}

#[test]
fn pushes_and_protected_files_are_denied_in_each_agents_format() {
    let push = json!({"command": "git push origin main"});
    let file = ".ralph/config.toml";
    let patch =
        format!("*** Begin Patch\n*** Update File: {file}\n@@\n-[stop]\n+[x]\n*** End Patch");
    for (agent, event, shell, edit, input) in [
        ("codex", "PreToolUse", "Bash", "apply_patch", json!({"command": patch})),
        ("gemini", "BeforeTool", "run_shell_command", "replace", json!({"file_path": file})),
        ("qwen", "PreToolUse", "run_shell_command", "edit", json!({"file_path": file})),
        ("copilot", "PreToolUse", "Bash", "Edit", json!({"path": file})),
        // Copilot also runs the hooks in Claude's settings, without an argument.
        ("", "PreToolUse", "Bash", "Edit", json!({"path": file})),
        ("opencode", "PreToolUse", "bash", "edit", json!({"filePath": file})),
        ("droid", "PreToolUse", "Execute", "Create", json!({"file_path": file})),
        ("kimi", "PreToolUse", "Bash", "Write", json!({"path": file})),
    ] {
        for said in [before(agent, event, shell, push.clone()), before(agent, event, edit, input)] {
            let answer: Value = serde_json::from_str(&said).unwrap();
            let decision = match agent {
                "gemini" => &answer["decision"],
                _ => &answer["hookSpecificOutput"]["permissionDecision"],
            };
            assert_eq!(decision, "deny", "{agent}: {said}");
            assert!(said.contains("is forbidden by rule"), "{agent}: {said}");
        }
    }
}

#[test]
fn a_failing_test_run_is_recorded_for_every_agent() {
    let output = "1 failed, 2 passed in 0.02s";
    let with_code = format!("{output}\n<shellId: 0 completed with exit code 1>");
    let with_code = json!({"text_result_for_llm": with_code});
    let with_metadata = json!({"output": output, "metadata": {"exit": 1}});
    for (agent, event, shell, field, response) in [
        ("codex", "PostToolUse", "Bash", "tool_response", json!(output)),
        ("copilot", "PostToolUse", "Bash", "tool_result", with_code),
        ("opencode", "PostToolUse", "bash", "tool_response", with_metadata),
    ] {
        let scratch = project();
        let mut payload = json!({"hook_event_name": event, "tool_name": shell,
                                 "tool_input": {"command": "pytest"}});
        payload[field] = response;
        let (said, _) = ask(POST_TOOL, &["--agent", agent], &scratch, &payload);
        assert!(!said.contains("\"decision\""), "a block would hide the output: {agent}: {said}");
        let journal = scratch.read(".ralph/events.jsonl");
        assert!(journal.contains("\"verdict\":\"failed\""), "{agent}: {journal}");
    }
}

#[test]
fn a_run_without_an_exit_code_is_not_recorded_as_passed() {
    let scratch = project();
    let payload = json!({"hook_event_name": "PostToolUse", "tool_name": "Bash",
                         "tool_input": {"command": "pytest --cov-fail-under=90"},
                         "tool_response": "3 passed in 0.02s"});
    ask(POST_TOOL, &["--agent", "codex"], &scratch, &payload);
    assert!(!scratch.path(".ralph/events.jsonl").exists());
}

#[test]
fn a_stop_is_blocked_once_regardless_of_stop_hook_active() {
    for (agent, event, is_active) in [
        ("codex", "Stop", false),
        ("gemini", "AfterAgent", false),
        ("qwen", "Stop", true),
        ("copilot", "Stop", false),
        ("droid", "Stop", false),
        ("kimi", "Stop", false),
    ] {
        let scratch = project();
        let payload = json!({"hook_event_name": event, "stop_hook_active": is_active});
        let stop = || ask(ON_STOP, &["--agent", agent], &scratch, &payload);
        let (said, code) = stop();
        if agent == "kimi" {
            assert_eq!((said.as_str(), code), ("", Some(2)));
        } else {
            assert!(said.contains("\"decision\":\"block\""), "{agent}: {said}");
        }
        let (said, code) = stop();
        assert!(!said.contains("block") && code == Some(0), "{agent}: {said}");
    }
    // The end of a subagent is not a stop of the session.
    let payload = json!({"hook_event_name": "Stop", "agent_id": "x", "parent_agent_id": "s1"});
    assert_eq!(ask(ON_STOP, &["--agent", "copilot"], &project(), &payload).0, "");
}

/// Codex types into a shell that runs without calling a hook.
#[test]
fn a_shell_to_type_into_is_denied_in_runs_of_codex() {
    let scratch = project();
    let denied = |args: &[&str], run: &str, line: &str| {
        let payload = json!({
            "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": line},
            "cwd": scratch.root(), "session_id": "s1",
        });
        let mut command = test_support::program(PRE_TOOL, &scratch.path("home"));
        command.args(args).current_dir(scratch.root()).env("RALPH_RUN", run);
        let output = run_with_input(&mut command, payload.to_string().as_bytes());
        String::from_utf8(output.stdout).unwrap().contains("rule typed-input")
    };
    let codex = &["--agent", "codex"];
    for line in ["bash", "/bin/sh", "bash -il", "exec zsh", "env A=1 bash", "cd src && bash"] {
        assert!(denied(codex, "run-1", line), "{line}");
        assert!(!denied(codex, "", line) && !denied(&["--run"], "run-1", line), "{line}");
    }
    for line in ["bash -c 'ls'", "bash build.sh", "sh <build.sh", "cat x | bash", "bash -lc 'make'"]
    {
        assert!(!denied(codex, "run-1", line), "{line}");
    }
}
