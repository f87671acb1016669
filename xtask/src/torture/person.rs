//! A person works in the project while the loop does: edits, stages, stashes, commits, switches
//! branches and edits the plan. Not one byte of theirs may change, and each story lands once.
//!
//! Every second round the loop is killed as well, at points and at random instants, and started
//! again.

mod life;
mod verdict;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::Result;
use camino::Utf8Path;
use test_support::TestRepo;

use self::life::Person;
use super::dice::Dice;
use super::stage::{PATIENT, Ran, Stage};
use super::tally::Tally;

/// The stories of the plan; the agent fails at two of them first, and calls one blocked.
const STORIES: [&str; 6] = ["US-001", "US-002", "US-003", "US-004", "US-005", "US-006"];
const BLOCKED: &str = "US-005";

/// Where the plan is: git has it.
const PLAN: &str = ".ralph/PRD-1/plan.md";

/// Passes unless something is broken, and leaves a sum of what it has seen.
const CHECK: &str = "cat made/* mine/* shared.txt 2>/dev/null | cksum >>\"$AGENT_NOTES/checked\"\n\
    ! grep -qs broken made/*\n";

/// How a run ends in which a story is blocked.
const BLOCKED_CODE: i32 = 8;

/// A person does at least so much while a run goes on, however slow the machine is.
const ACTS: u32 = 12;

/// A round that is killed is killed so often at most.
const MOST_KILLS: usize = 3;

/// Rounds with kills and without, the bounds permitting.
pub(super) fn run(binaries: &Utf8Path, dice: &mut Dice, tally: &mut Tally) -> Result<()> {
    let usual = usual(binaries)?;
    rounds(binaries, dice, tally, usual, true)
}

/// The same without a kill.
pub(super) fn run_undisturbed(
    binaries: &Utf8Path,
    dice: &mut Dice,
    tally: &mut Tally,
) -> Result<()> {
    let usual = usual(binaries)?;
    rounds(binaries, dice, tally, usual, false)
}

fn rounds(
    binaries: &Utf8Path,
    dice: &mut Dice,
    tally: &mut Tally,
    usual: Duration,
    with_kills: bool,
) -> Result<()> {
    while tally.goes_on() {
        // Each round can be repeated alone: its seed is its name.
        let seed = dice.roll();
        let found = round(binaries, seed, usual, with_kills);
        let kills = found.as_ref().map_or(0, |(kills, _)| *kills);
        tally.round(&format!("round of seed {seed}"), kills, found.map(|(_, found)| found));
    }
    Ok(())
}

/// How long a run takes that nobody disturbs.
fn usual(binaries: &Utf8Path) -> Result<Duration> {
    Ok(project(binaries).run(None)?.took)
}

fn project(binaries: &Utf8Path) -> Stage {
    let repo = TestRepo::new();
    repo.write(".ralph/config.toml", PATIENT);
    repo.write(
        ".ralph/.gitignore",
        "*\n!/.gitignore\n!/config.toml\n!/PRD-*/\n!/PRD-*/*.md\n!/guardrails.md\n",
    );
    repo.write("check.sh", CHECK);
    repo.write("shared.txt", "");
    repo.write(PLAN, plan_text(" ", " "));
    for name in life::NAMES.iter().take(3) {
        repo.write(name, format!("{name}, as it was at first\n"));
    }
    repo.commit_all("a project");
    repo.git(["branch", life::SIDE]);
    Stage::around(repo, binaries, PLAN).with_agent("quick")
}

/// The plan with this mark in the boxes of all stories, and that in the box of the blocked one.
/// Sections are far apart, so that a person's edits never touch the loop's lines.
fn plan_text(mark: &str, blocked: &str) -> String {
    let story = |id: &&str| {
        let mark = if **id == *BLOCKED { blocked } else { mark };
        format!(
            "### {id}: Make the part of {id}\n\n- [{mark}] Make it\n\nIt is a part.\n\nMore.\n\n"
        )
    };
    let stories: String = STORIES.iter().map(story).collect();
    format!("# Plan\n\n{stories}\n\n## Notes\n\n")
}

fn round(
    binaries: &Utf8Path,
    seed: u64,
    usual: Duration,
    with_kills: bool,
) -> Result<(u64, Vec<String>)> {
    let stage = project(binaries);
    let mut dice = Dice::new(seed);
    let mut person = Person::new(&stage, Dice::new(dice.roll()), usual / ACTS);
    let is_over = AtomicBool::new(false);
    let mut kills = 0;
    let ran = std::thread::scope(|scope| {
        let begun = Instant::now();
        let first = stage.start(None)?;
        // The branch that is checked out at the start is the target.
        while !stage.said().contains("iteration 1:") && begun.elapsed() < Duration::from_secs(20) {
            std::thread::sleep(Duration::from_millis(5));
        }
        let living = scope.spawn(|| person.live(&is_over));
        let ran = (|| -> Result<Ran> {
            if !with_kills {
                return stage.wait(first, begun);
            }
            let mut running = Some(first);
            let mut last = None;
            for _ in 0..1 + dice.below(MOST_KILLS) {
                let ran = killed(&stage, &mut dice, usual, running.take())?;
                kills += u64::from(ran.killed);
                last = Some(ran);
            }
            match last {
                // It was faster than we were.
                Some(ran) if !ran.killed && ran.code == Some(BLOCKED_CODE) => Ok(ran),
                _ => stage.run(None),
            }
        })();
        is_over.store(true, Ordering::Relaxed);
        // A person who panics is told of by the violation.
        let _ = living.join();
        ran
    })?;
    person.finish();
    Ok((kills, verdict::of(&stage, &person, &ran)))
}

/// Kills a run at an instant, or starts one that is killed at a point. In one of four rounds all
/// that it started is killed too, as when a machine goes down.
fn killed(
    stage: &Stage,
    dice: &mut Dice,
    usual: Duration,
    running: Option<std::process::Child>,
) -> Result<Ran> {
    let begun = Instant::now();
    if running.is_none() && dice.below(2) == 0 {
        let points = super::points();
        let point = dice.pick(&points).copied().unwrap_or("lock.taken");
        return stage.run(Some(&format!("{point}:{}", 1 + dice.below(6))));
    }
    let mut child = match running {
        Some(child) => child,
        None => stage.start(None)?,
    };
    std::thread::sleep(usual.mul_f64(dice.below(1000) as f64 / 1000.0));
    match dice.below(4) {
        0 => stage.kill_everything(),
        _ => child.kill()?,
    }
    stage.wait(child, begun)
}
