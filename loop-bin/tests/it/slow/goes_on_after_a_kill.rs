//! `kill -9` at any point: the next start finishes the interrupted work and continues, each story
//! lands once, and the user's tree is unaffected.

use ralph_base::fault::POINTS;

use super::FAULT;
use crate::stage::{ONE, PLAN, Ran, Stage, TWO, is_alive, until};

const RECORD: &str = ".git/ralph/run.json";
const KILL: &str =
    "kill -9 $(sed -n 's/.*\"pid\": \\([0-9]*\\).*/\\1/p' \"$RALPH_ROOT/.git/ralph/run.json\")";
const COUNTED: &str = "the loop was killed while the agent was working";

/// The commits of a run, without those that only record progress.
fn stories(stage: &Stage) -> Vec<String> {
    stage.subjects().into_iter().filter(|subject| !subject.starts_with("chore(ralph)")).collect()
}

#[track_caller]
fn complete(stage: &mut Stage) -> Ran {
    stage.agent("works");
    let ran = stage.run(&[]);
    ran.ended(0);
    assert_eq!(stage.plan(), TWO.replace("[ ]", "[x]"));
    assert_eq!(stories(stage)[..2], ["feat(US-002): Second", "feat(US-001): First"]);
    assert_eq!(stage.progress().matches("- Status: SUCCESS").count(), 2, "{}", stage.progress());
    for left in [".ralph/.checkpoint", ".ralph/current-story", ".git/ralph/attempt.json"] {
        assert!(!stage.exists(left), "{left}");
    }
    stage.is_clean();
    ran
}

/// Runs the loop with an injected fault, which kills it.
#[track_caller]
fn killed_at(stage: &Stage, fault: &str, args: &[&str]) {
    let ran = stage.run_env(&[(FAULT, fault)], args);
    assert_eq!(ran.code, None, "{fault}: {}", ran.out);
}

#[test]
fn an_agent_of_a_killed_loop_is_ended_by_the_next_start() {
    let mut stage = Stage::new("ignores-term", TWO);
    stage.killed_when(&[], "the agent works", || !stage.note("child").is_empty());
    assert!(is_alive(&stage.note("child")), "the agent outlives a loop that is killed");
    stage.run(&["status"]).ended(0).says("left over from the last one");
    complete(&mut stage);
    assert!(!stage.run(&["status"]).out.contains("outlived"));
    assert!(!is_alive(&stage.note("child")));
    let files = stage.repo.git(["ls-files"]);
    assert!(files.contains("half.txt"), "the next attempt goes on with the work: {files}");
}

#[test]
fn a_kill_while_a_check_hook_or_script_runs_loses_nothing() {
    const HANGS: &str = "echo $$ >\"$AGENT_NOTES/begun\"; exec sleep 600";
    let places = "check .git/hooks/pre-commit .ralph/hooks/started .ralph/hooks/next_iteration \
                  .ralph/hooks/post_iteration .ralph/hooks/finished";
    for place in places.split(' ') {
        let mut stage = Stage::new("works", TWO);
        let is_check = place == "check";
        let check = if is_check { HANGS } else { "true" };
        if !is_check {
            let path = format!("repo/{place}");
            stage.repo.scratch().script(&path, &format!("#!/bin/sh\n{HANGS}\n"));
        }
        stage.killed_when(&["--verify", check], "it runs", || !stage.note("begun").is_empty());
        if is_check {
            assert!(is_alive(&stage.note("begun")), "it outlives a loop that is killed");
            let shown = stage.run(&["status"]);
            shown.ended(0).says("work on US-001 was interrupted; the next run continues it");
        } else {
            stage.repo.remove(place);
        }
        complete(&mut stage);
        assert!(!is_alive(&stage.note("begun")), "{place}");
    }
}

#[test]
fn a_kill_while_git_commits_loses_nothing() {
    for (hook, then) in [("pre-commit", "exit 1"), ("pre-commit", "exit 0"), ("post-commit", "")] {
        let mut stage = Stage::new("works", TWO);
        let kill = KILL.replace("$RALPH_ROOT", stage.repo.root().as_str());
        stage.install_hook(hook, &format!("{kill}\n{then}"));
        // Inside the sandbox, the hook cannot signal the loop.
        assert_eq!(stage.run(&["--sandbox", "off"]).code, None, "the loop was killed");
        stage.repo.remove(format!(".git/hooks/{hook}"));
        complete(&mut stage);
        assert_eq!(stage.discarded(), 0, "the work was good and has landed");
    }
}

/// `crash_points` tests a tracked plan.
#[test]
fn a_kill_at_any_bookkeeping_step_of_an_untracked_plan_loses_nothing() {
    let faults = "workspace.renewed:2 attempt.begun discard.saved land.committed land.kept \
                  follow.texts land.advanced land.journaled land.logged attempt.forgotten \
                  attempt.forgotten:2 loop.finishing replace.written:3";
    for fault in faults.split(' ') {
        let mut stage = Stage::new("works", TWO);
        stage.repo.write("mine.log", "mine\n");
        killed_at(&stage, fault, &[]);
        assert_eq!(stage.plan().replace("[x]", "[ ]"), TWO, "no half-written plan is visible");
        complete(&mut stage);
        assert_eq!(stage.read("mine.log"), "mine\n", "{fault}");
    }
}

#[test]
fn a_user_file_written_after_the_kill_stays_and_the_story_waits() {
    for fault in ["follow.files", "follow.index"] {
        let stage = Stage::new("works", TWO);
        killed_at(&stage, fault, &[]);
        let name = stage.repo.git(["diff-tree", "--name-only", "-r", "main", "ralph/main"]);
        let name = name.lines().find(|name| !name.starts_with(".ralph")).unwrap();
        stage.repo.write(name, "mine\n");
        stage.run(&["--max-iterations", "1"]).ended(8).says("1 commit waits on ralph/main");
        assert_eq!(stage.read(name), "mine\n", "{fault}");
        assert_eq!(stage.repo.git(["diff", "--cached", "--name-only"]), "", "{fault}");
        assert_eq!(stage.repo.git(["status", "--porcelain", name]), format!("?? {name}\n"));
    }
}

/// A power cut also ends git, which leaves its ref locks behind.
#[test]
fn stale_ref_locks_of_the_loop_are_removed() {
    let stage = Stage::new("works", TWO);
    killed_at(&stage, "follow.prepared", &[]);
    let new = stage.repo.git(["rev-parse", "ralph/main"]);
    until("git has ended", || !stage.exists(".git/refs/heads/main.lock"));
    stage.repo.write(".git/refs/heads/main.lock", new);
    stage.repo.write(".git/HEAD.lock", "");
    stage.run(&[]).ended(0).says("2 of 2 stories done");
    assert_eq!(stage.repo.git(["branch", "--list", "ralph/*"]), "");
    stage.is_clean();
}

#[test]
fn attempts_that_kill_the_loop_are_limited() {
    let stage = Stage::new("works", TWO);
    let agent = format!(
        "cat >/dev/null; echo x >>\"$AGENT_NOTES/starts\"; echo w >>w.txt; {KILL}; exec sleep 100"
    );
    let args = ["--attempts", "2", "--max-iterations", "3", "--agent", &agent, "--sandbox", "off"];
    for start in 1..=4 {
        let mut child = stage.start(&args);
        assert_eq!(child.wait().unwrap().code(), None, "start {start} was killed");
    }
    stage.run(&args).ended(8).says("blocked: US-001, US-002");
    assert_eq!(stage.note("starts").lines().count(), 4);
    assert_eq!(stage.plan(), TWO.replace("[ ]", "[!]"));
    let progress = stage.progress();
    assert!(progress.contains("gave up after 2"), "{progress}");
    assert_eq!(progress.matches("- Status: INTERRUPTED").count(), 2, "{progress}");
    assert_eq!((stage.subjects().len(), stage.exists("w.txt")), (1, false));
}

#[test]
fn a_killed_attempt_is_repeated_and_its_iteration_counts_once() {
    let mut stage = Stage::new("hangs", TWO);
    stage.killed_when(&["--max-iterations", "1"], "the agent works", || stage.in_copy("half.txt"));
    stage.agent("works");
    let ran = stage.run(&["--max-iterations", "1"]);
    ran.ended(0).says(&format!("US-001: {COUNTED}")).says("US-001 done");
    assert!(!ran.out.contains("1 of 1 iterations already used"), "{}", ran.out);
    let progress = stage.progress();
    assert!(progress.contains("## Iteration 1 - US-001\n- Status: INTERRUPTED"), "{progress}");
    assert!(progress.contains("## Iteration 1 - US-001\n- Status: SUCCESS"), "{progress}");
}

#[test]
fn a_kill_before_the_agent_works_counts_no_attempt() {
    let stage = Stage::new("works", TWO);
    killed_at(&stage, "attempt.begun", &["--max-iterations", "1"]);
    let ran = stage.run(&["--max-iterations", "1"]);
    ran.ended(0).says("US-001 done");
    assert!(!ran.out.contains(COUNTED), "{}", ran.out);
}

#[test]
fn an_attempt_killed_after_its_agent_ended_is_counted_once() {
    for fault in ["discard.saved", "discard.kept", "discard.logged"] {
        let mut stage = Stage::new("fails", TWO);
        killed_at(&stage, fault, &["--attempts", "2"]);
        let record: serde_json::Value = serde_json::from_str(&stage.read(RECORD)).unwrap();
        assert_eq!(record["tally"]["stories"]["PRD-1/US-001"]["attempts"], 1, "{record}");
        stage.agent("works");
        let ran = stage.run(&["--attempts", "2"]);
        ran.ended(0);
        assert!(!ran.out.contains(COUNTED), "{}", ran.out);
        assert_eq!(stage.plan(), TWO.replace("[ ]", "[x]"), "{fault}");
        let failed = stage.progress().matches("- Status: FAILED").count();
        assert_eq!(failed, 1, "{fault}: {}", stage.progress());
    }
}

#[test]
fn user_changes_before_the_next_start_are_kept() {
    for (commands, branch) in [
        ("commit -q --allow-empty -m mine", "main"),
        ("checkout -q -b other;commit -q --allow-empty -m x", "other"),
        ("checkout -q -b other", "other"),
        ("commit -q --amend -m amended", "main"),
    ] {
        let mut stage = Stage::committed("hangs", ONE);
        stage.killed_when(&[], "the agent works", || stage.in_copy("half.txt"));
        commands.split(';').for_each(|command| drop(stage.repo.git(command.split(' '))));
        stage.repo.write("mine.txt", "mine\n");
        let head = stage.repo.head();
        stage.agent("works");
        stage.run(&[]).ended(0).says("US-001 done");
        assert_eq!(stage.repo.git(["branch", "--show-current"]).trim(), branch, "{commands:?}");
        assert!(stage.repo.git(["log", "--format=%H"]).contains(&head), "{commands:?}");
        assert_eq!(stage.repo.git(["status", "--porcelain"]), "?? mine.txt\n", "{commands:?}");
        let plan = stage.repo.git(["show", &format!("main:{PLAN}")]);
        assert_eq!(plan, "- [x] US-001: First\n", "the run goes on with its target: {commands:?}");
    }
}

#[test]
fn commits_of_a_killed_agent_are_part_of_the_kept_attempt() {
    let mut stage = Stage::new("commits-and-hangs", ONE);
    stage.killed_when(&[], "the agent has committed", || stage.in_copy("half.txt"));
    stage.agent("works");
    stage.run(&[]).ended(0).says("US-001: continuing from attempt US-001/1");
    assert_eq!(stage.subjects(), ["feat(US-001): First", "first"]);
    let files = stage.repo.git(["show", "--format=", "--name-only", "HEAD"]);
    assert_eq!(files, "US-001.txt\ndone.txt\nhalf.txt\n");
}

#[test]
fn a_copy_removed_after_the_kill_loses_only_its_own_work() {
    let mut stage = Stage::new("hangs", TWO);
    stage.killed_when(&[], "the agent works", || stage.in_copy("half.txt"));
    fs_err::remove_dir_all(stage.copy().unwrap()).unwrap();
    complete(&mut stage).says("US-001: its copy is gone");
    let mut stage = Stage::new("works", TWO);
    killed_at(&stage, "land.committed", &[]);
    fs_err::remove_dir_all(stage.copy().unwrap()).unwrap();
    complete(&mut stage);
}

#[test]
fn newer_and_damaged_run_records_are_refused() {
    let stage = Stage::new("works", TWO);
    stage.repo.write(RECORD, "{\"version\":99}");
    stage.run(&[]).ended(1).says("newer version");
    assert_eq!(stage.read(RECORD), "{\"version\":99}");
    for rubbish in ["{", "[]", "rubbish"] {
        stage.repo.write(RECORD, rubbish);
        stage.run(&[]).ended(1).says("run.json is damaged").says("delete it");
    }
    stage.repo.write(RECORD, "");
    stage.repo.write(".git/ralph/attempt.json", "{\"version\":");
    stage.run(&[]).ended(1).says("attempt.json");
    assert_eq!((stage.plan().as_str(), stage.subjects().len()), (TWO, 1));
}

#[test]
fn a_run_continues_after_a_full_disk() {
    for n in [4, 6, 8, 10, 12] {
        let stage = Stage::new("works", TWO);
        stage.repo.write("mine.txt", "mine\n");
        let fault = format!("writes:{n}");
        stage.run_env(&[(FAULT, &fault)], &[]);
        stage.run(&[]).ended(0);
        assert_eq!(stage.plan(), TWO.replace("[ ]", "[x]"), "{fault}");
        stage.has(&[("mine.txt", "mine\n")]);
        assert_eq!(stories(&stage).len(), 3, "{fault}");
    }
}

#[test]
fn clean_does_not_discard_an_interrupted_attempt() {
    let stage = Stage::new("works", ONE);
    let agent = "echo half >half.txt; touch \"$AGENT_NOTES/begun\"; \
                 [ -e \"$AGENT_NOTES/go\" ] || sleep 30; ls >\"$AGENT_NOTES/found\"";
    let begun = || stage.note_path("begun").exists();
    stage.killed_when(&["--agent", agent], "the agent works", begun);
    stage.run(&["clean"]).ended(1).says("an interrupted attempt at US-001").says("--force");
    let shown = stage.run(&["clean", "--dry-run", "--force"]);
    shown.ended(0).says("would remove the record of the interrupted attempt at US-001");
    shown.says("would remove the copy");
    fs_err::write(stage.note_path("go"), "").unwrap();
    stage.run(&["--agent", agent]).ended(0).says("continuing from attempt US-001/1");
    fs_err::remove_file(stage.note_path("go")).unwrap();
    assert!(stage.note("found").contains("half.txt"));
}

/// User edits in the loop's files, staged and unstaged, at every point of a landing.
#[test]
fn a_kill_while_landing_keeps_user_edits_of_plan_and_progress() {
    for point in POINTS.split(' ').filter(|point| point.starts_with("follow.")) {
        let stage = Stage::new("works", TWO);
        stage.run(&["--max-iterations", "1"]).ended(0);
        stage.repo.git(["add", "-f", ".ralph/PRD-1"]);
        stage.repo.git(["commit", "-qm", "plan and progress"]);
        let (plan, progress) = (PLAN, ".ralph/PRD-1/progress.md");
        stage.repo.write(plan, format!("# Mine\n{}", stage.plan()));
        stage.repo.git(["add", plan]);
        stage.repo.write(progress, format!("{}\nmine\n", stage.progress()));
        stage.repo.write("a.txt", "mine\n");
        killed_at(&stage, point, &[]);
        stage.run(&[]).ended(0).says("2 of 2 stories done");
        let ticked = format!("# Mine\n{}", TWO.replace("[ ]", "[x]"));
        stage.has(&[(plan, &ticked), ("a.txt", "mine\n")]);
        assert_eq!(stage.repo.git(["show", &format!(":{plan}")]), ticked, "{point}");
        let text = stage.progress();
        assert_eq!(text.matches("- Status: SUCCESS").count(), 2, "{point}: {text}");
        assert_eq!(text.matches("\nmine\n").count(), 1, "{point}: {text}");
        let status = stage.repo.git(["status", "--porcelain"]);
        assert_eq!(status, format!("M  {plan}\n M {progress}\n M a.txt\n"), "{point}");
        assert_eq!(stage.repo.git(["branch", "--list", "ralph/*"]), "", "{point}");
    }
}
