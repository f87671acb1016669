//! A session outside a loop is never blocked by the loop, and the cleanup after a session removes
//! only its own files.

use std::time::{Duration, SystemTime};

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
    let mut theirs = payload("Stop-first");
    theirs["session_id"] = "theirs".into();
    theirs.as_object_mut().unwrap().remove("hook_event_name");
    assert!(stage.send(&theirs).blocked.is_some(), "the fields tell the event");
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
    stage.write(".ralph/PRD-1/plan.md", "- [x] US-002: Log out\n");
    assert_eq!(stage.stop("s3", false), None);
    end(&stage, "s3");
    assert_eq!(incomplete(&stage), ["US-001", "US-002"], "the story is done");

    let of_another_loop = Stage::new();
    of_another_loop.write(".ralph/.checkpoint", &of_another_loop.repo.head());
    of_another_loop.write(".ralph/current-story", "US-001\n").write(".ralph/PRD-1/plan.md", PLAN);
    assert_eq!(of_another_loop.stop("s1", false), None);
    end(&of_another_loop, "s1");
    assert_eq!(incomplete(&of_another_loop), ["US-001"]);
}

#[test]
fn a_service_failure_is_recorded_as_an_early_stop() {
    for (name, status, note) in [
        ("StopFailure-rate-limited", "api_error", "rate_limit"),
        ("StopFailure-prompt-too-long", "handoff", "invalid_request"),
    ] {
        let stage = Stage::new().with("RALPH_RUN", "r1");
        stage.write(".ralph/current-story", "US-001\n").write(".ralph/PRD-1/plan.md", PLAN);
        assert_eq!(stage.send(&payload(name)).blocked, None);
        assert_eq!(stage.allowed(), (status.into(), note.into()));
        assert_eq!(incomplete(&stage), ["US-001"]);
    }
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
    stage.repo.symlink(".ralph/state/link", "theirs");
    for session in ["mine", "kept", "link"] {
        end(&stage, session);
    }
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
    for checkpoint in [None, Some("no commit\n")] {
        stage.write(".ralph/current-story", "US-001\n");
        checkpoint.map(|text| stage.write(".ralph/.checkpoint", text).exists("."));
        assert_eq!(stage.stop("s1", false), None);
        assert!(!stage.exists(".ralph/.checkpoint") && !stage.exists(".ralph/current-story"));
    }
    // A loop that began after the session may still be running.
    stage.write(".ralph/state/s2/session.log", "");
    std::thread::sleep(Duration::from_millis(20));
    stage.write(".ralph/.checkpoint", &stage.repo.head());
    assert_eq!(stage.stop("s2", false), None);
    assert!(stage.exists(".ralph/.checkpoint"));
}
