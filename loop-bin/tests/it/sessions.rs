//! Several stories in one session, and sessions that hand over: the loop and the real stop hook.

use std::process::Command;
use std::sync::OnceLock;

use camino::{Utf8Path, Utf8PathBuf};

use crate::stage::{LOOP, Ran, Stage};

/// The real hook, which is another package's program: built where that was not done yet.
fn stop_hook() -> Utf8PathBuf {
    static BUILT: OnceLock<Utf8PathBuf> = OnceLock::new();
    BUILT
        .get_or_init(|| {
            let mut cargo = Command::new(env!("CARGO"));
            cargo.args(["build", "--quiet", "--offline", "--package", "ralph-hooks"]);
            let built = cargo.current_dir(env!("CARGO_MANIFEST_DIR")).status();
            assert!(built.expect("cargo runs").success());
            Utf8Path::new(LOOP).with_file_name("ralph-on-stop")
        })
        .clone()
}

fn plan(stories: usize) -> String {
    (1..=stories).map(|n| format!("- [ ] US-{n:03}: Story {n}\n")).collect()
}

/// Runs the loop with an agent that obeys the hook; `tokens` are what each story needs.
fn run(stage: &Stage, args: &[&str], tokens: u64, window: u64, half: &str) -> Ran {
    let mut command = stage.command(args);
    command
        .env("STOP_HOOK", stop_hook())
        .env("STORY_TOKENS", tokens.to_string())
        .env("WINDOW", window.to_string())
        .env("HALF", half);
    command.output().unwrap().into()
}

const AUTO: [&str; 2] = ["--stories-per-session", "auto"];

fn handoffs(stage: &Stage) -> usize {
    stage.read(".ralph/events.jsonl").matches("\"status\":\"handoff\"").count()
}

#[test]
fn a_session_goes_on_until_its_context_is_full_and_a_fresh_one_follows() {
    let stage = Stage::new("obeys-stop-hook", &plan(5));
    // Nothing is known about the window at first; the usual one is full after three stories.
    let ran = run(&stage, &AUTO, 60_000, 100_000, "");
    ran.ended(0).says("settled in the session: 2 stories").says("5 stories committed in 5");
    let sessions = "session-0 US-001\nsession-0 US-002\nsession-0 US-003\n\
                    session-1 US-004\nsession-1 US-005\n";
    assert_eq!(stage.note("sessions"), sessions);
    assert_eq!(stage.plan(), plan(5).replace("[ ]", "[x]"));
    assert_eq!((stage.subjects().len(), stage.discarded()), (6, 0));
    // What the first session said about its window is what the second was measured by.
    let window: serde_json::Value =
        serde_json::from_str(&stage.read(".ralph/context-window.json")).unwrap();
    assert_eq!((&window["model"], &window["tokens"]), (&"large".into(), &100_000.into()));
    assert_eq!(handoffs(&stage), 2);
    assert!(stage.progress().contains("## Handoff - US-003\n"), "{}", stage.progress());
    assert_eq!(stage.progress().matches("- Status: SUCCESS").count(), 5);
    stage.is_clean();
}

#[test]
fn a_session_ends_after_as_many_stories_as_it_may_work_on() {
    let stage = Stage::new("obeys-stop-hook", &plan(3));
    run(&stage, &["--stories-per-session", "2"], 10, 1_000_000, "").ended(0);
    assert_eq!(stage.note("sessions"), "session-0 US-001\nsession-0 US-002\nsession-1 US-003\n");
    let single = Stage::new("obeys-stop-hook", &plan(2));
    run(&single, &[], 10, 1_000_000, "").ended(0);
    assert_eq!(single.note("sessions"), "session-0 US-001\nsession-1 US-002\n");
}

#[test]
fn the_iteration_limit_holds_within_a_session() {
    let stage = Stage::new("obeys-stop-hook", &plan(4));
    let args = [&AUTO[..], &["--max-iterations", "2"]].concat();
    run(&stage, &args, 10, 1_000_000, "").ended(0).says("finished (max_iterations)");
    assert_eq!(stage.plan().matches("[x]").count(), 2);
}

#[test]
fn work_that_is_half_done_when_the_context_is_full_is_handed_over() {
    for (args, half, tokens) in [(&[][..], "US-001", 170_000), (&AUTO, "US-002", 100_000)] {
        let stage = Stage::new("obeys-stop-hook", &plan(3));
        let verify = ["--verify", "test -e $(cat .ralph/current-story).txt", "--attempts", "1"];
        let args = [args, &verify].concat();
        let ran = run(&stage, &args, tokens, 1_000_000, half);
        ran.ended(0).says("3 stories committed");
        ran.says(&format!("{half}: the context is full; a fresh session goes on with it"));
        assert_eq!(stage.discarded(), 0, "nothing was thrown away");
        assert!(stage.progress().contains("- Status: INTERRUPTED"), "{}", stage.progress());
        assert_eq!(stage.read(&format!("{half}.half")), "half\n");
        let last = stage.repo.git(["log", "--format=%s", "--", &format!("{half}.half")]);
        assert_eq!(
            last.trim(),
            format!("feat({half}): Story {}", half.trim_start_matches("US-00"))
        );
        stage.is_clean();
    }
}

#[test]
fn an_attempt_that_nobody_takes_up_is_taken_back_and_kept() {
    let stage = Stage::new("obeys-stop-hook", &plan(2));
    let args = ["--verify", "test -e US-001.txt", "--max-iterations", "1"];
    let ran = run(&stage, &args, 170_000, 1_000_000, "US-001");
    ran.ended(0).says("took back an attempt at US-001").says("finished (max_iterations)");
    assert_eq!((stage.discarded(), stage.exists("US-001.half")), (1, false));
    stage.is_clean();
    for left in [".checkpoint", "current-story", "attempt"] {
        assert!(!stage.exists(&format!(".ralph/{left}")), "{left}");
    }
}

#[test]
fn a_prompt_that_no_longer_fits_is_a_case_for_a_fresh_session() {
    let stage = Stage::new("works", &plan(1));
    let input = r#"{"session_id":"s-9","cwd":"'"$PWD"'","hook_event_name":"StopFailure","error":"invalid_request","last_assistant_message":"Prompt is too long"}"#;
    let result = r#"{"type":"result","subtype":"success","is_error":true,"session_id":"s-9","terminal_reason":"prompt_too_long","result":"Prompt is too long"}"#;
    let agent = format!(
        "cat >/dev/null; [ -e half.txt ] && {{ echo done >done.txt; exit; }}; echo half >half.txt; \
         echo '{input}' | \"$STOP_HOOK\"; echo '{result}'; exit 1"
    );
    let ran = run(&stage, &["--attempts", "1", "--agent", &agent], 0, 0, "");
    ran.ended(0).says("the agent reports prompt_too_long").says("a fresh session goes on with it");
    assert_eq!((stage.discarded(), stage.read("half.txt").as_str()), (0, "half\n"));
}

#[test]
fn a_hook_that_checks_for_longer_than_the_agent_may_be_silent_is_no_silence() {
    let stage = Stage::new("obeys-stop-hook", &plan(2));
    let args = [&AUTO[..], &["--silence", "1", "--verify", "sleep 3"]].concat();
    let ran = run(&stage, &args, 1, 100_000, "");
    ran.ended(0).says("settled in the session: 2 stories");
    assert_eq!((stage.subjects().len(), stage.discarded()), (3, 0));
}
