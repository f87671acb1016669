//! A rollback that is killed at any point loses nothing, and the next rollback finishes it.

use ralph_base::fault::POINTS;
use ralph_base::state::StateDir;
use ralph_core::git::{Checkpoint, Repo, discarded, rollback, rollback_changes, undo};
use test_support::{Fingerprint, TestRepo};

use crate::child;

struct Project {
    test: TestRepo,
    repo: Repo,
    state: StateDir,
    before: Fingerprint,
    attempt: Fingerprint,
}

/// Creates a project with work of the user, and an attempt with every kind of change.
fn project() -> Project {
    let test = TestRepo::new();
    test.write("mine.txt", "user");
    test.write("staged.txt", "staged");
    test.git(["add", "staged.txt"]);
    let repo = Repo::open(test.root()).unwrap();
    let state = StateDir::of_project(test.scratch().root());
    let before = test.fingerprint();
    Checkpoint::create(&repo, &state, "checkpoint").unwrap();
    test.write("a.txt", "committed by the agent");
    test.write("folder/new.txt", "committed by the agent");
    test.commit_all("by the agent");
    test.write("mine.txt", "agent");
    test.write("untracked.txt", "agent");
    test.remove("src/lib.rs");
    let attempt = test.fingerprint();
    Project { test, repo, state, before, attempt }
}

fn points() -> impl Iterator<Item = &'static str> {
    let points: Vec<&str> =
        POINTS.split(' ').filter(|point| point.starts_with("restore.")).collect();
    assert!(points.len() > 5);
    points.into_iter()
}

#[test]
fn a_killed_rollback_is_finished_by_the_next_one() {
    if let Some(root) = child::folder() {
        let state = StateDir::of_project(root.parent().unwrap());
        rollback(&Repo::open(&root).unwrap(), &state, None, "killed").unwrap();
        return;
    }
    let name = "git_killed::a_killed_rollback_is_finished_by_the_next_one";
    for point in points() {
        let project = project();
        let Project { repo, state, .. } = &project;
        let vars = [("RALPH_INTERNAL__FAULT", point)];
        assert!(!child::run(name, project.test.root(), &vars).status.success(), "{point}");
        let first = discarded(repo).unwrap().pop().unwrap();
        if point != "restore.note-removed" {
            assert!(rollback_changes(repo, state, None, "again").unwrap().is_some(), "{point}");
        }
        assert_eq!(project.test.fingerprint(), project.before, "{point}");
        assert_eq!(rollback_changes(repo, state, None, "again").unwrap(), None, "{point}");
        undo(repo, state, &first.id).unwrap();
        assert_eq!(project.test.files(), project.attempt.files, "{point}");
        project.test.git(["fsck", "--strict"]);
    }
}
