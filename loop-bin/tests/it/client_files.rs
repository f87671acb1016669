//! The client's settings for the project folder are passed to an agent in the copy.

use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};
use test_support::fixtures;

use crate::stage::{LOOP, ONE, Ran, Stage};

const CLIENT: &str = "claude -p";

/// A project with this entry in the client's configuration.
fn stage(known: Value) -> Stage {
    let stage = Stage::new("client", ONE);
    let scratch = stage.repo.scratch();
    let client = fixtures().join("agents/client.sh");
    scratch.script("bin/claude", &format!("#!/bin/sh\nexec sh '{client}' \"$@\"\n"));
    let root = stage.repo.root().as_str();
    scratch.file("home/.claude.json", json!({"projects": {root: known}}).to_string());
    stage.repo.commit_all("all");
    stage
}

fn run(stage: &Stage, agent: &str, args: &[&str]) -> Ran {
    let path = format!("{}:/usr/bin:/bin", stage.repo.scratch().path("bin"));
    stage.run_env(&[("PATH", &path), ("RALPH_AGENT", agent)], args)
}

/// The settings that were passed to the client, without hooks.
fn settings(stage: &Stage) -> Value {
    let mut settings: Value = serde_json::from_str(&stage.note("settings")).unwrap_or_default();
    settings.as_object_mut().map(|all| all.remove("hooks"));
    settings
}

/// The server file that was passed to the client: its path and content.
fn passed_servers(stage: &Stage) -> (String, Value) {
    let arguments = stage.note("arguments");
    let file = arguments.lines().find_map(|word| word.strip_prefix("--mcp-config=")).unwrap();
    (file.to_owned(), serde_json::from_str(&fs_err::read_to_string(file).unwrap()).unwrap())
}

#[test]
fn our_tools_are_offered_in_place_without_replacing_a_user_server() {
    let plain = stage(json!({}));
    run(&plain, CLIENT, &["--in-place"]).ended(0);
    let ours = json!({"ralph": {"command": LOOP, "args": ["mcp"]}});
    assert_eq!(passed_servers(&plain).1, json!({"mcpServers": ours}));
    let mine = json!({"mcpServers": {"ralph": {"command": "mine"}}});
    let named = stage(mine.clone());
    run(&named, CLIENT, &[]).ended(0);
    assert_eq!(passed_servers(&named).1, mine);
    for (client, args) in [(CLIENT, &["--in-place"][..]), ("claude --strict-mcp-config -p", &[])] {
        let without = stage(mine.clone());
        run(&without, client, args).ended(0);
        assert!(!without.note("arguments").contains("--mcp-config="), "{client}");
    }
}

#[test]
fn servers_that_were_added_for_the_project_are_passed() {
    let servers = json!({"mine": {"command": "serve", "env": {"KEY": "secret"}}, "off": {}});
    let stage = stage(json!({"mcpServers": servers, "disabledMcpServers": ["off"]}));
    run(&stage, CLIENT, &["doctor"]).says("passed to the agent in the copy: the MCP servers mine");
    run(&stage, CLIENT, &[]).ended(0);
    let (file, passed) = passed_servers(&stage);
    let ours = json!({"command": LOOP, "args": ["mcp"]});
    assert_eq!(passed, json!({"mcpServers": {"mine": servers["mine"], "ralph": ours}}));
    assert_eq!(fs_err::metadata(file).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn permissions_of_a_trusted_folder_apply_in_the_copy() {
    let allowed = json!({"permissions": {"allow": ["Bash(make:*)"], "deny": ["WebFetch"]}});
    for is_trusted in [true, false] {
        let stage = stage(json!({"hasTrustDialogAccepted": is_trusted}));
        stage.repo.write(".claude/settings.json", allowed.to_string());
        stage.repo.commit_all("permissions");
        run(&stage, CLIENT, &[]).ended(0);
        let passed = json!({"permissions": {"allow": ["Bash(make:*)"]}});
        let found = settings(&stage);
        assert_eq!(found == passed, is_trusted, "{found}");
    }
}

#[test]
fn the_memory_of_the_project_is_passed() {
    let stage = stage(json!({}));
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    let name: String = stage.repo.root().as_str().chars().map(plain).collect();
    let memory = format!("home/.claude/projects/{name}/memory");
    stage.repo.scratch().file(&format!("{memory}/MEMORY.md"), "the tests need a database\n");
    run(&stage, CLIENT, &[]).ended(0);
    let folder = stage.repo.scratch().path(&memory);
    assert_eq!(settings(&stage), json!({"autoMemoryDirectory": folder}));
    run(&stage, CLIENT, &["doctor"]).says("passed to the agent in the copy: the project's memory");
}

#[test]
fn settings_that_cannot_be_passed_are_reported() {
    let stage = stage(json!({"disabledMcpjsonServers": ["shared"]}));
    run(&stage, "claude --settings '{}' -p", &["--unguarded"])
        .ended(0)
        .says("are not passed to it: disabledMcpjsonServers");
}

#[test]
fn untracked_client_files_are_copied_but_not_committed() {
    let stage = Stage::new("works", ONE);
    stage.repo.write(".gitignore", ".claude/skills/\n");
    stage.repo.commit_all("ignore");
    let files = ".claude/skills/a/SKILL.md .claude/agents/b.md .claude/settings.local.json \
                 .mcp.json CLAUDE.local.md";
    files.split(' ').for_each(|file| stage.repo.write(file, "{}"));
    let agent =
        format!("cat >/dev/null; echo x >x.txt; ls {files} && git add -A && git commit -qm x");
    stage.run(&["--agent", &agent, "--attempts", "1"]).ended(0);
    assert_eq!(stage.subjects()[1], "feat(US-001): First");
    for file in files.split(' ') {
        assert_eq!(stage.repo.git(["log", "--format=%s", "--", file]), "", "{file}");
    }
}
