//! The hook at the end of a test run, with real repositories.

mod runs;

use ralph_base::state::{Id, LastVerdict, StateDir};
use ralph_core::git::{Checkpoint, Repo, discarded, undo};
use serde_json::json;
use test_support::{Fingerprint, TestRepo, program};

use crate::client::{Client, POST_TOOL};

const PYTEST_FAILED: &str = "\
============================= test session starts ==============================
collected 3 items

test_app.py .F.                                                          [100%]

=================================== FAILURES ===================================
__________________________________ test_login __________________________________

    def test_login():
>       assert login() == 1
E       assert 0 == 1

test_app.py:12: AssertionError
=========================== short test summary info ============================
FAILED test_app.py::test_login - assert 0 == 1
========================= 1 failed, 2 passed in 0.02s ==========================
";

const PYTEST_PASSED: &str = "test_app.py ...\n========== 3 passed in 0.02s ==========\n";

/// Returns a repository with the user's dirty, staged, untracked, ignored and stashed work, and
/// with a checkpoint.
fn at_a_checkpoint(after_failures: u64) -> (TestRepo, Client, Fingerprint) {
    let test = TestRepo::new();
    test.write("stashed.txt", "stashed");
    test.git(["stash", "push", "-u", "-q", "--", "stashed.txt"]);
    test.write("a.txt", "dirty");
    test.write("staged.txt", "staged");
    test.git(["add", "staged.txt"]);
    test.write("untracked.txt", "untracked");
    test.write("ignored.log", "ignored");
    test.write(
        ".ralph/config.toml",
        format!("[rollback]\non = \"failure\"\nafter_failures = {after_failures}\n"),
    );
    test.write(".ralph/current-story", "US-001\n");
    StateDir::of_project(test.root()).prepare().unwrap();
    let repo = Repo::open(test.root()).unwrap();
    Checkpoint::create(&repo, &StateDir::of_project(test.root()), "checkpoint").unwrap();
    let before = without_state(&test);
    let client = Client::in_repo(&test);
    (test, client, before)
}

/// Returns the fingerprint without the state folder, which the hooks change.
fn without_state(test: &TestRepo) -> Fingerprint {
    let mut print = test.fingerprint();
    print.files.retain(|path, _| !path.starts_with(".ralph"));
    let entries = print.status.split('\0').filter(|entry| !entry.contains(".ralph/"));
    print.status = entries.collect::<Vec<_>>().join("\n");
    print
}

fn break_something(test: &TestRepo) {
    change_files(test);
    test.remove("untracked.txt");
}

fn change_files(test: &TestRepo) {
    test.write("src/lib.rs", "broken");
    test.write("a.txt", "agent");
    test.write("new/file.txt", "agent");
}

#[test]
fn a_failing_run_is_rolled_back_exactly_and_undo_restores_it() {
    let (test, client, before) = at_a_checkpoint(1);
    break_something(&test);
    test.git(["commit", "-qam", "agent"]);
    test.write(format!(".ralph/state/{}/commits.log", client.session), test.head());
    let attempt = without_state(&test);
    let shown = client.bash_ended("pytest -q", 1, PYTEST_FAILED).unwrap();
    assert_eq!(without_state(&test), before);

    assert!(shown.starts_with("Tests failed: 1 failed, 2 passed (pytest)."), "{shown}");
    assert!(shown.contains("test_app.py::test_login"), "{shown}");
    assert!(
        shown.contains("refs/ralph/discarded/") && shown.contains("ralph-loop undo"),
        "{shown}"
    );
    assert!(shown.contains(".ralph/failure-context.log"), "{shown}");

    let repo = Repo::open(test.root()).unwrap();
    let kept = discarded(&repo).unwrap();
    assert_eq!(kept.len(), 1);
    assert!(kept[0].id.ends_with("-US-001"), "{}", kept[0].id);
    undo(&repo, &StateDir::of_project(test.root()), &kept[0].id).unwrap();
    assert_eq!(without_state(&test).files, attempt.files);

    let rolled_back = &client.events("rolled_back")[0];
    assert_eq!(rolled_back["saved_as"], kept[0].name.as_str());
    assert_eq!(rolled_back["story"], "US-001");
    let verdict = &client.events("verdict")[0];
    assert_eq!(verdict["verdict"], "failed");
    assert_eq!(verdict["tests"], json!(["test_app.py::test_login"]));
}

#[test]
fn fewer_failures_or_a_pass_reset_the_strikes_and_rollback_is_opt_in() {
    let (test, client, _) = at_a_checkpoint(3);
    break_something(&test);
    let fail = |count: u32| {
        let output = format!("=== {count} failed, 1 passed in 0.01s ===\n");
        client.bash_ended("pytest", 1, &output).unwrap()
    };
    for count in [5, 4, 3, 2] {
        assert!(fail(count).contains("2 more failing runs"), "{count}");
    }
    assert!(fail(2).contains("1 more failing run,"));
    assert_eq!(client.bash_ended("pytest", 0, PYTEST_PASSED), None);
    assert!(fail(2).contains("2 more failing runs"));
    for on in ["", "on = \"story-end\"\n", "on = \"never\"\n"] {
        test.write(".ralph/config.toml", format!("[rollback]\nafter_failures = 1\n{on}"));
        let answer = fail(2);
        assert!(answer.contains("Fix these tests before you finish the story"), "{answer}");
    }
    assert_eq!(fs_err::read_to_string(test.root().join("a.txt")).unwrap(), "agent");
}

#[test]
fn truncated_output_is_read_from_its_file() {
    let (test, client, before) = at_a_checkpoint(1);
    break_something(&test);
    let file = client.home.file("all.txt", format!("{}{PYTEST_FAILED}", "noise\n".repeat(90_000)));
    let answer = client.send(
        POST_TOOL,
        json!({
            "hook_event_name": "PostToolUse",
            "tool_name": "Bash",
            "tool_input": {"command": "pytest -v || true"},
            "tool_response": {
                "stdout": "noise\n".repeat(5_000),
                "persistedOutputPath": file,
                "persistedOutputSize": 540_000,
            },
        }),
    );
    assert!(answer.unwrap()["reason"].as_str().unwrap().contains("test_login"));
    assert_eq!(without_state(&test), before);
    let log = fs_err::read_to_string(test.root().join(".ralph/failure-context.log")).unwrap();
    assert!(log.starts_with("=== Test Failure ") && log.contains("test_login"), "{log}");
}

#[test]
fn tests_written_first_may_fail() {
    let (test, client, _) = at_a_checkpoint(1);
    test.write("tests/test_new.py", "def test_new(): assert False\n");
    let shown = client.bash_ended("pytest", 1, PYTEST_FAILED).unwrap();
    assert!(shown.contains("Now make it pass"), "{shown}");
    assert!(test.root().join("tests/test_new.py").exists());
}

#[test]
fn tests_that_failed_before_the_attempt_do_not_count() {
    let (test, client, _) = at_a_checkpoint(1);
    let shown = client.bash_ended("pytest", 1, PYTEST_FAILED).unwrap();
    assert!(shown.contains("failed before you started"), "{shown}");
    break_something(&test);
    let shown = client.bash_ended("pytest", 1, PYTEST_FAILED).unwrap();
    assert!(shown.contains("failed before you changed anything"), "{shown}");
    let another = PYTEST_FAILED.replace("test_login", "test_logout");
    assert!(client.bash_ended("pytest", 1, &another).unwrap().contains("rolled back"));
}

#[test]
fn compile_errors_and_other_commands_cause_no_rollback() {
    let (test, client, _) = at_a_checkpoint(1);
    break_something(&test);
    let broken = without_state(&test);
    assert_eq!(client.bash_ended("cat pytest.log", 0, PYTEST_FAILED), None);
    assert_eq!(client.bash_ended("grep -r FAILED .", 1, "1 failed"), None);
    let error = "error[E0425]: cannot find value `x` in this scope\n --> src/lib.rs:1:1\n\n\
                 error: could not compile `app` (lib test) due to 1 previous error\n";
    assert_eq!(client.bash_ended("cargo test", 101, error), None);
    assert_eq!(client.events("verdict").last().unwrap()["verdict"], "errored");
    assert_eq!(without_state(&test), broken);
}

#[test]
fn a_verdict_counts_only_for_the_tree_it_ran_in() {
    let (test, mut client, _) = at_a_checkpoint(1);
    break_something(&test);
    let tree = ".claude/worktrees/agent-1";
    test.git(["worktree", "add", "-q", tree]);
    for elsewhere in [tree, "/tmp", ".."] {
        let command = format!("cd {elsewhere} && pytest");
        assert_eq!(client.bash_ended(&command, 1, PYTEST_FAILED), None, "{command}");
    }
    client.cwd = test.root().join(tree);
    let client = client.with("CLAUDE_PROJECT_DIR", test.root().as_str());
    // A subagent in a separate work tree; only its output shows that the last command runs tests.
    for command in ["pytest -q", "cd src && pytest", "./run-the-tests"] {
        assert_eq!(client.bash_ended(command, 1, PYTEST_FAILED), None, "{command}");
    }
    assert_eq!(fs_err::read_to_string(test.root().join("a.txt")).unwrap(), "agent");
    assert!(client.events("verdict").is_empty() && client.events("rolled_back").is_empty());
    let back = format!("cd {} && pytest", test.root());
    assert!(client.bash_ended(&back, 1, PYTEST_FAILED).unwrap().contains("rolled back"));
}

#[test]
fn a_stale_or_missing_checkpoint_is_reported_and_not_used() {
    let test = TestRepo::new();
    test.write(".ralph/.checkpoint", format!("{}\n", test.head()));
    // A current story does not turn a person's commits into commits of the agent.
    test.write(".ralph/current-story", "US-001\n");
    let client = Client::in_repo(&test);
    test.write("src/lib.rs", "by hand");
    test.commit_all("by hand");
    test.write("src/lib.rs", "broken");
    let work = without_state(&test);
    let shown = client.bash_ended("pytest", 1, PYTEST_FAILED).unwrap();
    assert!(shown.contains("this session did not make, so nothing was rolled back"), "{shown}");
    assert_eq!(without_state(&test), work);
    let why = "the checkpoint is stale: there are newer commits that this session did not make";
    assert_eq!(client.events("not_rolled_back")[0]["why"], why);
    test.remove(".ralph/.checkpoint");
    let shown = client.bash_ended("pytest", 1, PYTEST_FAILED).unwrap();
    assert!(shown.contains("There is no checkpoint, so nothing was rolled back"), "{shown}");
    assert_eq!(without_state(&test), work);
}

#[test]
fn commits_of_the_session_are_rolled_back() {
    let test = TestRepo::new();
    let begin = test.head();
    test.write(".ralph/.checkpoint", format!("{begin}\n"));
    test.write(".ralph/current-story", "US-001\n");
    let client = Client::in_repo(&test);
    test.write("src/lib.rs", "by the agent");
    // `TestRepo` commits with a date in another year.
    let commit = "git -c user.name=A -c user.email=a@localhost commit -qam 'by the agent'";
    let status =
        program("sh", client.home.root()).args(["-c", commit]).current_dir(test.root()).status();
    assert!(status.unwrap().success());
    assert_eq!(client.bash_ended("git commit -am 'by the agent'", 0, ""), None);
    assert!(client.bash_ended("pytest", 1, PYTEST_FAILED).unwrap().contains("was rolled back"));
    assert_eq!(test.head(), begin);
    let text = fs_err::read_to_string(test.root().join("src/lib.rs")).unwrap();
    assert_eq!(text, "pub fn answer() -> u32 { 42 }\n");
}

#[test]
fn concurrent_failing_runs_cause_one_rollback_and_lose_no_line() {
    let (test, client, before) = at_a_checkpoint(1);
    break_something(&test);
    let shown: Vec<Option<String>> = std::thread::scope(|scope| {
        let run = || client.bash_ended("pytest", 1, PYTEST_FAILED);
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(run)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(shown.iter().all(Option::is_some));
    assert_eq!(without_state(&test), before);
    assert_eq!(discarded(&Repo::open(test.root()).unwrap()).unwrap().len(), 1);
    assert_eq!(client.events("verdict").len(), 4);
    assert_eq!(client.events("rolled_back").len(), 1);
    let log = fs_err::read_to_string(test.root().join(".ralph/failure-context.log")).unwrap();
    assert_eq!(log.matches("=== Test Failure ").count(), 4);
    test.git(["fsck", "--strict"]);
    // The later runs of the rolled-back attempt are not taken for failures of the checkpoint.
    break_something(&test);
    assert!(client.bash_ended("pytest", 1, PYTEST_FAILED).unwrap().contains("rolled back"));
    let lessons = fs_err::read_to_string(test.root().join(".ralph/guardrails.md")).unwrap();
    assert_eq!(lessons.matches("test_login").count(), 1, "{lessons}");
}

#[test]
fn a_repository_with_a_merge_in_progress_is_not_rolled_back() {
    let (test, client, _) = at_a_checkpoint(1);
    break_something(&test);
    fs_err::write(test.root().join(".git/MERGE_HEAD"), format!("{}\n", test.head())).unwrap();
    let shown = client.bash_ended("pytest", 1, PYTEST_FAILED).unwrap();
    assert!(shown.contains("test_login") && shown.contains("could not be rolled back"), "{shown}");
    assert!(shown.contains("merge --abort"), "{shown}");
    assert_eq!(fs_err::read_to_string(test.root().join("a.txt")).unwrap(), "agent");
    let error = fs_err::read_to_string(test.root().join(".ralph/.hook-error.json")).unwrap();
    assert!(error.contains("merge is in progress"), "{error}");
}

#[test]
fn a_hidden_result_names_the_fix_and_does_not_clear_a_failure() {
    let test = TestRepo::new();
    StateDir::of_project(test.root()).prepare().unwrap();
    let client = Client::in_repo(&test);
    client.bash_ended("pytest", 1, PYTEST_FAILED);
    let last = || {
        let session =
            StateDir::of_project(test.root()).session(&Id::parse(&client.session).unwrap());
        LastVerdict::load(&session).unwrap().verdict
    };
    assert_eq!(last(), "failed");
    let advice = client.bash_ended("pytest 2>&1 | tail -1", 0, "Step 1 to 3...\n").unwrap();
    assert!(advice.contains("set -o pipefail"), "{advice}");
    assert_eq!(client.events("verdict").last().unwrap()["verdict"], "unknown");
    assert_eq!(last(), "failed");
    client.bash_ended("pytest", 0, PYTEST_PASSED);
    client.bash_ended("pytest | tail -1", 0, "");
    assert_eq!(last(), "unknown");
}
