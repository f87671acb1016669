//! Commits with the user's git hooks, within a time limit.

use std::time::Duration;

use ralph_core::git::{GitError, Repo};
use test_support::TestRepo;

fn repo_with_hook(hook: &str) -> (TestRepo, Repo) {
    let test = TestRepo::new();
    test.introduce_user();
    test.write(".git/hooks/pre-commit", format!("#!/bin/sh\n{hook}\n"));
    test.chmod(".git/hooks/pre-commit", 0o755);
    test.write("a.txt", "changed\n");
    let repo = Repo::open(test.root()).unwrap();
    (test, repo)
}

const ARGS: [&str; 4] = ["commit", "--quiet", "--all", "--file=-"];

#[test]
fn git_hooks_run_and_may_use_pathspecs() {
    let (test, repo) = repo_with_hook("git ls-files -- '*.txt' > .git/seen");
    repo.git().commit(&ARGS, "with a hook", None, &|| false).unwrap();
    assert_eq!(fs_err::read_to_string(test.root().join(".git/seen")).unwrap(), "a.txt\n");
    assert_eq!(test.git(["log", "-1", "--format=%s"]), "with a hook\n");
}

#[test]
fn the_output_of_a_failed_hook_is_the_error() {
    let (test, repo) = repo_with_hook("echo no such luck >&2; exit 1");
    let head = test.head();
    let error = repo.git().commit(&ARGS, "refused", None, &|| false).unwrap_err();
    assert!(error.to_string().contains("no such luck"), "{error}");
    assert_eq!((error.exit_code(), test.head()), (Some(1), head));
}

#[test]
fn a_hook_that_takes_too_long_is_killed_and_leaves_no_lock() {
    let (test, repo) = repo_with_hook("exec sleep 600");
    let limit = Some(Duration::from_millis(100));
    let error = repo.git().commit(&ARGS, "slow", limit, &|| false).unwrap_err();
    assert!(matches!(error, GitError::Deadline { .. }), "{error}");
    let error = repo.git().commit(&ARGS, "stopped", None, &|| true).unwrap_err();
    assert!(matches!(error, GitError::Stopped { .. }), "{error}");
    assert!(!repo.git_dir().join("index.lock").exists());
    assert!(!repo.git_dir().join("HEAD.lock").exists());
    assert_eq!(test.git(["log", "-1", "--format=%s"]), "first\n");
}
