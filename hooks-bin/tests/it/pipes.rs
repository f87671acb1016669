//! A named pipe in place of a state file is refused, because a hook that opens it waits forever.

use serde_json::{Value, json};
use test_support::{Scratch, TestRepo, program, run_with_input};

use crate::failure_policy::BINARIES;
use crate::run::{begin, hold_lock};

/// The files that hooks read or write, relative to the project.
const FILES: [&str; 19] = [
    ".git/ralph/attempt.json",
    ".git/ralph/lock",
    ".ralph/.checkpoint",
    ".ralph/.hook-error.json",
    ".ralph/PRD-1/plan.md",
    ".ralph/PRD-1/progress.md",
    ".ralph/config.toml",
    ".ralph/context-window.json",
    ".ralph/current-story",
    ".ralph/events.jsonl",
    ".ralph/failure-context.log",
    ".ralph/guardrails.md",
    ".ralph/session.log",
    ".ralph/sessions.log",
    ".ralph/state/s1/loop.json",
    ".ralph/state/s1/session.log",
    ".ralph/state/s1/verdict.json",
    ".ralph/state/working-session",
    ".ralph/strikes.json",
];

/// Returns the payloads for each of the four hooks.
fn inputs(test: &TestRepo) -> [Vec<Value>; 4] {
    let edit = json!({"hook_event_name": "PreToolUse", "tool_name": "Edit",
        "tool_input": {"file_path": test.root().join("a.txt")}});
    let amend = json!({"hook_event_name": "PreToolUse", "tool_name": "Bash",
        "tool_input": {"command": "git commit --amend"}});
    let output = "FAILED test_a.py::test_b\n=== 1 failed in 0.01s ===\n";
    let failed = json!({"hook_event_name": "PostToolUseFailure", "tool_name": "Bash",
        "tool_input": {"command": "pytest"}, "error": format!("Exit code 1\n{output}")});
    let passed = json!({"hook_event_name": "PostToolUse", "tool_name": "Bash",
        "tool_input": {"command": "pytest"}, "tool_response": {"stdout": "=== 1 passed in 0.01s ===\n"}});
    let stop = json!({"hook_event_name": "Stop"});
    let task = json!({"hook_event_name": "TaskCompleted", "task_id": "1"});
    let end = json!({"hook_event_name": "SessionEnd"});
    let prompt = json!({"hook_event_name": "UserPromptSubmit", "prompt": "go"});
    [vec![edit, amend], vec![failed, passed], vec![stop, task, end], vec![prompt]]
}

/// Returns a project with a story under way, and a transcript with a large context.
fn project() -> TestRepo {
    let test = TestRepo::new();
    test.write(".ralph/config.toml", "[session]\nstories_per_session = 2\n");
    test.write(".ralph/PRD-1/plan.md", "- [ ] US-001: x\n");
    test.write(".ralph/current-story", "US-001\n");
    test.write(".ralph/.checkpoint", format!("{}\n", test.head()));
    test.write(".ralph/state/s1/loop.json", "{}");
    test.write("src/lib.rs", "changed");
    let line = json!({"type": "assistant", "message": {"usage": {"input_tokens": 900_000}}});
    test.scratch().file("transcript.jsonl", format!("{line}\n"));
    test
}

/// Sends all payloads to their hooks with a time limit, as a person and as an agent of the loop.
fn send_all(test: &TestRepo, home: &Scratch, what: &str) {
    let mailbox = test.root().join(".git/ralph/mailbox").into_string();
    let run = vec![("RALPH_RUN", "r1".to_owned()), ("RALPH_INTERNAL__MAILBOX", mailbox)];
    for vars in [Vec::new(), run] {
        for (binary, inputs) in BINARIES.iter().zip(inputs(test)) {
            for mut input in inputs {
                input["session_id"] = "s1".into();
                input["cwd"] = test.root().as_str().into();
                let transcript = test.scratch().path("transcript.jsonl");
                input["transcript_path"] = transcript.as_str().into();
                let mut command = program("timeout", home.root());
                command.args(["30", binary]).env("RALPH_ROOT", test.root()).envs(vars.clone());
                let output = run_with_input(&mut command, input.to_string().as_bytes());
                assert_eq!(output.status.code(), Some(0), "{what}: {input}");
            }
        }
    }
}

#[test]
fn no_hook_waits_for_a_pipe() {
    for file in FILES {
        let (test, home) = (project(), Scratch::new());
        let _ = fs_err::remove_file(test.root().join(file));
        test.scratch().pipe(&format!("repo/{file}"));
        send_all(&test, &home, file);
    }
    for file in [".ralph/state/s1/loop.json", ".ralph/events.jsonl"] {
        let home = Scratch::new();
        home.pipe(file);
        send_all(&project(), &home, file);
    }
}

#[test]
fn no_hook_waits_for_a_pipe_in_the_mailbox_of_a_running_loop() {
    for file in ["lock", "question.json"] {
        let (test, home) = (project(), Scratch::new());
        let _lock = hold_lock(test.root());
        begin(test.root(), test.root(), "r1");
        test.scratch().pipe(&format!("repo/.git/ralph/mailbox-{file}"));
        send_all(&test, &home, file);
    }
}
