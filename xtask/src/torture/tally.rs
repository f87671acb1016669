//! How much is done, what was found, and when it is enough.

use std::time::{Duration, Instant};

use anyhow::Result;

/// The end of a campaign.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    /// Rounds at most.
    pub(super) rounds: usize,
    /// When to stop, whatever is left.
    pub(super) until: Option<Instant>,
}

/// What a campaign did.
#[derive(Debug)]
pub(super) struct Tally {
    name: &'static str,
    bounds: Bounds,
    begun: Instant,
    rounds: usize,
    faults: u64,
    violations: Vec<String>,
    skipped: Option<&'static str>,
}

impl Tally {
    /// Nothing done yet.
    pub(super) fn new(name: &'static str, bounds: Bounds) -> Self {
        let begun = Instant::now();
        Self { name, bounds, begun, rounds: 0, faults: 0, violations: Vec::new(), skipped: None }
    }

    /// Whether another round is wanted.
    pub(super) fn goes_on(&self) -> bool {
        let in_time = self.bounds.until.is_none_or(|until| Instant::now() < until);
        in_time && self.rounds < self.bounds.rounds
    }

    /// Nothing can be done here, and why: never to be taken for rounds that went well.
    pub(super) fn skip(&mut self, why: &'static str) {
        self.skipped = Some(why);
    }

    /// Counts a round, the faults that were injected in it, and what was found to be wrong.
    pub(super) fn round(&mut self, name: &str, faults: u64, found: Result<Vec<String>>) {
        self.rounds += 1;
        self.faults += faults;
        let found = found.unwrap_or_else(|error| vec![format!("the round broke: {error:#}")]);
        for violation in &found {
            println!("VIOLATION in {} ({name}): {violation}", self.name);
        }
        if !found.is_empty() {
            self.violations.push(name.to_owned());
        }
        if self.rounds.is_multiple_of(25) {
            println!("{self}");
        }
    }

    /// The names of the rounds in which something was wrong.
    pub(super) fn violations(&self) -> &[String] {
        &self.violations
    }

    /// How long it has taken.
    pub(super) fn took(&self) -> Duration {
        self.begun.elapsed()
    }
}

impl std::fmt::Display for Tally {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(why) = self.skipped {
            return write!(f, "{:<12} skipped: {why}", self.name);
        }
        write!(
            f,
            "{:<12} {:>5} rounds, {:>9} faults, {} violations, {:.0} s",
            self.name,
            self.rounds,
            self.faults,
            self.violations.len(),
            self.took().as_secs_f64()
        )
    }
}
