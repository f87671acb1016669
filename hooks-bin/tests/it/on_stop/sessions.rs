//! A session outside a loop is never blocked by the loop, and the cleanup after a session removes
//! only its own files.

use std::time::{Duration, SystemTime};

use serde_json::json;

use super::{Stage, payload};
use crate::run::begin;

const PLAN: &str = "- [ ] US-001: Log in\n- [ ] US-002: Log out\n";

/// Returns a project in which another session has every kind of unmet gate.
fn busy_project() -> Stage {
    let stage = Stage::new();
    stage
        .write(".ralph/config.toml", "[session]\nstories_per_session = 9\n")
        .write(".ralph/PRD-1/plan.md", PLAN)
        .write(".ralph/current-story", "US-001\n")
        .write("feature_list.json", r#"{"features":[{"id":1,"description":"x","passes":false}]}"#)
        .write("dirty.txt", "not committed")
        .state("theirs", "orchestrator.json", r#"{"verified_done":false}"#)
        .state("theirs", "loop.json", r#"{"verified_done":false}"#)
        .state("theirs", "quality-gate.json", r#"{"last_result":"failed"}"#)
        .state("theirs", "tasks/1.json", r#"{"status":"pending"}"#)
        .state("theirs", "verdict.json", r#"{"version":1,"verdict":"failed"}"#);
    stage
}

#[test]
fn another_session_in_the_same_project_is_never_blocked() {
    let stage = busy_project();
    assert!(stage.stop("theirs", false).is_some());
    for active in [false, true, false] {
        assert_eq!(stage.stop("mine", active), None);
        stage.work();
    }
    // A failed test run of the session does not block it either.
    stage.state("mine", "verdict.json", r#"{"version":1,"verdict":"failed"}"#);
    assert_eq!(stage.stop("mine", false), None);
    let mut subagent = payload("SubagentStop-subagent");
    subagent["session_id"] = "mine".into();
    subagent["agent_type"] = "ralph-coder".into();
    assert_eq!(stage.send(&subagent).blocked, None);
}

#[test]
fn an_open_story_of_another_loop_is_recorded_as_incomplete() {
    let stage = Stage::new();
    stage.write(".ralph/current-story", "US-001\n").write(".ralph/PRD-1/plan.md", PLAN);
    assert_eq!(stage.stop("s1", false), None);
    end(&stage, "s1");
    assert_eq!(incomplete(&stage), ["US-001"]);
}

#[test]
fn a_payload_without_an_event_is_judged_by_its_fields() {
    let stage = busy_project();
    let mut input = payload("Stop-first");
    input["session_id"] = "theirs".into();
    input.as_object_mut().unwrap().remove("hook_event_name");
    assert!(stage.send(&input).blocked.unwrap().contains("gate"));
}

#[test]
fn an_independent_session_is_not_blocked_by_the_story_of_our_loop() {
    let stage = busy_project();
    begin(stage.repo.root(), stage.repo.root(), "another");
    stage.state("mine", "orchestrator.json", r#"{"verified_done":true}"#);
    stage.repo.commit_all("clean");
    assert_eq!(stage.stop("mine", false), None);
    assert!(!stage.exists(".ralph/sessions.log"));
}

#[test]
fn a_project_without_a_state_folder_is_not_changed() {
    let stage = Stage::new();
    stage.repo.remove(".ralph");
    stage.repo.scratch().file("home/.ralph/state/s1/loop.json", r#"{"last_error":"x"}"#);
    assert!(stage.stop("s1", false).unwrap().starts_with("LOOP gate"));
    assert_eq!(stage.stop("s1", true), None);
    assert!(!stage.exists(".ralph"));
    let journal = stage.repo.scratch().read("home/.ralph/events.jsonl");
    assert!(journal.contains("stop_blocked") && journal.contains("stop_allowed"), "{journal}");
}

fn end(stage: &Stage, session: &str) {
    let mut input = payload("SessionEnd-first");
    input["session_id"] = session.into();
    assert_eq!(stage.send(&input).blocked, None);
}

/// Returns the incomplete stories of `sessions.log`; each line must have the documented format.
fn incomplete(stage: &Stage) -> Vec<String> {
    let log = stage.read(".ralph/sessions.log");
    log.lines()
        .map(|line| {
            let parts: Vec<&str> = line.split(':').collect();
            assert_eq!(parts.len(), 3, "{line}");
            assert_eq!(parts[0], "incomplete");
            assert!(parts[2].parse::<u64>().unwrap() > 1_700_000_000, "{line}");
            parts[1].to_owned()
        })
        .collect()
}

#[test]
fn an_early_stop_is_recorded_once() {
    let stage = Stage::new().with("RALPH_RUN", "r1");
    stage.write(".ralph/current-story", "US-001\n").write(".ralph/PRD-1/plan.md", PLAN);
    assert!(stage.stop("s1", false).is_some());
    assert!(!stage.exists(".ralph/sessions.log"), "it was held back");
    assert_eq!(stage.stop("s1", true), None);
    assert_eq!(stage.stop("s1", true), None);
    end(&stage, "s1");
    assert_eq!(incomplete(&stage), ["US-001"]);
    stage.write(".ralph/current-story", "US-002\n");
    end(&stage, "s2");
    assert_eq!(incomplete(&stage), ["US-001", "US-002"], "an interrupt fires no Stop");
}

#[test]
fn a_stop_after_a_done_story_is_not_early() {
    let stage = Stage::new().with("RALPH_RUN", "r1");
    stage
        .write(".ralph/current-story", "US-001\n")
        .write(".ralph/PRD-1/plan.md", "- [x] US-001: x\n");
    assert_eq!(stage.stop("s1", false), None);
    end(&stage, "s1");
    assert!(!stage.exists(".ralph/sessions.log"));
}

#[test]
fn a_service_failure_is_recorded_as_an_early_stop() {
    let stage = Stage::new().with("RALPH_RUN", "r1");
    stage.write(".ralph/current-story", "US-001\n").write(".ralph/PRD-1/plan.md", PLAN);
    let mut input = payload("StopFailure-rate-limited");
    input["session_id"] = "s1".into();
    assert_eq!(stage.send(&input).blocked, None);
    assert_eq!(stage.allowed(), ("api_error".into(), "rate_limit".into()));
    assert_eq!(incomplete(&stage), ["US-001"]);
}

#[test]
fn a_prompt_that_is_too_long_is_a_handoff() {
    let stage = Stage::new().with("RALPH_RUN", "r1");
    let mut input = payload("StopFailure-prompt-too-long");
    input["session_id"] = "s1".into();
    assert_eq!(stage.send(&input).blocked, None);
    assert_eq!(stage.allowed(), ("handoff".into(), "invalid_request".into()));
}

#[test]
fn the_end_of_a_session_removes_its_temporary_files() {
    let stage = Stage::new();
    for session in ["mine", "theirs"] {
        stage
            .state(session, "session.log", "Read: /a\n")
            .state(session, "verdict.json", "{}")
            .state(session, "blocks.json", "{}");
    }
    stage.state("kept", "session.log", "Read: /a\n").state("kept", "orchestrator.json", "{}");
    end(&stage, "mine");
    end(&stage, "kept");
    assert!(!stage.exists(".ralph/state/mine"));
    assert!(stage.exists(".ralph/state/theirs/blocks.json"), "another session's");
    assert!(!stage.exists(".ralph/state/kept/session.log"));
    assert!(stage.exists(".ralph/state/kept/orchestrator.json"), "another tool's");
}

#[test]
fn the_result_of_a_loop_session_is_kept_for_the_loop() {
    let stage = Stage::new().with("RALPH_RUN", "r1");
    stage.state("s1", "verdict.json", r#"{"version":1,"verdict":"passed"}"#);
    assert_eq!(stage.stop("s1", false), None);
    end(&stage, "s1");
    assert!(stage.exists(".ralph/state/s1/verdict.json"));
    assert!(stage.read(".ralph/state/s1/stop.json").contains("\"status\": \"allowed\""));
    assert!(!stage.exists(".ralph/state/s1/blocks.json"));
}

#[test]
fn cleanup_never_follows_a_symlink() {
    let stage = Stage::new();
    stage.write(".ralph/state/other/session.log", "Read: /a\n");
    stage.repo.symlink(".ralph/state/s1", "other");
    stage.send(&json!({"hook_event_name": "SessionEnd", "session_id": "s1", "reason": "other"}));
    assert_eq!(stage.read(".ralph/state/other/session.log"), "Read: /a\n");
}

#[test]
fn stale_files_of_another_loop_are_removed_on_an_allowed_stop() {
    let stage = Stage::new();
    stage.write(".ralph/.checkpoint", &stage.repo.head()).write(".ralph/current-story", "US-001\n");
    for name in [".ralph/.checkpoint", ".ralph/current-story"] {
        let path = stage.repo.root().join(name);
        let file = fs_err::OpenOptions::new().write(true).open(path).unwrap();
        let five_days_ago = SystemTime::now() - Duration::from_secs(5 * 24 * 60 * 60);
        file.file().set_modified(five_days_ago).unwrap();
    }
    assert_eq!(stage.stop("s1", false), None);
    assert!(!stage.exists(".ralph/.checkpoint") && !stage.exists(".ralph/current-story"));
    // A loop that began after the session may still be running.
    stage.write(".ralph/state/s2/session.log", "");
    std::thread::sleep(Duration::from_millis(20));
    stage.write(".ralph/.checkpoint", &stage.repo.head());
    assert_eq!(stage.stop("s2", false), None);
    assert!(stage.exists(".ralph/.checkpoint"));
}
