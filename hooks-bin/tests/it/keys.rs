//! Keys of every known shape in all inputs of the hooks: no record contains a key.

use camino::Utf8Path;
use serde_json::json;
use test_support::{KeyShape, TestRepo, key_shapes};

use crate::client::{Client, ON_STOP, PRE_TOOL};

#[test]
fn no_record_contains_a_key() {
    let repo = TestRepo::new();
    repo.write(".ralph/config.toml", "");
    let client = Client::in_repo(&repo);
    let shapes = key_shapes();
    for KeyShape { text, .. } in &shapes {
        client.prompted(text);
        client.bash_denied(&format!("git push '{text}'"));
        client.bash_ended(
            &format!("KEY='{text}' pytest"),
            1,
            &format!("FAILED test_a.py::test_b - {text}\n{text}\n=== 1 failed in 0.1s ==="),
        );
        client.send(PRE_TOOL, json!({"hook_event_name": text, "tool_input": {}}));
        client.send(ON_STOP, json!({"hook_event_name": "Stop", "last_assistant_message": text}));
    }
    let mut kept = String::new();
    read_all(&repo.root().join(".ralph"), &mut kept);
    assert!(kept.contains("git push") && kept.contains("test_b"), "the calls were recorded");
    for KeyShape { name, secrets, .. } in &shapes {
        for secret in secrets {
            assert!(!kept.contains(secret.as_str()), "{name}: {secret} was kept");
        }
    }
}

fn read_all(folder: &Utf8Path, kept: &mut String) {
    for entry in folder.read_dir_utf8().unwrap() {
        let path = entry.unwrap().into_path();
        if path.is_dir() {
            read_all(&path, kept);
        } else {
            kept.push_str(&String::from_utf8_lossy(&fs_err::read(path).unwrap()));
        }
    }
}
