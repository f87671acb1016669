//! Whatever way a file was seen in, it may be edited.

use anyhow::Result;
use scripted_model::{Answer, Script};

use crate::e2e::expect;
use crate::e2e::scenario::Scenario;
use crate::e2e::session::Run;
use crate::e2e::stage::Stage;

const GUARD: &[&str] = &["ralph-pre-tool"];
const UNREAD: &str = "rule read-before-edit";
const OWN_RULE: &str = "the client itself refuses to edit what its Read tool has not read";

pub(super) const SCENARIOS: &[Scenario] = &[
    Scenario::new("edit-of-what-was-seen-without-a-read", GUARD, seen)
        .needing((2, 1, 325), OWN_RULE),
    Scenario::new("edit-of-what-was-read-before-a-resume", GUARD, resumed)
        .needing((2, 1, 208), OWN_RULE),
];

/// Files with this text, of which `unread.txt` is never seen.
fn files(stage: &Stage<'_>) {
    for name in ["read.txt", "listed.txt", "moved.txt", "mentioned.txt", "unread.txt"] {
        stage.repo.write(name, "old\n");
    }
    stage.repo.commit_all("files");
}

fn edit(stage: &Stage<'_>, name: &str) -> Answer {
    Answer::edit(stage.path(name), "old", "new")
}

/// The last edit was refused, and it alone.
fn only_the_last_was_refused(run: &Run) -> Result<()> {
    run.succeeded()?;
    let told: Vec<String> = run.requests.iter().map(|request| request.told()).collect();
    let (last, before) =
        told.split_last().map_or((String::new(), &[][..]), |(l, b)| (l.clone(), b));
    expect::contains(&last, UNREAD)?;
    before.iter().try_for_each(|told| expect::lacks(told, UNREAD))
}

fn seen(stage: &mut Stage<'_>) -> Result<()> {
    files(stage);
    let script = Script::of([
        Answer::read(stage.path("read.txt")),
        edit(stage, "mentioned.txt"),
        Answer::bash("cat $(ls listed.txt)"),
        edit(stage, "listed.txt"),
        Answer::bash("touch touched.txt"),
        Answer::write(stage.path("touched.txt"), "new\n"),
        Answer::bash("cat moved.txt; git mv read.txt named.txt && mkdir sub && mv moved.txt sub"),
        edit(stage, "named.txt"),
        edit(stage, "sub/moved.txt"),
        edit(stage, "unread.txt"),
        Answer::text("Done."),
    ]);
    let run = stage.run("look at @mentioned.txt and make all of them new", script)?;
    only_the_last_was_refused(&run)?;
    for name in ["mentioned.txt", "listed.txt", "touched.txt", "named.txt", "sub/moved.txt"] {
        expect::same(name, &stage.read(name), &"new\n".to_owned())?;
    }
    expect::same("unread.txt", &stage.read("unread.txt"), &"old\n".to_owned())
}

fn resumed(stage: &mut Stage<'_>) -> Result<()> {
    files(stage);
    let look = Answer::read(stage.path("read.txt")).and(Answer::bash("cat listed.txt"));
    stage.run("look", Script::of([look, Answer::text("Seen.")]))?.succeeded()?;
    for (name, args) in [("read.txt", &[][..]), ("listed.txt", &["--fork-session"])] {
        let script = Script::of([
            Answer::bash("cat moved.txt"),
            edit(stage, name),
            edit(stage, "unread.txt"),
            Answer::text("Done."),
        ]);
        let run = stage.resume("go on", script, args)?;
        only_the_last_was_refused(&run)?;
        expect::same(name, &stage.read(name), &"new\n".to_owned())?;
    }
    Ok(())
}
