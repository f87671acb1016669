//! A rollback or an undo that is killed at any point: nothing is lost, and the next one finishes it.

use ralph_core::fault::POINTS;
use ralph_core::git::{
    Checkpoint, Repo, discarded, find, finish_interrupted, rollback, rollback_changes, undo,
};
use ralph_core::state::StateDir;
use test_support::{Fingerprint, TestRepo};

use crate::child;

struct Project {
    test: TestRepo,
    repo: Repo,
    state: StateDir,
    before: Fingerprint,
    attempt: Fingerprint,
}

/// All that an attempt can do to a tree with work of the user's in it.
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

/// Runs it in a child that is killed at a point; tells whether it was.
fn is_killed(project: &Project, test: &str, point: &str, act: &str) -> bool {
    let vars = [("RALPH_INTERNAL__FAULT", point), ("RALPH_INTERNAL__ACT", act)];
    !child::run(test, project.test.root(), &vars).status.success()
}

/// What the child does.
fn act(root: &camino::Utf8Path) {
    let repo = Repo::open(root).unwrap();
    let state = StateDir::of_project(root.parent().unwrap());
    match ralph_core::env::Env::process().get("RALPH_INTERNAL__ACT").unwrap().as_str() {
        "rollback" => drop(rollback(&repo, &state, None, "killed").unwrap()),
        id => drop(undo(&repo, &state, id).unwrap()),
    }
}

fn points() -> impl Iterator<Item = &'static str> {
    let points: Vec<&str> =
        POINTS.into_iter().filter(|point| point.starts_with("restore.")).collect();
    assert!(points.len() > 5);
    points.into_iter()
}

#[test]
fn a_rollback_that_is_killed_is_finished_by_the_next() {
    if let Some(root) = child::folder() {
        return act(&root);
    }
    let name = "git_killed::a_rollback_that_is_killed_is_finished_by_the_next";
    for point in points() {
        let project = project();
        let Project { repo, state, .. } = &project;
        assert!(is_killed(&project, name, point, "rollback"), "{point}");
        let first = discarded(repo).unwrap().pop().unwrap();
        if point != "restore.note-removed" {
            assert!(rollback_changes(repo, state, None, "again").unwrap().is_some(), "{point}");
        }
        assert_eq!(project.test.fingerprint(), project.before, "{point}");
        assert!(!finish_interrupted(repo, state).unwrap(), "{point}");
        undo(repo, state, &first.id).unwrap();
        assert_eq!(project.test.fingerprint(), project.attempt, "{point}");
        project.test.git(["fsck", "--strict"]);
    }
}

#[test]
fn an_undo_that_is_killed_is_finished_by_the_next_start() {
    if let Some(root) = child::folder() {
        return act(&root);
    }
    let name = "git_killed::an_undo_that_is_killed_is_finished_by_the_next_start";
    for point in points() {
        let project = project();
        let Project { repo, state, .. } = &project;
        let saved = rollback(repo, state, None, "why").unwrap().saved;
        project.test.write("later.txt", "nothing to do with it");
        assert!(is_killed(&project, name, point, &saved.name), "{point}");
        let has_begun = !["restore.saved", "restore.note-removed"].contains(&point);
        assert_eq!(finish_interrupted(repo, state).unwrap(), has_begun, "{point}");
        if point == "restore.saved" {
            undo(repo, state, &find(repo, &saved.name).unwrap().id).unwrap();
        }
        let mut now = project.test.fingerprint();
        let later = now.files.remove(std::path::Path::new("later.txt")).unwrap();
        assert_eq!(later.1, b"nothing to do with it");
        assert_eq!(now.files, project.attempt.files, "{point}");
        assert_eq!((&now.index, &now.head), (&project.attempt.index, &project.attempt.head));
    }
}
