//! The agent is held back while work is unfinished, and let go in the end.

use anyhow::Result;
use scripted_model::{Answer, Request, Script, Tokens};
use serde_json::{Value, json};

use crate::e2e::expect;
use crate::e2e::scenario::Scenario;
use crate::e2e::stage::Stage;

const STOP: &[&str] = &["ralph-on-stop"];

pub(super) const SCENARIOS: &[Scenario] = &[
    Scenario::new("gate-holds-a-stop-once", STOP, gate),
    Scenario::new("continuation-over-three-features", STOP, continuation),
    Scenario::new("idle-continuation-ends", STOP, idle),
    Scenario::new("handoff-at-the-context-limit", STOP, handoff),
    Scenario::new("handoff-by-the-last-answer-alone", STOP, sudden_handoff),
    Scenario::new("subagent-held-back", STOP, subagent)
        .needing((2, 1, 63), "a subagent that stops does not say of what type it is"),
    Scenario::new("unfinished-task-held-back", STOP, task),
    Scenario::new("idle-teammate-held-back", STOP, teammate),
    Scenario::new("own-session-left-alone", STOP, own_session),
];

/// A quality gate that failed, for the scenario's session.
fn failed_gate(stage: &Stage<'_>) -> Result<()> {
    let state = stage.session_state()?;
    fs_err::create_dir_all(state.root())?;
    let gate = json!({"last_result": "failed", "stages": {
        "lint": {"status": "failed", "details": "two warnings"},
        "build": {"status": "passed"},
    }});
    Ok(fs_err::write(state.quality_gate(), gate.to_string())?)
}

fn gate(stage: &mut Stage<'_>) -> Result<()> {
    failed_gate(stage)?;
    let script = Script::of([Answer::text("finished"), Answer::text("finished anyway")]);
    let run = stage.run("work", script)?;
    run.succeeded()?;
    run.had_turns(2)?;
    expect::contains(&run.told(1)?, "lint")?;
    expect::contains(&run.told(1)?, "two warnings")?;
    expect::same("blocks in the journal", &stage.journal("stop_blocked").len(), &1)?;
    expect::same("releases in the journal", &stage.journal("stop_allowed").len(), &1)
}

/// A list of features with one that passes, and its progress file; returns the folder.
fn feature_list(stage: &Stage<'_>, passing: usize) -> String {
    let features: Vec<Value> = (1..=3)
        .map(|id| {
            json!({
                "id": id,
                "description": format!("feature number {id}"),
                "steps": [format!("build number {id}")],
                "passes": id <= passing,
            })
        })
        .collect();
    let list = json!({"total_features": 3, "features": features});
    stage.repo.write("loop/feature_list.json", format!("{list:#}\n"));
    let progress = "- Iteration: 1\n- Max Iterations: 10\n- Status: IN_PROGRESS\n";
    stage.repo.write("loop/progress.txt", progress);
    stage.path("loop")
}

/// The shell command with which the agent ticks a feature.
fn tick(number: usize) -> Answer {
    let program =
        "const f='loop/feature_list.json',fs=require('fs'),j=JSON.parse(fs.readFileSync(f));";
    let tick = format!("j.features[{}].passes=true;", number - 1);
    Answer::bash(&format!(
        "node -e \"{program}{tick}fs.writeFileSync(f,JSON.stringify(j,null,2))\""
    ))
}

fn continuation(stage: &mut Stage<'_>) -> Result<()> {
    let folder = feature_list(stage, 0);
    let turns = (1..=3).flat_map(|number| [tick(number), Answer::text("that one is done")]);
    let run = stage.run_with("begin", Script::of(turns), &[("RALPH_LOOP_DIR", &folder)])?;
    run.succeeded()?;
    run.had_turns(6)?;
    expect::contains(&run.told(2)?, "CONTINUATION: iteration")?;
    expect::contains(&run.told(2)?, "feature number 2")?;
    expect::contains(&run.told(4)?, "feature number 3")?;
    expect::same("blocks in the journal", &stage.journal("stop_blocked").len(), &2)
}

/// An agent that does nothing is not held back for ever, whatever the client allows.
fn idle(stage: &mut Stage<'_>) -> Result<()> {
    let folder = feature_list(stage, 0);
    let run = stage.run_with("begin", Script::default(), &[("RALPH_LOOP_DIR", &folder)])?;
    run.succeeded()?;
    run.had_turns(3)
}

fn handoff(stage: &mut Stage<'_>) -> Result<()> {
    check_handoff(stage, FULL)
}

fn sudden_handoff(stage: &mut Stage<'_>) -> Result<()> {
    check_handoff(stage, Tokens::default())
}

fn check_handoff(stage: &mut Stage<'_>, first: Tokens) -> Result<()> {
    let folder = feature_list(stage, 0);
    stage.configure("[session]\ncontext_window = 200000\ncontext_limit = 0.8\n")?;
    let script = Script::of([tick(1).using(first), Answer::text("one is done").using(FULL)]);
    let run = stage.run_with("begin", script, &[("RALPH_LOOP_DIR", &folder)])?;
    run.succeeded()?;
    run.had_turns(2)?;
    let allowed = stage.journal("stop_allowed");
    let status = allowed.first().and_then(|line| line.get("status")).map(Value::to_string);
    expect::contains(&status.unwrap_or_default().to_lowercase(), "handoff")
}

/// More than 80 % of 200,000.
const FULL: Tokens =
    Tokens { input: 10_000, cache_creation: 1_000, cache_read: 155_000, output: 500 };

fn subagent(stage: &mut Stage<'_>) -> Result<()> {
    failed_gate(stage)?;
    let agent = "---\nname: ralph-worker\ndescription: works\ntools: Bash\n---\nYou work.\n";
    stage.repo.write(".claude/agents/ralph-worker.md", agent);
    let task = Answer::tool(
        "Task",
        json!({
            "description": "count",
            "prompt": "count the files of the project",
            "subagent_type": "ralph-worker",
        }),
    );
    let script = Script::of([task, Answer::text("counted"), Answer::text("counted indeed")])
        .with_conversation(
            "count the files of the project",
            [Answer::text("three"), Answer::text("four")],
        );
    let run = stage.run("count", script)?;
    run.succeeded()?;
    let of_subagent = |request: &&Request| request.first_message().contains("count the files");
    let turns: Vec<&Request> = run.requests.iter().filter(of_subagent).collect();
    expect::same("the subagent's turns", &turns.len(), &2)?;
    let told = turns.last().map(|request| request.told()).unwrap_or_default();
    expect::contains(&told, "two warnings")
}

/// A task is not completed while a line that was added for it says `TODO`.
fn task(stage: &mut Stage<'_>) -> Result<()> {
    stage.repo.write("a.txt", "old TODO\n");
    stage.repo.commit_all("an old one");
    let create = json!({"subject": "add up", "description": "add up", "activeForm": "adding up"});
    let complete = || Answer::tool("TaskUpdate", json!({"taskId": "1", "status": "completed"}));
    let script = Script::of([
        Answer::tool("TaskCreate", create),
        Answer::write(stage.path("sum.js"), "// TODO: add up\n"),
        complete(),
        Answer::bash("echo 'exports.sum = (a, b) => a + b;' > sum.js"),
        complete(),
        Answer::text("Done."),
    ]);
    let run = stage.run_with("add up", script, &[("CLAUDE_CODE_ENABLE_TASKS", "1")])?;
    let has_tasks = run.requests.first().is_some_and(|request| request.offers("TaskUpdate"));
    expect::possible(has_tasks, "there are no tasks in print mode")?;
    run.succeeded()?;
    expect::contains(&run.told(3)?, "sum.js:1")?;
    expect::lacks(&run.told(3)?, "a.txt")?;
    expect::lacks(&run.told(5)?, "TODO")
}

/// A teammate does not rest while a line that it added is for debugging.
fn teammate(stage: &mut Stage<'_>) -> Result<()> {
    let team = json!({"team_name": "builders", "description": "they build"});
    let member = json!({
        "description": "add up",
        "prompt": "write the sum",
        "subagent_type": "general-purpose",
        "team_name": "builders",
        "name": "adder",
    });
    let main = [Answer::tool("TeamCreate", team), Answer::tool("Task", member)];
    let theirs = [
        Answer::write(stage.path("sum.js"), "console.log('here');\n"),
        Answer::text("The sum is written."),
        Answer::bash("echo 'exports.sum = (a, b) => a + b;' > sum.js; touch ~/clean"),
    ];
    let script = Script::of(main).with_conversation("write the sum", theirs);
    let teams = [("CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS", "1")];
    // In print mode the client waits for its team, which only ends when it is told to.
    let run = stage.run_until("clean", "build it with a team", script, &teams)?;
    let has_teams = run.requests.first().is_some_and(|request| request.offers("TeamCreate"));
    expect::possible(has_teams, "there are no teams in print mode")?;
    let of_teammate = |request: &&Request| request.first_message().contains("write the sum");
    let told: Vec<String> = run.requests.iter().filter(of_teammate).map(Request::told).collect();
    expect::that(told.len() >= 3, "the teammate goes on")?;
    expect::contains(&told.get(2).cloned().unwrap_or_default(), "sum.js:1")
}

/// The loop's session goes on, and a person's own session in the same project ends when it ends.
fn own_session(stage: &mut Stage<'_>) -> Result<()> {
    let folder = feature_list(stage, 2);
    fs_err::write(stage.state.current_story(), "US-001\n")?;
    fs_err::create_dir_all(stage.state.prd(1))?;
    fs_err::write(stage.state.plan(1), "# Plan\n\n- [ ] US-001: Add a file\n")?;
    let theirs = stage.run("what does this project do?", Script::of([Answer::text("a lot")]))?;
    theirs.succeeded()?;
    theirs.had_turns(1)?;
    let two = Script::of([Answer::text("done"), tick(3), Answer::text("done")]);
    let ours = stage.run_with("begin", two, &[("RALPH_LOOP_DIR", &folder)])?;
    ours.succeeded()?;
    ours.had_turns(3)?;
    expect::contains(&ours.told(1)?, "feature number 3")
}
