//! Snapshot, checkpoint, rollback and undo in typical situations.

use std::path::Path;

use ralph_base::state::StateDir;
use ralph_core::git::{Checkpoint, Repo, Status, rollback, undo};
use test_support::{Fingerprint, TestRepo};

pub(crate) fn state_of(test: &TestRepo) -> StateDir {
    // Outside the repository, so that fingerprints contain only the user's files.
    StateDir::of_project(test.scratch().root())
}

pub(crate) fn checkpoint(test: &TestRepo) -> (Repo, StateDir) {
    let repo = Repo::open(test.root()).unwrap();
    let state = state_of(test);
    Checkpoint::create(&repo, &state, "checkpoint").unwrap();
    (repo, state)
}

/// The central guarantee: after any change, a rollback restores the state of the checkpoint, and an
/// undo restores the files from before the rollback.
fn check(prepare: impl FnOnce(&TestRepo), change: impl FnOnce(&TestRepo)) {
    let test = TestRepo::new();
    prepare(&test);
    let before = test.fingerprint();
    let (repo, state) = checkpoint(&test);
    assert_eq!(test.fingerprint(), before, "a checkpoint changes nothing");
    change(&test);
    let changed = test.fingerprint();
    let restored = rollback(&repo, &state, None, "tests failed").unwrap();
    same_but_refs(&test.fingerprint(), &before);
    undo(&repo, &state, &restored.saved.name).unwrap();
    assert_eq!(contents(&test.fingerprint()), contents(&changed));
    test.git(["fsck", "--strict"]);
    // All commits stay reachable.
    let kept = test.git(["rev-list", &restored.saved.name]);
    let head = changed.head.lines().last().unwrap_or_default();
    assert!(head == "(initial)" || kept.contains(head), "{head}");
}

/// Returns the files as a commit stores them: links, contents and executable bits.
pub(crate) fn contents(state: &Fingerprint) -> Vec<(&Path, u32, &[u8])> {
    let known = |mode: u32| if mode == 0o120_000 { mode } else { mode & 0o100 };
    state
        .files
        .iter()
        .map(|(p, (mode, text))| (p.as_path(), known(*mode), text.as_slice()))
        .collect()
}

/// Compares everything except refs, because the agent may create and move other branches.
fn same_but_refs(now: &Fingerprint, before: &Fingerprint) {
    let now = Fingerprint { refs: before.refs.clone(), ..now.clone() };
    assert_eq!(now, *before);
}

fn nothing(_: &TestRepo) {}

#[test]
fn the_users_dirty_staged_and_untracked_work_is_restored() {
    let user = |test: &TestRepo| {
        test.write("staged.txt", "staged");
        test.git(["add", "staged.txt"]);
        test.write("staged.txt", "staged, then changed");
        test.write("a.txt", "dirty");
        test.write("untracked.txt", "untracked");
        test.write("stashed.txt", "stashed");
        test.git(["stash", "push", "-u", "-q", "--", "stashed.txt"]);
        test.write("secret.log", "ignored");
        test.git(["rm", "-q", "--cached", "src/lib.rs"]);
    };
    check(user, |test| {
        test.write("a.txt", "agent");
        test.write("untracked.txt", "agent");
        test.remove("staged.txt");
        test.git(["add", "-A"]);
        test.git(["commit", "-qm", "agent"]);
    });
}

#[test]
fn a_changed_branch_or_detached_head_is_rolled_back() {
    let switch = |test: &TestRepo| {
        test.write("a.txt", "on main");
        test.commit_all("on main");
        test.git(["switch", "-qc", "agent"]);
        test.write("a.txt", "on agent");
        test.commit_all("on agent");
    };
    check(nothing, switch);
    check(|test| drop(test.git(["checkout", "-q", "--detach"])), switch);
    check(nothing, |test| {
        test.git(["checkout", "-q", "--detach"]);
        test.write("a.txt", "detached");
        test.commit_all("detached");
        test.git(["branch", "-qD", "main"]);
    });
}

#[test]
fn symlinks_and_modes_are_restored_and_files_and_folders_that_replace_each_other() {
    let user = |test: &TestRepo| {
        test.write("private.key", "secret");
        test.chmod("private.key", 0o600);
        test.write("run.sh", "#!/bin/sh\n");
        test.chmod("run.sh", 0o750);
        test.symlink("link", "a.txt");
        test.symlink("dangling", "nowhere");
        test.write("long/".to_owned() + &"x".repeat(255), "long");
    };
    check(user, |test| {
        test.chmod("private.key", 0o644);
        test.remove("run.sh");
        test.remove("link");
        test.write("link", "a file now");
        test.remove("dangling");
        test.symlink("dangling", "elsewhere");
        test.remove("long");
        test.remove("src");
        test.write("src", "a file now");
        test.remove("a.txt");
        test.write("a.txt/inner", "a folder now");
    });
}

#[test]
fn nothing_is_written_through_a_symlink_to_the_outside() {
    let outside = test_support::Scratch::new();
    outside.file("lib.rs", "not yours");
    check(nothing, |test| {
        test.remove("src");
        test.symlink("src", outside.root());
    });
    assert_eq!(outside.read("lib.rs"), "not yours");
}

#[test]
fn files_that_the_attempt_ignores_are_restored_and_saved_before_they_are_replaced() {
    let user = |test: &TestRepo| test.write("notes.dat", "mine");
    check(user, |test| {
        test.git(["rm", "-q", "--cached", "a.txt"]);
        test.write(".gitignore", "a.txt\nsrc\n*.dat\n");
        test.remove("notes.dat");
        test.commit_all("hide");
        test.write("a.txt", "ignored now, and different");
        test.remove("src");
        test.write("src", "an ignored file where a folder was");
    });
}

#[test]
fn line_endings_are_restored_exactly_despite_filters() {
    let user = |test: &TestRepo| {
        test.write(".gitattributes", "*.txt text=auto eol=crlf\n*.id ident\n");
        test.write("clean.txt", "one\r\ntwo\r\n");
        test.commit_all("attributes");
        test.write("a.txt", "dirty\nmixed\r\nends\n");
        test.write("new.txt", "new\r\nmixed\n");
        test.write("x.id", "$Id$\n");
    };
    check(user, |test| {
        test.write("a.txt", "agent\r\n");
        test.write("clean.txt", "changed");
        test.remove("new.txt");
        test.write("x.id", "agent $Id: 12$\n");
        test.commit_all("agent");
    });
}

#[test]
fn split_indexes_and_special_entries_are_restored_exactly() {
    let split = |test: &TestRepo| {
        test.git(["config", "core.splitIndex", "true"]);
        test.git(["update-index", "--split-index"]);
        test.write("s.txt", "staged");
        test.git(["add", "s.txt"]);
    };
    let special = |test: &TestRepo| {
        test.git(["update-index", "--assume-unchanged", "src/lib.rs"]);
        test.git(["update-index", "--chmod=+x", "a.txt"]);
    };
    let agent = |test: &TestRepo| {
        test.write("s.txt", "agent");
        test.commit_all("agent");
    };
    check(split, agent);
    check(special, agent);
}

#[test]
fn conflicted_files_are_restored_and_the_index_matches_the_commit() {
    let test = TestRepo::new();
    test.write("a.txt", "stashed");
    test.git(["stash", "-q"]);
    test.write("a.txt", "committed");
    test.commit_all("other");
    let popped = test.try_git(test.root().as_std_path(), ["stash", "pop"]);
    assert!(!popped.status.success(), "a conflict was wanted");
    let before = test.fingerprint();
    let (repo, state) = checkpoint(&test);
    test.write("a.txt", "resolved");
    test.commit_all("agent");
    rollback(&repo, &state, None, "tests failed").unwrap();
    assert_eq!(test.files(), before.files);
    assert_eq!(test.git(["status", "--porcelain"]), " M a.txt\n");
}

#[test]
fn a_change_in_the_same_second_as_the_index_is_detected() {
    // Same size, same second: git notices the change only because the index is not newer.
    for _ in 0..10 {
        check(
            |test| {
                test.write("a.txt", "b\n");
                test.git(["add", "a.txt"]);
                test.write("a.txt", "c\n");
            },
            |test| test.write("a.txt", "d\n"),
        );
    }
}

#[test]
fn a_rollback_in_a_linked_worktree_leaves_the_main_one_alone() {
    let test = TestRepo::new();
    let linked = test.scratch().path("linked tree");
    test.git(["worktree", "add", "-q", linked.as_str(), "-b", "side"]);
    let main_before = test.fingerprint();
    let repo = Repo::open(&linked).unwrap();
    let state = state_of(&test);
    fs_err::write(linked.join("a.txt"), "user").unwrap();
    Checkpoint::create(&repo, &state, "checkpoint").unwrap();
    fs_err::write(linked.join("a.txt"), "agent").unwrap();
    test.git_in(linked.as_std_path(), ["commit", "-qam", "agent"]);
    rollback(&repo, &state, None, "why").unwrap();
    assert_eq!(fs_err::read_to_string(linked.join("a.txt")).unwrap(), "user");
    assert_eq!(test.git_in(linked.as_std_path(), ["status", "--porcelain"]), " M a.txt\n");
    assert_eq!(test.fingerprint(), main_before);
}

#[test]
fn a_project_in_a_subfolder_keeps_its_state_and_settings() {
    let test = TestRepo::new();
    test.write("app/main.py", "print(1)\n");
    test.write("app/.ralph/PRD-1/plan.md", "- [ ] US-001: x\n");
    test.write("app/.claude/settings.json", "{}");
    test.commit_all("app");
    let project = test.root().join("app");
    let repo = Repo::open(&project).unwrap();
    let state = StateDir::of_project(&project);
    state.prepare().unwrap();
    Checkpoint::create(&repo, &state, "checkpoint").unwrap();
    test.write("app/main.py", "broken");
    test.write("a.txt", "broken");
    test.write("app/.ralph/PRD-1/plan.md", "- [x] US-001: x\n");
    test.write("app/.claude/settings.json", "{\"a\":1}");
    test.commit_all("agent, with plan and settings");
    rollback(&repo, &state, None, "why").unwrap();
    let read = |name: &str| fs_err::read_to_string(test.root().join(name)).unwrap();
    assert_eq!(read("app/main.py"), "print(1)\n");
    assert_eq!(read("a.txt"), "a\n");
    assert_eq!(read("app/.ralph/PRD-1/plan.md"), "- [x] US-001: x\n");
    assert_eq!(read("app/.claude/settings.json"), "{\"a\":1}");
    assert!(Status::read(&repo).unwrap().is_clean(&repo));
}

#[test]
fn a_git_operation_in_progress_is_an_error_with_a_hint() {
    let test = TestRepo::new();
    let (repo, state) = checkpoint(&test);
    test.git(["switch", "-qc", "side"]);
    test.write("a.txt", "side");
    test.commit_all("side");
    test.git(["switch", "-q", "main"]);
    test.write("a.txt", "main");
    test.commit_all("main");
    assert!(!test.try_git(test.root().as_std_path(), ["rebase", "side"]).status.success());
    let before = test.fingerprint();
    let error = rollback(&repo, &state, None, "why").unwrap_err().to_string();
    assert!(error.contains("rebase is in progress") && error.contains("--abort"), "{error}");
    let error = Checkpoint::create(&repo, &state, "x").unwrap_err().to_string();
    assert!(error.contains("rebase is in progress"), "{error}");
    assert_eq!(test.fingerprint(), before);
}

#[test]
fn a_file_written_during_a_rollback_stays_and_is_reported() {
    let test = TestRepo::new();
    // Git runs the filter when the tree is saved, before any file is removed.
    test.git(["config", "filter.busy.smudge", "echo more >> log.txt; echo more >> a.txt; cat"]);
    test.write(".gitattributes", "busy.txt filter=busy\n");
    test.write("busy.txt", "committed\n");
    test.commit_all("busy");
    let (repo, state) = checkpoint(&test);
    for name in ["busy.txt", "log.txt", "new.txt"] {
        test.write(name, "attempt\n");
    }
    let restored = rollback(&repo, &state, None, "why").unwrap();
    assert_eq!(restored.left_alone, ["log.txt"]);
    let read = |name: &str| fs_err::read_to_string(test.root().join(name)).ok();
    assert_eq!(read("log.txt").as_deref(), Some("attempt\nmore\n"));
    assert_eq!((read("busy.txt").as_deref(), read("new.txt")), (Some("committed\n"), None));
    // A file that the attempt did not change is not touched either.
    assert_eq!(read("a.txt").as_deref(), Some("a\nmore\n"));
}
