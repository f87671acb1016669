//! Where a run stands, seen from elsewhere.

use std::process::{Child, Stdio};

use test_support::{run_on_columns, screen_of};

use crate::stage::{Ran, Stage, signal, until};

const TWO: &str = "- [ ] US-001: First\n- [ ] US-002: Second\n";

/// An agent that says what it does, and waits until it may go on.
const WAITS: &str = r#"cat >/dev/null
echo '{"type":"assistant","message":{"content":[{"type":"tool_use","name":"Edit","input":{"file_path":"'$PWD'/src/a.rs"}}],"usage":{"input_tokens":12000}}}'
until [ -e $AGENT_NOTES/go ]; do sleep 0.05; done; date +%N >$(cat $RALPH_ROOT/.ralph/current-story).txt"#;

fn go_on(stage: &Stage) {
    fs_err::write(stage.note_path("go"), "").unwrap();
}

fn ended(child: Child) -> Ran {
    child.wait_with_output().unwrap().into()
}

#[test]
fn status_shows_the_story_the_attempt_and_what_the_agent_does() {
    let stage = Stage::new("works", TWO);
    let run = stage.start(&["--agent", WAITS, "--max-cost", "5"]);
    let now = "Now       US-001 First  attempt 1 of 3  0:0";
    until("the agent works", || stage.run(&["status"]).out.contains("  Edit: src/a.rs"));
    let ran = stage.run(&["status"]);
    ran.says("running: 0 done, 2 open; nothing needs you").says(now);
    ran.says("0 done, 2 left  $0.00 of $5.00");
    let json: serde_json::Value =
        serde_json::from_str(&stage.run(&["status", "--json"]).out).unwrap();
    let worker = &json["now"]["workers"][0];
    assert_eq!((&worker["story"], &worker["attempt"]), (&"US-001".into(), &1.into()), "{json:#}");
    assert_eq!(worker["doing"], "Edit: src/a.rs");
    go_on(&stage);
    ended(run).ended(0);
    let ran = stage.run(&["status"]);
    ran.says("complete: 2 done, 2 to review, 0 open; nothing needs you");
    assert!(!ran.out.contains("Now  "), "{}", ran.out);
    assert!(!stage.exists(".git/ralph/live.json"));
}

#[test]
fn what_a_blocked_story_keeps_waiting_is_named() {
    let plan = "- [!] US-001: First\n- [ ] US-002: Second (depends: US-001)\n";
    let ran = Stage::new("works", plan).run(&["status"]);
    ran.ended(0).says("not started: 0 done, 1 open; 1 thing needs you");
    ran.says("Needs you US-001 is blocked: First; US-002 waits for it; reopen it with");
}

#[test]
fn a_watcher_in_a_pipe_gets_a_line_for_each_change_and_ends_with_the_run() {
    let stage = Stage::new("works", TWO);
    let run = stage.start(&["--agent", WAITS]);
    until("the agent works", || stage.run(&["status"]).out.contains("Edit: src/a.rs"));
    let watcher = stage.start(&["status", "--watch"]);
    let json = stage.start(&["status", "--watch", "--json"]);
    // Long enough for it to look twice: what has not changed is not said again.
    std::thread::sleep(std::time::Duration::from_millis(1200));
    go_on(&stage);
    ended(run).ended(0);
    let ran = ended(watcher);
    let lines: Vec<&str> = ran.ended(0).out.lines().collect();
    let first =
        "running: 0 done, 2 open; nothing needs you | US-001 attempt 1 of 3 | Edit: src/a.rs";
    assert_eq!(lines.iter().filter(|line| **line == first).count(), 1, "{lines:#?}");
    let last =
        "complete: 2 done, 2 to review, 0 open; nothing needs you | the last run ended: complete";
    assert_eq!(lines.last(), Some(&last), "{lines:#?}");
    for line in ended(json).ended(0).out.lines() {
        serde_json::from_str::<serde_json::Value>(line).unwrap();
    }
}

#[test]
fn a_watcher_on_a_terminal_draws_over_what_it_drew() {
    let stage = Stage::new("works", TWO);
    let mut run = stage.start(&["--agent", WAITS]);
    until("the agent works", || stage.run(&["status"]).out.contains("Edit: src/a.rs"));
    let mut command = stage.command(&["status", "--watch"]);
    let watcher = std::thread::spawn(move || run_on_columns(60, command.stderr(Stdio::null())));
    std::thread::sleep(std::time::Duration::from_millis(1200));
    signal("INT", run.id());
    run.wait().unwrap();
    let (code, shown) = watcher.join().unwrap();
    assert!(shown.contains("running: 0 done, 2 open"), "{shown}");
    let screen = screen_of(&shown, 60);
    assert_eq!((code, screen.matches("nothing needs you").count()), (Some(0), 1), "{screen}");
    assert!(screen.starts_with("ended: 0 done, 2 open"), "{screen}");
}
