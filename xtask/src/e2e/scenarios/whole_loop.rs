//! The whole loop, with the real client as its agent.

use anyhow::Result;
use camino::Utf8PathBuf;
use ralph_project::install::plan_uninstall;
use scripted_model::{Answer, Script};
use serde_json::Value;

use crate::e2e::expect;
use crate::e2e::scenario::Scenario;
use crate::e2e::session::Run;
use crate::e2e::stage::Stage;

pub(super) const SCENARIOS: &[Scenario] = &[
    Scenario::new("loop-over-three-stories-with-a-failing-attempt", &[], three_stories),
    Scenario::new("loop-does-not-believe-a-failed-test", &["ralph-post-tool"], failed_test)
        .needing((2, 0, 56), "a failing command fires no event"),
    Scenario::new("loop-over-three-stories-in-one-session", &["ralph-on-stop"], one_session),
    Scenario::new("loop-agent-works-in-its-copy", &["ralph-pre-tool"], in_the_copy)
        .needing((2, 1, 208), "the client itself refuses to edit what its Read tool has not read"),
    Scenario::new("loop-brings-its-own-hooks", &[], own_hooks),
];

const STORIES: &str = "# Plan

- [ ] US-001: Write one
- [ ] US-002: Write two
- [ ] US-003: Write three
";

/// A story is done when its file says so.
pub(super) const VERIFY: &str = r#"[verify]
commands = ["! grep -L right *.story | grep ."]
"#;

pub(super) fn prepare(stage: &Stage<'_>, plan: &str, config: &str) -> Result<()> {
    fs_err::create_dir_all(stage.state.prd(1))?;
    fs_err::write(stage.state.plan(1), plan)?;
    stage.configure(config)?;
    stage.repo.commit_all("the plan");
    Ok(())
}

/// The agent writes a story's file.
pub(super) fn write(story: &str, content: &str) -> Answer {
    Answer::bash(&format!("echo {content} > {story}.story"))
}

/// The commits since the plan was written, oldest first.
pub(super) fn commits(stage: &Stage<'_>) -> Vec<String> {
    let log = stage.repo.git(["log", "--reverse", "--format=%s"]);
    log.lines().filter(|line| line.starts_with("feat")).map(str::to_owned).collect()
}

/// How each iteration ended, by the journal.
pub(super) fn outcomes(stage: &Stage<'_>) -> Vec<String> {
    let field = |line: &Value, name: &str| line[name].as_str().unwrap_or_default().to_owned();
    let finished = stage.journal("iteration_finished");
    finished
        .iter()
        .map(|line| format!("{} {}", field(line, "story"), field(line, "outcome")))
        .collect()
}

/// Every story is ticked and has its commit, once.
fn all_done(stage: &Stage<'_>, run: &Run) -> Result<()> {
    expect::same("the loop's exit code", &run.exit_code, &Some(0))?;
    let titles =
        ["feat(US-001): write one", "feat(US-002): write two", "feat(US-003): write three"];
    expect::same("the commits", &commits(stage), &titles.map(str::to_owned).to_vec())?;
    let plan = fs_err::read_to_string(stage.state.plan(1))?;
    expect::same("the plan", &plan, &STORIES.replace("[ ]", "[x]"))?;
    let uncommitted = stage.repo.git(["status", "--porcelain"]);
    expect::same("what is uncommitted", &uncommitted, &String::new())?;
    expect::same("processes left behind", &run.left_behind, &0)
}

fn three_stories(stage: &mut Stage<'_>) -> Result<()> {
    prepare(stage, STORIES, VERIFY)?;
    let turns = [("one", "right"), ("two", "wrong"), ("two", "right"), ("three", "right")]
        .map(|(story, content)| [write(story, content), Answer::text("It is done.")]);
    let run = stage.run_loop(Script::of(turns.into_iter().flatten()))?;
    all_done(stage, &run)?;
    run.had_turns(8)?;
    expect::contains(&run.told(0)?, "US-001")?;
    expect::contains(&run.told(4)?, "two.story")?;
    expect::same("rollbacks", &stage.journal("rolled_back").len(), &1)?;
    let outcomes = outcomes(stage);
    let expected = ["US-001 success", "US-002 failed", "US-002 success", "US-003 success"];
    expect::same("the iterations", &outcomes, &expected.map(str::to_owned).to_vec())
}

/// Nothing but the hook knows that the last test run failed.
fn failed_test(stage: &mut Stage<'_>) -> Result<()> {
    prepare(stage, "# Plan\n\n- [ ] US-001: Add up\n", "")?;
    let test = |expected: u32| {
        // Older clients put a backslash before an exclamation mark.
        let check = format!("require('assert').equal(1 + 1, {expected})");
        let code = format!("require('node:test')('adds up', () => {check});");
        Answer::bash(&format!("echo \"{code}\" > sum.test.js; node --test"))
    };
    let script = Script::of([
        test(3),
        Answer::text("All tests pass, it is done."),
        Answer::text("As I said, all tests pass."),
        test(2),
        Answer::text("It is done."),
    ]);
    let run = stage.run_loop(script)?;
    expect::same("the loop's exit code", &run.exit_code, &Some(0))?;
    let expected = ["US-001 failed", "US-001 success"].map(str::to_owned).to_vec();
    expect::same("the iterations", &outcomes(stage), &expected)?;
    expect::contains(&run.told(2)?, "TESTS gate failed")?;
    expect::contains(&run.told(3)?, "adds up")
}

/// The stop hook settles each story and hands out the next one.
fn one_session(stage: &mut Stage<'_>) -> Result<()> {
    let config = format!("{VERIFY}\n[session]\nstories_per_session = \"auto\"\n");
    prepare(stage, STORIES, &config)?;
    let turns = [("one", "right"), ("two", "wrong"), ("two", "right"), ("three", "right")]
        .map(|(story, content)| [write(story, content), Answer::text("It is done.")]);
    let run = stage.run_loop(Script::of(turns.into_iter().flatten()))?;
    all_done(stage, &run)?;
    run.had_turns(8)?;
    expect::contains(&run.told(2)?, "US-002")?;
    expect::contains(&run.told(4)?, "two.story")?;
    let logs = fs_err::read_dir(stage.state.logs())?.flatten();
    let is_log = |name: &std::ffi::OsString| !name.to_string_lossy().starts_with("report-");
    let sessions = logs.map(|entry| entry.file_name()).filter(is_log).count();
    expect::same("sessions of the client", &sessions, &1)
}

/// The guard's project is the copy: reads count there, edits elsewhere and pushes are denied.
fn in_the_copy(stage: &mut Stage<'_>) -> Result<()> {
    prepare(stage, "# Plan\n\n- [ ] US-001: Write one\n", VERIFY)?;
    let copy = copy_of(stage);
    let inside = copy.join("src/lib.rs");
    let edit = || Answer::edit(&inside, "42", "43");
    let script = Script::of([
        edit(),
        Answer::read(&inside),
        edit(),
        Answer::write(stage.path("outside.txt"), "outside\n"),
        Answer::bash("git push origin main"),
        write("one", "right"),
        Answer::text("It is done."),
    ]);
    let run = stage.run_loop(script)?;
    expect::same("the loop's exit code", &run.exit_code, &Some(0))?;
    expect::contains(&run.told(1)?, "rule read-before-edit")?;
    expect::lacks(&run.told(3)?, "rule read-before-edit")?;
    expect::contains(&run.told(4)?, copy.as_str())?;
    expect::contains(&run.told(5)?, "rule git-push")?;
    expect::that(!stage.root().join("outside.txt").exists(), "nothing was written outside")?;
    expect::contains(&stage.read("src/lib.rs"), "43")
}

/// Where the agent works: `<cache>/ralph/<name>-<lower half of the path's FNV-1a>/1`.
pub(super) fn copy_of(stage: &Stage<'_>) -> Utf8PathBuf {
    let hash = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    let hash = stage.root().as_str().bytes().fold(0xcbf2_9ce4_8422_2325, hash) as u32;
    let name = stage.root().file_name().unwrap_or_default();
    stage.repo.scratch().path("home/.cache/ralph").join(format!("{name}-{hash:08x}/1"))
}

/// Nothing is installed: the loop hands the hooks beside it to the client.
fn own_hooks(stage: &mut Stage<'_>) -> Result<()> {
    plan_uninstall(&stage.place())?.apply()?;
    prepare(stage, "# Plan\n\n- [ ] US-001: Write one\n", VERIFY)?;
    let script = Script::of([
        Answer::bash("git clean -fd; echo ran > ran.story"),
        write("one", "right"),
        Answer::text("It is done."),
    ]);
    let run = stage.run_loop(script)?;
    expect::same("the loop's exit code", &run.exit_code, &Some(0))?;
    expect::lacks(&stage.repo.git(["ls-files"]), "ran.story")?;
    for event in ["prompt", "denied", "stop_allowed"] {
        expect::same(event, &stage.journal(event).len(), &1)?;
    }
    expect::that(!stage.root().join(".claude").exists(), "the project's settings are untouched")
}
