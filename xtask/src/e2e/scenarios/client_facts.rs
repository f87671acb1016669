//! What the hooks rely on the client for, shown with stand-ins: these prove no hook of ours, and
//! when one of them goes red, a new client behaves differently.

use anyhow::Result;
use scripted_model::{Answer, Request, Script, Tokens};
use serde_json::json;

use crate::e2e::expect;
use crate::e2e::scenario::Scenario;
use crate::e2e::stage::Stage;

pub(super) const SCENARIOS: &[Scenario] = &[
    Scenario::new("client-obeys-a-denial", &[], denial),
    Scenario::new("client-reports-failing-commands", &[], failing_command)
        .needing((2, 0, 56), "a failing command fires no event"),
    Scenario::new("client-goes-on-after-a-blocked-stop", &[], blocked_stop),
    Scenario::new("client-goes-on-after-a-blocked-subagent", &[], blocked_subagent),
    Scenario::new("client-writes-its-transcript-soon-after-a-stop", &[], transcript),
    Scenario::new("client-blocks-when-a-strict-guard-fails", &[], strict)
        .needing((2, 1, 295), "`onFailure` is not known"),
    Scenario::new("client-ignores-an-event-that-it-does-not-know", &[], unknown_event)
        .needing((2, 1, 101), "one unknown event switches every hook off"),
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

fn blocked_subagent(stage: &mut Stage<'_>) -> Result<()> {
    let once = r#"input=$(cat)
case "$input" in *'"stop_hook_active":true'*) exit;; *'"hook_event_name":"SubagentStop"'*) ;; *) exit;; esac
echo '{"decision":"block","reason":"count again"}'"#;
    stage.stand_in("ralph-on-stop", once)?;
    let passage = "count the files of the project";
    let input =
        json!({"description": "count", "prompt": passage, "subagent_type": "general-purpose"});
    let script = Script::of([Answer::tool("Task", input), Answer::text("counted")])
        .with_conversation(passage, [Answer::text("three"), Answer::text("four")]);
    let run = stage.run("count", script)?;
    run.succeeded()?;
    let of_subagent = |request: &&Request| request.first_message().contains(passage);
    let turns: Vec<&Request> = run.requests.iter().filter(of_subagent).collect();
    expect::same("the subagent's turns", &turns.len(), &2)?;
    expect::contains(&turns.last().map(|request| request.told()).unwrap_or_default(), "count again")
}

/// The use of the context is read from the transcript when the agent stops. The client writes its
/// last answer there some ten milliseconds after it has called the hook.
fn transcript(stage: &mut Stage<'_>) -> Result<()> {
    let path = r#""$(sed -n 's/.*"transcript_path":"\([^"]*\)".*/\1/p')""#;
    let waits = format!("path={path}; sleep 1; cp \"$path\" \"$CLAUDE_PROJECT_DIR\"/seen.log");
    stage.stand_in("ralph-on-stop", &waits)?;
    let tokens = Tokens { cache_read: 155_000, ..Tokens::default() };
    let last = Answer::text("the last words").using(tokens);
    stage.run("begin", Script::of([Answer::bash("true"), last]))?.succeeded()?;
    let seen = stage.read("seen.log");
    expect::contains(&seen, "the last words")?;
    expect::contains(&seen, r#""cache_read_input_tokens":155000"#)
}

fn strict(stage: &mut Stage<'_>) -> Result<()> {
    stage.install(&stage.place(), true)?;
    stage.stand_in("ralph-pre-tool", "cat > /dev/null; exit 1")?;
    let script = Script::of([Answer::bash("touch ran"), Answer::text("I see.")]);
    let run = stage.run("touch a file", script)?;
    run.succeeded()?;
    expect::that(!stage.root().join("ran").exists(), "the command did not run")
}

fn unknown_event(stage: &mut Stage<'_>) -> Result<()> {
    let deny = r#"{"decision":"block","reason":"not today"}"#;
    stage.stand_in("ralph-pre-tool", &keeps_input_and_says(deny))?;
    let settings = stage.read(".claude/settings.json");
    let hooks = "\"hooks\": {";
    let unknown = format!("{hooks}\n    \"OfANewerClient\": [],");
    stage.repo.write(".claude/settings.json", settings.replacen(hooks, &unknown, 1));
    let script = Script::of([Answer::bash("touch ran"), Answer::text("I see.")]);
    let run = stage.run("touch a file", script)?;
    run.succeeded()?;
    expect::contains(&run.told(1)?, "not today")
}
