//! No hook writes through a state file that is a symlink to the outside.

use ralph_base::state::StateDir;
use serde_json::json;
use test_support::TestRepo;

use crate::client::{Client, ON_STOP};

#[test]
fn nothing_is_written_through_a_link() {
    let repo = TestRepo::new();
    let state = StateDir::of_project(repo.root());
    let outside = repo.scratch().dir("outside");
    let precious = repo.scratch().file("precious", "precious\n");
    fs_err::create_dir_all(state.root()).unwrap();
    for folder in [state.logs(), state.sessions(), state.lifecycle(), state.merge_requests()] {
        fs_err::os::unix::fs::symlink(&outside, folder).unwrap();
    }
    for file in state.files() {
        // The other files are in folders that are already symlinks.
        if file.parent() == Some(state.root()) {
            fs_err::os::unix::fs::symlink(&precious, file).unwrap();
        }
    }
    let client = Client::in_repo(&repo);
    assert!(client.bash_denied("git push").is_some());
    client.bash_ended("pytest", 1, "FAILED a.py::test_b\n=== 1 failed in 0.1s ===");
    client.send(ON_STOP, json!({"hook_event_name": "Stop", "stop_hook_active": false}));
    client.prompted("hello");
    assert_eq!(fs_err::read_to_string(precious).unwrap(), "precious\n");
    assert_eq!(outside.read_dir_utf8().unwrap().count(), 0);
}
