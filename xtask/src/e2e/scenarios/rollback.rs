//! A failed attempt is rolled back, and the user's own work is as it was, to the byte.

use anyhow::{Context, Result};
use ralph_core::git::{Checkpoint, Repo};
use scripted_model::{Answer, Script};
use test_support::Fingerprint;

use super::test_runs::failing_test;
use crate::e2e::expect;
use crate::e2e::scenario::Scenario;
use crate::e2e::stage::Stage;

pub(super) const SCENARIOS: &[Scenario] =
    &[Scenario::new("rollback-with-user-work", &["ralph-post-tool"], with_user_work)
        .needing((2, 0, 56), "a failing command fires no event")];

fn with_user_work(stage: &mut Stage<'_>) -> Result<()> {
    stage.repo.write("src/sum.js", "exports.sum = (a, b) => a + b;\n");
    stage.repo.write("sum.test.js", failing_test(0));
    stage.repo.commit_all("a test");
    users_work(stage);
    stage.configure("[rollback]\nafter_failures = 1\n")?;
    fs_err::write(stage.state.current_story(), "US-001\n")?;
    let repo = Repo::open(stage.root())?;
    Checkpoint::create(&repo, &stage.state, "before the attempt")?;
    let before = fingerprint(stage);
    let script = Script::of([
        Answer::read(stage.path("src/sum.js")),
        Answer::edit(stage.path("src/sum.js"), "a + b", "a - b"),
        Answer::write(stage.path("src/attempt.js"), "broken\n"),
        Answer::bash(
            "echo agent >> a.txt && echo agent >> notes.txt && git add -A && rm sum.js; true",
        ),
        Answer::bash("node --test"),
        Answer::text("I will try another way."),
    ]);
    let run = stage.run_with("make it add up", script, &[("RALPH_RUN", "run-1")])?;
    run.succeeded()?;
    let told = run.told(5)?;
    expect::contains(&told, "refs/ralph/discarded/")?;
    expect::contains(&told, "adds up")?;
    expect::same("the tree, the index, the stash and the branch", &fingerprint(stage), &before)?;
    let rolled_back = stage.journal("rolled_back");
    let saved = rolled_back.first().and_then(|line| line.get("saved_as")?.as_str());
    expect::that(saved.is_some(), "the journal tells where the attempt is kept")?;
    let saved = saved.context("checked above")?;
    let kept = stage.repo.git(["show", &format!("{saved}:src/attempt.js")]);
    expect::same("the attempt under its ref", &kept, &"broken\n".to_owned())
}

/// One of each: stashed, staged, changed, changed after staging, new, ignored.
fn users_work(stage: &Stage<'_>) {
    stage.repo.write("a.txt", "put aside\n");
    stage.repo.git(["stash"]);
    stage.repo.write("staged.txt", "staged\n");
    stage.repo.write("both.txt", "staged\n");
    stage.repo.git(["add", "staged.txt", "both.txt"]);
    stage.repo.write("both.txt", "and changed\r\n");
    stage.repo.write("a.txt", "the user's own\n");
    stage.repo.write("notes.txt", [0xff, 0x00, b'\n']);
    stage.repo.write("trace.log", "ignored\n");
}

/// Without our own state and the client's settings, which a rollback leaves alone.
fn fingerprint(stage: &Stage<'_>) -> Fingerprint {
    let mut fingerprint = stage.repo.fingerprint();
    let ours = |name: &str| name.starts_with(".ralph") || name.starts_with(".claude");
    fingerprint.files.retain(|path, _| !ours(&path.to_string_lossy()));
    let entries = fingerprint.status.split('\0').filter(|entry| !entry.contains(" .ralph"));
    fingerprint.status = entries.collect::<Vec<_>>().join("\0");
    fingerprint
}
