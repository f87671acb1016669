//! Decisions of ralph-pre-tool, as the client sees them.

use serde_json::json;
use test_support::{Scratch, TestRepo, fixtures, program, run_with_input};

use crate::client::{Client, PRE_TOOL};

fn project() -> (Scratch, Client) {
    let scratch = Scratch::new();
    scratch.dir(".ralph/PRD-1");
    scratch.file(".ralph/PRD-1/plan.md", "- [ ] US-001: x\n");
    scratch.file("a.rs", "fn a() {}\n");
    let client = Client::in_project(scratch.root());
    (scratch, client)
}

#[test]
fn a_denial_names_the_command_the_rule_and_an_alternative() {
    let (_scratch, client) = project();
    for command in ["git status", "git commit -m 'do not git push'", "echo git push", "cargo test"]
    {
        assert_eq!(client.bash_denied(command), None, "{command}");
    }
    assert!(client.journal().is_empty());
    let reason = client.bash_denied("cargo test && git push origin main").unwrap();
    assert!(reason.contains("`git push origin main`"), "{reason}");
    assert!(reason.contains("git-push") && reason.contains("ralph-loop request-merge"), "{reason}");
    let denied = client.events("denied");
    assert_eq!(denied.len(), 1);
    assert_eq!(denied[0]["rule"], "git-push");
    assert_eq!(denied[0]["tool"], "Bash");
    assert_eq!(denied[0]["target"], "git push origin main");
    assert_eq!(denied[0]["session"], client.session.as_str());
}

#[test]
fn an_edit_requires_a_read_by_tool_or_by_command() {
    let (scratch, mut client) = project();
    for file in ["b.rs", "c.rs", "notes/a.md", "notes/b.txt", "src/found.rs", "d.rs"] {
        scratch.file(file, "x");
    }
    let reason = client.edit_denied("Edit", "a.rs").unwrap();
    assert!(
        reason.contains("read-before-edit") && reason.contains("read the file first"),
        "{reason}"
    );
    assert!(client.edit_denied("Write", "a.rs").is_some());
    assert!(client.edit_denied("MultiEdit", "a.rs").is_some());
    client.tool_ended("Read", "a.rs");
    assert_eq!(client.edit_denied("Edit", "a.rs"), None);
    let log = scratch.read(&format!(".ralph/state/{}/session.log", client.session));
    assert!(log.contains(&format!("Read: {}\n", scratch.path("a.rs"))), "{log}");
    for (command, file) in [
        ("sed -n 1,20p b.rs", "b.rs"),
        ("cat notes/*.md", "notes/a.md"),
        ("grep -n word src/found.rs", "src/found.rs"),
    ] {
        client.bash_ended("grep -rn word .", 0, "");
        assert!(client.edit_denied("Edit", file).is_some(), "a search shows only single lines");
        client.bash_ended(command, 0, "");
        assert_eq!(client.edit_denied("Edit", file), None, "{command}");
    }
    // Pre-tool alone records reads, too.
    assert_eq!(client.edit_denied("Read", "c.rs"), None);
    assert_eq!(client.edit_denied("Edit", "c.rs"), None);
    assert_eq!(client.bash_denied("cat d.rs | head"), None);
    assert_eq!(client.edit_denied("Edit", "d.rs"), None);
    assert!(client.edit_denied("Edit", "notes/b.txt").is_some());

    client.session = "another".to_owned();
    assert!(client.edit_denied("Edit", "a.rs").is_some());
    scratch.file(".ralph/session.log", format!("Read: {}\n", scratch.path("a.rs")));
    assert_eq!(client.edit_denied("Edit", "a.rs"), None, "other tools keep this log");
}

#[test]
fn a_file_that_the_agent_creates_is_known() {
    let (scratch, client) = project();
    assert_eq!(client.edit_denied("Write", "new.rs"), None);
    scratch.file("new.rs", "x");
    assert_eq!(client.edit_denied("Edit", "new.rs"), None);
    scratch.file("made.txt", "hello");
    client.bash_ended("echo hello > made.txt", 0, "");
    assert_eq!(client.edit_denied("Edit", "made.txt"), None);
    assert_eq!(client.edit_denied("Edit", "missing.rs"), None);
    // A missing protected file is still denied: with an empty text to replace, Edit creates a file.
    assert!(client.edit_denied("Edit", ".ralph/hooks/started").unwrap().contains("protected-path"));
}

/// Returns a line of a transcript with a tool call.
fn said(name: &str, input: serde_json::Value) -> serde_json::Value {
    let content = json!([{"type": "tool_use", "name": name, "input": input}]);
    json!({"type": "assistant", "message": {"content": content}})
}

#[test]
fn files_seen_in_other_ways_than_a_read_are_known() {
    let (scratch, client) = project();
    for file in ["b.rs", "c.rs", "src/d.rs", "e.rs", "old/f.rs", "g.rs"] {
        scratch.file(file, "x");
    }
    // The log exists, but does not contain all files.
    client.tool_ended("Read", "a.rs");
    assert_eq!(client.bash_denied("cat $(ls b.rs)"), None);
    assert_eq!(
        client.bash_denied("touch new.rs && mkdir lib && mv b.rs lib && git mv a.rs z.rs"),
        None
    );
    for file in ["new.rs", "lib/b.rs", "z.rs"] {
        scratch.file(file, if file == "new.rs" { "" } else { "x" });
        assert_eq!(client.edit_denied("Write", file), None, "{file}");
    }
    let mut head = said("Monitor", json!({"command": "head d.rs"}));
    head["cwd"] = scratch.path("src").as_str().into();
    let mentioned = |kind: &str, file: &str| {
        let attachment = json!({"type": kind, "filename": scratch.path(file)});
        json!({"type": "attachment", "attachment": attachment})
    };
    let lines = [
        mentioned("file", "c.rs"),
        mentioned("edited_text_file", "e.rs"),
        head,
        said("Edit", json!({"file_path": scratch.path("old/f.rs")})),
        said("Read", json!({"file_path": scratch.path("g.rs")})),
        json!({"type": "junk"}),
    ];
    let text = lines.map(|line| format!("{line}\n")).concat() + "{torn";
    client.home.file("transcript.jsonl", text);
    for file in ["c.rs", "src/d.rs", "g.rs"] {
        assert_eq!(client.edit_denied("Edit", file), None, "{file}");
    }
    for file in ["e.rs", "old/f.rs"] {
        assert!(client.edit_denied("Edit", file).is_some(), "{file}");
    }
    let with_tilde = json!({
        "hook_event_name": "PreToolUse", "tool_name": "Edit", "transcript_path": "~/transcript.jsonl",
        "tool_input": {"file_path": scratch.path("g.rs")},
    });
    assert_eq!(client.send(PRE_TOOL, with_tilde), None);
}

#[test]
fn a_session_id_with_a_path_is_not_followed() {
    let (scratch, mut client) = project();
    client.session = "../../escape".to_owned();
    client.tool_ended("Read", "a.rs");
    // The reads of this session cannot be recorded, so it could never satisfy a denial.
    assert_eq!(client.edit_denied("Edit", "a.rs"), None);
    assert!(!scratch.path("escape").exists() && !scratch.path(".ralph/state").exists());
}

#[test]
fn protected_files_stay_protected_behind_symlinks_and_dots() {
    let (scratch, client) = project();
    scratch.file(".git/config", "x");
    scratch.dir("src");
    fs_err::os::unix::fs::symlink(scratch.path(".git"), scratch.path("harmless")).unwrap();
    fs_err::os::unix::fs::symlink(".ralph/config.toml", scratch.path("missing")).unwrap();
    for file in ["src/../.git/config", "harmless/config", "missing"] {
        client.tool_ended("Read", file);
        let reason = client.edit_denied("Write", file).unwrap();
        assert!(reason.contains("protected-path"), "{file}: {reason}");
    }
    client.tool_ended("Read", ".ralph/PRD-1/plan.md");
    assert_eq!(client.edit_denied("Edit", ".ralph/PRD-1/plan.md"), None);
}

#[test]
fn an_invalid_configuration_does_not_disable_the_guard() {
    let (scratch, client) = project();
    scratch.file(".ralph/config.toml", "[guard]\ndisabel = [\"git-push\"]\n");
    assert!(client.bash_denied("git push").is_some());
    let error = scratch.read(".ralph/.hook-error.json");
    assert!(error.contains("config.toml:2") && error.contains("`disable`"), "{error}");
}

#[test]
fn a_work_tree_of_a_subagent_is_judged_like_the_project() {
    let test = TestRepo::new();
    test.write(".ralph/config.toml", "[scope]\npaths = [\"src/**\"]\n");
    test.write(".ralph/.checkpoint", format!("{}\n", test.head()));
    test.write(".ralph/current-story", "US-001\n");
    // Temporary files are always allowed, so the work trees must be outside the temp folder.
    let other = test.scratch().path("other");
    let var = ("TMPDIR", test.scratch().dir("temp"));
    for tree in [test.root().join(".claude/worktrees/a"), other] {
        test.git(["worktree", "add", "-q", tree.as_str()]);
        let client = Client::in_repo(&test).with("CLAUDE_PROJECT_DIR", test.root().as_str());
        let client = client.with(var.0, var.1.as_str());
        let subagent = Client { cwd: tree.clone(), ..client };
        let main = Client::in_repo(&test).with(var.0, var.1.as_str());
        for client in [&subagent, &main] {
            let write = |name: &str| client.edit_denied("Write", tree.join(name).as_str());
            assert_eq!(write("src/new.rs"), None);
            assert!(write("new.txt").unwrap().contains("`new.txt` is forbidden by rule scope"));
            assert!(write(".git").unwrap().contains("protected-path"));
        }
        assert_eq!(subagent.bash_denied("mkdir build && rm -rf build"), None);
        assert!(subagent.bash_denied("rm -rf .").unwrap().contains("rm-outside"));
        let main_state = test.root().join(".ralph/config.toml");
        assert!(subagent.bash_denied(&format!("echo > {main_state}")).is_some());
        assert!(subagent.bash_denied("git commit --amend --no-edit").is_some());
        fs_err::write(tree.join("src/lib.rs"), "changed").unwrap();
        assert_eq!(subagent.bash_denied("git commit -am x"), None);
        test.git_in(tree.as_std_path(), ["commit", "-qam", "a subagent's"]);
        assert_eq!(subagent.bash_denied("git commit --amend --no-edit"), None);
        fs_err::write(tree.join("a.txt"), "changed").unwrap();
        assert!(subagent.bash_denied("git commit -am x").unwrap().contains("changed a.txt"));
        assert_eq!(main.bash_denied("git commit -am x"), None);
    }
}

#[test]
fn a_project_without_a_state_folder_is_guarded_and_not_changed() {
    let scratch = Scratch::new();
    scratch.file("a.rs", "x");
    let client = Client::in_project(scratch.root());
    assert!(client.bash_denied("git push").is_some());
    assert!(client.edit_denied("Edit", "a.rs").is_some());
    client.tool_ended("Read", "a.rs");
    assert_eq!(client.edit_denied("Edit", "a.rs"), None);
    assert!(!scratch.path(".ralph").exists());
    assert!(client.home.read(".ralph/events.jsonl").contains("git-push"));
}

#[test]
fn a_full_disk_does_not_disable_the_guard() {
    let (_scratch, client) = project();
    let input = json!({
        "hook_event_name": "PreToolUse", "session_id": "s", "cwd": client.project,
        "tool_name": "Bash", "tool_input": {"command": "git push"},
    });
    let mut shell = test_support::program("sh", client.home.root());
    shell.args(["-c", "trap '' XFSZ; ulimit -f 0; exec \"$0\"", PRE_TOOL]);
    shell.env("CLAUDE_PROJECT_DIR", &client.project);
    let output = test_support::run_with_input(&mut shell, input.to_string().as_bytes());
    assert!(String::from_utf8_lossy(&output.stdout).contains("permissionDecision"));
}

#[test]
fn documented_commands_for_the_gates_are_allowed() {
    let (_scratch, client) = project();
    let page = fs_err::read_to_string(fixtures().join("../docs/hooks.md")).unwrap();
    let example = |nth| page.split("```sh\n").nth(nth).unwrap().split("```").next().unwrap();
    assert!(example(1).contains("verified --done") && example(2).contains("quality-gate.json"));
    assert_eq!([client.bash_denied(example(1)), client.bash_denied(example(2))], [None, None]);
    let another = example(2).replace("$CLAUDE_CODE_SESSION_ID", "another-session");
    assert!(client.bash_denied(&another).unwrap().contains("ralph-state"));
}

#[test]
fn concurrent_hooks_lose_no_line_and_no_read() {
    let (scratch, client) = project();
    for n in 0..64 {
        scratch.file(&format!("f{n}.rs"), "x");
    }
    std::thread::scope(|scope| {
        for n in 0..64 {
            let client = &client;
            scope.spawn(move || {
                assert!(client.bash_denied(&format!("git push origin b{n}")).is_some());
                client.tool_ended("Read", &format!("f{n}.rs"));
            });
        }
    });
    let mut targets: Vec<String> =
        client.events("denied").iter().map(|line| line["target"].to_string()).collect();
    targets.sort_unstable();
    targets.dedup();
    assert_eq!(targets.len(), 64);
    for n in 0..64 {
        assert_eq!(client.edit_denied("Edit", &format!("f{n}.rs")), None);
    }
}

#[test]
fn every_path_in_the_input_of_an_unknown_tool_counts() {
    let scratch = Scratch::new();
    scratch.dir(".ralph");
    let client = Client::in_project(scratch.root());
    let settings = scratch.path(".claude/settings.json");
    for (tool, input) in [
        ("mcp__fs__copy_file", json!({"path": "README.md", "destination": settings})),
        ("mcp__fs__copy_file", json!({"destination": "README.md", "path": settings})),
        ("mcp__fs__move_file", json!({"source": settings, "destination": "a"})),
        ("mcp__fs__write_many", json!({"files": [{"relative_path": ".git/config"}]})),
        ("mcp__fs__put", json!({"paths": ["a", ".ralph/config.toml"]})),
        ("Write", json!({"file_path": settings, "path": "README.md"})),
    ] {
        let reason = client.denied(tool, input.clone()).unwrap_or_else(|| panic!("{tool} {input}"));
        assert!(reason.contains("protected-path"), "{reason}");
    }
    for (tool, input) in [
        ("mcp__fs__read_file", json!({"path": settings})),
        ("mcp__fs__list_directory", json!({"path": ".git"})),
        ("mcp__fs__copy_file", json!({"path": "README.md", "destination": "docs/README.md"})),
        ("mcp__notes__add", json!({"text": "see\n.git/config", "tags": ["a", 7, null]})),
    ] {
        assert_eq!(client.denied(tool, input), None, "{tool}");
    }
}

#[test]
fn tools_of_forges_that_publish_or_merge_are_denied() {
    let scratch = Scratch::new();
    let client = Client::in_project(scratch.root());
    for (tool, rule) in [
        ("mcp__github__merge_pull_request", "git-merge"),
        ("mcp__gitlab__accept_merge_request", "git-merge"),
        ("mcp__github__push_files", "git-push"),
        ("mcp__github__create_or_update_file", "git-push"),
        ("mcp__git__git_push", "git-push"),
        ("mcp__forge__pushBranch", "git-push"),
    ] {
        let reason = client.denied(tool, json!({"owner": "o", "repo": "r"})).unwrap();
        assert!(reason.contains(rule), "{tool}: {reason}");
    }
    for tool in [
        "mcp__gitlab__get_merge_request",
        "mcp__gitlab__create_merge_request_note",
        "mcp__phone__push_notification",
        "mcp__github__create_pull_request",
    ] {
        assert_eq!(client.denied(tool, json!({"owner": "o", "repo": "r"})), None, "{tool}");
    }
}

#[test]
fn input_that_cannot_be_read_is_recorded() {
    for (tool, input) in [
        ("Bash", json!("git push")),
        ("Bash", json!({"cmd": "git push"})),
        ("Write", json!({"file_path": 7})),
        ("mcp__fs__write_file", json!("a text")),
    ] {
        let scratch = Scratch::new();
        scratch.dir(".ralph");
        assert_eq!(Client::in_project(scratch.root()).denied(tool, input), None);
        let error = scratch.read(".ralph/.hook-error.json");
        assert!(error.contains(&format!("the input of the tool `{tool}`")), "{error}");
    }
}

#[test]
fn a_mistyped_registration_guards_with_the_defaults_and_is_recorded() {
    for words in [&["--agent", "nope"][..], &["--foo"], &["--agent"], &["--agent", "codex", "x"]] {
        let scratch = Scratch::new();
        scratch.dir(".ralph");
        let input = json!({"hook_event_name": "PreToolUse", "session_id": "s", "cwd": scratch.root(),
            "tool_name": "Bash", "tool_input": {"command": "git push"}});
        let mut command = program(PRE_TOOL, scratch.root());
        let output = run_with_input(command.args(words), input.to_string().as_bytes());
        let answer = String::from_utf8(output.stdout).unwrap();
        assert!(answer.contains("deny") || answer.contains("ask"), "{words:?}: {answer}");
        let error = scratch.read(".ralph/.hook-error.json");
        assert!(error.contains(&words.join(" ")), "{error}");
    }
}
