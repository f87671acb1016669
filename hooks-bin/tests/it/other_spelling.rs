//! Where the file system ignores case, what is protected is protected under every spelling.

use serde_json::json;
use test_support::{Scratch, on_a_disk_that_ignores_case, program};

use crate::client::PRE_TOOL;

const ATTEMPTS: [(&str, &str); 12] = [
    ("Write", ".GIT/config"),
    ("Write", ".Git/hooks/pre-commit"),
    ("Edit", ".RALPH/config.toml"),
    ("Write", ".Ralph/events.jsonl"),
    ("Write", ".CLAUDE/settings.json"),
    ("Write", ".claude/SETTINGS.local.JSON"),
    ("Write", "../APP/.git/config"),
    ("Bash", "echo x > .GIT/config"),
    ("Bash", "echo x | tee .RALPH/Events.jsonl"),
    ("Bash", "cp src/a .Claude/Settings.json"),
    ("Bash", "rm -rf .Git"),
    ("Bash", "sed -i s/a/b/ .RALPH/CONFIG.toml"),
];

#[test]
fn twelve_other_spellings_of_protected_paths_are_refused() {
    let scratch = Scratch::on_disk();
    let mut script = "mkdir -p app/.ralph app/.claude app/src && cd app && git init -q . && \
                      echo a >src/a && echo x >.ralph/config.toml && echo {} >.claude/settings.json && \
                      grep -q bare .GIT/Config || exit 3\n"
        .to_owned();
    for (number, (tool, what)) in ATTEMPTS.into_iter().enumerate() {
        let path = scratch.path("disk/app").join(what);
        let input = match tool {
            "Bash" => json!({"command": what}),
            _ => json!({"file_path": path, "content": "x", "old_string": "x", "new_string": "y"}),
        };
        let payload = json!({
            "session_id": "s1", "cwd": scratch.path("disk/app"), "hook_event_name": "PreToolUse",
            "permission_mode": "bypassPermissions", "tool_name": tool, "tool_input": input,
        });
        scratch.file(&format!("payload-{number}"), payload.to_string());
        script += &format!("\"$HOOK\" <\"$at/payload-{number}\" >\"$at/answer-{number}\"\n");
    }
    let Some(words) = on_a_disk_that_ignores_case(&script) else { return };
    let mut command = program(&words[0], scratch.root());
    command.args(&words[1..]).current_dir(scratch.root()).env("HOOK", PRE_TOOL);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    for (number, (tool, what)) in ATTEMPTS.iter().enumerate() {
        let answer = scratch.read(&format!("answer-{number}"));
        assert!(answer.contains("\"permissionDecision\":\"deny\""), "{tool} {what}: {answer}");
    }
}
