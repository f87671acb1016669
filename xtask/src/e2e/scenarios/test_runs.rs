//! A failing test run is noticed, however the failure reaches us.

use anyhow::Result;
use scripted_model::{Answer, Script};
use serde_json::Value;

use crate::e2e::expect;
use crate::e2e::scenario::Scenario;
use crate::e2e::stage::Stage;

const JUDGE: &[&str] = &["ralph-post-tool"];
const NO_EVENT: &str = "a failing command fires no event";

pub(super) const SCENARIOS: &[Scenario] = &[
    Scenario::new("failing-tests-by-exit-code", JUDGE, by_exit_code).needing((2, 0, 56), NO_EVENT),
    Scenario::new("failing-tests-masked-by-a-pipe", JUDGE, by_summary),
    Scenario::new("failing-tests-with-cut-output", JUDGE, by_exit_code_alone)
        .needing((2, 0, 56), NO_EVENT),
    Scenario::new("failing-tests-masked-with-cut-output", JUDGE, by_file)
        .needing((2, 1, 45), "output that was cut away is kept nowhere"),
];

/// A test that fails, after it has printed this many lines.
pub(super) fn failing_test(lines: usize) -> String {
    format!(
        "const test = require('node:test');\n\
         for (let i = 0; i < {lines}; i++) console.log('line ' + i + ' ' + 'x'.repeat(60));\n\
         test('adds up', () => {{ if (1 + 1 !== 3) throw new Error('sum is wrong'); }});\n"
    )
}

fn check(stage: &mut Stage<'_>, lines: usize, command: &str) -> Result<Value> {
    stage.repo.write("sum.test.js", failing_test(lines));
    stage.repo.commit_all("a test");
    let script = Script::of([Answer::bash(command), Answer::text("It fails.")]);
    let run = stage.run("run the tests", script)?;
    run.succeeded()?;
    let verdicts = stage.journal("verdict");
    expect::same("verdicts in the journal", &verdicts.len(), &1)?;
    let verdict = verdicts.into_iter().next().unwrap_or_default();
    expect::same("the verdict", &field(&verdict, "verdict"), &Value::from("failed"))?;
    expect::contains(&run.told(1)?.to_lowercase(), "fail")?;
    Ok(verdict)
}

fn field(line: &Value, name: &str) -> Value {
    line.get(name).cloned().unwrap_or_default()
}

fn by_exit_code(stage: &mut Stage<'_>) -> Result<()> {
    let verdict = check(stage, 0, "node --test")?;
    // No count: some clients send the output of a failing command twice.
    expect::contains(&field(&verdict, "tests").to_string(), "adds up")
}

fn by_summary(stage: &mut Stage<'_>) -> Result<()> {
    let verdict = check(stage, 0, "node --test 2>&1 | tail -n 40")?;
    expect::same("failed tests", &field(&verdict, "failed"), &Value::from(1))
}

/// The summary is cut away, so that the command and its exit code are all there is.
fn by_exit_code_alone(stage: &mut Stage<'_>) -> Result<()> {
    check(stage, 3000, "node --test").map(drop)
}

/// The exit code is masked and the summary cut away, but the client keeps the output in a file.
fn by_file(stage: &mut Stage<'_>) -> Result<()> {
    let verdict = check(stage, 3000, "node --test 2>&1 | cat")?;
    expect::same("failed tests", &field(&verdict, "failed"), &Value::from(1))
}
