//! The agent learns about the story under way with its prompt.

use anyhow::Result;
use scripted_model::{Answer, Script};

use crate::e2e::expect;
use crate::e2e::scenario::Scenario;
use crate::e2e::stage::Stage;

pub(super) const SCENARIOS: &[Scenario] =
    &[Scenario::new("prompt-with-context", &["ralph-pre-prompt"], context)];

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
