//! Decisions in the journal, and the messages to the person in front of the session.

use serde_json::json;

use super::{Stage, payload};

const LOOP: &str = r#"{"iteration":3,"max_iterations":25,"last_error":"E1"}"#;
const TASK: &str = r#"{"status":"pending","title":"Log in"}"#;

#[test]
fn a_block_event_names_its_gates_and_the_agent_type() {
    let stage = Stage::new();
    stage.state("s1", "loop.json", LOOP).state("s1", "tasks/1.json", TASK);
    assert!(stage.stop("s1", false).is_some());
    let event = stage.last_event();
    assert_eq!((&event["event"], &event["hook_event"]), (&"stop_blocked".into(), &"Stop".into()));
    assert_eq!(event["gates"], json!(["LOOP", "TASKS"]));
    assert!(event.get("agent_type").is_none(), "{event}");

    stage.state("s1", "quality-gate.json", r#"{"last_result":"failed"}"#);
    let mut input = payload("SubagentStop-subagent");
    input["session_id"] = "s1".into();
    input["agent_type"] = "ralph-worker".into();
    input["stop_hook_active"] = false.into();
    input["background_tasks"] = json!([]);
    assert!(stage.send(&input).blocked.is_some());
    let event = stage.last_event();
    assert_eq!(
        (&event["hook_event"], &event["agent_type"]),
        (&"SubagentStop".into(), &"ralph-worker".into())
    );
    assert_eq!(event["gates"], json!(["QUALITY"]));
}

#[test]
fn a_release_with_an_unmet_gate_is_recorded_and_shown() {
    let stage = Stage::new();
    stage.write(".ralph/config.toml", "[stop]\nmax_blocks = 9\nmax_idle_blocks = 1\n");
    stage.state("s1", "loop.json", LOOP);
    let mut input = payload("Stop-first");
    input["session_id"] = "s1".into();
    input["transcript_path"] = stage.repo.scratch().path("none.jsonl").as_str().into();
    assert!(stage.send(&input).blocked.is_some());
    input["stop_hook_active"] = true.into();
    let answer = stage.send(&input);
    let notice = answer.notice.unwrap();
    assert!(notice.starts_with("let_go: the session may stop although a gate is"), "{notice}");
    assert!(notice.contains("LOOP gate failed"), "{notice}");
    let event = stage.last_event();
    assert_eq!((&event["status"], &event["gates"]), (&"let_go".into(), &json!(["LOOP"])));
}

#[test]
fn a_second_stop_is_judged_but_not_blocked() {
    let stage = Stage::new().with("RALPH_RUN", "r1");
    let config = "[stop]\nverify = true\n[verify]\ncommands = [\"echo x >> ran; exit 1\"]\n";
    stage.write(".ralph/config.toml", config);
    let second = |task: &str| {
        stage.state("s1", "tasks/1.json", &TASK.replace("pending", task));
        assert_eq!(stage.stop("s1", true), None);
        let event = stage.last_event();
        (event["status"].clone(), event["gates"].clone())
    };
    stage.state("s1", "tasks/1.json", TASK);
    assert!(stage.stop("s1", false).is_some());
    assert_eq!(second("pending"), ("let_go".into(), json!(["TASKS", "VERIFY"])));
    assert!(stage.stop("s1", false).is_some());
    assert_eq!(second("completed"), ("allowed".into(), json!(["VERIFY"])));
    assert_eq!(stage.read("ran"), "x\nx\n", "the checks are run once a turn");
}

#[test]
fn a_handoff_is_reported_once() {
    let stage = Stage::new().with("RALPH_RUN", "r1");
    stage
        .write(".ralph/current-story", "US-001\n")
        .write(".ralph/PRD-1/plan.md", "- [ ] US-001: Log in\n")
        .write(".ralph/context-window.json", r#"{"windows":{"m":200000}}"#);
    stage.say("half of it".into(), 160_000);
    let mut input = payload("Stop-first");
    input["session_id"] = "s1".into();
    input["transcript_path"] = stage.repo.scratch().path("transcript.jsonl").as_str().into();
    let notice = stage.send(&input).notice.unwrap();
    assert!(notice.starts_with("handoff: the context is nearly full; a new session"), "{notice}");
    assert_eq!(stage.send(&input).notice, None);
}
