//! Kills: the loop is killed at every point and at random instants, alone, with its agent or with
//! everything; the next start may be killed as well; the one after that is undisturbed.
//!
//! With several workers, half of the stories change one file. Two such changes can be merged and be
//! wrong together: only a check of each commit detects that.

use std::time::{Duration, Instant};

use anyhow::Result;
use camino::Utf8Path;
use test_support::signal;

use super::campaign::{Round, points};
use super::dice::Dice;
use super::oracle;
use super::stage::{PLANS, Project, Ran, Stage};

/// How long the processes of a killed loop may take to end by themselves.
const ENDING: Duration = Duration::from_secs(20);

/// What is killed or asked to end at an instant.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Victim {
    #[default]
    Loop,
    Agent,
    Both,
    Everything,
    Interrupt,
    Terminate,
}

const VICTIMS: [Victim; 6] = [
    Victim::Loop,
    Victim::Agent,
    Victim::Both,
    Victim::Everything,
    Victim::Interrupt,
    Victim::Terminate,
];

/// Checks that each file is complete, a story's dependencies exist, and the count is right.
const COUNTED: &str = "\
for file in made/*.txt counted/*.txt; do
    [ -e \"$file\" ] || continue
    [ \"$(cat \"$file\")\" = \"all of $(basename \"$file\" .txt)\" ] || exit 1
done
[ ! -e made/US-005.txt ] || [ -e made/US-001.txt ] || exit 1
[ ! -e counted/US-006.txt ] || [ -e counted/US-002.txt ] || exit 1
[ \"$(cat count.txt)\" -eq \"$(ls counted 2>/dev/null | wc -l)\" ]
";

/// Eight stories, two of which depend on another one.
const EIGHT: Project = Project {
    agent: "counts",
    config: "",
    check: COUNTED,
    depends: &[("US-005", "US-001"), ("US-006", "US-002")],
    stories: 8,
};

/// Creates a project with a submodule, in which the agent works as well.
pub(super) fn one_worker(binaries: &Utf8Path, dice: &mut Dice) -> Stage {
    Stage::with_submodule(binaries, dice.pick(&PLANS))
}

pub(super) fn several_workers(binaries: &Utf8Path, dice: &mut Dice) -> Stage {
    let mut stage = Stage::new(&EIGHT, binaries, PLANS[0]);
    stage.workers = 2 + dice.below(3);
    stage
}

/// Kills at the next point in every second round, else at random instants and pairs of points.
pub(super) fn play(stage: &Stage, round: &mut Round) -> Result<()> {
    if round.number.is_multiple_of(2) {
        at_the_next_point(stage, round)?;
    } else if round.dice.below(3) > 0 {
        at_an_instant(stage, round)?;
    } else {
        for _ in 0..2 {
            let fault = round.any_point();
            start_with(stage, round, &fault)?;
        }
    }
    if round.dice.below(4) == 0 {
        moved(stage, round)?;
    }
    round.finish(stage)
}

/// Moves the project's folder, starts a loop that is killed there, and moves the folder back.
fn moved(stage: &Stage, round: &mut Round) -> Result<()> {
    let fault = round.any_point();
    round.acts.push(format!("moved, {fault}"));
    let (here, there) = (stage.repo.root(), stage.repo.scratch().path("moved"));
    quiet(stage);
    fs_err::rename(here, &there)?;
    let started = Instant::now();
    let ran = stage.start_in(&there, Some(&fault)).and_then(|child| stage.wait(child, started));
    quiet(stage);
    fs_err::rename(&there, here)?;
    broken_off(stage, round, &ran?);
    Ok(())
}

/// Waits until no process is running any more.
fn quiet(stage: &Stage) {
    let since = Instant::now();
    while !stage.processes().is_empty() && since.elapsed() < ENDING {
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Kills at all points in turn, first at their first occurrence, then at the second, and so on.
fn at_the_next_point(stage: &Stage, round: &mut Round) -> Result<()> {
    let is_reached = |point: &&str| stage.workers > 1 || !point.starts_with("workers.");
    let points: Vec<&str> = points().into_iter().filter(is_reached).collect();
    let turn = round.number / 2;
    let times = 1 + turn / points.len();
    let point = points.get(turn % points.len()).copied().unwrap_or_default();
    let ran = start_with(stage, round, &format!("{point}:{times}"))?;
    // If a hook is killed, the loop continues.
    let is_killed = ran.killed || stage.note("hook-ended").contains("137");
    if !is_killed && times == 1 && stage.workers == 1 {
        round.found.push(format!("the run never came to {point}:\n{}", ran.said));
    }
    Ok(())
}

fn start_with(stage: &Stage, round: &mut Round, fault: &str) -> Result<Ran> {
    round.acts.push(fault.to_owned());
    let ran = stage.run(Some(fault))?;
    broken_off(stage, round, &ran);
    Ok(ran)
}

fn at_an_instant(stage: &Stage, round: &mut Round) -> Result<()> {
    let victim = round.dice.pick(&VICTIMS);
    let instant = round.dice.part_of(round.usual);
    round.acts.push(format!("{victim:?} after {} ms", instant.as_millis()));
    let started = Instant::now();
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
        Victim::Interrupt => signal("INT", child.id()),
        Victim::Terminate => signal("TERM", child.id()),
    }
    let ran = stage.wait(child, started)?;
    match victim {
        Victim::Agent => round.found.extend(oracle::after_the_end(stage, &ran)),
        Victim::Interrupt | Victim::Terminate => interrupted(stage, round, &ran),
        _ => {}
    }
    broken_off(stage, round, &ran);
    Ok(())
}

/// Checks that a loop that was asked to end used a usual exit code, and left no process.
fn interrupted(stage: &Stage, round: &mut Round, ran: &Ran) {
    // A signal before the loop handles signals has ended it like any program.
    let was_early = ran.code.is_none() && ran.said.is_empty();
    if !was_early && !matches!(ran.code, Some(0 | 130 | 143)) {
        round.found.push(format!("it ended with {:?}:\n{}", ran.code, ran.said));
    }
    round.found.extend(oracle::processes(stage));
}

/// Checks after a start that did not complete that nothing of the user's has changed.
fn broken_off(stage: &Stage, round: &mut Round, ran: &Ran) {
    if ran.hung || ran.said.contains("panicked at") {
        round.found.push(format!("it hung or panicked ({:?}):\n{}", ran.code, ran.said));
    }
    if stage.workers > 1 {
        // Sometimes the next start meets the workers of the previous one.
        if round.dice.below(2) == 0 {
            return;
        }
        quiet(stage);
        round.found.extend(oracle::processes(stage));
    }
    round.found.extend(oracle::after_a_kill(stage));
}
