//! What must not happen does not happen, and the agent is told what to do instead.

use anyhow::Result;
use scripted_model::{Answer, Script};

use crate::e2e::expect;
use crate::e2e::scenario::Scenario;
use crate::e2e::stage::Stage;

const GUARD: &[&str] = &["ralph-pre-tool"];
const UNREAD: &str = "rule read-before-edit";
/// Older clients do not even ask the hook.
const OWN_RULE: &str = "the client itself refuses to edit what its Read tool has not read";

pub(super) const SCENARIOS: &[Scenario] = &[
    Scenario::new("denied-push", GUARD, denied_push),
    Scenario::new("edit-without-read-then-with", GUARD, edit_unread).needing((2, 1, 208), OWN_RULE),
    Scenario::new("edit-without-read-as-the-first-call", GUARD, edit_first)
        .needing((2, 1, 208), OWN_RULE),
    Scenario::new("several-calls-at-once", &["ralph-pre-tool", "ralph-post-tool"], at_once),
];

fn denied_push(stage: &mut Stage<'_>) -> Result<()> {
    let remote = stage.repo.scratch().dir("remote.git");
    stage.repo.git_in(remote.as_std_path(), ["init", "-q", "--bare"]);
    stage.repo.git(["remote", "add", "origin", remote.as_str()]);
    let script = Script::of([
        Answer::bash("git commit -q --allow-empty -m 'ready to git push' && git push origin main"),
        Answer::bash("git log --oneline > history.txt"),
        Answer::text("I leave the push to you."),
    ]);
    let run = stage.run("publish it", script)?;
    run.succeeded()?;
    expect::contains(&run.told(1)?, "rule git-push")?;
    expect::contains(&run.told(1)?, "request-merge")?;
    let pushed = stage.repo.git_in(remote.as_std_path(), ["for-each-ref"]);
    expect::same("refs of the remote", &pushed, &String::new())?;
    expect::lacks(&stage.read("history.txt"), "ready to git push")?;
    expect::contains(&stage.read("history.txt"), "the hooks")?;
    let denied = stage.journal("denied");
    let rule = denied.first().and_then(|line| line.get("rule")?.as_str()).unwrap_or_default();
    expect::same("the rule in the journal", &rule, &"git-push")
}

fn edit_unread(stage: &mut Stage<'_>) -> Result<()> {
    let file = stage.path("src/lib.rs");
    let edit = || Answer::edit(&file, "42", "43");
    let script = Script::of([
        Answer::bash("cat a.txt"),
        edit(),
        Answer::read(&file),
        edit(),
        Answer::edit(stage.path("a.txt"), "a", "b"),
        Answer::write(stage.path("new.txt"), "new\n"),
        Answer::text("Done."),
    ]);
    let run = stage.run("change the answer", script)?;
    run.succeeded()?;
    expect::contains(&run.told(2)?, UNREAD)?;
    expect::contains(&run.told(3)?, "42")?;
    expect::lacks(&run.told(4)?, UNREAD)?;
    expect::contains(&stage.read("src/lib.rs"), "43")?;
    expect::same("a file read with cat", &stage.read("a.txt"), &"b\n".to_owned())?;
    expect::same("a new file", &stage.read("new.txt"), &"new\n".to_owned())
}

/// The transcript already holds the call that the hook is asked about.
fn edit_first(stage: &mut Stage<'_>) -> Result<()> {
    let edit = || Answer::edit(stage.path("src/lib.rs"), "42", "43");
    let script = Script::of([edit(), edit(), Answer::text("I should read it first.")]);
    let run = stage.run("change the answer", script)?;
    run.succeeded()?;
    expect::contains(&run.told(1)?, UNREAD)?;
    expect::contains(&run.told(2)?, UNREAD)?;
    expect::contains(&stage.read("src/lib.rs"), "42")
}

/// The client runs the calls of one turn at the same time, and so their hooks.
fn at_once(stage: &mut Stage<'_>) -> Result<()> {
    let names: Vec<String> = (0..6).map(|number| format!("part-{number}.txt")).collect();
    for name in &names {
        stage.repo.write(name, "old\n");
    }
    let together = |answer: fn(String) -> Answer| {
        let paths = names.iter().map(|name| stage.path(name));
        paths.map(answer).reduce(Answer::and).unwrap_or_else(|| Answer::text(""))
    };
    let reads = together(Answer::read);
    let edits = together(|path| Answer::edit(path, "old", "new"));
    let push = Answer::bash("git push").and(Answer::bash("touch allowed"));
    // The record goes when the session ends, so the agent looks at it.
    let look = Answer::bash("cat .ralph/state/*/session.log");
    let script = Script::of([reads, look, edits, push, Answer::text("Done.")]);
    let run = stage.run("change all", script)?;
    run.succeeded()?;
    for name in &names {
        expect::same(name, &stage.read(name), &"new\n".to_owned())?;
    }
    expect::contains(&run.told(4)?, "rule git-push")?;
    expect::that(stage.root().join("allowed").exists(), "the allowed command ran")?;
    for name in &names {
        expect::contains(&run.told(2)?, &format!("Read: {}", stage.path(name)))?;
    }
    Ok(())
}
