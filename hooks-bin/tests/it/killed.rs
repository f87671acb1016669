//! A hook that is killed during a rollback loses nothing, and the next rollback finishes it.

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::Stdio;
use std::time::Duration;

use ralph_base::state::StateDir;
use ralph_core::git::{Checkpoint, Repo, discarded, rollback_changes, undo};
use serde_json::json;
use test_support::{Fingerprint, TestRepo, program};

use crate::client::POST_TOOL;

/// Enough files that the rollback takes a while.
const FILES: usize = 60;

fn without_state(test: &TestRepo) -> Fingerprint {
    let mut print = test.fingerprint();
    print.files.retain(|path, _| !path.starts_with(".ralph"));
    print.status = String::new();
    print
}

/// Starts the hook on a failing run, and kills the hook and its git after `pause`.
fn killed_after(test: &TestRepo, pause: Duration) {
    let input = json!({
        "hook_event_name": "PostToolUseFailure", "session_id": "s1", "cwd": test.root(),
        "tool_name": "Bash", "tool_input": {"command": "pytest"},
        "error": "Exit code 1\nFAILED test_a.py::test_b\n=== 1 failed in 0.01s ===\n",
    });
    let mut command = program(POST_TOOL, test.scratch().root());
    command.env("CLAUDE_PROJECT_DIR", test.root()).stdin(Stdio::piped()).stdout(Stdio::null());
    let mut child = command.process_group(0).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.to_string().as_bytes()).unwrap();
    std::thread::sleep(pause);
    let group = format!("-{}", child.id());
    let mut kill = program("sh", test.scratch().root());
    kill.args(["-c", "kill -KILL -- \"$0\" 2>/dev/null; true", &group]).status().unwrap();
    child.wait().unwrap();
    // A killed git leaves this lock behind; users have to remove it.
    let _ = fs_err::remove_file(test.root().join(".git/index.lock"));
}

#[test]
fn a_rollback_killed_at_any_time_can_be_finished() {
    let mut began = 0;
    for step in 0..12 {
        let test = TestRepo::new();
        test.write("mine.txt", "user");
        test.write(".ralph/config.toml", "[rollback]\non = \"failure\"\nafter_failures = 1\n");
        let state = StateDir::of_project(test.root());
        state.prepare().unwrap();
        let repo = Repo::open(test.root()).unwrap();
        Checkpoint::create(&repo, &state, "checkpoint").unwrap();
        let before = without_state(&test);
        for n in 0..FILES {
            test.write(format!("made/{n}.txt"), format!("agent {n}"));
        }
        test.write("mine.txt", "agent");
        test.write("src/lib.rs", "agent");
        let attempt = without_state(&test);

        killed_after(&test, Duration::from_millis(step * 8));
        if without_state(&test) == attempt {
            continue;
        }
        began += 1;
        rollback_changes(&repo, &state, None, "again").unwrap();
        assert_eq!(without_state(&test), before, "after {} ms", step * 8);
        let first = discarded(&repo).unwrap().pop().unwrap();
        undo(&repo, &state, &first.id).unwrap();
        assert_eq!(without_state(&test).files, attempt.files, "after {} ms", step * 8);
        test.git(["fsck", "--strict"]);
    }
    assert!(began > 0, "no kill came late enough to matter");
}
