//! Everybody at once: hooks, loops, a person, a garbage collection, a lock of somebody else's.

use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use camino::Utf8Path;

use super::dice::Dice;
use super::hooks_at_once;
use super::oracle;
use super::stage::{PLANS, Ran, Stage};
use super::tally::Tally;

/// What a person does beside the loop, again and again, until told to stop: a commit of one file.
const PERSON: &str = "n=0; while [ ! -e \"$AGENT_NOTES/enough\" ]; do n=$((n + 1)); \
    echo \"$n\" >>by-hand.txt; \
    git commit -q --only -m \"by hand $n\" -- by-hand.txt 2>/dev/null \
        && git rev-parse HEAD >>\"$AGENT_NOTES/by-hand\"; \
    sleep 0.0$((n % 7)); done";

/// Another person tidies up.
const COLLECTOR: &str = "while [ ! -e \"$AGENT_NOTES/enough\" ]; do \
    git gc --quiet 2>/dev/null; git pack-refs --all; sleep 0.1; done";

/// All kinds in turn, the bounds permitting.
pub(super) fn run(binaries: &Utf8Path, dice: &mut Dice, tally: &mut Tally) -> Result<()> {
    let mut round = 0;
    while tally.goes_on() {
        let stage = Stage::new(binaries, dice.pick(&PLANS).copied().unwrap_or(PLANS[0]));
        let (name, found) = match round % 6 {
            0 => ("64 hooks in one session", hooks_at_once::run(&stage, 1)),
            1 => ("three loops", several_loops(&stage)),
            2 => ("a person commits", beside(&stage, PERSON)),
            3 => ("garbage is collected", beside(&stage, COLLECTOR)),
            4 => ("64 hooks in 16 sessions", hooks_at_once::run(&stage, 16)),
            _ => ("a lock of somebody else's", held_lock(&stage, round % 12 == 11)),
        };
        tally.round(name, 1, found);
        round += 1;
    }
    Ok(())
}

/// One of them works, the others say who does.
fn several_loops(stage: &Stage) -> Result<Vec<String>> {
    let begun = Instant::now();
    let outs = ["out-1", "out-2"].map(|name| stage.repo.scratch().path(name));
    let first = stage.start(None)?;
    let mut others = Vec::new();
    for out in &outs {
        let mut command = stage.looped(&[])?;
        let out = fs_err::File::create(out)?.into_parts().0;
        command.stderr(out.try_clone()?).stdout(out);
        others.push(command.spawn()?);
    }
    let mut ends = vec![stage.wait(first, begun)?];
    for (child, out) in others.into_iter().zip(&outs) {
        let ran = stage.wait(child, begun)?;
        ends.push(Ran { said: fs_err::read_to_string(out)?, ..ran });
    }
    let refused = ends.iter().filter(|ran| ran.code == Some(5));
    let unclear = refused.clone().filter(|ran| !ran.said.contains("process"));
    let mut found: Vec<String> = unclear.map(|ran| format!("it said {}", ran.said)).collect();
    // Whoever comes after the first has ended finds nothing to do, and ends well.
    if ends.iter().any(|ran| !matches!(ran.code, Some(0 | 5))) || refused.count() == ends.len() {
        found.push(format!("the loops ended with {ends:?}"));
    }
    let winner = ends.into_iter().find(|ran| ran.code == Some(0));
    found.extend(oracle::after_the_end(stage, &winner.context("no loop worked")?));
    Ok(found)
}

/// The loop, while a shell does something else in the same repository.
fn beside(stage: &Stage, script: &str) -> Result<Vec<String>> {
    stage.repo.write("by-hand.txt", "");
    stage.repo.git(["add", "by-hand.txt"]);
    stage.repo.git(["commit", "-q", "-m", "begun by hand", "--", "by-hand.txt"]);
    let mut other = shell(stage, script)?;
    let ran = stage.run(None)?;
    stage.leave_note("enough");
    other.wait()?;
    let mut found = oracle::after_the_end(stage, &ran);
    // The person's file may go into any commit, and the last of it may be uncommitted.
    found.retain(|violation| !violation.starts_with("by-hand.txt"));
    if found.len() == 1 {
        found.retain(|violation| !violation.starts_with("the loop said"));
    }
    let commits = stage.note("by-hand");
    for commit in commits.lines() {
        let kept = stage.repo.git(["for-each-ref", "--contains", commit]);
        if kept.is_empty() {
            found.push(format!("the commit {commit} that was made by hand is lost"));
        }
    }
    Ok(found)
}

fn shell(stage: &Stage, script: &str) -> Result<Child> {
    let mut command = stage.program("sh");
    command.args(["-c", script]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    Ok(command.spawn()?)
}

/// Somebody holds the index for a while, or for ever.
fn held_lock(stage: &Stage, for_ever: bool) -> Result<Vec<String>> {
    let lock = stage.path(".git/index.lock");
    // Open for as long as it is held: one that nobody has open is taken for dead.
    let held = fs_err::File::create(&lock)?;
    let begun = Instant::now();
    let child = stage.start(None)?;
    if !for_ever {
        std::thread::sleep(Duration::from_millis(1500));
        fs_err::remove_file(&lock)?;
        let ran = stage.wait(child, begun)?;
        return Ok(oracle::after_the_end(stage, &ran));
    }
    let ran = stage.wait(child, begun)?;
    drop(held);
    let mut found = oracle::after_a_kill(stage);
    if ran.code != Some(1) || !ran.said.contains("index.lock") {
        found.push(format!("it ended with {:?} and said {}", ran.code, ran.said));
    }
    fs_err::remove_file(&lock)?;

    let ran = stage.run(None)?;
    found.extend(oracle::after_the_end(stage, &ran));
    Ok(found)
}
