//! The agent learns about the story under way with its prompt, and wherever its context begins anew
//! or is about to get lost.

use anyhow::{Context, Result};
use ralph_base::state::RunDir;
use ralph_project::under_way::Attempt;
use scripted_model::{Answer, Request, Script};
use serde_json::json;

use crate::e2e::expect;
use crate::e2e::scenario::Scenario;
use crate::e2e::stage::{SESSION, Stage};

pub(super) const SCENARIOS: &[Scenario] = &[
    Scenario::new("prompt-with-context", &["ralph-pre-prompt"], context),
    Scenario::new("context-where-it-gets-lost", &["ralph-pre-prompt"], reminders)
        .needing((2, 0, 44), "a subagent starts without an event"),
];

fn context(stage: &mut Stage<'_>) -> Result<()> {
    fs_err::create_dir_all(stage.state.prd(1))?;
    fs_err::write(stage.state.plan(1), "# Plan\n\n- [ ] US-001: Add a file\n")?;
    fs_err::write(stage.state.current_story(), "US-001\n")?;
    fs_err::write(stage.state.guardrails(), "- never divide by zero\n")?;
    let key = "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789";
    let script = Script::of([Answer::text("Done.")]);
    let run = stage.run(&format!("go on; the key is {key}"), script)?;
    run.succeeded()?;
    let told = run.told(0)?;
    expect::contains(&told, "US-001")?;
    expect::contains(&told, "never divide by zero")?;
    let journal = format!("{:?}", stage.journal("prompt"));
    expect::contains(&journal, "go on")?;
    expect::lacks(&journal, key)
}

/// An agent of our loop at its start, a subagent of it, its summary and what follows that.
fn reminders(stage: &mut Stage<'_>) -> Result<()> {
    fs_err::create_dir_all(stage.state.prd(1))?;
    fs_err::write(stage.state.plan(1), "# Plan\n\n- [ ] US-001: Add a file\n")?;
    fs_err::write(stage.state.current_story(), "US-001\n")?;
    fs_err::write(stage.state.guardrails(), "- never divide by zero\n")?;
    let root = stage.root().to_owned();
    let run_dir = RunDir::of_project(&root).context("a repository")?;
    fs_err::create_dir_all(run_dir.root())?;
    let attempt = Attempt {
        run: "r1".to_owned(),
        story: "US-001".to_owned(),
        title: "Add a file".to_owned(),
        number: 1,
        work: root.clone(),
        ..Attempt::now()
    };
    attempt.save(&run_dir)?;
    let of_run = [("RALPH_RUN", "r1"), ("RALPH_ROOT", root.as_str())];
    let task = Answer::tool(
        "Task",
        json!({
            "description": "count",
            "prompt": "count the files of the project",
            "subagent_type": "general-purpose",
        }),
    );
    let script = Script::of([task, Answer::text("counted")])
        .with_conversation("count the files of the project", [Answer::text("three")]);
    let run = stage.run_as(&of_run, &[], "begin", script)?;
    run.succeeded()?;
    let start = "attempt 1.\nWork in ";
    expect::contains(&run.told(0)?, start)?;
    let count = |request: &&Request| request.first_message().contains("count the files");
    let told = run.requests.iter().find(count).map(Request::told).unwrap_or_default();
    expect::contains(&told, "You help with the story US-001")?;
    let resumed = ["--resume", SESSION];
    let run = stage.run_as(&of_run, &resumed, "/compact", Script::default())?;
    let asked: String = run.asked.iter().map(Request::told).collect();
    expect::contains(&asked, "Keep in the summary: the current story is US-001")?;
    expect::contains(&asked, "never divide by zero")?;
    let run = stage.run_as(&of_run, &resumed, "go on", Script::default())?;
    // What was said before is gone, but for the summary; some clients put this before their own words.
    let said = run.requests.first().map(|request| request.body.to_string()).unwrap_or_default();
    expect::that(!said.contains("count the files"), "the conversation was compacted")?;
    expect::that(said.contains(&start.replace('\n', "\\n")), "the agent is reminded")
}
