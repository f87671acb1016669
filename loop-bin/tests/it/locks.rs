//! One loop per repository; a second one reports who holds the lock, and changes nothing.

use crate::stage::{LOOP, Ran, Stage, signal, until};

const ONE: &str = "- [ ] US-001: First\n";

#[test]
fn undo_retry_and_clean_are_refused_while_a_loop_runs() {
    let mut stage = Stage::new("fails", ONE);
    stage.run(&["--max-iterations", "1"]).ended(0);
    stage.agent("hangs");
    let mut child = stage.start(&[]);
    until("the agent works", || stage.in_copy("half.txt"));
    let holder = format!("another ralph-loop (process {})", child.id());
    for command in [&["undo", "x"][..], &["clean"], &[]] {
        stage.run(command).ended(5).says(&holder);
    }
    stage.run(&["retry", "US-001", "--hint", "x"]).ended(5).says("US-001 is being worked on");
    stage.run(&["attempts"]).ended(0).says("US-001/1");
    stage.run(&["--dry-run"]).ended(0).says(&holder);
    assert!(stage.in_copy("half.txt"));
    signal("TERM", child.id());
    child.wait().unwrap();
    stage.run(&["clean"]).ended(0).says("removed the copy");
}

#[test]
fn two_projects_of_one_repository_exclude_each_other() {
    let stage = Stage::new("hangs", ONE);
    let inner = stage.repo.root().join("inner");
    stage.repo.write("inner/.ralph/PRD-1/plan.md", ONE);
    stage.repo.commit_all("two plans");
    let mut child = stage.start(&[]);
    until("the agent works", || stage.in_copy("half.txt"));
    let run = |args: &[&str]| -> Ran {
        let mut command = stage.command_of(LOOP, args);
        command.current_dir(&inner).output().unwrap().into()
    };
    let holder = format!("another ralph-loop (process {})", child.id());
    run(&[]).ended(5).says(&holder);
    run(&["--dry-run"]).ended(0).says(&holder);
    signal("TERM", child.id());
    child.wait().unwrap();
}
