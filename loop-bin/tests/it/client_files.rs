//! What the client keeps for the project's folder reaches an agent in the copy.

use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};
use test_support::fixtures;

use crate::stage::{LOOP, Ran, Stage};

const ONE: &str = "- [ ] US-001: First\n";
const CLIENT: &str = "claude -p";

/// A project that the client knows this of.
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
    let mut command = stage.command(args);
    command.env("PATH", path).env("RALPH_AGENT", agent).output().unwrap().into()
}

/// The settings that the client was given, hooks aside.
fn settings(stage: &Stage) -> Value {
    let mut settings: Value = serde_json::from_str(&stage.note("settings")).unwrap_or_default();
    settings.as_object_mut().map(|all| all.remove("hooks"));
    settings
}

/// The file of servers that the client was given, and what it says.
fn passed_servers(stage: &Stage) -> (String, Value) {
    let arguments = stage.note("arguments");
    let file = arguments.lines().find_map(|word| word.strip_prefix("--mcp-config=")).unwrap();
    (file.to_owned(), serde_json::from_str(&fs_err::read_to_string(file).unwrap()).unwrap())
}

#[test]
fn our_tools_are_offered_in_place_too_and_leave_a_server_of_that_name_alone() {
    let plain = stage(json!({}));
    run(&plain, CLIENT, &["--in-place"]).ended(0);
    let ours = json!({"ralph": {"command": LOOP, "args": ["mcp"]}});
    assert_eq!(passed_servers(&plain).1, json!({"mcpServers": ours}));
    let mine = json!({"ralph": {"command": "mine"}});
    let named = stage(json!({"mcpServers": mine}));
    run(&named, CLIENT, &[]).ended(0);
    assert_eq!(passed_servers(&named).1, json!({"mcpServers": mine}));
    let in_place = stage(json!({"mcpServers": mine}));
    run(&in_place, CLIENT, &["--in-place"]).ended(0);
    assert!(!in_place.note("arguments").contains("--mcp-config="));
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
fn nothing_is_passed_where_the_client_finds_it_itself() {
    let servers = json!({"mcpServers": {"mine": {"command": "serve"}}});
    let in_place = stage(servers.clone());
    run(&in_place, CLIENT, &["--in-place"]).ended(0);
    assert_eq!(passed_servers(&in_place).1["mcpServers"].get("mine"), None);
    let strict = stage(servers);
    run(&strict, "claude --strict-mcp-config -p", &[]).ended(0);
    assert!(!strict.note("arguments").contains("--mcp-config="));
}

#[test]
fn what_a_trusted_folder_may_do_holds_in_the_copy() {
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
fn what_cannot_be_passed_is_named() {
    let stage = stage(json!({"disabledMcpjsonServers": ["shared"]}));
    run(&stage, "claude --settings '{}' -p", &["--unguarded"])
        .ended(0)
        .says("are not passed to it: disabledMcpjsonServers");
}

#[test]
fn files_for_the_client_that_git_does_not_track_are_in_the_copy_and_in_no_commit() {
    let stage = stage(json!({}));
    stage.repo.write(".gitignore", ".claude/skills/\n");
    stage.repo.commit_all("ignore");
    for file in [".claude/skills/a/SKILL.md", ".claude/agents/b.md", ".mcp.json", "CLAUDE.local.md"]
    {
        stage.repo.write(file, "{}");
    }
    // Seen by the client, which does not find its story without them.
    let client = "test -f .claude/skills/a/SKILL.md -a -f .claude/agents/b.md -a -f .mcp.json";
    let scratch = stage.repo.scratch();
    let fixture = fixtures().join("agents/client.sh");
    let text = format!(
        "#!/bin/sh\n[ \"$1\" = --version ] || {client} || exit 1\nexec sh '{fixture}' \"$@\"\n"
    );
    scratch.script("bin/claude", &text);
    run(&stage, CLIENT, &[]).ended(0);
    assert_eq!(stage.subjects()[1], "feat(US-001): First");
    for file in [".claude/skills/a/SKILL.md", ".claude/agents/b.md", ".mcp.json", "CLAUDE.local.md"]
    {
        assert_eq!(stage.repo.git(["log", "--format=%s", "--", file]), "", "{file}");
    }
}
