//! Sessions that a skill of the plugin takes from nothing to verified done, and not by false claims.

use anyhow::Result;
use scripted_model::{Answer, Script};
use serde_json::Value;

use super::plugin::{UNKNOWN_EVENT, built};
use super::test_runs::failing_test;
use crate::e2e::expect;
use crate::e2e::scenario::Scenario;
use crate::e2e::session::Run;
use crate::e2e::stage::Stage;

const HOOKS: &[&str] = &["ralph-post-tool", "ralph-on-stop"];

pub(super) const SCENARIOS: &[Scenario] = &[
    Scenario::new("orchestrator-skill-reaches-verified-done", HOOKS, orchestrator)
        .needing((2, 1, 101), UNKNOWN_EVENT),
    Scenario::new("loop-skill-reaches-verified-done", HOOKS, rounds)
        .needing((2, 1, 101), UNKNOWN_EVENT),
];

fn says(words: &str) -> Answer {
    Answer::bash(&format!("ralph-loop verified {words}"))
}

/// A session with the plugin, whose gates may hold it more than once a turn.
fn with_plugin(stage: &mut Stage<'_>, prompt: &str, turns: Vec<Answer>) -> Result<Run> {
    let plugin = built(stage)?.join("plugin");
    stage.configure("[stop]\nmax_blocks = 5\n")?;
    let run = stage.run_given(&["--plugin-dir", plugin.as_str()], prompt, Script::of(turns))?;
    run.succeeded()?;
    Ok(run)
}

/// A test that fails, until what it tests is corrected.
fn failing_then_passing() -> [Answer; 3] {
    let wrong = format!("cat > sum.test.js <<'END'\n{}END\nnode --test", failing_test(0));
    let right = "sed -i 's/!== 3/!== 2/' sum.test.js && git add -A && git commit -qm sum";
    [wrong.as_str(), right, "node --test"].map(Answer::bash)
}

fn orchestrator(stage: &mut Stage<'_>) -> Result<()> {
    let [fails, corrected, passes] = failing_then_passing();
    let planned = ["memory_search", "task_classified", "must_have_answered", "plan_approved"];
    let reviewed = ["quality_passed", "adversarial_passed", "retrospective_done"];
    let all = |names: &[&str]| -> String {
        names.iter().map(|name| format!("--condition {name} ")).collect()
    };
    let turns = vec![
        says("--begin orchestrator --task 'add up'"),
        Answer::text("That is all."),
        says("--done"),
        says(&format!("{}--phase implementation", all(&planned))),
        fails,
        says("--condition implementation_complete --phase validation"),
        says("--condition correctness_passed"),
        corrected,
        passes,
        says("--condition correctness_passed"),
        says(&format!("{}--phase retrospective", all(&reviewed))),
        says("--done"),
        Answer::text("It adds up."),
    ];
    let run = with_plugin(stage, "/ralph-loop:orchestrator \"add up\"", turns)?;
    run.had_turns(13)?;
    expect::contains(&run.told(0)?, "Take this from nothing to verified done: \"add up\"")?;
    expect::contains(&run.told(1)?, "the session is held until")?;
    expect::contains(&run.told(2)?, "ORCHESTRATOR gate failed")?;
    expect::contains(&run.told(3)?, "not done: memory_search is not met")?;
    expect::contains(
        &run.told(7)?,
        "`correctness_passed` does not hold: the last test run failed",
    )?;
    expect::contains(&run.told(12)?, "verified: ")?;
    let state = fs_err::read_to_string(stage.session_state()?.orchestrator())?;
    let state: Value = serde_json::from_str(&state)?;
    expect::same("verified_done", &state.get("verified_done"), &Some(&Value::Bool(true)))?;
    expect::same("the phase", &state.get("phase"), &Some(&Value::from("retrospective")))?;
    let conditions = state.get("conditions").and_then(Value::as_object).into_iter().flatten();
    let met = conditions.filter(|(_, value)| **value == Value::Bool(true)).count();
    expect::same("conditions that are met", &met, &9)?;
    ended_free(stage, 1)
}

fn rounds(stage: &mut Stage<'_>) -> Result<()> {
    let [fails, corrected, passes] = failing_then_passing();
    let turns = vec![
        says("--begin loop --task 'add up' --max-iterations 3"),
        fails,
        says("--done"),
        says("--iteration 1"),
        Answer::text("I would stop here."),
        corrected,
        passes,
        says("--iteration 2"),
        says("--done"),
        Answer::text("It adds up."),
    ];
    let run = with_plugin(stage, "/ralph-loop:loop \"add up\" --max-iterations 3", turns)?;
    run.had_turns(10)?;
    let skill = "until it is verified: \"add up\" --max-iterations 3";
    expect::contains(&run.told(0)?, skill)?;
    expect::contains(&run.told(3)?, "not done: the last test run failed")?;
    expect::contains(&run.told(5)?, "the loop is at iteration 1/3 and is not done")?;
    expect::contains(&run.told(9)?, "verified: ")?;
    let state = fs_err::read_to_string(stage.session_state()?.loop_state())?;
    let state: Value = serde_json::from_str(&state)?;
    expect::same("verified_done", &state.get("verified_done"), &Some(&Value::Bool(true)))?;
    expect::same("the rounds", &state.get("iteration"), &Some(&Value::from(2)))?;
    ended_free(stage, 1)
}

/// The gates held the session so often, and in the end nothing stood against its stop.
fn ended_free(stage: &Stage<'_>, blocks: usize) -> Result<()> {
    expect::same("blocks in the journal", &stage.journal("stop_blocked").len(), &blocks)?;
    let allowed = stage.journal("stop_allowed");
    let last = allowed.last().cloned().unwrap_or_default();
    expect::same("the last status", &last.get("status"), &Some(&Value::from("allowed")))?;
    expect::that(last.get("note").is_none(), "nothing was let go")
}
