//! A session with a full context is released with a note for the next session.

use super::Stage;

const PLAN: &str = "- [ ] US-001: Log in\n";

/// Returns the context windows as the loop records them.
fn reported(tokens: u64) -> String {
    format!("{{\"windows\":{{\"m\":{tokens},\"side\":10000000}}}}")
}

fn stage(used: u64) -> Stage {
    let stage = Stage::new().with("RALPH_RUN", "r1");
    stage
        .write(".ralph/current-story", "US-001\n")
        .write(".ralph/PRD-1/plan.md", PLAN)
        .write(".ralph/context-window.json", &reported(200_000));
    stage.say("half of it".into(), used);
    stage
}

#[test]
fn at_the_limit_the_session_is_handed_over_with_a_note() {
    let stage = stage(160_000);
    stage.write(".ralph/PRD-1/progress.md", "# Progress Log\n\nmine");
    let notice = stage.answer("s1", false).notice.unwrap();
    assert!(notice.starts_with("handoff: the context is nearly full; a new session"), "{notice}");
    let note = "context limit reached: 160k of 200k tokens (80%)";
    assert_eq!(stage.allowed(), ("handoff".into(), note.into()));
    let progress = stage.read(".ralph/PRD-1/progress.md");
    assert!(
        progress.starts_with("# Progress Log\n\nmine\n\n## Handoff - US-001\n- Time: "),
        "{progress}"
    );
    let expected = "\n- Context: 160k of 200k tokens (80%)\n- Left off: end\n";
    assert!(progress.ends_with(expected), "{progress}");
    assert!(stage.read(".ralph/state/s1/stop.json").contains("\"status\": \"handoff\""));
    assert!(stage.read(".ralph/sessions.log").starts_with("incomplete:US-001:"));

    let again = stage.answer("s1", false);
    assert_eq!((again.blocked, again.notice), (None, None), "it is reported once");
    assert_eq!(stage.read(".ralph/PRD-1/progress.md"), progress, "the note is left once");
}

#[test]
fn the_note_for_a_feature_list_is_written_beside_it() {
    let stage = Stage::new();
    let list = r#"{"features":[{"id":1,"description":"x","passes":false}]}"#;
    stage.repo.scratch().file("loop/feature_list.json", list);
    stage.repo.scratch().file("loop/progress.txt", "- Iteration: 1\n");
    let dir = stage.repo.scratch().path("loop");
    let stage = stage.with("RALPH_LOOP_DIR", dir.as_str());
    stage.write(".ralph/context-window.json", &reported(200_000));
    stage.say("x".into(), 180_000);
    assert_eq!(stage.stop("s1", false), None);
    let note = stage.repo.scratch().read("loop/progress.md");
    assert!(note.starts_with("# Progress Log\n\n## Handoff - no story\n"), "{note}");
    assert_eq!(stage.repo.scratch().read("loop/progress.txt"), "- Iteration: 1\n");
}

#[test]
fn an_answer_that_the_client_writes_late_is_waited_for() {
    let stage = stage(150_000);
    std::thread::scope(|scope| {
        let stop = scope.spawn(|| stage.stop("s1", false));
        // The hook may find the older answer or this one first; the outcome is the same.
        stage.say(serde_json::json!([{"type": "text", "text": "end"}]), 170_000);
        assert_eq!(stop.join().unwrap(), None);
    });
    assert_eq!(stage.allowed().0, "handoff");
}

#[test]
fn only_the_reported_context_window_of_the_model_counts() {
    let stage = stage(159_999);
    let held = || assert!(stage.stop("s1", false).unwrap().starts_with("STORY gate"));
    held();
    stage.say("more".into(), 900_000);
    let others = reported(200_000).replace("\"m\"", "\"other\"");
    stage.write(".ralph/context-window.json", &others);
    held();
    stage.repo.remove(".ralph/context-window.json");
    held();
    stage.say("compacted".into(), 160_000);
    stage.write(".ralph/context-window.json", &reported(1_000_000));
    held();
    stage.write(".ralph/config.toml", "[session]\ncontext_limit = 0.1\n");
    assert_eq!(stage.stop("s1", false), None);
    assert_eq!(stage.allowed().1, "context limit reached: 160k of 1000k tokens (16%)");
}

#[test]
fn a_session_that_nothing_blocks_is_not_handed_over() {
    let stage = Stage::new();
    stage.say("x".into(), 190_000);
    assert_eq!(stage.stop("s1", false), None);
    assert!(!stage.exists(".ralph/events.jsonl"), "nothing was looked at, nothing written");
}
