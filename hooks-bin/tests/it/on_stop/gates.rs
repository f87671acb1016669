//! Every gate alone and in combination, through the real binary.

use ralph_base::state::{Id, LastVerdict, StateDir};
use serde_json::json;

use super::{Stage, payload};

const ORCHESTRATOR: &str = r#"{"phase":"implementation","verified_done":false,
    "conditions":{"implementation_complete":false}}"#;
const LOOP: &str = r#"{"iteration":3,"max_iterations":25,"last_error":"E1 in a.ts:4"}"#;
const QUALITY: &str = r#"{"last_result":"failed","stages":{"types":{"status":"failed","details":"3 type errors found"}}}"#;
const TASK: &str = r#"{"status":"in_progress","title":"Log in"}"#;

fn fail_tests(stage: &Stage) {
    let session = StateDir::of_project(stage.repo.root()).session(&Id::parse("s1").unwrap());
    let verdict = LastVerdict {
        verdict: "failed".into(),
        command: "npm test".into(),
        tests: vec!["adds".into()],
        ..LastVerdict::default()
    };
    verdict.save(&session).unwrap();
}

/// A gate: its name, how it becomes unmet, and how its reason begins.
type Gate = (&'static str, fn(&Stage), &'static str);

const GATES: [Gate; 7] = [
    ("orchestrator", |s| _ = s.state("s1", "orchestrator.json", ORCHESTRATOR), {
        "ORCHESTRATOR gate failed: the orchestrator is in phase `implementation` and not verified; unmet: \
         implementation_complete. Next: finish the implementation,"
    }),
    ("loop", |s| _ = s.state("s1", "loop.json", LOOP), {
        "LOOP gate failed: the loop is at iteration 3/25 and is not done; last error: E1 in \
         a.ts:4. Next: fix that error,"
    }),
    ("quality", |s| _ = s.state("s1", "quality-gate.json", QUALITY), {
        "QUALITY gate failed: types: 3 type errors found. Next: fix what is reported, run `types` \
         again,"
    }),
    ("tasks", |s| _ = s.state("s1", "tasks/1.json", TASK), {
        "TASKS gate failed: 1 task is not finished: Log in. Next: finish them"
    }),
    ("tests", fail_tests, {
        "TESTS gate failed: the last test run failed (`npm test`): adds. Next: fix the cause"
    }),
    (
        "story",
        |s| {
            s.write(".ralph/current-story", "US-001\n")
                .write(".ralph/PRD-1/plan.md", "- [ ] US-001: Log in\n");
        },
        "STORY gate failed: story US-001 (Log in) is not done. Next: finish it and run `ralph-loop complete",
    ),
    (
        "verify",
        |s| {
            let config = "[stop]\nverify = true\n[verify]\ncommands = [\"echo broken; exit 3\"]\n";
            s.write(".ralph/config.toml", config);
        },
        "VERIFY gate failed: `echo broken; exit 3` failed with exit code 3; output:\nbroken\n",
    ),
];

/// Returns a session that our loop started, in a tree without changes.
fn stage() -> Stage {
    let stage = Stage::new().with("RALPH_RUN", "r1");
    assert_eq!(stage.stop("s1", false), None);
    stage
}

#[test]
fn each_gate_alone_blocks_once_per_turn() {
    for (name, unmeet, expected) in GATES {
        let stage = stage();
        unmeet(&stage);
        let reason = stage.stop("s1", false).unwrap_or_default();
        assert!(reason.starts_with(expected), "{name}: {reason}");
        assert_eq!(stage.last_event()["event"], "stop_blocked", "{name}");
        assert_eq!(stage.stop("s1", true), None, "{name}");
        assert!(stage.stop("s1", false).is_some(), "{name}: a new turn is judged again");
    }
}

#[test]
fn all_unmet_gates_are_listed_in_one_reason() {
    let stage = stage();
    for (_, unmeet, _) in GATES {
        unmeet(&stage);
    }
    let reason = stage.stop("s1", false).unwrap();
    assert!(reason.starts_with("7 gates keep this session from stopping:"), "{reason}");
    for (name, _, expected) in GATES {
        assert!(reason.contains(expected), "{name}: {reason}");
    }
    let event = stage.last_event();
    assert!(event["hook_event"] == "Stop" && event.get("agent_type").is_none(), "{event}");
    assert_eq!(event["reasons"].as_array().unwrap().len(), 7, "{event}");
    let gates = ["ORCHESTRATOR", "LOOP", "QUALITY", "TASKS", "TESTS", "STORY", "VERIFY"];
    assert_eq!(event["gates"], json!(gates));
}

#[test]
fn uncommitted_changes_block_only_orchestrated_sessions() {
    let stage = stage();
    stage.write("new.txt", "x");
    assert_eq!(stage.stop("s1", false), None, "advice alone holds nobody back");
    stage.state("s1", "loop.json", LOOP);
    let reason = stage.stop("s1", false).unwrap();
    assert!(reason.ends_with("\nAlso: 1 file is uncommitted: new.txt."), "{reason}");

    stage.state("s1", "loop.json", r#"{"verified_done":true}"#);
    stage.state("s1", "orchestrator.json", r#"{"verified_done":true}"#);
    assert_eq!(stage.stop("s1", false), None, "our loop commits what its agents leave");
    let stage = Stage::new();
    stage.write("new.txt", "x");
    stage.state("s1", "orchestrator.json", r#"{"verified_done":true}"#);
    let reason = stage.stop("s1", false).unwrap();
    assert_eq!(
        reason,
        "CHANGES gate failed: 1 file is uncommitted: new.txt. Next: commit what belongs to the \
         task, and delete what does not."
    );
    stage.repo.commit_all("done");
    assert_eq!(stage.stop("s1", false), None);
}

#[test]
fn a_broken_file_is_reported_and_does_not_block() {
    let stage = stage();
    for file in ["orchestrator.json", "loop.json", "quality-gate.json", "verdict.json", "stop.json"]
    {
        stage.state("s1", file, "rubbish");
        assert_eq!(stage.stop("s1", false), None, "{file}");
    }
    let stage = Stage::new();
    stage.state("s1", "quality-gate.json", "rubbish").state("s1", "tasks/1.json", TASK);
    assert!(stage.stop("s1", false).unwrap().starts_with("TASKS gate"), "the others still speak");
    let error = stage.read(".ralph/.hook-error.json");
    assert!(error.contains("quality-gate.json: it does not contain a JSON object"), "{error}");
}

#[test]
fn a_story_blocks_while_it_is_open_in_its_own_readable_plan() {
    let stage = stage();
    stage
        .write(".ralph/current-story", "US-201\n")
        .write(".ralph/PRD-1/plan.md", "- [ ] US-101: Earlier\n")
        .write(".ralph/PRD-2/plan.md", "- [ ] US-201: Later\n");
    let reason = stage.stop("s1", false).unwrap_or_default();
    assert!(reason.contains("story US-201 (Later) is not done"), "{reason}");
    stage.write(".ralph/PRD-2/plan.md", "- [x] US-201: Later\n");
    assert_eq!(stage.stop("s1", false), None);
    stage.repo.remove(".ralph/PRD-2");
    stage.write(".ralph/PRD-1/plan.md", "no stories");
    assert_eq!(stage.stop("s1", false), None);
    assert!(stage.read(".ralph/.hook-error.json").contains("plan.md"));
}

#[test]
fn gates_are_not_judged_while_a_background_task_runs() {
    let stage = Stage::new();
    stage.state("s1", "loop.json", LOOP);
    let mut input = payload("Stop-bash-background");
    assert_eq!(stage.send(&input).blocked, None);
    assert_eq!(stage.allowed(), ("waiting".into(), "waiting for sleep 1; echo FAIL".into()));
    input["background_tasks"][0]["status"] = "completed".into();
    assert!(stage.send(&input).blocked.unwrap().starts_with("LOOP gate"));
    input["background_tasks"][0]["status"] = "running".into();
    assert_eq!(stage.send(&input).blocked, None);
    input["background_tasks"] = json!([]);
    assert_eq!(stage.send(&input).blocked, None, "this turn was held back already");
    assert!(stage.send(&input).blocked.is_some(), "a new one is judged again");
}

#[test]
fn gates_are_not_judged_while_the_session_waits_to_be_woken_up_once() {
    let stage = Stage::new();
    stage.state("s1", "loop.json", LOOP);
    let mut input = payload("Stop-first");
    let planned = |recurring| json!([{"id": "a", "schedule": "56 13 * * *", "recurring": recurring, "prompt": "look at CI"}]);
    input["session_crons"] = planned(false);
    assert_eq!(stage.send(&input).blocked, None);
    assert_eq!(stage.allowed(), ("working".into(), "waiting to be woken up: look at CI".into()));
    input["session_crons"] = planned(true);
    assert!(stage.send(&input).blocked.unwrap().starts_with("LOOP gate"));
}

/// Sends a stop of a subagent of the session; returns the reason if the stop is blocked.
fn subagent_stops(stage: &Stage, agent_type: &str, id: &str, active: bool) -> Option<String> {
    let mut input = payload("SubagentStop-subagent");
    input["agent_type"] = agent_type.into();
    input["agent_id"] = id.into();
    input["stop_hook_active"] = active.into();
    stage.send(&input).blocked
}

#[test]
fn a_subagent_is_judged_only_by_its_own_work() {
    for (name, unmeet, expected) in GATES {
        let stage = stage();
        unmeet(&stage);
        let reason = subagent_stops(&stage, "ralph-coder", "a1", false);
        let is_its_work = ["quality", "verify"].contains(&name);
        assert_eq!(
            reason.is_some_and(|reason| reason.starts_with(expected)),
            is_its_work,
            "{name}"
        );
        assert!(stage.stop("s1", false).is_some(), "{name}: the session is held all the same");
    }
    let stage = stage();
    stage.state("s1", "orchestrator.json", ORCHESTRATOR).write("new.txt", "x");
    assert_eq!(subagent_stops(&stage, "ralph-coder", "a1", false), None);
    let red = json!({"verdict": "failed", "command": "npm test", "agent": "a1"}).to_string();
    stage.state("s1", "verdict.json", &red);
    assert_eq!(subagent_stops(&stage, "ralph-coder", "a2", false), None);
    let reason = subagent_stops(&stage, "ralph-coder", "a1", false).unwrap();
    assert!(reason.starts_with("TESTS gate failed") && !reason.contains("verified"), "{reason}");
}

#[test]
fn blocks_of_each_gated_subagent_are_counted_separately() {
    let stage = Stage::new();
    stage.state("s1", "quality-gate.json", QUALITY);
    let stop = |agent_type: &str, id: &str, active| subagent_stops(&stage, agent_type, id, active);
    assert_eq!(stop("general-purpose", "a1", false), None);
    assert!(stop("ralph-coder", "a1", false).unwrap().starts_with("QUALITY gate"));
    let event = stage.last_event();
    assert_eq!([&event["hook_event"], &event["agent_type"]], ["SubagentStop", "ralph-coder"]);
    assert_eq!(event["gates"], json!(["QUALITY"]));
    assert!(stop("ralph-coder", "a2", false).is_some());
    assert_eq!(stop("ralph-coder", "a1", true), None);
    assert!(stage.stop("s1", false).is_some(), "the session has its own count");
}

#[test]
fn a_session_with_an_invalid_id_is_never_blocked() {
    let stage = Stage::new().with("RALPH_RUN", "r1");
    stage
        .write(".ralph/current-story", "US-001")
        .write(".ralph/PRD-1/plan.md", "- [ ] US-001: x\n");
    for session in ["", "../s1", "a/b"] {
        assert_eq!(stage.stop(session, false), None);
    }
    assert!(stage.stop("s1", false).is_some());
    let mut input = json!({"hook_event_name": "Stop", "session_id": "s1"});
    input["transcript_path"] = "/no/such/file".into();
    assert!(stage.send(&input).blocked.is_some(), "little is needed to judge");
}

#[test]
fn a_second_stop_is_judged_but_not_blocked() {
    let stage = Stage::new().with("RALPH_RUN", "r1");
    let config = "[stop]\nverify = true\n[verify]\ncommands = [\"echo x >> ran; exit 1\"]\n";
    stage.write(".ralph/config.toml", config).state("s1", "tasks/1.json", TASK);
    assert!(stage.stop("s1", false).is_some());
    let notice = stage.answer("s1", true).notice.unwrap();
    assert!(notice.starts_with("let_go: the session may stop although a gate is"), "{notice}");
    assert!(notice.contains("TASKS gate failed"), "{notice}");
    let (status, note) = stage.allowed();
    assert_eq!(status, "let_go");
    assert_eq!(stage.last_event()["gates"], json!(["TASKS", "VERIFY"]));
    assert!(note.contains("as often as `[stop] max_blocks` allows; still unmet: TASKS"), "{note}");
    stage.state("s1", "tasks/1.json", &TASK.replace("in_progress", "completed"));
    assert!(stage.stop("s1", false).is_some());
    assert_eq!(stage.stop("s1", true), None);
    let event = stage.last_event();
    assert_eq!((&event["status"], &event["gates"]), (&"allowed".into(), &json!(["VERIFY"])));
    assert_eq!(stage.read("ran"), "x\nx\n", "the checks are run once a turn");
    stage.write(".ralph/config.toml", "[stop]\nmax_blocks = 0\n").state("s1", "loop.json", LOOP);
    assert_eq!(stage.stop("s1", false), None);
}

#[test]
fn the_gate_of_an_orchestrator_holds_once_while_the_work_is_not_verified() {
    let open = r#"{"phase":"testing","verified_done":false,"conditions":{"tests_pass":false}}"#;
    let done = r#"{"phase":"complete","verified_done":true}"#;
    for (state, active, is_held) in [
        (None, false, false),
        (Some(open), false, true),
        (Some(open), true, false),
        (Some(done), false, false),
    ] {
        let stage = Stage::new();
        state.map(|state| stage.state("s1", "orchestrator.json", state).exists("."));
        stage.repo.commit_all("state");
        let answer = stage.answer("s1", active);
        assert_eq!(answer.exit_code, 0, "the answer holds, not the exit code");
        assert_eq!(answer.blocked.is_some(), is_held, "{state:?} {active}: {answer:?}");
    }
}
