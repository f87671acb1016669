//! What the hooks rely on the client for, shown with stand-ins: these prove no hook of ours, and
//! when one of them goes red, a new client behaves differently.

use anyhow::Result;
use scripted_model::{Answer, Script};

use crate::e2e::expect;
use crate::e2e::scenario::Scenario;
use crate::e2e::stage::Stage;

pub(super) const SCENARIOS: &[Scenario] = &[
    Scenario::new("client-obeys-a-denial", &[], denial),
    Scenario::new("client-reports-failing-commands", &[], failing_command)
        .needing((2, 1, 0), "a failing command fires no event"),
    Scenario::new("client-goes-on-after-a-blocked-stop", &[], blocked_stop),
    Scenario::new("client-blocks-when-a-strict-guard-fails", &[], strict)
        .needing((2, 1, 325), "`onFailure` is not known"),
];

/// Keeps the hook's input where a scenario can read it, then answers.
fn keeps_input_and_says(answer: &str) -> String {
    format!(
        r#"tee -a "$CLAUDE_PROJECT_DIR/inputs.log" > /dev/null; echo >> "$CLAUDE_PROJECT_DIR/inputs.log"; echo '{answer}'"#
    )
}

fn denial(stage: &mut Stage<'_>) -> Result<()> {
    let deny = r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"not today"}}"#;
    stage.stand_in("ralph-pre-tool", &keeps_input_and_says(deny))?;
    let script = Script::of([Answer::bash("touch ran"), Answer::text("I see.")]);
    let run = stage.run("touch a file", script)?;
    run.succeeded()?;
    expect::contains(&run.told(1)?, "not today")?;
    expect::that(!stage.root().join("ran").exists(), "the command did not run")?;
    expect::contains(&stage.read("inputs.log"), r#""command":"touch ran""#)
}

fn failing_command(stage: &mut Stage<'_>) -> Result<()> {
    let block = r#"{"decision":"block","reason":"that failed"}"#;
    stage.stand_in("ralph-post-tool", &keeps_input_and_says(block))?;
    let script = Script::of([Answer::bash("echo words; exit 3"), Answer::text("I see.")]);
    let run = stage.run("fail", script)?;
    run.succeeded()?;
    expect::contains(&run.told(1)?, "that failed")?;
    let input = stage.read("inputs.log");
    expect::contains(&input, "PostToolUseFailure")?;
    expect::contains(&input, r"Exit code 3\nwords")
}

fn blocked_stop(stage: &mut Stage<'_>) -> Result<()> {
    let once = r#"if grep -q '"stop_hook_active":true'; then echo '{}'; else echo '{"decision":"block","reason":"one thing more"}'; fi"#;
    stage.stand_in("ralph-on-stop", once)?;
    let script = Script::of([Answer::text("finished"), Answer::text("really finished")]);
    let run = stage.run("begin", script)?;
    run.succeeded()?;
    run.had_turns(2)?;
    expect::contains(&run.told(1)?, "one thing more")
}

fn strict(stage: &mut Stage<'_>) -> Result<()> {
    stage.install(&stage.place(), true)?;
    stage.stand_in("ralph-pre-tool", "cat > /dev/null; exit 1")?;
    let script = Script::of([Answer::bash("touch ran"), Answer::text("I see.")]);
    let run = stage.run("touch a file", script)?;
    run.succeeded()?;
    expect::that(!stage.root().join("ran").exists(), "the command did not run")
}
