//! Ignore rules and a rollback: tracked files are restored first; then only files are removed that
//! were saved and that the rules of the checkpoint do not ignore.

use ralph_core::git::{rollback, rollback_changes, undo};
use test_support::TestRepo;

use crate::git_restore::checkpoint;

fn is_there(test: &TestRepo, name: &str) -> bool {
    test.root().join(name).exists()
}

#[test]
fn files_ignored_at_the_checkpoint_survive_a_changed_gitignore() {
    let test = TestRepo::new();
    test.write("secret.log", "ignored");
    test.write("build/out.o", "ignored");
    let (repo, state) = checkpoint(&test);
    test.write(".gitignore", "");
    test.write("more.log", "made while nothing was ignored");
    test.commit_all("the secret as well");
    rollback(&repo, &state, None, "why").unwrap();
    assert!(["secret.log", "build/out.o", "more.log"].iter().all(|name| is_there(&test, name)));
    assert_eq!(test.git(["status", "--porcelain"]), "");
}

#[test]
fn files_ignored_only_by_the_attempt_stay() {
    let test = TestRepo::new();
    let (repo, state) = checkpoint(&test);
    test.write(".gitignore", "*.log\n/build/\n*.dat\n");
    test.write("new.dat", "hidden by the attempt\n");
    test.write("new.txt", "not hidden\n");
    let attempt = test.fingerprint();
    let restored = rollback(&repo, &state, None, "why").unwrap();
    assert!(is_there(&test, "new.dat") && !is_there(&test, "new.txt"));
    undo(&repo, &state, &restored.saved.name).unwrap();
    assert_eq!(test.fingerprint(), attempt);
    // Once the file is no longer ignored, it is saved, and the next rollback removes it.
    rollback(&repo, &state, None, "why").unwrap();
    let saved = rollback_changes(&repo, &state, None, "why").unwrap().unwrap().saved.name;
    assert!(!is_there(&test, "new.dat"));
    undo(&repo, &state, &saved).unwrap();
    assert!(is_there(&test, "new.dat"));
}

#[test]
fn ignore_rules_in_the_git_folder_are_kept() {
    let test = TestRepo::new();
    let (repo, state) = checkpoint(&test);
    test.write(".git/info/exclude", "*.dat\n");
    test.write("new.dat", "hidden\n");
    test.write("a.txt", "agent\n");
    rollback(&repo, &state, None, "why").unwrap();
    assert!(is_there(&test, "new.dat"));
    assert_eq!(fs_err::read_to_string(test.root().join(".git/info/exclude")).unwrap(), "*.dat\n");
}

#[test]
fn an_ignored_file_that_the_user_removed_is_removed_again() {
    let test = TestRepo::new();
    test.write("kept.log", "tracked all the same\n");
    test.git(["add", "--force", "kept.log"]);
    test.commit_all("an ignored file");
    test.remove("kept.log");
    let before = test.fingerprint();
    let (repo, state) = checkpoint(&test);
    test.write("kept.log", "agent\n");
    let attempt = test.fingerprint();
    let saved = rollback(&repo, &state, None, "why").unwrap().saved.name;
    assert_eq!(test.fingerprint(), before);
    undo(&repo, &state, &saved).unwrap();
    assert_eq!(test.fingerprint(), attempt);
}
