//! Sessions that end before the work is done, and those that do not end with it.

use std::time::{Duration, Instant};

use anyhow::Result;
use scripted_model::{Answer, Request, Script};
use serde_json::{Value, json};

use super::whole_loop::{VERIFY, commits, outcomes, prepare, write};
use crate::e2e::expect;
use crate::e2e::scenario::Scenario;
use crate::e2e::stage::Stage;

pub(super) const SCENARIOS: &[Scenario] = &[
    Scenario::new("loop-waits-for-a-usage-limit", &[], usage_limit)
        .needing((2, 1, 63), "a refusal is tried again for minutes, whatever the service says"),
    Scenario::new("loop-ended-by-a-signal-and-resumed", &[], signal),
    Scenario::new("loop-goes-on-in-the-session-that-met-a-limit", &[], resumed)
        .needing((2, 1, 208), "an outage is waited out for minutes, whatever the service says"),
    Scenario::new("loop-is-not-held-up-by-a-forgotten-server", &["ralph-on-stop"], forgotten)
        .needing((2, 1, 63), "a background command does not keep the client alive"),
    Scenario::new("loop-gives-no-attempt-for-a-full-context", &[], full_context)
        .needing((2, 1, 63), "the client sends a prompt that is too long once more"),
    Scenario::new("loop-retries-in-a-fork-of-the-session", &[], forked)
        .needing((2, 1, 208), "a session cannot be forked"),
];

const PLAN: &str = "# Plan\n\n- [ ] US-001: Write one\n";

fn usage_limit(stage: &mut Stage<'_>) -> Result<()> {
    prepare(stage, PLAN, VERIFY)?;
    let words = "This exceeds your rate limit, try again in 2 seconds.";
    let limit = Answer::refused(429, "rate_limit_error", words);
    // Otherwise the client tries for three minutes before it gives up.
    let limit = limit.with_header("x-should-retry", "false");
    let script = Script::of([limit, write("one", "right"), Answer::text("It is done.")]);
    let run = stage.run_loop(script)?;
    expect::same("the loop's exit code", &run.exit_code, &Some(0))?;
    expect::same("the commits", &commits(stage), &vec!["feat(US-001): write one".to_owned()])?;
    let expected = ["US-001 quota", "US-001 success"].map(str::to_owned).to_vec();
    expect::same("the iterations", &outcomes(stage), &expected)
}

fn signal(stage: &mut Stage<'_>) -> Result<()> {
    prepare(stage, PLAN, VERIFY)?;
    let endless = "echo half > one.story; touch ~/begun; setsid sleep 1000";
    let script = Script::of([Answer::bash(endless)]);
    let run = stage.run_loop_until(script, "begun")?;
    expect::same("the loop's exit code", &run.exit_code, &Some(143))?;
    expect::same("processes left behind", &run.left_behind, &0)?;
    expect::that(
        !stage.root().join("one.story").exists(),
        "the project has nothing of the attempt",
    )?;
    let script = Script::of([write("one", "right"), Answer::text("It is done.")]);
    let run = stage.run_loop(script)?;
    expect::same("the loop's exit code", &run.exit_code, &Some(0))?;
    expect::same("the commits", &commits(stage), &vec!["feat(US-001): write one".to_owned()])
}

/// What was read and written before a usage limit or an outage is not paid for again.
fn resumed(stage: &mut Stage<'_>) -> Result<()> {
    prepare(stage, &format!("{PLAN}- [ ] US-002: Write two\n"), VERIFY)?;
    let mut turns = Vec::new();
    for (story, status, kind, what) in [
        ("one", 429, "rate_limit_error", "This exceeds your rate limit"),
        ("two", 500, "api_error", "Internal server error"),
    ] {
        let refused = Answer::refused(status, kind, &format!("{what}, try again in 2 seconds."));
        let refused = refused.with_header("x-should-retry", "false");
        turns.extend([write(story, "wrong"), refused]);
        turns.extend([write(story, "right"), Answer::text("It is done.")]);
    }
    let run = stage.run_loop(Script::of(turns))?;
    expect::same("the loop's exit code", &run.exit_code, &Some(0))?;
    let expected = ["US-001 quota", "US-001 success", "US-002 quota", "US-002 success"];
    expect::same("the iterations", &outcomes(stage), &expected.map(str::to_owned).to_vec())?;
    let prompts = stage.journal("prompt");
    let mut sessions: Vec<&Value> = prompts.iter().map(|prompt| &prompt["session"]).collect();
    sessions.dedup();
    expect::same("prompts", &prompts.len(), &4)?;
    expect::same("sessions", &sessions.len(), &2)
}

/// A context that is full is no failure of the story's: a fresh session goes on with its work.
fn full_context(stage: &mut Stage<'_>) -> Result<()> {
    prepare(stage, PLAN, &format!("{VERIFY}[limits]\nattempts_per_story = 1\n"))?;
    // The client may ask for a summary, and then gets a call instead of words.
    let turns = [write("half", "right"), Answer::prompt_too_long(), write("one", "right")];
    let run = stage.run_loop(Script::of(turns))?;
    let outcomes = outcomes(stage);
    expect::that(!outcomes.contains(&"US-001 failed".to_owned()), "no attempt failed")?;
    expect::same("the first iteration", &outcomes.first(), &Some(&"US-001 handoff".to_owned()))?;
    expect::same("the loop's exit code", &run.exit_code, &Some(0))?;
    expect::same("the first half", &stage.read("half.story"), &"right\n".to_owned())
}

/// The second attempt knows what the first one said.
fn forked(stage: &mut Stage<'_>) -> Result<()> {
    prepare(stage, PLAN, &format!("{VERIFY}[session]\nretry = \"fork\"\n"))?;
    let turns = ["wrong", "right"].map(|text| [write("one", text), Answer::text("It is done.")]);
    let run = stage.run_loop(Script::of(turns.into_iter().flatten()))?;
    expect::same("the loop's exit code", &run.exit_code, &Some(0))?;
    let expected = ["US-001 failed", "US-001 success"].map(str::to_owned).to_vec();
    expect::same("the iterations", &outcomes(stage), &expected)?;
    let mut prompts: Vec<String> = run.requests.iter().map(Request::first_message).collect();
    prompts.dedup();
    expect::same("conversations", &prompts.len(), &1)?;
    let prompts = stage.journal("prompt");
    let mut sessions: Vec<&Value> = prompts.iter().map(|prompt| &prompt["session"]).collect();
    sessions.dedup();
    expect::same("sessions", &sessions.len(), &2)
}

/// The client waits for what runs in the background; the loop does not, once the turn is over.
fn forgotten(stage: &mut Stage<'_>) -> Result<()> {
    let config = format!("{VERIFY}\n[agent]\ngrace = 2\n");
    prepare(stage, PLAN, &config)?;
    let server = Answer::tool(
        "Bash",
        json!({"command": "sleep 250", "description": "Serve", "run_in_background": true}),
    );
    let begun = Instant::now();
    let turns = [server, write("one", "right"), Answer::text("It is done.")];
    let run = stage.run_loop(Script::of(turns))?;
    expect::same("the loop's exit code", &run.exit_code, &Some(0))?;
    expect::same("the commits", &commits(stage), &vec!["feat(US-001): write one".to_owned()])?;
    expect::same("processes left behind", &run.left_behind, &0)?;
    expect::that(begun.elapsed() < Duration::from_secs(120), "the server was not waited for")
}
