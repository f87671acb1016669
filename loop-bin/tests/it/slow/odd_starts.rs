//! Starts in a project that changed since the last run: history rewritten, the folder copied or
//! moved, `--in-place` added or dropped.

use std::process::Command;

use test_support::started_with;

use crate::stage::{ONE, Stage, TWO, is_alive, signal, until};

/// Rewrites the history of the target and removes all unreachable objects.
const REWRITE: &str = "git commit -q --amend -m amended && git reflog expire --expire=now --all && \
                       git gc -q --prune=now";

#[test]
fn the_base_of_an_attempt_survives_a_rewritten_history() {
    let stage = Stage::committed("works", TWO);
    let agent = format!("cat >/dev/null; (cd \"$RALPH_ROOT\" && {REWRITE}); echo x >>x.txt");
    stage.run(&["--agent", &agent, "--verify", "ls x.txt"]).ended(0).says("2 stories landed");
    assert_eq!(stage.plan(), TWO.replace("[ ]", "[x]"));
    stage.is_clean();
    assert_eq!(stage.repo.git(["for-each-ref", "refs/ralph/begun"]), "");
}

#[test]
fn the_base_of_a_killed_attempt_survives_a_rewritten_history() {
    let mut stage = Stage::committed("hangs", ONE);
    stage.killed_when(&[], "the agent works", || stage.in_copy("half.txt"));
    let rewritten =
        Command::new("sh").args(["-c", REWRITE]).current_dir(stage.repo.root()).status();
    assert!(rewritten.unwrap().success());
    stage.agent("works");
    stage.run(&[]).ended(0).says("continuing from attempt US-001/1").says("US-001 done");
    assert_eq!(stage.read("half.txt"), "half\n");
    assert_eq!(stage.subjects()[1..3], ["feat(US-001): First", "amended"]);
}

#[test]
fn an_attempt_interrupted_in_place_can_be_left_to_the_user() {
    let stage = Stage::committed("works", ONE);
    let agent = "cat >/dev/null; echo half >half.txt; touch \"$AGENT_NOTES/begun\"; sleep 600";
    let begun = || stage.note_path("begun").exists();
    stage.killed_when(&["--in-place", "--agent", agent], "the agent works", begun);
    let shown = stage.run(&["clean", "--force"]);
    shown.ended(0).says("removed the record of the interrupted attempt at US-001; its files in ");
    stage.run(&[]).ended(0).says("uncommitted, so not in the agent's copy").says("US-001 done");
    assert_eq!(stage.repo.git(["status", "--porcelain"]), "?? half.txt\n");
}

#[test]
fn an_attempt_interrupted_in_a_copy_is_not_continued_in_place() {
    let mut stage = Stage::committed("hangs", ONE);
    stage.killed_when(&[], "the agent works", || stage.in_copy("half.txt"));
    stage.repo.git(["commit", "-q", "--allow-empty", "-m", "mine"]);
    let head = stage.repo.head();
    stage.agent("works");
    stage.run(&["--in-place"]).ended(1).says("an attempt at US-001 was interrupted in");
    assert_eq!(stage.repo.head(), head);
    stage.run(&[]).ended(0).says("continuing from attempt US-001/1");
    assert_eq!(stage.subjects()[1..3], ["feat(US-001): First", "mine"]);
}

/// A copy of the project, with everything in its git folder.
fn copied(stage: &Stage) -> Stage {
    let copy = Stage::new("works", ONE);
    let (from, to) = (stage.repo.root(), copy.repo.root());
    fs_err::remove_dir_all(to).unwrap();
    let copied = Command::new("cp").args(["-r", from.as_str(), to.as_str()]).status().unwrap();
    assert!(copied.success());
    copy
}

#[test]
fn a_copied_project_does_not_affect_the_run_of_the_original() {
    let stage = Stage::committed("ignores-term", TWO);
    let mut child = stage.start(&[]);
    until("the agent works", || !stage.note("child").is_empty());
    let copy = copied(&stage);
    assert!(!copy.run(&["status"]).ended(0).out.contains("outlived"));
    copy.run(&["clean", "--force"]).ended(0);
    let again = copied(&stage);
    for copy in [copy, again] {
        copy.run(&[]).ended(0).says("2 stories landed");
        assert!(is_alive(&stage.note("child")), "the agent of another project");
        assert_eq!(copy.plan(), TWO.replace("[ ]", "[x]"));
        copy.is_clean();
    }
    signal("INT", child.id());
    signal("INT", child.id());
    assert_eq!(child.wait().unwrap().code(), Some(130));
}

/// Kills the loop, its keeper and all processes with its marks.
fn killed_with_its_keeper(stage: &Stage, agent: &str) {
    let mut child = stage.start(&["--agent", agent]);
    until("the agent works", || stage.note_path("begun").exists());
    let keepers = started_with(&format!("RALPH_ROOT={}", stage.repo.root()));
    [child.id()].into_iter().chain(keepers).for_each(|pid| signal("KILL", pid));
    child.wait().unwrap();
}

#[test]
fn a_detached_process_is_ended_by_the_next_start() {
    let stage = Stage::new("works", TWO);
    let hidden =
        "env -i PATH=\"$PATH\" setsid sh -c 'echo $$ >\"$1\"; while sleep 1; do :; done' sh";
    let agent = format!(
        "cat >/dev/null; {hidden} \"$AGENT_NOTES/in\" >/dev/null 2>&1 & \
         (cd / && {hidden} \"$AGENT_NOTES/out\" \"$RALPH_WORKSPACE\" >/dev/null 2>&1 &); \
         until [ -s \"$AGENT_NOTES/in\" ] && [ -s \"$AGENT_NOTES/out\" ]; do sleep 0.02; done; \
         exec 3>x.txt; touch \"$AGENT_NOTES/begun\"; sleep 600"
    );
    killed_with_its_keeper(&stage, &agent);
    assert!(is_alive(&stage.note("in")) && is_alive(&stage.note("out")));
    stage.run(&[]).ended(0).says("ended ").says("left over from the last run");
    assert!(!is_alive(&stage.note("in")), "it worked in the copy");
    assert!(!is_alive(&stage.note("out")), "it was started with the copy's name");
}

#[test]
fn a_project_moved_after_a_kill_continues_its_attempt() {
    let mut stage = Stage::committed("works", TWO);
    let agent = "cat >/dev/null; echo half >half.txt; git add half.txt; \
                 git -c user.name=A -c user.email=a@localhost commit -qm half; \
                 touch \"$AGENT_NOTES/begun\"; sleep 600";
    stage.killed_when(&["--agent", agent], "it works", || stage.note_path("begun").exists());
    stage.repo.move_to("moved");
    stage.run(&["status"]).ended(0).says("work on US-001 was interrupted");
    stage.run(&[]).ended(0).says("US-001: continuing from attempt US-001/1");
    assert_eq!(stage.read("half.txt"), "half\n");
    assert_eq!(stage.plan(), TWO.replace("[ ]", "[x]"));
    stage.is_clean();
}

#[test]
fn a_project_moved_back_continues_with_the_copy_of_its_attempt() {
    let mut stage = Stage::committed("works", TWO);
    stage.run(&["--max-iterations", "1"]).says("US-001 done");
    stage.repo.git(["commit", "-q", "--allow-empty", "-m", "by hand"]);
    stage.repo.move_to("moved");
    let agent = "cat >/dev/null; echo half >half.txt; touch \"$AGENT_NOTES/begun\"; sleep 600";
    stage.killed_when(&["--agent", agent], "it works", || stage.note_path("begun").exists());
    // The copy of the first story still exists.
    stage.repo.move_to("repo");
    assert!(stage.in_copy("US-001.txt") && !stage.in_copy("half.txt"));
    stage.run(&[]).ended(0).says("US-002: continuing from attempt US-002/1");
    assert!(["US-001.txt", "US-002.txt", "half.txt"].iter().all(|name| stage.exists(name)));
    assert_eq!(stage.plan(), TWO.replace("[ ]", "[x]"));
    stage.is_clean();
}

#[test]
fn stale_locks_of_the_loop_are_not_waited_for() {
    let stage = Stage::new("works", TWO);
    stage.run(&["--max-iterations", "1"]).ended(0);
    for name in ["refs/ralph/attempts/PRD-1/US-002/1", "refs/ralph/begun/1"] {
        stage.repo.write(format!(".git/{name}.lock"), "");
    }
    fs_err::write(stage.copy().unwrap().with_file_name("git-1").join("index.lock"), "").unwrap();
    let begun = std::time::Instant::now();
    stage.run(&[]).ended(0).says("1 story landed");
    assert!(begun.elapsed().as_secs() < 9);
}

#[test]
fn work_checked_by_the_next_start_is_not_reported_as_unchecked() {
    let stage = Stage::new("works", TWO);
    let check = "[ ! -e US-001.txt ] || { echo $$ >\"$AGENT_NOTES/begun\"; exec sleep 600; }";
    stage.killed_when(&["--verify", check], "it runs", || !stage.note("begun").is_empty());
    let ran = stage.run(&["--verify", "test -e US-001.txt", "--baseline", "ignore"]);
    ran.ended(0).says("2 stories landed in 2 iterations");
    assert!(!ran.out.contains("unchecked"), "{}", ran.out);
}
