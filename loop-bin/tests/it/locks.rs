//! One loop per project and per work tree; who comes second is told who holds it, and changes nothing.

use crate::stage::{LOOP, Stage, signal, until};

const ONE: &str = "- [ ] US-001: First\n";

fn end(stage: &Stage, mut child: std::process::Child) {
    signal("TERM", child.id());
    child.wait().unwrap();
    assert!(!stage.exists("half.txt"), "the attempt was taken back");
}

#[test]
fn nothing_is_undone_under_the_hands_of_a_loop() {
    let mut stage = Stage::new("fails", ONE);
    stage.run(&["--max-iterations", "1"]);
    let listed = stage.run(&["undo"]).out;
    let id = listed.split_whitespace().next().unwrap();
    stage.agent("hangs");
    let child = stage.start(&[]);
    until("the agent works", || stage.exists("half.txt"));
    let before = stage.repo.git(["status", "--porcelain", "--", ":!.ralph"]);
    let holder = format!("held by process {} (ralph-loop, since", child.id());
    stage.run(&["undo", id]).ended(5).says(&holder);
    stage.run(&["undo"]).ended(0).says(id);
    assert_eq!(stage.repo.git(["status", "--porcelain", "--", ":!.ralph"]), before);
    end(&stage, child);
    stage.run(&["undo", id]).ended(0).says("Brought back");
}

#[test]
fn two_projects_of_one_work_tree_wait_for_each_other() {
    let stage = Stage::new("hangs", ONE);
    let inner = stage.repo.root().join("inner");
    stage.repo.write("inner/.ralph/PRD-1/plan.md", ONE);
    stage.repo.commit_all("two plans");
    let child = stage.start(&[]);
    until("the agent works", || stage.exists("half.txt"));
    let run = |args: &[&str]| -> crate::stage::Ran {
        let mut command = stage.command_of(LOOP, args);
        command.current_dir(&inner).output().unwrap().into()
    };
    let holder = format!("process {} (ralph-loop in {}", child.id(), stage.repo.root());
    run(&[]).ended(5).says("ralph-lock").says(&holder);
    run(&["--dry-run"]).ended(0).says(&holder);
    run(&["undo", "x"]).ended(5).says(&holder);
    end(&stage, child);
    run(&["--dry-run", "--allow-dirty"]).ended(0);
}
