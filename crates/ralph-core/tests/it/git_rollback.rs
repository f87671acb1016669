//! The checkpoint file, the list of discarded attempts, locks and interrupted restores.

use std::path::Path;
use std::time::Duration;

use ralph_base::state::{Id, Lock, RESTORE_NOTE};
use ralph_core::git::{
    Checkpoint, GitError, Patience, Repo, SnapshotError, changed_since, changes_of, discarded,
    rollback, rollback_changes, undo,
};
use test_support::TestRepo;

use crate::git_restore::{checkpoint, state_of};

/// Returns the repository without any wait for locks.
fn impatient(repo: &Repo) -> Repo {
    let patience = Patience { locks: Duration::ZERO, ..Patience::default() };
    repo.clone().using(repo.git().with_patience(patience))
}

#[test]
fn a_rollback_to_a_bare_commit_id_keeps_untracked_files() {
    let test = TestRepo::new();
    let state = state_of(&test);
    let repo = Repo::open(test.root()).unwrap();
    fs_err::create_dir_all(state.root()).unwrap();
    fs_err::write(state.checkpoint(), format!("{}\n", test.head())).unwrap();
    let before = test.fingerprint();
    test.write("untracked.txt", "whose is it?");
    test.write("a.txt", "agent");
    test.write("added.txt", "agent");
    test.git(["add", "added.txt"]);
    test.git(["commit", "-qam", "agent"]);
    rollback(&repo, &state, None, "why").unwrap();
    let after = test.fingerprint();
    assert_eq!(after.head, before.head);
    assert_eq!(after.files.len(), before.files.len() + 1);
    assert_eq!(after.files[Path::new("untracked.txt")].1, b"whose is it?");
}

#[test]
fn an_invalid_or_foreign_checkpoint_file_is_an_error_and_changes_nothing() {
    let test = TestRepo::new();
    let state = state_of(&test);
    let repo = Repo::open(test.root()).unwrap();
    fs_err::create_dir_all(state.root()).unwrap();
    test.git(["checkout", "-q", "--orphan", "release"]);
    test.commit_all("a history of its own");
    test.write("a.txt", "agent");
    let before = test.fingerprint();
    let tree = test.git(["rev-parse", "HEAD^{tree}"]);
    let (branch, unknown) = (format!("{}\nrefs/heads/main\n", test.head()), "a".repeat(40));
    for text in ["HEAD~1\n", "--hard\n", "0123\n", &branch, &unknown, &tree] {
        fs_err::write(state.checkpoint(), text).unwrap();
        assert!(rollback(&repo, &state, None, "why").is_err(), "{text:?}");
    }
    fs_err::write(state.checkpoint(), test.git(["rev-parse", "main"])).unwrap();
    let error = rollback(&repo, &state, None, "why").unwrap_err().to_string();
    assert!(error.contains("not in the history of release"), "{error}");
    fs_err::write(state.checkpoint(), "\n").unwrap();
    let missing = rollback(&repo, &state, None, "why").unwrap_err();
    assert!(matches!(missing, SnapshotError::NoCheckpoint));
    assert_eq!(test.fingerprint(), before);
}

#[test]
fn discarded_attempts_are_listed_and_found_by_a_part_of_their_id() {
    let test = TestRepo::new();
    let (repo, state) = checkpoint(&test);
    let story = Id::parse("US-001").unwrap();
    test.write("a.txt", "first try");
    rollback(&repo, &state, Some(&story), "3 tests failed\nwith details").unwrap();
    test.write("new.txt", "in a commit");
    test.commit_all("agent");
    test.write("a.txt", "second try");
    rollback(&repo, &state, Some(&story), "1 test failed").unwrap();
    let list = discarded(&repo).unwrap();
    let reasons: Vec<&str> = list.iter().map(|attempt| attempt.why.as_str()).collect();
    assert_eq!(reasons, ["1 test failed", "3 tests failed"]);
    assert!(list[0].id.ends_with("-US-001"));
    let shown = changes_of(&repo, &list[1].id).unwrap();
    assert!(shown.contains("-a\n+first try"), "{shown}");
    let shown = changes_of(&repo, &list[0].id).unwrap();
    assert!(shown.contains("+in a commit") && shown.contains("+second try"), "{shown}");
    undo(&repo, &state, &list[1].id).unwrap();
    assert_eq!(fs_err::read_to_string(test.root().join("a.txt")).unwrap(), "first try");
    let unknown = undo(&repo, &state, "1999").unwrap_err().to_string();
    assert!(unknown.contains("ralph-loop undo"), "{unknown}");
    let ambiguous = undo(&repo, &state, "20").unwrap_err().to_string();
    assert!(ambiguous.contains("2 discarded attempts"), "{ambiguous}");
}

#[test]
fn an_interrupted_rollback_is_finished_even_if_no_file_differs() {
    let test = TestRepo::new();
    test.write("mine.txt", "user");
    let before = test.fingerprint();
    let (repo, state) = checkpoint(&test);
    test.git(["add", "mine.txt"]);
    assert!(rollback_changes(&repo, &state, None, "why").unwrap().is_none());
    test.write(format!(".git/{RESTORE_NOTE}"), "");
    assert!(rollback_changes(&repo, &state, None, "why").unwrap().is_some());
    assert_eq!(test.fingerprint(), before);
    assert!(rollback_changes(&repo, &state, None, "why").unwrap().is_none());
}

#[test]
fn a_lock_of_another_process_is_waited_for() {
    let test = TestRepo::new();
    let (repo, state) = checkpoint(&test);
    test.write("a.txt", "agent");
    let lock = test.root().join(".git/index.lock");
    fs_err::write(&lock, "").unwrap();
    std::thread::scope(|scope| {
        let rolling = scope.spawn(|| rollback(&repo, &state, None, "why"));
        // Once the rollback lock is held, the rollback waits for the index.
        while Lock::holder(&state.rollback_lock()).is_none() {
            std::thread::yield_now();
        }
        assert_eq!(fs_err::read_to_string(test.root().join("a.txt")).unwrap(), "agent");
        fs_err::remove_file(&lock).unwrap();
        rolling.join().unwrap().unwrap();
    });
    assert!(test.git(["status", "--porcelain"]).is_empty());
}

#[test]
fn changed_since_lists_exactly_the_changed_files() {
    let test = TestRepo::new();
    test.write("dirty.txt", "user");
    test.write("a.txt", "user");
    test.symlink("link", "a.txt");
    test.write("x.log", "ignored");
    let (repo, state) = checkpoint(&test);
    let target = Checkpoint::load(&state).unwrap().unwrap().target(&repo).unwrap();
    let changed = || changed_since(&repo, &target).unwrap();
    assert_eq!(changed(), Vec::<std::path::PathBuf>::new());
    test.write("x.log", "still ignored");
    test.write("dirty.txt", "agent");
    test.chmod("a.txt", 0o755);
    test.remove("link");
    test.write("new.txt", "agent");
    test.write("src/lib.rs", "agent");
    let all = ["a.txt", "dirty.txt", "link", "new.txt", "src/lib.rs"].map(Path::new);
    assert_eq!(changed(), all);
    test.commit_all("agent");
    assert_eq!(changed(), all);
}

#[test]
fn changes_of_the_index_alone_are_not_changed_files() {
    let test = TestRepo::new();
    test.git(["rm", "-q", "--cached", "a.txt"]);
    let (repo, state) = checkpoint(&test);
    let target = Checkpoint::load(&state).unwrap().unwrap().target(&repo).unwrap();
    let changed = || changed_since(&repo, &target).unwrap();
    assert_eq!(changed(), Vec::<std::path::PathBuf>::new());
    test.write("staged.txt", "agent");
    test.git(["add", "staged.txt"]);
    assert_eq!(changed(), [Path::new("staged.txt")]);
    test.remove("staged.txt");
    assert_eq!(changed(), Vec::<std::path::PathBuf>::new());
    test.write("a.txt", "agent");
    assert_eq!(changed(), [Path::new("a.txt")]);
    rollback(&repo, &state, None, "why").unwrap();
    assert_eq!(changed(), Vec::<std::path::PathBuf>::new());
    assert_eq!(test.git(["status", "--porcelain"]), "D  a.txt\n?? a.txt\n");
}

#[test]
fn a_checkpoint_message_may_be_empty_or_have_paragraphs() {
    let test = TestRepo::new();
    let repo = Repo::open(test.root()).unwrap();
    for message in ["", "one\n\ntwo\n\n{}\n"] {
        Checkpoint::create(&repo, &state_of(&test), message).unwrap();
        test.write("a.txt", "agent");
        rollback(&repo, &state_of(&test), None, "").unwrap();
        assert_eq!(test.git(["status", "--porcelain"]), "");
    }
}

#[test]
fn concurrent_rollbacks_roll_back_once() {
    let test = TestRepo::new();
    test.write("mine.txt", "user");
    let before = test.fingerprint();
    let (repo, state) = checkpoint(&test);
    test.write("a.txt", "agent");
    let done: Vec<bool> = std::thread::scope(|scope| {
        let roll = || rollback_changes(&repo, &state, None, "why").unwrap().is_some();
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(roll)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(done.iter().filter(|rolled| **rolled).count(), 1);
    assert_eq!(discarded(&repo).unwrap().len(), 1);
    assert_eq!(test.fingerprint(), before);
}

#[test]
fn a_branch_that_is_checked_out_in_another_work_tree_is_not_moved() {
    let test = TestRepo::new();
    let (repo, state) = checkpoint(&test);
    test.commit_all("on main");
    test.git(["switch", "-qc", "other"]);
    let linked = test.scratch().path("linked");
    test.git(["worktree", "add", "-q", linked.as_str(), "main"]);
    let before = test.fingerprint();
    let error = rollback(&repo, &state, None, "why").unwrap_err().to_string();
    assert!(error.contains("main") && error.contains(linked.as_str()), "{error}");
    assert_eq!(test.fingerprint(), before);
    assert!(discarded(&repo).unwrap().is_empty());
}

#[test]
fn a_lock_that_is_never_released_fails_a_rollback_and_a_commit_before_any_change() {
    let test = TestRepo::new();
    let (repo, state) = checkpoint(&test);
    test.write("a.txt", "agent");
    test.write(".git/index.lock", "");
    let repo = impatient(&repo);
    let error = rollback(&repo, &state, None, "why").unwrap_err().to_string();
    assert!(error.contains("index.lock") && error.contains("delete the file"), "{error}");
    let args = ["commit", "--allow-empty", "--file=-"];
    let error = repo.git().commit(&args, "waits", None, &|| false).unwrap_err();
    assert!(matches!(error, GitError::Locked { .. }), "{error}");
    assert_eq!(fs_err::read_to_string(test.root().join("a.txt")).unwrap(), "agent");
    assert!(discarded(&repo).unwrap().is_empty());
}

#[test]
fn files_with_converted_line_endings_are_clean_after_a_rollback() {
    let test = TestRepo::new();
    test.git(["config", "core.autocrlf", "true"]);
    test.write("t.txt", "one\ntwo\n");
    test.commit_all("with plain line endings on disk");
    let (repo, state) = checkpoint(&test);
    test.write("t.txt", "agent\n");
    rollback(&repo, &state, None, "why").unwrap();
    assert_eq!(test.git(["status", "--porcelain"]), "");
}

#[test]
fn sha256_objects_and_reftable_refs_are_supported() {
    let test = TestRepo::new();
    let version = test.git(["--version"]);
    let place = test.scratch().dir("newer");
    let git = |args: &[&str]| test.git_in(place.as_std_path(), args);
    git(&["init", "-q", "--object-format=sha256"]);
    let migrate = ["refs", "migrate", "--ref-format=reftable"];
    let migrated = test.try_git(place.as_std_path(), migrate).status.success();
    assert_eq!(migrated, place.join(".git/reftable").exists(), "{version}");
    fs_err::write(place.join("a.txt"), "a\n").unwrap();
    git(&["add", "-A"]);
    git(&["commit", "-qm", "first"]);
    fs_err::write(place.join("staged.txt"), "user\n").unwrap();
    git(&["add", "-A"]);
    let repo = Repo::open(&place).unwrap();
    let state = state_of(&test);
    let before = git(&["status", "--porcelain=v2", "--branch"]);
    Checkpoint::create(&repo, &state, "checkpoint").unwrap();
    fs_err::write(place.join("a.txt"), "agent\n").unwrap();
    git(&["commit", "-qam", "agent"]);
    let saved = rollback(&repo, &state, None, "why").unwrap().saved.name;
    assert_eq!(git(&["status", "--porcelain=v2", "--branch"]), before);
    undo(&repo, &state, &saved).unwrap();
    assert_eq!(fs_err::read_to_string(place.join("a.txt")).unwrap(), "agent\n");
}
