//! Stories of two plans with the same ids do not affect each other, and two loops in two work trees
//! of one repository lose no refs.

use std::process::Stdio;

use crate::stage::{ONE, Ran, Stage, TWO, signal, until};

const SECOND: &str = ".ralph/PRD-2/plan.md";

/// An agent that does its story and records its prompt.
const WORKS: &str = "cat >\"$AGENT_NOTES/prompt\"; echo done >second.txt";

fn stage() -> Stage {
    let stage = Stage::new("works", ONE);
    stage.repo.write(SECOND, "- [ ] US-001: Other\n");
    stage
}

/// The second plan's story lands, and nothing of the first plan's is in its prompt or commit.
#[track_caller]
fn second_is_apart(stage: &Stage, words: &str) {
    let ran = stage.run(&["--prd", "2", "--agent", WORKS]);
    ran.ended(0).says("US-001 Other").says("US-001 done");
    assert!(!ran.out.contains("continuing from attempt"), "{}", ran.out);
    assert!(!stage.note("prompt").contains(words), "{}", stage.note("prompt"));
    let commit = "--grep=^Ralph-Story: US-001";
    let files = stage.repo.git(["log", "-1", commit, "--format=%s", "--name-only"]);
    assert!(files.contains("Other") && files.contains("second.txt"), "{files}");
    assert!(!files.contains("first.txt"), "{files}");
    assert_eq!(stage.read(SECOND), "- [x] US-001: Other\n");
    assert!(!stage.plan().contains("[x]"), "{}", stage.plan());
}

#[test]
fn a_failure_in_one_plan_does_not_affect_the_other() {
    let stage = stage();
    let agent = "cat >/dev/null; echo x >first.txt; echo oops >&2; exit 3";
    stage.run(&["--prd", "1", "--agent", agent, "--attempts", "1"]).ended(8);
    // Lessons are in every prompt, and name their plan.
    second_is_apart(&stage, "oops\noops");
    let log = stage.read(".ralph/failure-context.log");
    assert!(log.contains("Story: PRD-1/US-001\n"), "{log}");
    stage.run(&["attempts", "PRD-1/US-001/1"]).ended(0).says("first.txt");
    let refs = stage.repo.git(["for-each-ref", "--format=%(refname)", "refs/ralph/attempts"]);
    assert_eq!(refs, "refs/ralph/attempts/PRD-1/US-001/1\nrefs/ralph/attempts/PRD-2/US-001/1\n");
}

/// Interrupts the loop while its agent works.
#[track_caller]
fn interrupted(stage: &Stage, args: &[&str]) {
    let agent = "cat >/dev/null; echo half >first.txt; touch \"$AGENT_NOTES/begun\"; sleep 60";
    let mut child = stage.start(&[args, &["--agent", agent]].concat());
    until("the agent works", || stage.note_path("begun").exists());
    signal("INT", child.id());
    assert_eq!(child.wait().unwrap().code(), Some(130));
}

#[test]
fn an_interrupted_attempt_is_continued_only_in_its_own_plan() {
    let stage = stage();
    interrupted(&stage, &["--prd", "1"]);
    second_is_apart(&stage, "US-001/1");
    let ran = stage.run(&["--prd", "1", "--agent", "cat >/dev/null; echo more >>first.txt"]);
    ran.ended(0).says("continuing from attempt");
    assert_eq!(stage.read("first.txt"), "half\nmore\n");
}

#[test]
fn tags_of_task_master_are_separate_plans() {
    let stage = Stage::new("works", "");
    stage.repo.remove(".ralph/PRD-1/plan.md");
    let tag =
        |name| format!(r#""{name}":{{"tasks":[{{"id":2,"title":"{name}","status":"pending"}}]}}"#);
    let text = format!("{{{},{}}}", tag("master"), tag("other"));
    stage.repo.write(".taskmaster/tasks/tasks.json", text);
    let switch = |to: &str| {
        stage.repo.write(".taskmaster/state.json", format!(r#"{{"currentTag":"{to}"}}"#));
    };
    switch("master");
    interrupted(&stage, &[]);
    switch("other");
    let ran = stage.run(&["--agent", WORKS]);
    ran.ended(0).says("other").says("2 done");
    assert!(!ran.out.contains("continuing from attempt"), "{}", ran.out);
    switch("master");
    let ran = stage.run(&["--agent", "cat >/dev/null; echo more >>first.txt"]);
    ran.ended(0).says("continuing from attempt");
    assert_eq!(stage.read("first.txt"), "half\nmore\n");
}

#[test]
fn work_interrupted_during_checks_lands_in_its_own_plan() {
    let stage = stage();
    let agent = "cat >/dev/null; echo whole >first.txt";
    let check = "touch \"$AGENT_NOTES/checking\"; [ ! -e \"$AGENT_NOTES/slow\" ] || sleep 60";
    fs_err::write(stage.note_path("slow"), "").unwrap();
    let args = ["--prd", "1", "--agent", agent, "--verify", check];
    stage.killed_when(&args, "it is checked", || stage.note_path("checking").exists());
    fs_err::remove_file(stage.note_path("slow")).unwrap();
    let ran = stage.run(&["--prd", "2", "--agent", WORKS, "--verify", check]);
    ran.ended(0).says("2 stories landed");
    assert_eq!(stage.plan(), "- [x] US-001: First\n");
    assert_eq!(stage.read(SECOND), "- [x] US-001: Other\n");
    assert!(stage.progress().contains("US-001"), "{}", stage.progress());
    assert_eq!(stage.progress().matches("## Iteration").count(), 1, "{}", stage.progress());
}

#[test]
fn partial_work_and_retry_hints_stay_in_their_plan() {
    let stage = stage();
    let agent = "cat >/dev/null; echo half >first.txt; \
                 \"$RALPH_LOOP\" complete US-001 --status partial --summary 'half of it'";
    stage.run(&["--prd", "1", "--agent", agent, "--max-iterations", "1"]).ended(0);
    let retry = ["retry", "US-001", "--prd", "1", "--hint", "mind the gap"];
    stage.run(&retry).ended(0);
    second_is_apart(&stage, "mind the gap");
    let ran = stage.run(&["--prd", "1", "--agent", "cat >\"$AGENT_NOTES/prompt\"; echo x >x.txt"]);
    ran.ended(0).says("US-001 done");
    assert!(stage.note("prompt").contains("mind the gap"), "{}", stage.note("prompt"));
}

#[test]
fn two_loops_in_two_work_trees_keep_all_their_attempts() {
    let stage = Stage::new("works", TWO);
    let other = stage.repo.scratch().path("other");
    stage.repo.git(["worktree", "add", "-q", "-b", "side", other.as_str()]);
    fs_err::create_dir_all(other.join(".ralph/PRD-1")).unwrap();
    fs_err::write(other.join(".ralph/PRD-1/plan.md"), TWO).unwrap();
    let agent = "cat >/dev/null; date +%s%N >x.txt; sleep 0.2; exit 1";
    let args = ["--agent", agent, "--attempts", "4"];
    let mut command = stage.command(&args);
    command.current_dir(&other).stdout(Stdio::null()).stderr(Stdio::null());
    let beside = command.spawn().unwrap();
    stage.run(&args).ended(8);
    let beside: Ran = beside.wait_with_output().unwrap().into();
    beside.ended(8);
    let refs = stage.repo.git(["for-each-ref", "--format=%(refname)", "refs/ralph/attempts"]);
    assert_eq!(refs.lines().count(), 16, "{refs}");
}
