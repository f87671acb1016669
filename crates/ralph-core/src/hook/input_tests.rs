//! Inputs that the client sends, and inputs that a later client might send.

use camino::Utf8Path;
use test_support::fixtures;

use super::*;

fn payload(name: &str) -> Input {
    let path = fixtures().join("payloads").join(format!("{name}.json"));
    Input::parse(&fs_err::read(path).unwrap()).unwrap()
}

#[test]
fn every_recorded_payload_is_read() {
    let mut events = std::collections::BTreeSet::new();
    for entry in fs_err::read_dir(fixtures().join("payloads")).unwrap() {
        let path = entry.unwrap().path();
        let input = Input::parse(&fs_err::read(&path).unwrap()).unwrap();
        let name = path.file_name().unwrap().to_str().unwrap();
        assert!(name.starts_with(&input.event), "{name}: {}", input.event);
        assert!(!input.session_id.is_empty() && input.cwd.is_some(), "{name}");
        events.insert(input.event);
    }
    assert_eq!(events.len(), 13, "{events:?}");
}

#[test]
fn the_result_of_a_command_has_exit_code_and_output_or_the_file_of_a_long_output() {
    let ok = BashResult { exit_code: Some(0), output: "out\nerr".into(), ..BashResult::default() };
    assert_eq!(payload("PostToolUse-bash-ok").bash_result(), Some(ok));
    let failed = payload("PostToolUseFailure-bash-exit-1");
    let failed = failed.bash_result().unwrap();
    assert_eq!((failed.exit_code, &*failed.output), (Some(1), "1 failed, 3 passed\noops"));
    let large = payload("PostToolUse-bash-ok-large-output");
    let large = large.bash_result().unwrap();
    let file = large.output_file.unwrap();
    assert!(file.is_absolute() && large.output.len() < 40_000, "{file}");
}

#[test]
fn a_background_command_is_still_running() {
    for name in ["PostToolUse-bash-background", "PostToolUse-bash-timed-out"] {
        let input = payload(name);
        let result = input.bash_result().unwrap();
        assert!(result.still_running && result.exit_code.is_none(), "{name}");
    }
    let tasks = payload("Stop-bash-background").background_tasks;
    assert_eq!(tasks[0].command.as_deref(), Some("sleep 1; echo FAIL"));
}

#[test]
fn file_tools_name_their_file() {
    for name in ["PreToolUse-edit", "PreToolUse-read", "PostToolUse-edit", "PostToolUse-read"] {
        let path = payload(name).file().unwrap().file_path;
        assert_eq!(path, Utf8Path::new("/home/dev/project/a.txt"), "{name}");
    }
    let notebook = br#"{"tool_name":"NotebookEdit","tool_input":{"notebook_path":"/n.ipynb"}}"#;
    assert_eq!(Input::parse(notebook).unwrap().file().unwrap().file_path, "/n.ipynb");
    assert!(payload("PreToolUse-bash-ok").file().is_none());
}

#[test]
fn tools_with_a_command_count_as_bash_except_file_tools() {
    let sent = |tool: &str, input: &str| {
        let text = format!(
            r#"{{"tool_name":"{tool}","tool_input":{input},"tool_response":
            {{"taskId":"b1","timeoutMs":3000,"persistent":false}}}}"#
        );
        Input::parse(text.as_bytes()).unwrap()
    };
    for tool in ["Bash", "Monitor", "PowerShell", "mcp__box__run", ""] {
        let input = sent(tool, r#"{"command":"git push","description":"x"}"#);
        assert_eq!(input.bash().unwrap().command, "git push", "{tool}");
        assert!(input.bash_result().is_none() && input.file().is_none(), "{tool}");
    }
    for input in [
        r#"{"command":["git","push"]}"#,
        r#"{"command":"'git'","args":["push",7]}"#,
        r#"{"command":"'git' 'push'","args":"x"}"#,
    ] {
        assert_eq!(sent("mcp__box__run", input).bash().unwrap().command, "'git' 'push'", "{input}");
    }
    for input in [r#"{"command":""}"#, r#"{"prompt":"x"}"#, r#"{"command":[7],"args":["x"]}"#] {
        assert!(sent("Monitor", input).bash().is_none(), "{input}");
    }
    assert!(sent("Write", r#"{"file_path":"/a","command":"git push"}"#).bash().is_none());
    // A lone surrogate does not hide the command.
    let input = sent("Bash", r#"{"command":"git push \ud83d"}"#);
    assert_eq!(input.bash().unwrap().command, "git push \u{fffd}");
}

#[test]
fn a_failure_without_an_exit_code_keeps_its_whole_text() {
    let sent = br#"{"tool_name":"Bash","error":"Command timed out\nlater","is_interrupt":true}"#;
    let input = Input::parse(sent).unwrap();
    let result = input.bash_result().unwrap();
    assert_eq!((result.exit_code, &*result.output), (None, "Command timed out\nlater"));
    assert!(result.interrupted);
}

#[test]
fn fields_of_unexpected_types_count_as_missing() {
    let sent = br#"{"hook_event_name":"Stop","session_id":7,"cwd":null,"stop_hook_active":"yes",
        "background_tasks":{"a":1},"prompt":["x"],"tool_name":"Bash","tool_input":"text",
        "tool_response":7}"#;
    let input = Input::parse(sent).unwrap();
    assert_eq!(input.event, "Stop");
    assert_eq!(input.session_id, "");
    assert!(input.cwd.is_none() && !input.stop_hook_active && input.prompt.is_none());
    assert!(input.background_tasks.is_empty());
    assert!(input.bash().is_none() && input.bash_result().is_none());
}

#[test]
fn a_missing_event_is_inferred_from_the_fields() {
    let check = |sent: &str, known: &[&str], expected: Option<&str>| {
        let input = Input::parse(sent.as_bytes()).unwrap();
        assert_eq!(input.event_among(known), expected, "{sent}");
    };
    let stops = ["Stop", "SubagentStop", "TaskCompleted", "TeammateIdle", "SessionEnd"];
    check(r#"{"tool_name":"Bash"}"#, &["PreToolUse"], Some("PreToolUse"));
    check(r#"{"tool_name":"Bash"}"#, &["PostToolUse"], Some("PostToolUse"));
    let failed = r#"{"tool_name":"Bash","error":"Exit code 1"}"#;
    check(failed, &["PostToolUse", "PostToolUseFailure"], Some("PostToolUseFailure"));
    check(r#"{"prompt":"go"}"#, &["UserPromptSubmit"], Some("UserPromptSubmit"));
    check(r#"{"session_id":"s1","stop_hook_active":false}"#, &stops, Some("Stop"));
    check(r#"{"session_id":"s1","agent_id":"a"}"#, &stops, Some("SubagentStop"));
    check(r#"{"session_id":"s1","task_id":"1"}"#, &stops, Some("TaskCompleted"));
    check(r#"{"session_id":"s1","reason":"exit"}"#, &stops, Some("SessionEnd"));
    check("{}", &stops, None);
    check(r#"{"tool_name":"Bash"}"#, &stops, None);
}

#[test]
fn input_that_is_not_an_object_is_an_error() {
    for sent in [&b""[..], b"null", b"[]", b"{", b"{\"cwd\":[1,}", b"{\"a\":1} x", b"\xff\xfe"] {
        assert!(Input::parse(sent).is_err(), "{sent:?}");
    }
}
