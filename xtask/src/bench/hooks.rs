//! Each hook on what it is called for, with the answer that proves it.

use anyhow::Result;
use camino::Utf8PathBuf;
use serde_json::{Value, json};

use super::rounds::Contender;
use super::spawn::Program;
use super::stage::{Stage, with, write};

/// How much slower than an empty program a hook may be, as a ratio of medians.
pub(crate) const USUAL: f64 = 1.15;
pub(crate) const WITH_WORK: f64 = 1.5;
pub(crate) const LONG_TRANSCRIPT: f64 = 2.0;

/// One situation of a hook.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) hook: &'static str,
    pub(crate) input: Value,
    /// What the answer holds; empty for none.
    pub(crate) answer: &'static str,
    /// The most that it may take, in runs of an empty program; none where git has to be asked.
    pub(crate) bar: Option<f64>,
    /// Files as they must be before each run; none for one that must not be there.
    pub(crate) files: Vec<(Utf8PathBuf, Option<Vec<u8>>)>,
}

impl Case {
    /// The hook in this situation.
    pub(crate) fn contender(&self, stage: &Stage) -> Contender {
        self.played_by(stage.hook(self.hook, self.input.clone()), self.name)
    }

    /// Another program in the same situation.
    pub(crate) fn played_by(&self, program: Program, name: &str) -> Contender {
        let files = self.files.clone();
        let before = move || {
            for (path, content) in &files {
                match content {
                    Some(content) => write(path, content)?,
                    None => drop(fs_err::remove_file(path)),
                }
            }
            Ok(())
        };
        Contender {
            before: Box::new(before),
            answer: Some(self.answer),
            ..Contender::new(name, program)
        }
    }
}

/// All of them.
pub(crate) fn cases(stage: &Stage) -> Result<Vec<Case>> {
    let mut all = pre_tool(stage);
    all.extend(post_tool(stage)?);
    all.extend(on_stop(stage)?);
    all.push(Case {
        name: "pre-prompt",
        hook: "ralph-pre-prompt",
        input: json!({
            "hook_event_name": "UserPromptSubmit",
            "prompt": "Please make the parser accept an empty line, and add a test for it.",
        }),
        answer: "",
        bar: Some(USUAL),
        files: vec![(stage.state().journal(), Some(Vec::new()))],
    });
    Ok(all)
}

fn bash(event: &str, command: &str) -> Value {
    json!({
        "hook_event_name": event, "tool_name": "Bash", "tool_use_id": "toolu_01",
        "tool_input": {"command": command, "description": "what it does"},
    })
}

fn pre_tool(stage: &Stage) -> Vec<Case> {
    let case = |name, input, answer, bar| Case {
        name,
        hook: "ralph-pre-tool",
        input,
        answer,
        bar: Some(bar),
        files: vec![(stage.state().journal(), Some(Vec::new()))],
    };
    let allowed = "cd src && ls -la && cargo build 2>&1 | tail -20";
    let denied = "git add -A && git commit -m 'wip' && git push origin main";
    let edit = json!({
        "hook_event_name": "PreToolUse", "tool_name": "Edit", "tool_use_id": "toolu_01",
        "tool_input": {
            "file_path": stage.repo.root().join("src/lib.rs"),
            "old_string": "42", "new_string": "43",
        },
    });
    vec![
        case("pre-tool, allowed command", bash("PreToolUse", allowed), "", USUAL),
        case("pre-tool, denied command", bash("PreToolUse", denied), "deny", WITH_WORK),
        case("pre-tool, edit", edit, "", USUAL),
    ]
}

fn post_tool(stage: &Stage) -> Result<Vec<Case>> {
    let failures = stage.state().failure_context();
    let files = vec![
        (stage.state().journal(), Some(Vec::new())),
        (stage.session()?.last_verdict(), None),
        (failures, None),
    ];
    let case = |name, input, answer, bar| Case {
        name,
        hook: "ralph-post-tool",
        input,
        answer,
        bar,
        files: files.clone(),
    };
    Ok(vec![
        case(
            "post-tool, not a test",
            succeeded("cd src && ls -la", "total 4\n-rw-r--r-- 1 dev dev 30 lib.rs"),
            "",
            Some(USUAL),
        ),
        case("post-tool, passing run", succeeded("cargo test", &test_run(12)), "", Some(WITH_WORK)),
        case(
            "post-tool, 30 KB output",
            succeeded("cargo test", &test_run(600)),
            "",
            Some(WITH_WORK),
        ),
        case("post-tool, failing run", failed("cargo test", FAILING), "block", None),
    ])
}

fn succeeded(command: &str, stdout: &str) -> Value {
    let response = json!({"stdout": stdout, "stderr": "", "interrupted": false, "isImage": false});
    with(bash("PostToolUse", command), json!({"tool_response": response}))
}

fn failed(command: &str, output: &str) -> Value {
    let error = format!("Exit code 101\n{output}");
    with(bash("PostToolUseFailure", command), json!({"error": error, "is_interrupt": false}))
}

/// A passing run of so many tests.
fn test_run(tests: usize) -> String {
    let mut text = format!("\nrunning {tests} tests\n");
    for number in 0..tests {
        text.push_str(&format!("test parser::tests::accepts_shape_{number:04} ... ok\n"));
    }
    text.push_str(&format!(
        "\ntest result: ok. {tests} passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; \
         finished in 0.42s\n"
    ));
    text
}

const FAILING: &str = "
running 2 tests
test parser::tests::accepts_nothing ... FAILED
test parser::tests::accepts_a_line ... ok

failures:

---- parser::tests::accepts_nothing stdout ----
thread 'parser::tests::accepts_nothing' panicked at src/parser.rs:12:9:
assertion `left == right` failed

failures:
    parser::tests::accepts_nothing

test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s

error: test failed, to rerun pass `--lib`
";

fn on_stop(stage: &Stage) -> Result<Vec<Case>> {
    let session = stage.session()?;
    let clean = vec![
        (stage.state().journal(), Some(Vec::new())),
        (session.quality_gate(), None),
        (session.loop_state(), None),
        (session.block_counters(), None),
        (session.last_stop(), None),
        (session.last_verdict(), None),
    ];
    let gated = |result: &str| {
        let stages = json!({"quality": {"status": result, "details": "3 type errors found"}});
        let quality = json!({"last_result": result, "stages": stages}).to_string();
        let own_loop = json!({"iteration": 2, "max_iterations": 5, "verified_done": true});
        let mut files = clean.clone();
        files.push((session.quality_gate(), Some(quality.into_bytes())));
        files.push((session.loop_state(), Some(own_loop.to_string().into_bytes())));
        files
    };
    let input = json!({
        "hook_event_name": "Stop", "stop_hook_active": false,
        "last_assistant_message": "All tests pass.", "background_tasks": [], "session_crons": [],
    });
    let case = |name, answer, bar, files| Case {
        name,
        hook: "ralph-on-stop",
        input: input.clone(),
        answer,
        bar,
        files,
    };
    let mut long = case("on-stop, 100 MB transcript", "", Some(LONG_TRANSCRIPT), clean.clone());
    let transcript = stage.set_transcript("long.jsonl", 100 << 20)?;
    long.input = with(long.input, json!({"transcript_path": transcript}));
    Ok(vec![
        case("on-stop, nothing to do", "", Some(USUAL), clean.clone()),
        case("on-stop, gates met", "", None, gated("passed")),
        case("on-stop, gates unmet", "block", None, gated("failed")),
        long,
    ])
}
