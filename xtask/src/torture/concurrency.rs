//! Everything at once: hooks, loops, a garbage collection, a lock of another process.

use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use camino::Utf8Path;

use super::dice::Dice;
use super::hooks_at_once;
use super::oracle;
use super::stage::{PLANS, Ran, STORIES, Stage};
use super::tally::Tally;

/// Another person tidies up.
const COLLECTOR: &str = "while [ ! -e \"$AGENT_NOTES/enough\" ]; do \
    git gc --quiet 2>/dev/null; git pack-refs --all; sleep 0.1; done";

/// All kinds in turn, the bounds permitting.
pub(super) fn run(binaries: &Utf8Path, dice: &mut Dice, tally: &mut Tally) -> Result<()> {
    let mut round = 0;
    while tally.goes_on() {
        let stage = Stage::new(binaries, dice.pick(&PLANS).copied().unwrap_or(PLANS[0]));
        let (name, found) = match round % 5 {
            0 => ("64 hooks in one session", hooks_at_once::run(&stage, 1)),
            1 => ("three loops", several_loops(&stage)),
            2 => ("garbage is collected", beside(&stage, COLLECTOR)),
            3 => ("64 hooks in 16 sessions", hooks_at_once::run(&stage, 16)),
            _ => ("a lock of another process", held_lock(&stage, round % 10 == 9)),
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
    let mut other = shell(stage, script)?;
    let ran = stage.run(None)?;
    stage.leave_note("enough");
    other.wait()?;
    Ok(oracle::after_the_end(stage, &ran))
}

fn shell(stage: &Stage, script: &str) -> Result<Child> {
    let mut command = stage.program("sh");
    command.args(["-c", script]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    Ok(command.spawn()?)
}

/// Another process holds the index for a while, or until the run has ended: then the work waits.
fn held_lock(stage: &Stage, for_ever: bool) -> Result<Vec<String>> {
    let lock = stage.path(".git/index.lock");
    fs_err::write(&lock, "")?;
    let begun = Instant::now();
    let child = stage.start(None)?;
    if !for_ever {
        std::thread::sleep(Duration::from_millis(1500));
        fs_err::remove_file(&lock)?;
        let ran = stage.wait(child, begun)?;
        return Ok(oracle::after_the_end(stage, &ran));
    }
    let ran = stage.wait(child, begun)?;
    let mut found = oracle::after_a_kill(stage);
    if ran.code != Some(0) || !ran.said.contains("index.lock") || !lock.exists() {
        found.push(format!("it ended with {:?} and said {}", ran.code, ran.said));
    }
    fs_err::remove_file(&lock)?;
    let waiting = stage.repo.git(["log", "--format=%s", "ralph/main"]);
    if waiting.lines().filter(|subject| subject.starts_with("feat(")).count() != STORIES.len() {
        found.push(format!("what waits is\n{waiting}"));
    }
    Ok(found)
}
