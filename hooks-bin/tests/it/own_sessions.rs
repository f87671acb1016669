//! Sessions that no loop started, and payloads of older setups and of other tools.

use serde_json::json;
use test_support::TestRepo;

use crate::client::{Client, PRE_TOOL};
use crate::run::Run;

#[test]
fn a_person_is_asked_and_an_agent_of_a_loop_is_denied() {
    let test = TestRepo::new();
    test.write(".ralph/config.toml", "[scope]\npaths = [\"src/**\"]\n");
    let decision = |client: &Client, command: &str| {
        let input = json!({
            "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": command},
            "permission_mode": "default",
        });
        let answer = client.send(PRE_TOOL, input)?;
        Some(answer["hookSpecificOutput"]["permissionDecision"].as_str().unwrap().to_owned())
    };
    let mut person = Client::in_repo(&test);
    assert_eq!(decision(&person, "git push").as_deref(), Some("ask"));
    assert_eq!(person.events("denied")[0]["asked"], true);
    // A scope applies only to stories, and the person has no story.
    assert_eq!(person.denied("Write", json!({"file_path": test.root().join("new.md")})), None);
    let agent = Client::in_repo(&test).with("RALPH_RUN", "run-1");
    assert_eq!(decision(&agent, "git push").as_deref(), Some("deny"));
    // A story binds nobody without a checkpoint that applies to the session.
    test.write(".ralph/current-story", "US-001\n");
    for checkpoint in ["", "no commit", &"0".repeat(40)] {
        test.write(".ralph/.checkpoint", checkpoint);
        person.session = format!("beside-{}", checkpoint.len());
        assert_eq!(decision(&person, "git push").as_deref(), Some("ask"));
        assert_eq!(person.denied("Write", json!({"file_path": test.root().join("new.md")})), None);
    }
    test.write(".ralph/.checkpoint", test.head());
    person.session = "later".to_owned();
    assert_eq!(decision(&person, "git push").as_deref(), Some("deny"));
    assert!(person.denied("Write", json!({"file_path": test.root().join("new.md")})).is_some());
    test.remove(".ralph/current-story");
    test.remove(".ralph/.checkpoint");
    for (own, expected) in [("deny", Some("deny")), ("off", None)] {
        test.write(".ralph/config.toml", format!("[guard]\nown_sessions = \"{own}\"\n"));
        assert_eq!(decision(&person, "git push").as_deref(), expected);
    }
}

#[test]
fn a_person_reads_a_question_and_is_not_asked_what_only_the_agent_knows() {
    let test = TestRepo::new();
    test.write(".ralph/config.toml", "");
    let person = Client::in_repo(&test);
    let answer = |tool: &str, input: serde_json::Value| {
        let input = json!({
            "hook_event_name": "PreToolUse", "tool_name": tool, "tool_input": input,
            "permission_mode": "default",
        });
        let answer = person.send(PRE_TOOL, input).unwrap()["hookSpecificOutput"].clone();
        ["permissionDecision", "permissionDecisionReason"]
            .map(|name| answer[name].as_str().unwrap().to_owned())
    };
    let expected =
        "Allow `git push`? Ralph asks you first: a push cannot be taken back (rule git-push).";
    assert_eq!(answer("Bash", json!({"command": "git push"})), ["ask", expected]);
    let [decision, reason] = answer("Edit", json!({"file_path": test.root().join("a.txt")}));
    assert_eq!(decision, "deny");
    assert!(reason.contains("rule read-before-edit") && reason.contains("read the file first"));
    assert_eq!(person.events("denied")[1]["asked"], serde_json::Value::Null);
}

#[test]
fn a_call_is_denied_if_the_client_would_not_ask() {
    let test = TestRepo::new();
    test.write(".ralph/config.toml", "");
    let person = Client::in_repo(&test);
    let judged = |tool: &str, command: &str, mode: &str, version: &str| {
        test.write("t.jsonl", format!("{{\"type\":\"user\",\"version\":\"{version}\"}}\n"));
        let file = test.root().join(".git/config");
        let input = json!({
            "hook_event_name": "PreToolUse", "tool_name": tool, "permission_mode": mode,
            "tool_input": {"command": command, "file_path": file, "content": ""},
            "transcript_path": test.root().join("t.jsonl"),
        });
        let answer = person.send(PRE_TOOL, input).unwrap();
        answer["hookSpecificOutput"]["permissionDecision"].as_str().unwrap().to_owned()
    };
    let decision = |tool, mode, version| judged(tool, "git push", mode, version);
    // With permissions bypassed, the line decides whether the client asks, and the rule does not know it.
    for line in ["echo x >.git/hooks/post-commit", "rm -f .git/index.lock; git push", "rm -rf .git"]
    {
        assert_eq!(judged("Bash", line, "bypassPermissions", "2.1.325"), "deny", "{line}");
    }
    for mode in ["default", "acceptEdits", "plan", "auto", "dontAsk", ""] {
        assert_eq!(decision("Bash", mode, "2.1.85"), "ask", "{mode}");
        assert_eq!(decision("Bash", mode, "2.1.84"), "deny", "{mode}");
    }
    assert_eq!(decision("Bash", "bypassPermissions", "2.1.85"), "deny");
    assert!(person.events("denied").last().unwrap()["asked"].is_null());
    assert_eq!(decision("Bash", "default", "1.0.128"), "deny");
    assert_eq!(decision("Write", "default", "2.1.325"), "ask");
    assert_eq!(decision("Write", "bypassPermissions", "2.1.325"), "deny");
}

#[test]
fn any_tool_is_judged_by_the_command_or_path_in_its_input() {
    let test = TestRepo::new();
    test.write(".ralph/config.toml", "");
    let client = Client::in_repo(&test);
    let file = |name: &str| json!({"path": test.root().join(name), "content": "x"});
    for command in ["git push", "git reset --hard", "echo x > .git/config"] {
        assert!(client.denied("mcp__sh__run", json!({"command": command})).is_some(), "{command}");
        assert!(client.denied("Monitor", json!({"command": command})).is_some(), "{command}");
    }
    assert_eq!(client.events("denied")[1]["tool"], "Monitor");
    assert!(client.denied("mcp__fs__write_file", file(".git/config")).is_some());
    assert!(client.denied("mcp__fs__write_file", file("src/lib.rs")).is_some());
    assert_eq!(client.denied("mcp__fs__read_file", file("src/lib.rs")), None);
    assert_eq!(client.denied("mcp__fs__write_file", file("src/lib.rs")), None);
    assert_eq!(client.denied("mcp__fs__list", file(".git")), None);
    assert_eq!(client.denied("Monitor", json!({"command": "tail -n 3 a.txt"})), None);
    assert_eq!(client.edit_denied("Edit", "a.txt"), None);
}

#[test]
fn without_a_session_id_reads_are_kept_in_the_shared_log() {
    let test = TestRepo::new();
    test.write(".ralph/config.toml", "");
    let client = Client { session: String::new(), ..Client::in_repo(&test) };
    assert!(client.edit_denied("Edit", "src/lib.rs").is_some());
    assert_eq!(client.edit_denied("Read", "src/lib.rs"), None);
    assert_eq!(client.edit_denied("Edit", "src/lib.rs"), None);
    let log = fs_err::read_to_string(test.root().join(".ralph/session.log")).unwrap();
    assert!(log.contains("Read: ") && log.contains("src/lib.rs"), "{log}");
}

/// A run brings its own hooks; those of settings would count everything twice. The sessions that its agent
/// starts in turn have only these.
#[test]
fn installed_hooks_leave_the_session_of_a_run_to_those_of_the_run() {
    let run = Run::new("");
    let agent = run.agent();
    assert!(agent.prompted("work").is_some());
    let brought = run.agent().with("RALPH_INTERNAL__HOOKS", "passed");
    let brought = Client { session: agent.session.clone(), ..brought };
    assert_eq!(brought.bash_denied("git push"), None);
    let by_run = Client { args: &["--run"], ..brought };
    assert!(by_run.bash_denied("git push").is_some());
    let helper = run.agent().with("RALPH_INTERNAL__HOOKS", "passed");
    let helper = Client { session: "another".to_owned(), ..helper };
    assert!(helper.bash_denied("git push").is_some(), "a helper is guarded");
}

#[test]
fn what_would_happen_after_a_run_is_denied_in_runs_only() {
    let run = Run::new("");
    for tool in ["CronCreate", "SetGoal"] {
        let reason = run.agent().denied(tool, json!({"cron": "* * * * *", "prompt": "go on"}));
        assert!(reason.unwrap().contains("rule later"), "{tool}");
        assert_eq!(run.person().denied(tool, json!({"prompt": "go on"})), None);
    }
    assert_eq!(run.agent().denied("ScheduleWakeup", json!({"prompt": "go on"})), None);
}
