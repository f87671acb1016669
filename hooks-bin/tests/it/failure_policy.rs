//! For any input, a hook exits with 0, prints nothing unintended and records failures.

use std::process::{Output, Stdio};

use ralph_base::env::Env;
use ralph_core::git::SnapshotError;
use ralph_core::hook::{Decision, Reply};
use ralph_hooks::harness::{Hook, serve, speak};
use test_support::{Scratch, fixtures, program, run_with_input};

use crate::client::{ON_STOP, POST_TOOL, PRE_PROMPT, PRE_TOOL};

pub(crate) const BINARIES: [&str; 4] = [PRE_TOOL, POST_TOOL, ON_STOP, PRE_PROMPT];

fn run(binary: &str, project: &Scratch, input: &[u8]) -> Output {
    run_with_input(program(binary, project.root()).current_dir(project.root()), input)
}

fn check_silent(output: &Output, what: &str) {
    assert_eq!(output.status.code(), Some(0), "{what}");
    assert!(output.stdout.is_empty() && output.stderr.is_empty(), "{what}: {output:?}");
}

fn last_error(project: &Scratch) -> serde_json::Value {
    let record: serde_json::Value =
        serde_json::from_str(&project.read(".ralph/.hook-error.json")).unwrap();
    let journal = project.read(".ralph/events.jsonl");
    let line: serde_json::Value = serde_json::from_str(journal.lines().last().unwrap()).unwrap();
    assert_eq!(line["event"], "hook_error");
    assert_eq!(line["error"], record["error"]);
    record
}

#[test]
fn invalid_input_yields_no_opinion_and_a_record() {
    let lone_brace = "{".repeat(100_000);
    let deep = format!("{{\"tool_input\":{}", "[".repeat(100_000));
    let inputs: [(&[u8], &str); 7] = [
        (b"", "not a JSON object"),
        (b"null", "not a JSON object"),
        (b"\xff\xfe\x00garbage", "not a JSON object"),
        (b"{\"hook_event_name\":\"Pre", "EOF"),
        (lone_brace.as_bytes(), "key must be a string"),
        (deep.as_bytes(), "EOF"),
        (b"{\"hook_event_name\":\"NoSuchEvent\"}", "does not handle the event"),
    ];
    for binary in BINARIES {
        for (input, expected) in inputs {
            let project = Scratch::new();
            project.dir(".ralph");
            check_silent(&run(binary, &project, input), expected);
            let error = last_error(&project)["error"].as_str().unwrap().to_owned();
            assert!(error.contains(expected), "{error}");
        }
    }
}

#[test]
fn input_above_the_size_limit_is_refused() {
    let project = Scratch::new();
    project.dir(".ralph");
    let mut input = br#"{"hook_event_name":"PreToolUse","x":""#.to_vec();
    input.resize(16 * 1024 * 1024 + 1024, b'x');
    for binary in BINARIES {
        check_silent(&run(binary, &project, &input), binary);
        let error = last_error(&project);
        assert_eq!(error["phase"], "reading");
        assert!(error["error"].as_str().unwrap().contains("16 MiB"));
    }
}

#[test]
fn every_recorded_payload_is_answered_without_a_failure() {
    for entry in fs_err::read_dir(fixtures().join("payloads")).unwrap() {
        let payload = fs_err::read(entry.unwrap().path()).unwrap();
        let input = ralph_core::hook::Input::parse(&payload).unwrap();
        let hooks = [
            &ralph_hooks::pre_tool::HOOK,
            &ralph_hooks::post_tool::HOOK,
            &ralph_hooks::on_stop::HOOK,
            &ralph_hooks::pre_prompt::HOOK,
        ];
        for (hook, binary) in hooks.into_iter().zip(BINARIES) {
            if hook.events.contains(&input.event.as_str()) {
                let project = Scratch::new();
                project.dir(".ralph");
                let mut command = program(binary, project.root());
                let output =
                    run_with_input(command.env("CLAUDE_PROJECT_DIR", project.root()), &payload);
                assert_eq!(output.status.code(), Some(0));
                assert!(!project.path(".ralph/.hook-error.json").exists(), "{}", input.event);
            }
        }
    }
}

#[test]
fn a_client_that_closed_the_pipes_causes_no_failure() {
    for binary in BINARIES {
        let project = Scratch::new();
        project.dir(".ralph");
        let closed = "exec <&- >&- 2>&-; \"$0\"; echo $? > code";
        let mut shell = program("sh", project.root());
        let status = shell.args(["-c", closed, binary]).current_dir(project.root()).status();
        assert!(status.unwrap().success());
        assert_eq!(project.read("code"), "0\n");
    }
}

#[test]
fn the_help_option_describes_the_hook() {
    for binary in BINARIES {
        let scratch = Scratch::new();
        let mut command = program(binary, scratch.root());
        let output = command.arg("--help").stdin(Stdio::null()).output().unwrap();
        assert_eq!(output.status.code(), Some(0));
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(text.contains("The client runs it") && text.contains("settings.json"), "{text}");
    }
}

#[test]
fn a_panic_yields_no_opinion_and_a_record_of_its_location() {
    let project = Scratch::new();
    project.dir(".ralph");
    let own = std::env::current_exe().unwrap();
    let mut hook = program(own.to_str().unwrap(), project.root());
    hook.args(["--exact", "failure_policy::a_hook_that_panics", "--ignored", "--nocapture"]);
    let input = br#"{"hook_event_name":"Stop","session_id":"s1"}"#;
    let output = run_with_input(hook.env("RALPH_ROOT", project.root()), input);
    let printed = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(!printed.contains("decision") && !printed.contains("test result"), "{printed}");
    assert!(output.stderr.is_empty());
    let error = last_error(&project);
    assert_eq!(error["phase"], "deciding");
    let text = error["error"].as_str().unwrap();
    assert!(text.contains("failure_policy.rs") && text.contains("out of bounds"), "{text}");
}

#[test]
#[ignore = "a program of the test above"]
fn a_hook_that_panics() {
    const HOOK: Hook = Hook {
        name: "ralph-test",
        purpose: "",
        events: &["Stop"],
        decide: |call| {
            let empty: Vec<u8> = Vec::new();
            Ok(Decision::Block(format!("{}{}", call.hook, empty[call.input.event.len()])))
        },
        mistake: |_| None,
    };
    speak(&HOOK, None);
}

#[test]
fn an_error_yields_no_opinion_and_a_record_of_its_causes() {
    let hook = Hook {
        name: "ralph-test",
        purpose: "",
        events: &["Stop"],
        decide: |_| Err(SnapshotError::Io(std::io::Error::other("disk on fire")).into()),
        mistake: |_| None,
    };
    let project = Scratch::new();
    project.dir(".ralph");
    let env = Env::of([("RALPH_ROOT", project.root().as_str()), ("RALPH_RUN", "r1")]);
    let input = br#"{"hook_event_name":"Stop","session_id":"s1"}"#;
    assert_eq!(serve(&hook, &env, None, Ok(input)), Reply::default());
    let error = last_error(&project);
    assert_eq!(error["hook_event"], "Stop");
    assert!(error["error"].as_str().unwrap().contains("disk on fire"));
    let journal = project.read(".ralph/events.jsonl");
    assert!(journal.contains(r#""session":"s1","run":"r1""#), "{journal}");
}
