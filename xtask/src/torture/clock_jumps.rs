//! Clocks that jump by seconds, hours and years, forward and back: in the middle of everything,
//! during the wait for a usage limit's reset, and between a run that was killed and the next one.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use camino::Utf8Path;
use serde_json::Value;

use super::clock;
use super::dice::Dice;
use super::oracle;
use super::stage::{PLANS, Ran, Stage};
use super::tally::Tally;

/// From the true time; the longest are a machine without a battery, and a wrong century.
const OFFSETS: [&str; 11] =
    ["+0", "+1", "-1", "+90", "-90", "+5h", "-5h", "+2y", "-2y", "+50y", "-50y"];

/// How long a whole run may take, whatever its clock says; it takes seconds.
const SLACK: Duration = Duration::from_secs(60);

/// Where a run is killed before the clock is set: from its beginning to its end.
const MOMENTS: [&str; 5] =
    ["workspace.cloned", "attempt.begun:2", "land.committed:3", "restore.saved", "land.advanced:4"];

/// All kinds in turn, the bounds permitting.
pub(super) fn run(binaries: &Utf8Path, dice: &mut Dice, tally: &mut Tally) -> Result<()> {
    let Some(library) = clock::library() else {
        tally.skip("libfaketime is not installed (apt install faketime)");
        return Ok(());
    };
    if !clock::is_dynamic(&binaries.join("ralph-loop")) {
        tally.skip("the programs are linked statically, so their clock cannot be set");
        return Ok(());
    }
    let plain = Stage::new(binaries, PLANS[0]).with_clock(&library);
    set(&plain, "+50y");
    let ran = plain.run(None)?;
    let journal = plain.read(".ralph/events.jsonl");
    let years = journal.matches("\"at\":\"207").count();
    ensure!(years > 0, "the loop does not look at our clock:\n{}{journal}", ran.said);
    let mut round = 0;
    while tally.goes_on() {
        let plan = dice.pick(&PLANS).copied().unwrap_or(PLANS[0]);
        let stage = Stage::new(binaries, plan).with_clock(&library);
        let (first, second) = (offset(dice), offset(dice));
        match round % 3 {
            0 => {
                let mut faults = 0;
                let found = jumping(&stage, dice, &mut faults);
                tally.round("the clock jumps all the time", faults, found);
            }
            1 => {
                let stage = stage.with_agent("waits-for-reset");
                let name = format!("from {first} to {second} while waiting for a reset");
                tally.round(&name, 1, while_waiting(&stage, first, second));
            }
            _ => {
                let moment = dice.pick(&MOMENTS).copied().unwrap_or_default();
                let name = format!("from {first} to {second} after {moment}");
                tally.round(&name, 1, between_runs(&stage, first, second, moment));
            }
        }
        round += 1;
    }
    Ok(())
}

fn offset(dice: &mut Dice) -> &'static str {
    dice.pick(&OFFSETS).copied().unwrap_or("+0")
}

fn set(stage: &Stage, offset: &str) {
    if let Some(clock) = stage.clock() {
        clock.set(offset);
    }
}

/// Again and again, at instants that nobody chose, until the run has ended.
fn jumping(stage: &Stage, dice: &mut Dice, faults: &mut u64) -> Result<Vec<String>> {
    let has_ended = AtomicBool::new(false);
    let ran = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !has_ended.load(Ordering::Relaxed) {
                set(stage, offset(dice));
                *faults += 1;
                let pause = u64::try_from(dice.below(200)).unwrap_or_default();
                std::thread::sleep(Duration::from_millis(pause));
            }
        });
        let ran = stage.run(None);
        has_ended.store(true, Ordering::Relaxed);
        ran
    })?;
    Ok(judged(stage, &ran))
}

/// Once, while nothing else happens. The limit lasts two seconds by the clock as it was.
fn while_waiting(stage: &Stage, before: &str, after: &str) -> Result<Vec<String>> {
    set(stage, before);
    let begun = Instant::now();
    let child = stage.start(None)?;
    while !stage.said().contains("waiting for") && begun.elapsed() < SLACK {
        std::thread::sleep(Duration::from_millis(20));
    }
    set(stage, after);
    let ran = stage.wait(child, begun)?;
    let mut found = judged(stage, &ran);
    if !ran.said.contains("waiting for") {
        found.push(format!("the limit was not waited for:\n{}", ran.said));
    }
    Ok(found)
}

/// What is on disk then is from the future, or from long ago.
fn between_runs(stage: &Stage, before: &str, after: &str, moment: &str) -> Result<Vec<String>> {
    set(stage, before);
    stage.run(Some(moment))?;
    let mut found = oracle::after_a_kill(stage);
    set(stage, after);
    let ran = stage.run(None)?;
    found.extend(judged(stage, &ran));
    Ok(found)
}

/// What must be true after every run, in time, and with durations that somebody can have measured.
fn judged(stage: &Stage, ran: &Ran) -> Vec<String> {
    let mut found = oracle::after_the_end(stage, ran);
    if ran.took > SLACK {
        found.push(format!("it took {:?}", ran.took));
    }
    if ran.said.contains("panicked at") {
        found.push(ran.said.clone());
    }
    let journal = stage.read(".ralph/events.jsonl");
    let events = journal.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let durations = events.filter_map(|event| event.get("duration_s").and_then(Value::as_f64));
    let absurd = durations.filter(|seconds| !(0.0..SLACK.as_secs_f64()).contains(seconds));
    found.extend(absurd.map(|seconds| format!("an iteration took {seconds} s, says the journal")));
    let receipts = ran.said.lines().filter(|line| line.contains(" agent time"));
    let hours = |line: &&str| line.contains(" h ");
    found.extend(receipts.filter(hours).map(|line| format!("absurd: {line}")));
    found
}
