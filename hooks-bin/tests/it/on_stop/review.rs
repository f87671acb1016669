//! Another agent reads what a session without the loop has changed.

use serde_json::json;

use super::Stage;

const BLOCKING: &str = r#"{"approve": false, "findings": [{"kind": "blocking", "file": "a.txt", "line": 1, "message": "wrong"}]}"#;

/// A project with a change, and a reviewer that notes what it was asked and answers.
fn stage(answer: &str) -> Stage {
    let stage = Stage::new();
    let asked = stage.repo.scratch().path("asked");
    let script = format!("cat >>'{asked}'\ncat <<'END'\n{answer}\nEND\n");
    let script = stage.repo.scratch().file("reviewer.sh", &script);
    let review = format!("[stop]\nreview = true\n[review]\ncommand = \"sh {script}\"\n");
    stage.write(".ralph/config.toml", &review);
    stage.repo.commit_all("settings");
    stage.write("new.txt", "brand new\n").write("a.txt", "changed\n");
    stage
}

fn asked(stage: &Stage) -> String {
    fs_err::read_to_string(stage.repo.scratch().path("asked")).unwrap_or_default()
}

#[test]
fn what_a_reviewer_finds_holds_the_session_once_a_turn() {
    let stage = stage(BLOCKING);
    let said = json!({"type": "user", "message": {"content": "make it so"}});
    fs_err::write(stage.repo.scratch().path("transcript.jsonl"), format!("{said}\n")).unwrap();
    let reason = stage.stop("s1", false).unwrap_or_default();
    let expected = "REVIEW gate failed: the review found: a.txt:1: wrong\nNext: fix what was found";
    assert!(reason.starts_with(expected), "{reason}");
    let asked_once = asked(&stage);
    for part in ["make it so", "+changed", "new file: new.txt\n+brand new"] {
        assert!(asked_once.contains(part), "no {part} in {asked_once}");
    }
    assert!(!asked_once.contains("hush"), "{asked_once}");
    assert_eq!(stage.stop("s1", true), None);
    assert_eq!(asked(&stage), asked_once, "nobody is asked twice in a turn");
}

#[test]
fn approval_lets_go_and_so_does_the_lack_of_a_review() {
    let answer = json!({"type": "result", "result": "{\"approve\": true}"}).to_string();
    assert_eq!(stage(&answer).stop("s1", false), None);
    let garbage = stage("fine by me");
    assert_eq!(garbage.stop("s1", false), None);
    let recorded = garbage.read(".ralph/.hook-error.json");
    assert!(recorded.contains("not reviewed: the answer was not understood"), "{recorded}");
}

#[test]
fn nobody_is_asked_where_there_is_nothing_to_read_or_it_is_not_theirs() {
    let clean = stage(BLOCKING);
    clean.repo.commit_all("all of it");
    assert_eq!((clean.stop("s1", false), asked(&clean)), (None, String::new()));
    // A loop has its own review; and a reviewer is not reviewed.
    for (name, value) in [("RALPH_RUN", "r1"), ("RALPH_INTERNAL__REVIEWER", "1")] {
        let stage = stage(BLOCKING).with(name, value);
        assert_eq!((stage.stop("s1", false), asked(&stage)), (None, String::new()));
    }
}
