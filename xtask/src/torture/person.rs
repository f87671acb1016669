//! A person works in the project during a run: edits, stages, stashes, commits, switches branches
//! and edits the plan. Not one byte of their work may change, and each story lands once.
//!
//! The loop is killed as well, at points and at random instants, and started again.

mod life;

use std::process::Child;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::Result;
use camino::Utf8Path;
use test_support::TestRepo;

use self::life::{MAIN, Person};
use super::campaign::Round;
use super::dice::Dice;
use super::oracle::{self, CHECKED_OUT, End};
use super::stage::{PLANS, Project, Ran, Stage};

/// Six stories: the agent fails at two of them first, and reports one as blocked.
const SIX: Project = Project {
    agent: "quick",
    config: "",
    check: "! grep -qs broken made/*\n",
    depends: &[],
    stories: 6,
};
const BLOCKED: &str = "US-005";

/// The exit code of a run in which a story is blocked.
const BLOCKED_CODE: i32 = 8;

/// The path of the plan, which git tracks.
const PLAN: &str = PLANS[0];

/// The branch with work that waits because the person was in the way.
const WAITING: &str = "ralph/main";

/// The minimum number of acts of a person during a run, however slow the machine is.
const ACTS: u32 = 12;

/// The maximum number of kills in a round.
const MOST_KILLS: usize = 3;

pub(super) fn stage(binaries: &Utf8Path, _: &mut Dice) -> Stage {
    let mut stage = Stage::around(TestRepo::new(), &SIX, binaries, PLAN);
    stage.code = BLOCKED_CODE;
    stage.done = plan_text(&stage.stories, "x", "!");
    stage.repo.write(
        ".ralph/.gitignore",
        "*\n!/.gitignore\n!/config.toml\n!/PRD-*/\n!/PRD-*/*.md\n!/guardrails.md\n",
    );
    stage.repo.write("shared.txt", "");
    stage.repo.write(PLAN, plan_text(&stage.stories, " ", " "));
    for name in life::NAMES.iter().take(3) {
        stage.repo.write(name, format!("{name}, as it was at first\n"));
    }
    stage.repo.commit_all("a project");
    stage.repo.git(["branch", life::SIDE]);
    stage.stories.retain(|id| id != BLOCKED);
    stage
}

/// Formats the plan with `mark` in the boxes of all stories but the blocked one. Sections are far
/// apart, so that a person's edits never touch the loop's lines.
fn plan_text(stories: &[String], mark: &str, blocked: &str) -> String {
    let story = |id: &String| {
        let mark = if id == BLOCKED { blocked } else { mark };
        format!(
            "### {id}: Make the part of {id}\n\n- [{mark}] Make it\n\nIt is a part.\n\nMore.\n\n"
        )
    };
    let stories: String = stories.iter().map(story).collect();
    format!("# Plan\n\n{stories}\n\n## Notes\n\n")
}

pub(super) fn play(stage: &Stage, round: &mut Round) -> Result<()> {
    play_with(stage, round, true)
}

pub(super) fn play_undisturbed(stage: &Stage, round: &mut Round) -> Result<()> {
    play_with(stage, round, false)
}

fn play_with(stage: &Stage, round: &mut Round, with_kills: bool) -> Result<()> {
    let pause = round.usual / ACTS;
    let mut person = Person::new(stage, Dice::new(round.dice.roll()), pause);
    let is_over = AtomicBool::new(false);
    let ran = std::thread::scope(|scope| {
        let started = Instant::now();
        let first = stage.start(None)?;
        // The branch that is checked out at the start is the target.
        while !stage.said().contains("iteration 1:") && started.elapsed() < Duration::from_secs(20)
        {
            std::thread::sleep(Duration::from_millis(5));
        }
        let living = scope.spawn(|| person.live(&is_over));
        let ran = if with_kills {
            started_again(stage, round, first)
        } else {
            stage.wait(first, started)
        };
        is_over.store(true, Ordering::Relaxed);
        // If the person's thread panics, their work is unfinished, which is a violation.
        let _ = living.join();
        ran
    })?;
    person.finish();
    // Work that waited for a finished rebase, and has fallen behind since, lands at the next start.
    let ran = if is_waiting(stage) && person.obstacle.is_none() { stage.run(None)? } else { ran };
    round.found.extend(judged(stage, &person, &ran));
    if !round.found.is_empty() {
        println!("the person:\n{}", person.acts());
    }
    Ok(())
}

/// Kills the run up to three times, and leaves the last start undisturbed.
fn started_again(stage: &Stage, round: &mut Round, first: Child) -> Result<Ran> {
    let mut running = Some(first);
    for _ in 0..1 + round.dice.below(MOST_KILLS) {
        let ran = killed(stage, round, running.take())?;
        if !ran.killed && ran.code == Some(BLOCKED_CODE) {
            // The run completed before the kill.
            return Ok(ran);
        }
    }
    stage.run(None)
}

/// Kills a run at an instant, or starts one that is killed at a point. In one of four rounds
/// everything that it started is killed too, as when a machine goes down.
fn killed(stage: &Stage, round: &mut Round, running: Option<Child>) -> Result<Ran> {
    if running.is_none() && round.dice.below(2) == 0 {
        let fault = round.any_point();
        round.acts.push(fault.clone());
        return stage.run(Some(&fault));
    }
    let started = Instant::now();
    let mut child = match running {
        Some(child) => child,
        None => stage.start(None)?,
    };
    let instant = round.dice.part_of(round.usual);
    std::thread::sleep(instant);
    let everything = round.dice.below(4) == 0;
    round.acts.push(format!("killed after {} ms, all: {everything}", instant.as_millis()));
    if everything {
        stage.kill_everything();
    } else {
        child.kill()?;
    }
    stage.wait(child, started)
}

fn is_waiting(stage: &Stage) -> bool {
    stage.git(&["rev-parse", "--verify", "--quiet", WAITING]).is_some()
}

/// Returns the violations, for the person and for the loop.
fn judged(stage: &Stage, person: &Person<'_>, ran: &Ran) -> Vec<String> {
    let mut found = person.found.clone();
    let waits = is_waiting(stage);
    let obstacle = person.obstacle.as_ref().map(|(name, _)| *name);
    if waits && obstacle.is_none() {
        found.push(format!("work waits on {WAITING}, but nothing was in its way"));
    }
    let notes: String = person.notes.iter().map(|line| format!("{line}\n")).collect();
    let target = if waits { WAITING } else { CHECKED_OUT };
    let is_users = |path: &str| Some(path) == obstacle;
    found.extend(oracle::after(stage, ran, &End { target, notes: &notes, is_users: &is_users }));
    for (branch, commit) in &person.commits {
        if stage.git(&["merge-base", "--is-ancestor", commit, branch]).is_none() {
            found.push(format!("their commit {commit} is not on {branch} any more"));
        }
    }
    if person.branch != MAIN {
        found.push(format!("the person is still on {}", person.branch));
    }
    found
}
