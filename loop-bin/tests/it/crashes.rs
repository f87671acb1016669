//! `kill -9` at any point: the next start finishes or undoes the half-done step and goes on.

use crate::stage::{Stage, is_alive, signal, until};

const TWO: &str = "- [ ] US-001: First\n- [ ] US-002: Second\n";

fn complete(stage: &mut Stage) {
    stage.agent("works");
    stage.run(&[]).ended(0).says("going on with the run");
    assert_eq!(stage.plan(), TWO.replace("[ ]", "[x]"));
    assert_eq!(stage.subjects(), ["feat(US-002): Second", "feat(US-001): First", "first"]);
    stage.is_clean();
}

#[test]
fn while_the_agent_works_which_is_ended_by_the_next_start() {
    let mut stage = Stage::new("ignores-term", TWO);
    let mut child = stage.start(&[]);
    until("the agent works", || !stage.note("child").is_empty());
    signal("KILL", child.id());
    child.wait().unwrap();
    assert!(is_alive(&stage.note("child")), "the agent outlives a loop that is killed");
    complete(&mut stage);
    assert!(!is_alive(&stage.note("child")));
    assert_eq!(stage.discarded(), 1, "the half-done work is kept");
}

#[test]
fn while_the_checks_run() {
    let mut stage = Stage::new("works", TWO);
    let mut child = stage.start(&["--verify", "echo $$ >\"$AGENT_NOTES/begun\"; exec sleep 600"]);
    until("the check runs", || !stage.note("begun").is_empty());
    signal("KILL", child.id());
    child.wait().unwrap();
    signal("KILL", stage.note("begun").trim().parse().unwrap());
    complete(&mut stage);
}

/// A git hook of the user's kills the loop in the middle of the commit.
fn killed_by_git_hook(hook: &str, then: &str) -> Stage {
    let stage = Stage::new("works", TWO);
    let path = format!(".git/hooks/{hook}");
    let kill = "kill -9 $(sed -n 's/.*\"pid\": \\([0-9]*\\).*/\\1/p' .ralph/run.json)";
    stage.repo.write(&path, format!("#!/bin/sh\n{kill}\n{then}\n"));
    stage.repo.chmod(&path, 0o755);
    assert_eq!(stage.run(&[]).code, None, "the loop was killed");
    stage.repo.remove(&path);
    stage
}

#[test]
fn before_the_commit_is_made() {
    let mut stage = killed_by_git_hook("pre-commit", "exit 1");
    until("git has ended", || !stage.exists(".git/index.lock"));
    assert_eq!(stage.subjects(), ["first"]);
    complete(&mut stage);
    assert_eq!(stage.discarded(), 0, "the work was good and is committed");
}

#[test]
fn after_the_commit_is_made() {
    let mut stage = killed_by_git_hook("post-commit", "exit 0");
    assert_eq!(stage.subjects().len(), 2);
    complete(&mut stage);
    assert_eq!(stage.progress().matches("- Status: SUCCESS").count(), 2);
}

#[test]
fn with_the_users_work_kept_aside() {
    let mut stage = Stage::new("hangs", TWO);
    stage.repo.write("a.txt", "mine\n");
    let mut child = stage.start(&["--allow-dirty"]);
    until("the agent works", || stage.exists("half.txt"));
    signal("KILL", child.id());
    child.wait().unwrap();
    assert_eq!(stage.read("a.txt"), "a\n");
    stage.agent("works");
    stage.run(&[]).ended(0).says("uncommitted work is back: 1 file");
    assert_eq!((stage.read("a.txt").as_str(), stage.subjects().len()), ("mine\n", 3));
}

#[test]
fn a_run_of_a_newer_version_is_left_alone() {
    let stage = Stage::new("works", TWO);
    stage.repo.write(".ralph/run.json", "{\"version\":99}");
    stage.run(&[]).ended(1).says("newer version");
    assert_eq!(stage.read(".ralph/run.json"), "{\"version\":99}");
}
