//! `--rollback never`: attempts stay in the tree, and nobody's work is taken for one.

use crate::stage::{Ran, Stage, signal, until};

const TWO: &str = "- [ ] US-001: First\n- [ ] US-002: Second\n";
const NEVER: [&str; 2] = ["--rollback", "never"];

#[test]
fn the_work_of_an_attempt_in_vain_stays() {
    let stage = Stage::new("fails", "- [ ] US-001: First\n");
    stage.run(&["--attempts", "1", "--rollback", "never"]).ended(1);
    assert_eq!((stage.read("broken.txt").as_str(), stage.discarded()), ("broken\n", 0));
}

/// A run that was ended by a signal while its agent was at work.
fn ended_by(name: &str) -> Stage {
    let mut stage = Stage::new("hangs", TWO);
    stage.repo.commit_all("the plan");
    let mut child = stage.start(&[&NEVER[..], &["--grace", "1"]].concat());
    until("the agent works", || stage.exists("half.txt"));
    signal(name, child.id());
    child.wait().unwrap();
    stage.agent("works");
    stage
}

#[test]
fn what_is_in_the_tree_after_an_interruption_is_not_committed() {
    for name in ["INT", "KILL"] {
        let stage = ended_by(name);
        stage.repo.write("mine.txt", "mine\n");
        stage.repo.write("a.txt", "mine\n");
        let told = stage.run(&[&NEVER[..], &["--dry-run"]].concat());
        told.says("the next start keeps the tree as it is and begins US-001 anew");
        let ran = stage.run(&NEVER);
        ran.ended(1).says("mine.txt").says("left by the attempt at US-001 that was interrupted");
        assert_eq!(stage.subjects(), ["the plan", "first"], "{name}");
        stage.run(&NEVER).ended(1).says("there is uncommitted work");
        stage.run(&[&NEVER[..], &["--allow-dirty"]].concat()).ended(0);
        for (file, text) in [("mine.txt", "mine\n"), ("a.txt", "mine\n"), ("half.txt", "half\n")] {
            assert_eq!(stage.read(file), text, "{name}");
        }
        let committed = stage.repo.git(["log", "--format=", "--name-only", "-2"]);
        assert!(!committed.contains("mine") && !committed.contains("half"), "{committed}");
    }
}

#[test]
fn a_clean_tree_is_gone_on_with() {
    let stage = ended_by("KILL");
    stage.repo.remove("half.txt");
    stage.run(&NEVER).ended(0);
    let subjects = ["feat(US-002): Second", "feat(US-001): First", "the plan", "first"];
    assert_eq!(stage.subjects(), subjects);
}

#[test]
fn work_that_was_kept_aside_comes_back_after_an_interruption() {
    let mut stage = Stage::new("hangs", TWO);
    stage.repo.commit_all("the plan");
    stage.repo.write("a.txt", "mine\n");
    let args = ["--rollback", "never", "--allow-dirty"];
    stage.killed_when(&args, "the agent works", || stage.exists("half.txt"));
    stage.agent("works");
    stage.run(&args).ended(0);
    assert_eq!(
        (stage.read("a.txt").as_str(), stage.read("half.txt").as_str()),
        ("mine\n", "half\n")
    );
    let committed = stage.repo.git(["log", "--format=", "--name-only", "-2"]);
    assert!(!committed.contains("half") && !committed.contains("a.txt"), "{committed}");
}

#[test]
fn what_a_story_that_is_set_aside_leaves_for_the_next_ones_commit_is_told() {
    let stage = Stage::new("works", TWO);
    let agent = "story=$(cat .ralph/current-story); echo x >$story.txt; [ $story != US-001 ]";
    let run = |more: &[&str]| -> Ran {
        stage.run(&[&["--agent", agent, "--attempts", "1", "--max-iterations", "2"], more].concat())
    };
    let ran = run(&NEVER);
    ran.says("what US-001 left stays in the tree").says("story's commit will hold it: US-001.txt");
    let other = Stage::new("fails", "- [ ] US-001: First\n");
    let ran = other.run(&["--attempts", "1"]);
    assert!(!ran.out.contains("stays in the tree"), "{}", ran.out);
}
