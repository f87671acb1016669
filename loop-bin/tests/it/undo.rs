//! `ralph-loop undo`, for users who want discarded work back.

use ralph_base::state::{Id, StateDir};
use ralph_core::git::{Checkpoint, Repo, rollback};
use test_support::TestRepo;

use crate::ralph_loop;

const NOTHING: &str =
    "No hook has rolled anything back. To list the loop's attempts, run `ralph-loop attempts`.\n";

#[test]
fn discarded_work_is_listed_shown_and_restored() {
    let test = TestRepo::new();
    let state = StateDir::of_project(test.root());
    state.prepare().unwrap();
    let repo = Repo::open(test.root()).unwrap();
    let (code, out, _) = ralph_loop(test.root(), &["undo"]);
    assert_eq!((code, out.as_str()), (0, NOTHING));

    Checkpoint::create(&repo, &state, "checkpoint").unwrap();
    test.write("a.txt", "an attempt\n");
    let story = Id::parse("US-001").unwrap();
    rollback(&repo, &state, Some(&story), "2 tests failed").unwrap();

    let (code, out, _) = ralph_loop(test.root(), &["undo"]);
    let id = out.split_whitespace().next().unwrap().to_owned();
    assert!(code == 0 && id.ends_with("-US-001") && out.contains("2 tests failed"), "{out}");

    let (code, out, _) = ralph_loop(test.root(), &["undo", &id, "--show"]);
    assert!(code == 0 && out.contains("+an attempt"), "{out}");
    let text = || fs_err::read_to_string(test.root().join("a.txt")).unwrap();
    assert_eq!(text(), "a\n");

    let (code, out, _) = ralph_loop(test.root(), &["undo", &id]);
    assert!(code == 0 && out.contains("1 file restored"), "{out}");
    assert_eq!(text(), "an attempt\n");
    let (code, out, _) = ralph_loop(test.root(), &["undo", &id]);
    assert!(code == 0 && out.contains("already in the tree"), "{out}");
    test.write("a.txt", "later\n");
    let (code, _, err) = ralph_loop(test.root(), &["undo", &id]);
    assert!(code == 1 && err.contains("a.txt") && err.contains("git branch NAME"), "{err}");
}

#[test]
fn git_environment_variables_are_ignored() {
    let (test, other) = (TestRepo::new(), TestRepo::new());
    let mut command = test_support::program(crate::BINARY, test.root());
    command.args(["undo"]).current_dir(test.root()).env("GIT_WORK_TREE", other.root());
    command.env("GIT_DIR", other.root().join(".git")).env("GIT_INDEX_FILE", "/nonexistent");
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn undo_in_another_worktree_leaves_no_loop_files() {
    let test = TestRepo::new();
    test.write(".ralph/PRD-1/plan.md", "- [ ] US-001: First\n");
    test.commit_all("the plan");
    let state = StateDir::of_project(test.root());
    state.prepare().unwrap();
    let repo = Repo::open(test.root()).unwrap();
    Checkpoint::create(&repo, &state, "checkpoint").unwrap();
    test.write("a.txt", "an attempt\n");
    rollback(&repo, &state, None, "2 tests failed").unwrap();
    let other = test.scratch().path("other");
    test.git(["worktree", "add", "-q", "-b", "side", other.as_str()]);
    let (_, out, _) = ralph_loop(&other, &["undo"]);
    let (code, out, err) = ralph_loop(&other, &["undo", out.split_whitespace().next().unwrap()]);
    assert_eq!(code, 0, "{out}{err}");
    let status = test.git_in(other.as_std_path(), ["status", "--porcelain"]);
    assert_eq!(status, " M a.txt\n");
}
