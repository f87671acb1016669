//! Other sessions while our loop is at work: a person's own, and a helper that the agent starts; and
//! what hooks do inside of a session, in the loop's own lines.

use anyhow::Result;
use scripted_model::{Answer, Request, Script};

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
];

const PLAN: &str = "# Plan\n\n- [ ] US-001: Write one\n";

/// What the model was told in a conversation whose first message has this passage.
fn told(run: &Run, passage: &str) -> Vec<String> {
    let is_meant = |request: &&Request| request.first_message().contains(passage);
    run.requests.iter().filter(is_meant).map(Request::told).collect()
}

/// A person is neither held to the story nor told of it. A helper that the agent starts is guarded
/// as the agent is, and ends when it ends.
fn other_sessions(stage: &mut Stage<'_>) -> Result<()> {
    let scope = "[scope]\npaths = [\"docs/**\"]\nstories = { US-001 = [\"*.story\"] }\n";
    let session = "[session]\nstories_per_session = \"auto\"\n";
    prepare(stage, PLAN, &format!("{scope}{session}{VERIFY}"))?;
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
        [Answer::write(stage.path("notes.txt"), "a person's\n"), Answer::text("Noted.")],
    );
    let script = script.with_conversation(
        "a helper is asked",
        [Answer::write(copy_of(stage).join("help.txt"), "x"), Answer::text("Helped.")],
    );
    let run = stage.run_loop(script)?;
    expect::same("the loop's exit code", &run.exit_code, &Some(0))?;
    let person = told(&run, "a person asks");
    expect::same("the person's turns", &person.len(), &2)?;
    expect::lacks(&person.concat(), "US-001")?;
    expect::same("the person's file", &stage.read("notes.txt"), &"a person's\n".to_owned())?;
    let helper = told(&run, "a helper is asked");
    expect::same("the helper's turns", &helper.len(), &2)?;
    expect::contains(&helper.concat(), "rule scope")
}

/// Three failing runs end what was tried, and the next attempt is told.
fn rollback(stage: &mut Stage<'_>) -> Result<()> {
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
    let prompts: Vec<String> = run.requests.iter().map(Request::first_message).collect();
    let told = "rolled back by a hook after 3 failing test runs (node --test failed: adds up)";
    expect::contains(&prompts.concat(), told)
}
