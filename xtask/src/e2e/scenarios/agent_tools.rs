//! The agent reports by the tools of `ralph-loop mcp`, which the loop gives it.

use anyhow::Result;
use scripted_model::{Answer, Script};
use serde_json::{Value, json};

use super::whole_loop::{VERIFY, commits, outcomes, prepare, write};
use crate::e2e::expect;
use crate::e2e::scenario::Scenario;
use crate::e2e::stage::{SESSION, Stage};

pub(super) const SCENARIOS: &[Scenario] = &[
    Scenario::new("tools-land-a-story-and-refuse-a-false-one", &[], story_by_tools),
    Scenario::new("tools-verify-a-session-of-a-person", &["ralph-on-stop"], session_by_tools),
];

fn call(tool: &str, arguments: Value) -> Answer {
    Answer::tool(&format!("mcp__ralph__{tool}"), arguments)
}

fn story_by_tools(stage: &mut Stage<'_>) -> Result<()> {
    prepare(stage, "# Plan\n\n- [ ] US-001: Write one\n", VERIFY)?;
    let claim = || {
        call(
            "complete_story",
            json!({"story": "US-001", "status": "success", "summary": "by tool"}),
        )
    };
    let script = Script::of([
        call("current_story", json!({})),
        write("one", "wrong"),
        claim(),
        call("complete_story", json!({"story": "US-007", "status": "success"})),
        write("one", "right"),
        call("add_story", json!({"title": "Write two"})),
        call("note_lesson", json!({"lesson": "write right at once"})),
        claim(),
        Answer::text("It is done."),
        write("two", "right"),
        Answer::text("It is done."),
    ]);
    let run = stage.run_loop(script)?;
    expect::same("the loop's exit code", &run.exit_code, &Some(0))?;
    expect::contains(&run.told(1)?, "US-001: Write one")?;
    expect::contains(&run.told(3)?, "US-001 is not done: ")?;
    expect::contains(&run.told(4)?, "has no story US-007")?;
    expect::contains(&run.told(6)?, "US-002 added")?;
    expect::contains(&run.told(8)?, "US-001: recorded.")?;
    expect::contains(&run.told(9)?, "write right at once")?;
    let titles = ["feat(US-001): write one", "feat(US-002): write two"];
    expect::same("the commits", &commits(stage), &titles.map(str::to_owned).to_vec())?;
    let done = ["US-001 success", "US-002 success"].map(str::to_owned).to_vec();
    expect::same("the outcomes", &outcomes(stage), &done)?;
    let message = stage.repo.git(["log", "--format=%b", "--grep=write one"]);
    expect::contains(&message, "by tool")?;
    expect::same("processes left behind", &run.left_behind, &0)
}

/// Without the loop: the server comes by `--mcp-config`. Newer clients tell it the session.
fn session_by_tools(stage: &mut Stage<'_>) -> Result<()> {
    stage.configure("[verify]\ncommands = [\"test -e one.story\"]\n")?;
    let program = stage.binaries.join("ralph-loop");
    let servers = json!({"mcpServers": {"ralph": {"command": program, "args": ["mcp"]}}});
    let file = stage.repo.scratch().file("servers.json", servers.to_string());
    let script = Script::of([
        call("verify", json!({"begin": "loop", "task": "write one", "session": SESSION})),
        Answer::text("It is done."),
        call("verify", json!({"done": true, "session": SESSION})),
        write("one", "right"),
        call("verify", json!({"done": true, "session": SESSION})),
        Answer::text("It is done."),
    ]);
    let run = stage.run_given(&[&format!("--mcp-config={file}")], "write one", script)?;
    run.succeeded()?;
    expect::contains(&run.told(1)?, "begun in ")?;
    expect::contains(&run.told(2)?, "LOOP gate failed")?;
    expect::contains(&run.told(3)?, "not done: `test -e one.story` failed")?;
    expect::contains(&run.told(5)?, "verified: ")?;
    run.had_turns(6)
}
