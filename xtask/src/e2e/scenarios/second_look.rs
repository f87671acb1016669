//! Work that passes its checks is looked at twice, with the real client as agent and as reviewer.

use std::time::Duration;

use anyhow::Result;
use scripted_model::{Answer, Request, Script};

use super::whole_loop::{commits, prepare, write};
use crate::e2e::expect;
use crate::e2e::scenario::Scenario;
use crate::e2e::session::Run;
use crate::e2e::stage::Stage;

pub(super) const SCENARIOS: &[Scenario] = &[
    Scenario::new("loop-has-work-reviewed", &[], reviewed),
    Scenario::new("loop-tries-tests-without-the-work", &[], proven),
    Scenario::new("review-holds-a-session", &["ralph-on-stop"], held),
];

/// How a reviewer's prompt begins.
const REVIEW: &str = "You review work that another agent did. You only read: change nothing, and do \
                      not do the work yourself.\n\n# ";

const PLAN: &str = "# Plan

- [ ] US-001: Write one
- [ ] US-002: Write two
- [ ] US-003: Write three
- [ ] US-004: Write four
";

const APPROVED: &str = r#"I read it. {"approve": true, "findings": [{"kind": "advice", "file": "one.story", "line": 1, "message": "say more"}]}"#;
const BLOCKED: &str = r#"{"approve": false, "findings": [{"kind": "blocking", "file": "two.story", "line": 1, "message": "two is not right"}]}"#;

/// The requests of the reviewer.
fn of_reviewer(run: &Run) -> Vec<&Request> {
    run.requests.iter().filter(|request| request.first_message().contains(REVIEW)).collect()
}

/// One is approved, one blocked, one gets an answer that nobody understands and one none in time.
fn reviewed(stage: &mut Stage<'_>) -> Result<()> {
    let review = "[review]\nenabled = true\ntimeout = 8\n[limits]\nattempts_per_story = 1\n";
    prepare(stage, PLAN, &format!("{review}[verify]\ncommands = [\"ls\"]\n"))?;
    let work = ["one", "two", "three", "four"]
        .map(|story| [write(story, "right"), Answer::text("It is done.")]);
    let mut script = Script::of(work.into_iter().flatten());
    let late = Answer::text(APPROVED).after(Duration::from_secs(30));
    for (story, answers) in [
        (
            "US-001",
            vec![
                Answer::read(super::whole_loop::copy_of(stage).join("one.story")),
                Answer::text(APPROVED),
            ],
        ),
        ("US-002", vec![Answer::text(BLOCKED)]),
        ("US-003", vec![Answer::text("Looks good to me.")]),
        ("US-004", vec![late]),
    ] {
        script = script.with_conversation(&format!("{REVIEW}{story}"), answers);
    }
    let run = stage.run_loop(script)?;
    for line in [
        "US-001 reviewed: approved with 1 remark",
        "US-001: one.story:1: say more",
        "the review found",
        "two.story:1: two is not right",
        "US-003 not reviewed: the answer could not be understood",
        "US-004 not reviewed: it took longer than 8 s",
    ] {
        expect::contains(&run.stdout, line)?;
    }
    let titles =
        ["feat(US-001): write one", "feat(US-003): write three", "feat(US-004): write four"];
    expect::same("the commits", &commits(stage), &titles.map(str::to_owned).to_vec())?;
    let asked = of_reviewer(&run);
    let may_only_read = |request: &&&Request| request.offers("Read") && !request.offers("Bash");
    expect::same("readers", &asked.iter().filter(may_only_read).count(), &asked.len())?;
    let edits = asked.iter().any(|request| request.offers("Write") || request.offers("Edit"));
    expect::that(!edits, "a reviewer can change nothing")?;
    let first = asked.first().map(|request| request.first_message()).unwrap_or_default();
    expect::contains(&first, "+right")?;
    expect::same("processes left behind", &run.left_behind, &0)
}

/// A test that passes without the work is named; one that fails without it proves it.
fn proven(stage: &mut Stage<'_>) -> Result<()> {
    stage.repo.write("old.test.js", "require('node:test')('old', () => {});\n");
    prepare(
        stage,
        "# Plan\n\n- [ ] US-001: Add\n- [ ] US-002: Subtract\n",
        "[verify]\ncommands = [\"node --test\"]\n",
    )?;
    let story = |name: &str, sum: &str, test: &str| {
        let code = format!("exports.{name} = (a, b) => {sum};");
        let test = format!("require('node:test')('{name}', () => {{ {test} }});");
        [
            Answer::bash(&format!("echo \"{code}\" > {name}.js; echo \"{test}\" > {name}.test.js")),
            Answer::text("It is done."),
        ]
    };
    let good = "require('assert').equal(require('./add.js').add(1, 1), 2)";
    let work = [story("add", "a + b", good), story("sub", "a - b", "1 + 1")];
    let run = stage.run_loop(Script::of(work.into_iter().flatten()))?;
    expect::same("the loop's exit code", &run.exit_code, &Some(0))?;
    expect::contains(&run.stdout, "US-001 proven: its new test fails without the change")?;
    expect::contains(&run.stdout, "US-002 not proven: its new tests pass without the change")?;
    let log = stage.repo.git(["log", "--format=%B"]);
    expect::contains(&log, "Ralph-Proof: its new test fails without the change")
}

/// A session without the loop is held by what a reviewer found, once; the reviewer is not.
fn held(stage: &mut Stage<'_>) -> Result<()> {
    let client = "claude -p --dangerously-skip-permissions --output-format json";
    stage.configure(&format!("[stop]\nreview = true\n[review]\ncommand = \"{client}\"\n"))?;
    stage.repo.commit_all("settings");
    let script = Script::of([
        Answer::bash("echo wrong > two.story"),
        Answer::text("Finished."),
        Answer::text("I see."),
    ]);
    let script = script.with_conversation(REVIEW, [Answer::text(BLOCKED)]);
    let run = stage.run("write two", script)?;
    run.succeeded()?;
    let reviews = of_reviewer(&run);
    expect::same("reviews", &reviews.len(), &1)?;
    let asked = reviews.first().map(|request| request.first_message()).unwrap_or_default();
    expect::contains(&asked, "write two")?;
    expect::contains(&asked, "two.story")?;
    let told: Vec<String> = run.requests.iter().map(Request::told).collect();
    expect::contains(&told.concat(), "REVIEW gate failed: the review found: two.story:1")
}
