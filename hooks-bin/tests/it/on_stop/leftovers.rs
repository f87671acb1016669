//! Leftovers in added lines block completed tasks and idle teammates.

use ralph_base::state::StateDir;
use ralph_core::git::{Checkpoint, Repo};

use super::{Answer, Stage, payload};

fn complete(stage: &Stage, task: &str) -> Option<String> {
    let mut input = payload("TaskCompleted-2.1.63");
    input["task_id"] = task.into();
    let answer = stage.send(&input);
    assert_eq!(answer.exit_code, 0);
    answer.blocked
}

fn idle(stage: &Stage) -> Answer {
    stage.send(&payload("TeammateIdle-2.1.63"))
}

#[test]
fn a_task_with_leftovers_is_not_complete() {
    let stage = Stage::new();
    assert_eq!(complete(&stage, "1"), None);
    stage.write("src/lib.rs", "pub fn answer() -> u32 { 42 }\nfn f() { todo!() }\n");
    stage.write("web/new.ts", "// fine\nconsole.log(1);\n");
    assert_eq!(
        complete(&stage, "1").unwrap(),
        "Task 1 (S) is not complete: added lines contain 2 leftovers.\n- web/new.ts:2: \
         `console.log(` (debugging)\n- src/lib.rs:2: `todo!(` (placeholder)\nNext: finish or \
         remove them; mark an intended line with the comment `ralph: allow`."
    );
    stage
        .write("src/lib.rs", "pub fn answer() -> u32 { 42 }\nfn f() { todo!() } // ralph: allow\n");
    stage.repo.remove("web");
    assert_eq!(complete(&stage, "1"), None);
}

#[test]
fn old_moved_and_committed_lines_do_not_count() {
    let stage = Stage::new();
    let old = "// TODO: old\nfn a() {}\n";
    stage.write("src/old.rs", old).write("src/keep.rs", "// FIXME: old\nfn b() {}\n");
    stage.repo.commit_all("old");
    stage.write("src/old.rs", "fn a() {}\nfn b() {}\n    // TODO: old\r\n");
    assert_eq!(complete(&stage, "1"), None);
    stage.write("src/old.rs", "fn a() {}\n// TODO: old\n// TODO: new\n");
    assert!(complete(&stage, "1").unwrap().contains("src/old.rs:3: `TODO` (marker)"));
    stage.write("src/old.rs", old);
    stage.repo.git(["mv", "src/old.rs", "src/new.rs"]);
    stage.write("src/keep.rs", "fn b() {}\n").write("src/other.rs", "// FIXME: old\n");
    assert_eq!(complete(&stage, "1"), None);
    stage.write("src/other.rs", "// FIXME: old\n// FIXME: old\n");
    assert!(complete(&stage, "1").unwrap().contains("`FIXME` (marker)"));
}

#[test]
fn with_a_checkpoint_only_later_lines_count() {
    let stage = Stage::new();
    stage
        .write("users.rs", "// TODO: the user's own\n")
        .write("src/lib.rs", "// FIXME: the user's\n");
    let repo = Repo::open(stage.repo.root()).unwrap();
    Checkpoint::create(&repo, &StateDir::of_project(stage.repo.root()), "before").unwrap();
    stage.write(".ralph/current-story", "US-001\n");
    assert_eq!(complete(&stage, "1"), None);
    stage.write("users.rs", "// TODO: the user's own\n// XXX: the agent's\n");
    stage.repo.commit_all("committed by the agent");
    stage.write(".ralph/state/s1/commits.log", &stage.repo.head());
    let reason = complete(&stage, "1").unwrap();
    assert!(reason.contains("1 leftover.\n- users.rs:2: `XXX` (marker)"), "{reason}");
    stage.write(".ralph/state/s1/commits.log", "");
    assert_eq!(complete(&stage, "1"), None, "someone else's commit makes the checkpoint stale");
}

#[test]
fn a_teammate_cannot_pause_with_debugging_leftovers() {
    let stage = Stage::new();
    stage.write("a.py", "# TODO: later\n");
    assert_eq!(
        idle(&stage),
        Answer {
            blocked: None,
            notice: None,
            remaining: serde_json::Value::Null,
            exit_code: 0,
            stderr: String::new()
        }
    );
    stage.write("a.py", "# TODO: later\nbreakpoint()\n");
    let answer = idle(&stage);
    assert_eq!((answer.exit_code, answer.blocked), (2, None));
    assert!(answer.stderr.starts_with(
        "bob cannot pause yet: added lines contain 1 leftover.\n- a.py:2: `breakpoint(`"
    ));
}

#[test]
fn the_same_leftovers_do_not_block_forever() {
    let stage = Stage::new();
    stage.write("a.py", "breakpoint()\n");
    let held = || complete(&stage, "7").is_some();
    assert_eq!([held(), held(), held(), held()], [true, true, false, false]);
    assert_eq!(stage.allowed().0, "let_go");
    assert_eq!([idle(&stage).exit_code, idle(&stage).exit_code, idle(&stage).exit_code], [2, 2, 0]);
    stage.write("a.py", "x = 1\nbreakpoint()\n");
    assert!(held(), "something was done, so it is asked again");
}

#[test]
fn a_missing_repository_or_commit_causes_no_failure() {
    let stage = Stage::new();
    stage.write("a.py", "breakpoint()\n");
    stage.repo.remove(".git");
    assert_eq!(complete(&stage, "1"), None);
    stage.repo.git(["init", "-q"]);
    assert!(complete(&stage, "1").unwrap().contains("a.py:1"));
    assert!(!stage.exists(".ralph/.hook-error.json"));
}
