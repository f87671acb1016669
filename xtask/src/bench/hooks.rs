//! The situations in which each hook is measured, with the answer that proves each one.

use anyhow::{Context, Result, ensure};
use camino::Utf8PathBuf;
use serde_json::{Value, json};

use super::program::{Contender, Program, faults};
use super::stage::{Stage, with, write};

/// How much slower than an empty program a hook may be, as a ratio of medians; `None` if git has to
/// be run.
const USUAL: Option<f64> = Some(1.0);
const WITH_WORK: Option<f64> = Some(1.5);
const LONG_OUTPUT: Option<f64> = Some(2.5);
const LONG_TRANSCRIPT: Option<f64> = Some(2.0);

/// The maximum number of instructions of a hook on its usual path, with some work, and with a
/// program to start or a long text to read. docs/dev/performance.md explains their use.
const USUAL_INSTRUCTIONS: u64 = 150_000;
const SOME_INSTRUCTIONS: u64 = 500_000;
const MANY_INSTRUCTIONS: u64 = 2_400_000;

/// The maximum size of a hook in bytes.
const LARGEST: u64 = 2_500_000;

/// A situation in which a hook is measured.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) bar: Option<f64>,
    hook: &'static str,
    input: Value,
    /// A part of the expected answer; empty for no answer.
    answer: &'static str,
    /// The contents of files before each run; `None` for a file that must not exist.
    files: Vec<(Utf8PathBuf, Option<String>)>,
}

impl Case {
    /// Returns the hook in this situation.
    pub(crate) fn contender(&self, stage: &Stage) -> Contender {
        self.played_by(stage.hook(self.hook, self.input.clone()))
    }

    /// Returns another program in the same situation.
    fn played_by(&self, program: Program) -> Contender {
        let files = self.files.clone();
        let before = move || {
            for (path, content) in &files {
                match content {
                    Some(content) => write(path, content.as_bytes())?,
                    None => drop(fs_err::remove_file(path)),
                }
            }
            Ok(())
        };
        let answer = Some(self.answer);
        Contender { before: Box::new(before), answer, ..Contender::new(self.name, program) }
    }

    /// Returns the limits that the hook exceeds, one per line; prints what it uses.
    pub(crate) fn excess(&self, stage: &Stage, empty: u64) -> Result<Vec<String>> {
        let size = fs_err::metadata(stage.ours(self.hook))?.len();
        let (_, instructions) = self.instructions(stage)?;
        let faults = faults(&self.contender(stage))?;
        println!(
            "{instructions:>9} instructions {faults:>4} faults {size:>9} bytes  {}",
            self.name
        );
        let (most, most_faults) = match self.bar {
            USUAL => (USUAL_INSTRUCTIONS, empty),
            LONG_OUTPUT | None => (MANY_INSTRUCTIONS, u64::MAX),
            Some(_) => (SOME_INSTRUCTIONS, u64::MAX),
        };
        let found = [
            ("instructions", instructions, most),
            ("page faults", faults, most_faults),
            ("bytes", size, LARGEST),
        ];
        let over = found.into_iter().filter(|(_, found, most)| found > most);
        let name = self.name;
        Ok(over
            .map(|(what, found, most)| format!("{name}: {found} {what}, at most {most}"))
            .collect())
    }

    /// Counts the executed instructions with valgrind: the number is the same on a busy and an idle
    /// machine, so it shows regressions that vanish in the noise of times.
    pub(crate) fn instructions(&self, stage: &Stage) -> Result<(String, u64)> {
        let valgrind = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"];
        let line = valgrind.map(str::to_owned).into_iter().chain([stage.ours(self.hook)]).collect();
        let contender = self.played_by(stage.program(line, stage.input(self.input.clone())));
        let ended = contender.run()?;
        ensure!(ended.status.success(), "{}: valgrind failed: {}", self.name, ended.errors);
        // `==123== Collected : 456789`
        let collected = ended.errors.lines().find_map(|line| line.split_once("Collected :"));
        let (_, number) = collected.context("valgrind printed no count")?;
        Ok((self.name.to_owned(), number.trim().parse()?))
    }
}

/// Returns all cases.
pub(crate) fn cases(stage: &Stage) -> Result<Vec<Case>> {
    let (state, session) = (stage.state(), stage.session()?);
    let clean = vec![
        (state.journal(), Some(String::new())),
        (state.failure_context(), None),
        (session.quality_gate(), None),
        (session.loop_state(), None),
        (session.block_counters(), None),
        (session.last_stop(), None),
        (session.last_verdict(), None),
    ];
    let gated = |result: &str| {
        let stages = json!({"quality": {"status": result, "details": "3 type errors found"}});
        let quality = json!({"last_result": result, "stages": stages});
        let own_loop = json!({"iteration": 2, "max_iterations": 5, "verified_done": true});
        let mut files = clean.clone();
        files.push((session.quality_gate(), Some(quality.to_string())));
        files.push((session.loop_state(), Some(own_loop.to_string())));
        files
    };
    let long = stage.set_transcript("long.jsonl", 100 << 20)?;
    let long = with(stop(), json!({"transcript_path": long}));
    let allowed = bash("PreToolUse", "cd src && ls -la && cargo build 2>&1 | tail -20");
    let denied = bash("PreToolUse", "git add -A && git commit -m 'wip' && git push origin main");
    let listed = ended("ls -la", "total 4\n-rw-r--r-- 1 dev dev 30 lib.rs");
    let [short_run, long_run] = [12, 600].map(|tests| ended("cargo test", &test_run(tests)));
    let failing = json!({"error": format!("Exit code 101\n{FAILING}"), "is_interrupt": false});
    let failing = with(bash("PostToolUseFailure", "cargo test"), failing);
    let case = |name, (input, answer), bar| {
        let hook = match name {
            name if str::starts_with(name, "pre-tool") => "ralph-pre-tool",
            name if str::starts_with(name, "post-tool") => "ralph-post-tool",
            name if str::starts_with(name, "on-stop") => "ralph-on-stop",
            _ => "ralph-pre-prompt",
        };
        Case { name, bar, hook, input, answer, files: clean.clone() }
    };
    Ok(vec![
        case("pre-tool, allowed command", (allowed, ""), USUAL),
        case("pre-tool, denied command", (denied, "git-push"), WITH_WORK),
        case("pre-tool, edit", (edit(stage, "src/lib.rs"), ""), USUAL),
        case("post-tool, not a test", (listed, ""), USUAL),
        case("post-tool, passing run", (short_run, ""), WITH_WORK),
        case("post-tool, 30 KB output", (long_run, ""), LONG_OUTPUT),
        case("post-tool, failing run", (failing, "block"), None),
        case("on-stop, nothing to do", (stop(), ""), USUAL),
        Case { files: gated("passed"), ..case("on-stop, gates met", (stop(), ""), None) },
        Case { files: gated("failed"), ..case("on-stop, gates unmet", (stop(), "block"), None) },
        case("on-stop, 100 MB transcript", (long, ""), LONG_TRANSCRIPT),
        case("pre-prompt", (prompt(), ""), USUAL),
    ])
}

pub(crate) fn bash(event: &str, command: &str) -> Value {
    json!({
        "hook_event_name": event, "tool_name": "Bash", "tool_use_id": "toolu_01",
        "tool_input": {"command": command, "description": "what it does"},
    })
}

pub(crate) fn edit(stage: &Stage, file: &str) -> Value {
    json!({
        "hook_event_name": "PreToolUse", "tool_name": "Edit", "tool_use_id": "toolu_01",
        "tool_input": {
            "file_path": stage.repo.root().join(file), "old_string": "42", "new_string": "43",
        },
    })
}

pub(crate) fn stop() -> Value {
    json!({
        "hook_event_name": "Stop", "stop_hook_active": false,
        "last_assistant_message": "All tests pass.", "background_tasks": [], "session_crons": [],
    })
}

pub(crate) fn prompt() -> Value {
    let text = "Please make the parser accept an empty line, and add a test for it.";
    json!({"hook_event_name": "UserPromptSubmit", "prompt": text})
}

fn ended(command: &str, stdout: &str) -> Value {
    let response = json!({"stdout": stdout, "stderr": "", "interrupted": false, "isImage": false});
    with(bash("PostToolUse", command), json!({"tool_response": response}))
}

/// Returns the output of a passing test run with this many tests.
fn test_run(tests: usize) -> String {
    let line = |number| format!("test parser::tests::accepts_shape_{number:04} ... ok\n");
    let lines: String = (0..tests).map(line).collect();
    format!(
        "\nrunning {tests} tests\n{lines}\ntest result: ok. {tests} passed; 0 failed; 0 ignored; \
         0 measured; 0 filtered out; finished in 0.42s\n"
    )
}

const FAILING: &str = "
running 2 tests
test parser::tests::accepts_nothing ... FAILED
test parser::tests::accepts_a_line ... ok

---- parser::tests::accepts_nothing stdout ----
thread 'parser::tests::accepts_nothing' panicked at src/parser.rs:12:9:
assertion `left == right` failed

failures:
    parser::tests::accepts_nothing

test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s
";
