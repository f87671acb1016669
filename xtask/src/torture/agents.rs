//! Agents from hell: whatever they do, the loop ends on time, nothing lives on, and the user's work
//! is there. What they do to their own clone does not even keep a story from landing.
//!
//! Bombs are bounded by their own count. Clocks that jump are a campaign of their own.

use std::time::{Duration, Instant};

use anyhow::Result;
use camino::Utf8Path;
use test_support::is_alive;

use super::dice::Dice;
use super::oracle;
use super::stage::{PLANS, Stage};
use super::tally::Tally;
use super::users_work::UsersWork;

/// Scripts under `fixtures/agents`.
const AGENTS: [&str; 11] = [
    "bombs",
    "closes-everything",
    "escapes",
    "floods",
    "hangs",
    "ignores-term",
    "leaves-children",
    "leaves-lock",
    "leaves-zombies",
    "signals-everybody",
    "stops-itself",
];

/// Harms that `wrecks.sh` does to its own clone.
const ACTS: [&str; 22] = [
    "alternates",
    "amend",
    "attributes",
    "chmod",
    "commits",
    "config",
    "config-rubbish",
    "exclude",
    "flags",
    "gc",
    "giant",
    "head",
    "index",
    "lock",
    "merge",
    "no-git",
    "orphan",
    "rebase",
    "reflog",
    "refs",
    "stash",
    "worktree",
];

/// How long the agent may take, and how long the loop may take to be rid of it.
const DEADLINE: &str = "3";
const SLACK: Duration = Duration::from_secs(40);

/// All agents and all harms in turn, the bounds permitting.
pub(super) fn run(binaries: &Utf8Path, dice: &mut Dice, tally: &mut Tally) -> Result<()> {
    type Round = fn(&Utf8Path, &str) -> Result<Vec<String>>;
    let agents = AGENTS.iter().map(|agent| (*agent, round as Round));
    let mut rounds: Vec<(&str, Round)> =
        agents.chain(ACTS.iter().map(|act| (*act, wrecked as Round))).collect();
    dice.shuffle(&mut rounds);
    for (name, round) in rounds.iter().cycle() {
        if !tally.goes_on() {
            break;
        }
        tally.round(name, 1, round(binaries, name));
    }
    Ok(())
}

/// An agent that does its stories and harms its clone each time: all of them land.
fn wrecked(binaries: &Utf8Path, act: &str) -> Result<Vec<String>> {
    let stage = Stage::new(binaries, PLANS[0]).with_agent("wrecks");
    let mut command = stage.looped(&[])?;
    command.env("ACT", act);
    let begun = Instant::now();
    let ran = stage.wait(command.spawn()?, begun)?;
    Ok(oracle::after_the_end(&stage, &ran))
}

fn round(binaries: &Utf8Path, agent: &str) -> Result<Vec<String>> {
    let stage = Stage::new(binaries, PLANS[0]).with_agent(agent);
    let args = ["--timeout", DEADLINE, "--grace", "1", "--attempts", "1"];
    let limit = ["--max-iterations", "1"];
    let mut command = stage.looped(&[&args[..], &limit].concat())?;
    command.env("FLOOD_MEGABYTES", "16");
    let begun = Instant::now();
    let ran = stage.wait(command.spawn()?, begun)?;
    let mut found = Vec::new();
    if ran.hung || ran.took > SLACK || ran.code.is_none() {
        found.push(format!("it took {:?} and ended with {:?}:\n{}", ran.took, ran.code, ran.said));
    }
    if ran.said.contains("panicked at") {
        found.push(ran.said.clone());
    }
    found.extend(oracle::leftovers(&stage));
    found.extend(oracle::sound(&stage.repo));
    found.extend(stage.work.differences(&UsersWork::read(&stage.repo)));
    let alive = stage.note("children").lines().filter(|pid| is_alive(pid)).count();
    if alive > 0 {
        found.push(format!("{alive} of the agent's processes live on"));
    }
    Ok(found)
}
