//! The kill sweep: the loop is killed at every point and at random instants, alone, with its agent
//! or with everything; the next start may be killed as well; the one after it is left alone.

use std::time::{Duration, Instant};

use anyhow::Result;
use camino::Utf8Path;

use super::dice::Dice;
use super::oracle;
use super::stage::{PLANS, Stage};
use super::tally::Tally;

/// Who is killed at an instant.
#[derive(Debug, Clone, Copy)]
enum Victim {
    Loop,
    Agent,
    Both,
    Everything,
}

const VICTIMS: [Victim; 4] = [Victim::Loop, Victim::Agent, Victim::Both, Victim::Everything];

/// One fault after the other, the bounds permitting: every point as often as it is reached, then
/// random instants and pairs of points.
pub(super) fn run(binaries: &Utf8Path, dice: &mut Dice, tally: &mut Tally) -> Result<()> {
    let mut points = points();
    dice.shuffle(&mut points);
    let usual = measure(binaries)?;
    let mut times = 1;
    while !points.is_empty() && tally.goes_on() {
        let mut reached = Vec::new();
        for point in points {
            if !tally.goes_on() {
                break;
            }
            let killed = at_a_point(binaries, dice, tally, (point, times));
            if killed {
                reached.push(point);
            }
            if tally.goes_on() {
                at_an_instant(binaries, dice, tally, usual);
            }
        }
        points = reached;
        times += 1;
    }
    while tally.goes_on() {
        at_an_instant(binaries, dice, tally, usual);
        if tally.goes_on() {
            twice(binaries, dice, tally);
        }
    }
    Ok(())
}

/// How long a run takes that nobody disturbs; it must be right to begin with.
fn measure(binaries: &Utf8Path) -> Result<Duration> {
    let stage = Stage::with_submodule(binaries, PLANS[0]);
    let ran = stage.run(None)?;
    let found = oracle::after_the_end(&stage, &ran);
    anyhow::ensure!(found.is_empty(), "without any fault: {}", found.join("\n"));
    Ok(ran.took)
}

/// Kills at one point; tells whether the run ever came to it.
fn at_a_point(
    binaries: &Utf8Path,
    dice: &mut Dice,
    tally: &mut Tally,
    (point, times): (&str, u32),
) -> bool {
    let stage = Stage::with_submodule(binaries, dice.pick(&PLANS).copied().unwrap_or(PLANS[0]));
    let fault = format!("{point}:{times}");
    let mut killed = false;
    let found = (|| {
        let ran = stage.run(Some(&fault))?;
        let mut found = oracle::after_a_kill(&stage);
        killed = ran.killed || was_hook_killed(&stage);
        if !killed && times == 1 {
            found.push(format!("the run never came to {point}:\n{}", ran.said));
        }
        found.extend(finish(&stage)?);
        Ok(found)
    })();
    tally.round(&fault, u64::from(killed), found);
    killed
}

/// A hook that is killed does not take the loop with it.
fn was_hook_killed(stage: &Stage) -> bool {
    stage.note("hook-ended").contains("137")
}

/// Kills at a random instant.
fn at_an_instant(binaries: &Utf8Path, dice: &mut Dice, tally: &mut Tally, usual: Duration) {
    let stage = Stage::with_submodule(binaries, dice.pick(&PLANS).copied().unwrap_or(PLANS[0]));
    let victim = dice.pick(&VICTIMS).copied().unwrap_or(Victim::Loop);
    let instant = usual.mul_f64(dice.below(1000) as f64 / 1000.0);
    let name = format!("{victim:?} after {} ms", instant.as_millis());
    let found = (|| {
        let begun = Instant::now();
        let mut child = stage.start(None)?;
        std::thread::sleep(instant);
        match victim {
            Victim::Loop => child.kill()?,
            Victim::Agent => stage.kill_agent(),
            Victim::Both => {
                child.kill()?;
                stage.kill_agent();
            }
            Victim::Everything => stage.kill_everything(),
        }
        if let Victim::Agent = victim {
            let ran = stage.wait(child, begun)?;
            return Ok(oracle::after_the_end(&stage, &ran));
        }
        child.wait()?;
        let mut found = oracle::after_a_kill(&stage);
        found.extend(finish(&stage)?);
        Ok(found)
    })();
    tally.round(&name, 1, found);
}

/// Kills a run, and the start after it.
fn twice(binaries: &Utf8Path, dice: &mut Dice, tally: &mut Tally) {
    let stage = Stage::with_submodule(binaries, dice.pick(&PLANS).copied().unwrap_or(PLANS[0]));
    let mut fault = || {
        let points = points();
        let point = dice.pick(&points).copied().unwrap_or("lock.taken");
        format!("{point}:{}", 1 + dice.below(4))
    };
    let (first, second) = (fault(), fault());
    let mut faults = 0;
    let found = (|| {
        let mut found = Vec::new();
        for fault in [&first, &second] {
            faults += u64::from(stage.run(Some(fault))?.killed);
            found.extend(oracle::after_a_kill(&stage));
        }
        found.extend(finish(&stage)?);
        Ok(found)
    })();
    tally.round(&format!("{first}, then {second}"), faults, found);
}

/// The points that a run without workers comes to.
fn points() -> Vec<&'static str> {
    super::points().into_iter().filter(|point| !point.starts_with("workers.")).collect()
}

/// The start that is left alone.
fn finish(stage: &Stage) -> Result<Vec<String>> {
    let ran = stage.run(None)?;
    Ok(oracle::after_the_end(stage, &ran))
}
