//! Other sessions while our loop is at work: a person's own, and a helper that the agent starts; and
//! what hooks do inside of a session, in the loop's own lines.

use anyhow::Result;
use scripted_model::{Answer, Request, Script, Tokens};
use serde_json::{Value, json};

use super::test_runs::failing_test;
use super::whole_loop::{VERIFY, copy_of, prepare};
use crate::e2e::expect;
use crate::e2e::scenario::Scenario;
use crate::e2e::session::Run;
use crate::e2e::stage::Stage;

pub(super) const SCENARIOS: &[Scenario] = &[
    Scenario::new("loop-leaves-other-sessions-alone", &["ralph-pre-tool"], other_sessions)
        .needing((2, 1, 208), "a session inside of another one is refused"),
    Scenario::new("loop-reports-a-rollback-by-a-hook", &["ralph-post-tool"], rollback)
        .needing((2, 0, 56), "a failing command fires no event"),
    Scenario::new("loop-counts-what-subagents-use", &[], receipts)
        .needing((2, 1, 208), "a subagent ends with the turn that started it"),
];

const PLAN: &str = "# Plan\n\n- [ ] US-001: Write one\n";

/// What the model was told in a conversation whose first message has this passage.
fn told(run: &Run, passage: &str) -> Vec<String> {
    let is_meant = |request: &&Request| request.first_message().contains(passage);
    run.requests.iter().filter(is_meant).map(Request::told).collect()
}

/// A person is neither held to the story nor told of it, nor are their failing tests the run's. A
/// helper that the agent starts is guarded
/// as the agent is, and ends when it ends.
fn other_sessions(stage: &mut Stage<'_>) -> Result<()> {
    let scope = "[scope]\npaths = [\"docs/**\"]\nstories = { US-001 = [\"*.story\"] }\n";
    let session = "[session]\nstories_per_session = \"auto\"\n";
    let strikes = "[rollback]\nafter_failures = 1\n";
    stage.repo.write("sum.test.js", failing_test(0));
    prepare(stage, PLAN, &format!("{scope}{session}{strikes}{VERIFY}"))?;
    let client = "claude --dangerously-skip-permissions -p";
    let person = format!(
        "cd {} && env -u RALPH_RUN -u RALPH_ROOT -u RALPH_WORKSPACE {client} 'a person asks'",
        stage.root()
    );
    let script = Script::of([
        Answer::bash(&person),
        Answer::bash(&format!("{client} 'a helper is asked'")),
        Answer::bash("echo right > one.story"),
        Answer::text("It is done."),
    ]);
    let script = script.with_conversation(
        "a person asks",
        [
            Answer::write(stage.path("notes.txt"), "a person's\n"),
            Answer::bash("node --test"),
            Answer::text("Noted."),
        ],
    );
    let script = script.with_conversation(
        "a helper is asked",
        [Answer::write(copy_of(stage).join("help.txt"), "x"), Answer::text("Helped.")],
    );
    let run = stage.run_loop(script)?;
    expect::same("the loop's exit code", &run.exit_code, &Some(0))?;
    let person = told(&run, "a person asks");
    expect::same("the person's turns", &person.len(), &3)?;
    expect::contains(&person.concat(), "sum is wrong")?;
    expect::same("rollbacks", &stage.journal("rolled_back").len(), &0)?;
    expect::lacks(&person.concat(), "US-001")?;
    expect::same("the person's file", &stage.read("notes.txt"), &"a person's\n".to_owned())?;
    let helper = told(&run, "a helper is asked");
    expect::same("the helper's turns", &helper.len(), &2)?;
    expect::contains(&helper.concat(), "rule scope")
}

/// Three failing runs end what was tried: the loop says so, and the next attempt is told.
fn rollback(stage: &mut Stage<'_>) -> Result<()> {
    let told = "rolled back by a hook after 3 failing test runs (node --test failed: adds up)";
    stage.repo.write("sum.test.js", failing_test(0));
    prepare(stage, PLAN, VERIFY)?;
    let fails = || Answer::bash("node --test");
    let script = Script::of([
        Answer::bash("echo wrong > sum.js"),
        fails(),
        fails(),
        fails(),
        Answer::text("I give up."),
        Answer::text("I do give up."),
        Answer::bash("echo right > one.story"),
        Answer::text("It is done."),
    ]);
    let run = stage.run_loop(script)?;
    expect::same("the loop's exit code", &run.exit_code, &Some(0))?;
    expect::contains(&run.told(4)?, "refs/ralph/discarded/")?;
    expect::contains(&run.stdout, &format!("US-001: {told}; kept as refs/ralph/discarded/"))?;
    let prompts: Vec<String> = run.requests.iter().map(Request::first_message).collect();
    expect::contains(&prompts.concat(), told)
}

/// A subagent that is waited for, one in the background and a background command, whose ends bring
/// about turns of their own: the receipt is the client's own total.
fn receipts(stage: &mut Stage<'_>) -> Result<()> {
    prepare(stage, PLAN, VERIFY)?;
    let task = |prompt: &str, in_background: bool| {
        let input = json!({"description": "count", "prompt": prompt, "subagent_type":
            "general-purpose", "run_in_background": in_background});
        Answer::tool("Agent", input)
    };
    let command = json!({"command": "sleep 2", "description": "wait", "run_in_background": true});
    let used = |input: u64| Tokens { input, cache_read: 7, cache_creation: 5, output: 3 };
    let script = Script::of([
        task("count the files", false),
        task("count the lines", true).and(Answer::tool("Bash", command)),
        Answer::bash("echo right > one.story"),
        Answer::text("It is done.").using(used(10_000)),
    ]);
    let theirs = |input: u64| {
        [Answer::bash("ls").using(used(input)), Answer::text("three").using(used(input))]
    };
    let script = script
        .with_conversation("count the files", theirs(100_000))
        .with_conversation("count the lines", theirs(200_000));
    let run = stage.run_loop(script)?;
    expect::same("the loop's exit code", &run.exit_code, &Some(0))?;
    let finished = stage.journal("iteration_finished");
    expect::same("iterations", &finished.len(), &1)?;
    let (tokens, cost) = clients_total(stage)?;
    expect::that(tokens > 600_000, "the client counts its subagents")?;
    let told = |name: &str| finished.first().and_then(|line| line.get(name)).cloned();
    expect::same("tokens", &told("tokens").and_then(|sum| sum.as_u64()), &Some(tokens))?;
    expect::same("cost", &told("cost_usd").and_then(|sum| sum.as_f64()), &cost)
}

/// What the client's last result says that the session used: tokens of all models, and the cost.
fn clients_total(stage: &Stage<'_>) -> Result<(u64, Option<f64>)> {
    let mut last = Value::Null;
    for log in fs_err::read_dir(stage.state.logs())? {
        let text = fs_err::read_to_string(log?.path())?;
        let mut lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        last = lines.rfind(|line| line["type"] == "result").unwrap_or(last);
    }
    let models = last.get("modelUsage").and_then(Value::as_object).into_iter().flatten();
    let counts = models.flat_map(|(_, usage)| usage.as_object().into_iter().flatten());
    let tokens = counts.filter(|(name, _)| name.ends_with("Tokens") && *name != "maxOutputTokens");
    let cost = last.get("total_cost_usd").and_then(Value::as_f64);
    Ok((tokens.filter_map(|(_, count)| count.as_u64()).sum(), cost))
}
