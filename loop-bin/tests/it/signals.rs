//! Ctrl-C and SIGTERM in every phase: the codes, the tree, and nothing left running.

use crate::stage::{Stage, is_alive, signal, until};

const ONE: &str = "- [ ] US-001: First\n";

/// Starts the loop, waits until `reached`, sends the signal and returns the exit code.
fn interrupt(stage: &Stage, args: &[&str], name: &str, reached: impl Fn() -> bool) -> Option<i32> {
    let mut child = stage.start(args);
    until("the phase is reached", reached);
    signal(name, child.id());
    child.wait().unwrap().code()
}

fn goes_on(stage: &mut Stage) {
    stage.is_clean();
    stage.agent("works");
    stage.run(&[]).ended(0);
    assert_eq!(stage.subjects(), ["feat(US-001): First", "first"]);
}

#[test]
fn while_the_agent_works() {
    for (name, code) in [("INT", 130), ("TERM", 143)] {
        let mut stage = Stage::new("hangs", ONE);
        let ended = interrupt(&stage, &[], name, || stage.exists("half.txt"));
        assert_eq!(ended, Some(code));
        assert!(stage.exists(".ralph/.checkpoint"), "the checkpoint is kept");
        assert!(stage.progress().contains("- Status: INTERRUPTED"));
        assert_eq!(stage.discarded(), 1);
        let journal = stage.read(".ralph/events.jsonl");
        assert!(journal.contains("\"finish_type\":\"manual\""));
        assert_eq!(journal.matches("\"outcome\":\"interrupted\"").count(), 1, "{journal}");
        goes_on(&mut stage);
    }
}

#[test]
fn while_the_checks_run() {
    let mut stage = Stage::new("works", ONE);
    let begun = stage.note_path("begun");
    let check = format!("touch '{begun}'; echo $$ >'{begun}'; sleep 600");
    let ended = interrupt(&stage, &["--verify", &check], "INT", || begun.exists());
    assert_eq!(ended, Some(130));
    until("the check is gone", || !is_alive(&stage.note("begun")));
    goes_on(&mut stage);
}

/// A terminal sends its Ctrl-C to the whole group; the commit that is being made is made.
#[test]
fn while_git_commits() {
    let stage = Stage::new("works", ONE);
    let hook = ".git/hooks/pre-commit";
    let released = stage.note_path("released");
    let wait =
        format!("touch \"$AGENT_NOTES/begun\"; while [ ! -e '{released}' ]; do sleep 0.02; done");
    stage.repo.write(hook, format!("#!/bin/sh\n{wait}\n"));
    stage.repo.chmod(hook, 0o755);
    let mut child = stage.start(&[]);
    until("git commits", || stage.note_path("begun").exists());
    let group = format!("-{}", child.id());
    std::process::Command::new("kill").args(["-s", "INT", "--", &group]).status().unwrap();
    fs_err::write(released, "").unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(stage.subjects(), ["feat(US-001): First", "first"]);
    assert_eq!(stage.plan(), ONE.replace("[ ]", "[x]"));
}

#[test]
fn while_a_script_runs() {
    for name in ["started", "next_iteration", "post_iteration"] {
        let mut stage = Stage::new("fails", ONE);
        let begun = stage.note_path("begun");
        stage.script(name, "echo $$ >\"$AGENT_NOTES/begun\"; sleep 600");
        let ended = interrupt(&stage, &[], "TERM", || begun.exists());
        assert_eq!(ended, Some(143), "{name}");
        assert!(!is_alive(&stage.note("begun")));
        stage.repo.remove(".ralph/hooks");
        goes_on(&mut stage);
    }
}

#[test]
fn while_waiting_for_the_service() {
    let mut stage = Stage::new("works", ONE);
    let agent = "echo 'usage limit reached, try again in 5 hours'; exit 1";
    let reached = || stage.read(".ralph/events.jsonl").contains("\"outcome\":\"quota\"");
    assert_eq!(interrupt(&stage, &["--agent", agent], "INT", reached), Some(130));
    goes_on(&mut stage);
}

#[test]
fn a_second_interrupt_kills_at_once() {
    let stage = Stage::new("ignores-term", ONE);
    let mut child = stage.start(&["--grace", "600"]);
    until("the agent works", || !stage.note("child").is_empty());
    signal("INT", child.id());
    until("the agent is asked to end", || stage.note_path("asked").exists());
    signal("INT", child.id());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(!is_alive(&stage.note("child")));
}
