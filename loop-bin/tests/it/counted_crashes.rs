//! What counts when a loop is killed, for whoever starts it again and again.

use crate::stage::{Stage, signal, until};

const TWO: &str = "- [ ] US-001: First\n- [ ] US-002: Second\n";
const COUNTED: &str = "was in vain: the loop was killed while the agent was at work";

/// An agent that takes its loop down with it, as one does that uses up all memory.
const KILLS: &str = "cat >/dev/null; echo x >>\"$AGENT_NOTES/starts\"; echo w >w.txt; \
    kill -9 $(sed -n 's/.*\"pid\": \\([0-9]*\\).*/\\1/p' .ralph/run.json); exec sleep 100";

#[test]
fn attempts_that_take_the_loop_down_with_them_come_to_an_end() {
    let stage = Stage::new("works", TWO);
    let args = ["--attempts", "2", "--max-iterations", "3", "--agent", KILLS];
    for start in 1..=4 {
        let mut child = stage.start(&args);
        assert_eq!(child.wait().unwrap().code(), None, "start {start} was killed");
    }
    let last = stage.run(&args);
    last.ended(1).says("it had made 0 iterations").says("blocked: US-001, US-002");
    assert_eq!(stage.note("starts").lines().count(), 4);
    assert_eq!(stage.plan(), TWO.replace("[ ]", "[!]"));
    let progress = stage.progress();
    assert!(
        progress.contains("gave up after 2 failed attempts; the last one: the loop was killed")
    );
    assert_eq!(progress.matches("- Status: INTERRUPTED").count(), 2, "{progress}");
    assert_eq!((stage.subjects().len(), stage.exists("w.txt"), stage.discarded()), (1, false, 4));
}

#[test]
fn one_that_was_killed_once_is_made_again() {
    let mut stage = Stage::new("hangs", TWO);
    stage.killed_when(&[], "the agent works", || stage.exists("half.txt"));
    stage.agent("works");
    stage.run(&[]).ended(0).says(&format!("US-001: attempt 1 of 3 {COUNTED}"));
    assert_eq!(stage.plan(), TWO.replace("[ ]", "[x]"));
    let progress = stage.progress();
    let first = "## Iteration 1 - US-001\n- Status: INTERRUPTED";
    assert!(progress.contains(first), "{progress}");
    assert!(progress.contains("## Iteration 1 - US-001\n- Status: SUCCESS"), "{progress}");
}

/// The run goes on, and counts neither attempt nor iteration.
fn is_not_counted(stage: &mut Stage) {
    stage.agent("works");
    let ran = stage.run(&["--max-iterations", "1"]);
    ran.ended(0).says("it had made 0 iterations").says("US-001 done");
    assert!(!ran.out.contains(COUNTED), "{}", ran.out);
}

#[test]
fn a_signal_before_the_kill_makes_it_an_interruption() {
    let mut stage = Stage::new("ignores-term", TWO);
    let mut child = stage.start(&["--max-iterations", "1"]);
    until("the agent works", || !stage.note("child").is_empty());
    signal("TERM", child.id());
    until("it was heard", || stage.read(".ralph/run.json").contains("\"interrupted\": true"));
    signal("KILL", child.id());
    child.wait().unwrap();
    is_not_counted(&mut stage);
}

#[test]
fn a_kill_before_the_agent_is_at_work_is_nobodys_fault() {
    let mut stage = Stage::new("works", TWO);
    let mut command = stage.command(&["--max-iterations", "1"]);
    let killed = command.env("RALPH_INTERNAL__FAULT", "attempt.begun").output().unwrap();
    assert_eq!(killed.status.code(), None);
    is_not_counted(&mut stage);
}

#[test]
fn an_attempt_whose_agent_had_ended_is_not_counted_twice() {
    let mut stage = Stage::new("fails", TWO);
    let mut command = stage.command(&["--attempts", "2"]);
    let killed = command.env("RALPH_INTERNAL__FAULT", "restore.saved").output().unwrap();
    assert_eq!(killed.status.code(), None);
    let record = stage.read(".ralph/run.json");
    assert!(record.contains("\"US-001\": 1"), "{record}");
    stage.agent("works");
    let ran = stage.run(&["--attempts", "2"]);
    ran.ended(0);
    assert!(!ran.out.contains(COUNTED), "{}", ran.out);
    assert_eq!(stage.plan(), TWO.replace("[ ]", "[x]"));
}
