//! Tools of newer clients that run commands or work elsewhere: they are judged by what they do.

use anyhow::Result;
use ralph_core::git::{Checkpoint, Repo};
use scripted_model::{Answer, Script};
use serde_json::json;

use super::test_runs::failing_test;
use crate::e2e::expect;
use crate::e2e::scenario::Scenario;
use crate::e2e::session::Run;
use crate::e2e::stage::Stage;

pub(super) const SCENARIOS: &[Scenario] = &[
    Scenario::new("monitor-is-guarded-like-a-command", &["ralph-pre-tool"], monitor),
    Scenario::new("verdict-counts-for-its-own-work-tree", &["ralph-post-tool"], work_trees)
        .needing((2, 1, 208), "an agent with a work tree of its own is started in another way"),
];

/// The hook as one would copy it by hand, registered for every tool.
const BY_HAND: &str = r#"{"hooks":{"PreToolUse":[{"matcher":"*","hooks":[{"type":"command",
    "command":"\"$CLAUDE_PROJECT_DIR\"/.claude/hooks/ralph-pre-tool"}]}]}}"#;

/// By the first event of the session; not every tool is offered at once.
fn has_tool(run: &Run, name: &str) -> bool {
    let first = run.stdout.lines().next().unwrap_or_default();
    first.contains(&format!("\"{name}\""))
}

fn monitor(stage: &mut Stage<'_>) -> Result<()> {
    stage.repo.write(".claude/settings.json", BY_HAND);
    stage.repo.commit_all("by hand");
    stage.repo.write("a.txt", "the user's own\n");
    let watch = |command: &str| {
        let input = json!({"description": "wait", "timeout_ms": 3000, "command": command});
        Answer::tool("Monitor", input)
    };
    let script = Script::of([
        watch("git push origin main"),
        watch("echo x > .git/hooks/post-commit"),
        watch("git reset --hard"),
        watch("touch watched"),
        Answer::bash("for i in 1 2 3 4 5 6 7 8 9; do [ -e watched ] || sleep 0.5; done"),
        Answer::text("I see."),
    ]);
    let run = stage.run("wait for it", script)?;
    expect::possible(has_tool(&run, "Monitor"), "there is no tool `Monitor`")?;
    run.succeeded()?;
    for (turn, rule) in [(1, "rule git-push"), (2, "rule ralph-state"), (3, "rule git-discard")] {
        expect::contains(&run.told(turn)?, rule)?;
    }
    expect::that(!stage.root().join(".git/hooks/post-commit").exists(), "git is untouched")?;
    expect::same("the user's file", &stage.read("a.txt"), &"the user's own\n".to_owned())?;
    expect::that(stage.root().join("watched").exists(), "other commands run")
}

/// What fails in a subagent's work tree, or in one that the agent entered, is not the project's; a
/// file has the same place there as in the project.
fn work_trees(stage: &mut Stage<'_>) -> Result<()> {
    stage.repo.write("sum.test.js", failing_test(0));
    stage.repo.commit_all("a test");
    stage.configure("[rollback]\nafter_failures = 1\n[scope]\npaths = [\"src/**\"]\n")?;
    fs_err::write(stage.state.current_story(), "US-001\n")?;
    Checkpoint::create(&Repo::open(stage.root())?, &stage.state, "before the attempt")?;
    let task = json!({
        "description": "try",
        "prompt": "try it in a tree of your own",
        "subagent_type": "general-purpose",
        "isolation": "worktree",
        "run_in_background": false,
    });
    let fails = || Answer::bash("echo broken > broken.js; pwd; node --test");
    let script = Script::of([
        Answer::bash("echo agent > work.txt"),
        Answer::tool("Agent", task),
        Answer::tool("EnterWorktree", json!({"name": "mine"})),
        fails(),
        Answer::write(stage.path(".claude/worktrees/mine/src/new.js"), "new\n"),
        Answer::write(stage.path(".claude/worktrees/mine/new.js"), "new\n"),
        Answer::tool("ExitWorktree", json!({"action": "keep"})),
        Answer::bash("cat work.txt .ralph/events.jsonl"),
        Answer::bash("node --test"),
        Answer::text("Done."),
    ]);
    let theirs = [fails(), Answer::text("It fails.")];
    let script = script.with_conversation("in a tree of your own", theirs);
    let run = stage.run("work", script)?;
    expect::possible(has_tool(&run, "EnterWorktree"), "there are no work trees for agents")?;
    run.succeeded()?;
    let told = run.requests.iter().map(|request| request.told()).collect::<Vec<_>>();
    let before = told.iter().find(|told| told.contains("agent\n")).cloned().unwrap_or_default();
    for word in ["\"event\":\"verdict\"", "rolled_back"] {
        expect::lacks(&before, word)?;
    }
    expect::contains(&told.concat(), "/.claude/worktrees/mine")?;
    let written = stage.read(".claude/worktrees/mine/src/new.js");
    expect::same("a file within the scope", &written, &"new\n".to_owned())?;
    expect::contains(&told.concat(), "`new.js` is forbidden by rule scope")?;
    expect::contains(&told.last().cloned().unwrap_or_default(), "refs/ralph/discarded/")
}
