//! The state of a run, shown by another process.

use std::process::{Child, Stdio};

use test_support::{run_on_columns, screen_of};

use crate::stage::{ONE, Ran, Stage, TWO, signal, until};

/// An agent that reports its activity and waits until it may continue.
const WAITS: &str = r#"cat >/dev/null
echo '{"type":"assistant","message":{"content":[{"type":"tool_use","name":"Edit","input":{"file_path":"'$PWD'/src/a.rs"}}],"usage":{"input_tokens":12000}}}'
until [ -e $AGENT_NOTES/go ]; do sleep 0.05; done; date +%N >$(cat $RALPH_ROOT/.ralph/current-story).txt"#;

fn release_agent(stage: &Stage) {
    fs_err::write(stage.note_path("go"), "").unwrap();
}

fn ended(child: Child) -> Ran {
    child.wait_with_output().unwrap().into()
}

#[test]
fn status_shows_the_story_the_attempt_and_the_activity() {
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
    release_agent(&stage);
    ended(run).ended(0);
    let ran = stage.run(&["status"]);
    ran.says("complete: 2 done, 2 unchecked, 0 open; review 2 stories");
    assert!(!ran.out.contains("Now  "), "{}", ran.out);
    let json = |args: &[&str]| -> serde_json::Value {
        serde_json::from_str(&stage.run(args).out).unwrap()
    };
    let (status, report) = (json(&["status", "--json"]), json(&["report", "--json"]));
    let in_report = report["stories"].as_array().unwrap();
    let in_report = in_report.iter().map(|story| (&story["story"], &story["state"]));
    for (story, state) in in_report {
        assert_eq!(
            (state, &status["landed"][story.as_str().unwrap()]),
            (&"unchecked".into(), state)
        );
    }
    assert_eq!(status["unchecked"], 2);
    assert!(!stage.exists(".git/ralph/live.json"));
}

#[test]
fn status_lists_what_needs_the_user_and_what_waits_for_it() {
    let plan = "- [!] US-001: First\n- [ ] US-002: Second (depends: US-001)\n";
    let stage = Stage::new("works", plan);
    let ran = stage.run(&["status"]);
    ran.ended(0).says("not started: 0 done, 1 open; 1 thing needs you");
    ran.says("Needs you US-001 is blocked: First; US-002 waits for it; reopen it with");
    let line = r#"{"v":1,"at":"2026-01-01T00:00:00.000Z","source":"ralph-loop","run":"r","event":"#;
    let started = r#""loop_started","mode":"building","plan":"plan.md"}"#;
    stage.repo.write(".ralph/events.jsonl", format!("{line}{started}\n"));
    stage.run(&["status"]).says("Needs you the last run was killed; `ralph-loop` continues it");
}

#[test]
fn a_watcher_in_a_pipe_gets_a_line_for_each_change_and_ends_with_the_run() {
    let stage = Stage::new("works", TWO);
    let run = stage.start(&["--agent", WAITS]);
    until("the agent works", || stage.run(&["status"]).out.contains("Edit: src/a.rs"));
    let watcher = stage.start(&["status", "--watch"]);
    let json = stage.start(&["status", "--watch", "--json"]);
    // Long enough for two polls: an unchanged state is not printed again.
    std::thread::sleep(std::time::Duration::from_millis(1200));
    release_agent(&stage);
    ended(run).ended(0);
    let ran = ended(watcher);
    let lines: Vec<&str> = ran.ended(0).out.lines().collect();
    let first =
        "running: 0 done, 2 open; nothing needs you | US-001 attempt 1 of 3 | Edit: src/a.rs";
    assert_eq!(lines.iter().filter(|line| **line == first).count(), 1, "{lines:#?}");
    let last =
        "complete: 2 done, 2 unchecked, 0 open; review 2 stories | the last run ended: complete";
    assert_eq!(lines.last(), Some(&last), "{lines:#?}");
    for line in ended(json).ended(0).out.lines() {
        serde_json::from_str::<serde_json::Value>(line).unwrap();
    }
}

#[test]
fn a_watcher_on_a_terminal_redraws_its_lines() {
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

#[test]
fn open_stories_of_other_numbered_plans_are_named_with_a_command_that_works() {
    let stage = Stage::new("works", ONE);
    stage.repo.write(".ralph/PRD-2/plan.md", "- [ ] US-201: Second\n- [ ] US-202: Third\n");
    stage.repo.commit_all("a second plan");
    let said = "needs you: PRD-2 has 2 open stories; `ralph-loop --prd 2` goes on with it";
    let ran = stage.run(&[]);
    ran.ended(0).says("finished (complete)").says(said);
    assert!(!ran.out.contains("nothing needs you"), "{}", ran.out);
    let status = stage.run(&["status"]);
    assert!(!status.ended(0).out.contains("complete:"), "{}", status.out);
    let ran = stage.run(&["--prd", "2"]);
    ran.ended(0).says("2 of 2 stories done, 2 unchecked").says("review 2 stories");
}
