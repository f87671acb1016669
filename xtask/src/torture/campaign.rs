//! The harness of all campaigns: a limited number of rounds, each with its own seed, and a summary.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use camino::Utf8Path;
use ralph_base::fault::POINTS;

use super::dice::Dice;
use super::oracle;
use super::stage::Stage;

/// The limits of a campaign.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    /// The maximum number of rounds.
    pub(super) rounds: usize,
    /// The deadline, whatever is left.
    pub(super) until: Option<Instant>,
}

/// A campaign: how to create a project for each round, and what to do to it.
pub(super) struct Campaign {
    pub(super) name: &'static str,
    pub(super) stage: fn(&Utf8Path, &mut Dice) -> Stage,
    pub(super) play: fn(&Stage, &mut Round) -> Result<()>,
}

/// One round: its randomness, the acts, and the violations that were found.
pub(super) struct Round {
    pub(super) number: usize,
    pub(super) dice: Dice,
    /// How long an undisturbed run takes.
    pub(super) usual: Duration,
    pub(super) acts: Vec<String>,
    pub(super) found: Vec<String>,
}

impl Round {
    /// Returns a random point at which the loop can be killed, and at which of its occurrences.
    pub(super) fn any_point(&mut self) -> String {
        format!("{}:{}", self.dice.pick(&points()), 1 + self.dice.below(5))
    }

    /// Runs the loop undisturbed, and checks the result.
    pub(super) fn finish(&mut self, stage: &Stage) -> Result<()> {
        let ran = stage.run(None)?;
        self.found.extend(oracle::after_the_end(stage, &ran));
        Ok(())
    }
}

/// Returns the points at which a run on one machine can be killed.
pub(super) fn points() -> Vec<&'static str> {
    POINTS.split(' ').collect()
}

impl Campaign {
    /// Plays rounds; returns the names of those with violations.
    pub(super) fn run(
        &self,
        binaries: &Utf8Path,
        bounds: Bounds,
        seed: u64,
    ) -> Result<Vec<String>> {
        let started = Instant::now();
        let mut dice = Dice::new(seed);
        let usual = self.undisturbed(binaries, &mut dice)?;
        let (mut rounds, mut faults, mut violations) = (0, 0, Vec::new());
        while rounds < bounds.rounds && bounds.until.is_none_or(|until| Instant::now() < until) {
            let dice = Dice::new(dice.roll());
            let (acts, found) = (Vec::new(), Vec::new());
            let mut round = Round { number: rounds, dice, usual, acts, found };
            let stage = (self.stage)(binaries, &mut round.dice);
            if let Err(error) = (self.play)(&stage, &mut round) {
                round.found.push(format!("the round broke: {error:#}"));
            }
            let name = format!("{} {rounds}: {}", self.name, round.acts.join(", "));
            round.found.iter().for_each(|found| println!("VIOLATION in {name}: {found}"));
            if !round.found.is_empty() {
                let log = ["log", "--graph", "--all", "--format=%h %d %s", "-40"];
                println!("{}\n{}", stage.said(), stage.git(&log).unwrap_or_default());
                violations.push(name);
            }
            rounds += 1;
            faults += round.acts.len();
        }
        let (count, seconds) = (violations.len(), started.elapsed().as_secs());
        println!(
            "{:<12} {rounds:>5} rounds, {faults:>6} faults, {count} violations, {seconds} s",
            self.name
        );
        Ok(violations)
    }

    /// Returns how long an undisturbed run takes; that run must be correct.
    fn undisturbed(&self, binaries: &Utf8Path, dice: &mut Dice) -> Result<Duration> {
        let stage = (self.stage)(binaries, dice);
        let ran = stage.run(None)?;
        let found = oracle::after_the_end(&stage, &ran);
        ensure!(found.is_empty(), "without any fault: {}", found.join("\n"));
        Ok(ran.took)
    }
}
