//! `cargo xtask torture`: we break our own programs on purpose, and an oracle says what must be
//! true afterwards. docs/reliability.md tells what is promised and how each promise is tested.

mod agents;
mod clock;
mod clock_jumps;
mod concurrency;
pub(crate) mod dice;
mod disk;
mod fleet;
mod hooks_at_once;
mod hostile;
mod kill;
mod links;
mod oracle;
mod person;
mod stage;
mod state_files;
mod tally;
mod users_work;
mod workers;

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use camino::{Utf8Path, Utf8PathBuf};
use clap::{Args, ValueEnum};

use ralph_base::fault::POINTS;

pub(crate) use self::dice::Dice;
use self::tally::{Bounds, Tally};
use crate::run;
pub(crate) use fleet::FleetCost;

/// What to break, and for how long.
#[derive(Debug, Args)]
pub(crate) struct Torture {
    /// Which campaigns; all of them if none is named.
    #[arg(value_enum)]
    campaigns: Vec<Campaign>,
    /// How many rounds each campaign has at most.
    #[arg(long, default_value_t = 200)]
    rounds: usize,
    /// How long all of it may take; the campaigns share the time.
    #[arg(long)]
    seconds: Option<u64>,
    /// Where the randomness begins; the same seed gives the same faults.
    #[arg(long, default_value_t = 20_260_101)]
    seed: u64,
    /// A folder with the programs; without it they are built.
    #[arg(long)]
    binaries: Option<Utf8PathBuf>,
    /// Only name the points at which the loop can be killed.
    #[arg(long)]
    list: bool,
}

/// What is done to the loop and its hooks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Campaign {
    /// Killed at every point and at random instants.
    Kill,
    /// Writes fail, disks are full or read-only, state files are damaged.
    Disk,
    /// A person works in the project meanwhile, and the loop is killed and started again.
    Person,
    /// The same without a kill.
    PersonUndisturbed,
    /// Hooks, loops and a garbage collection at once.
    Concurrency,
    /// Fuzzed inputs, ids that want to be paths, links that lead outside, keys.
    Hostile,
    /// Agents that bomb, flood, hide, hang and refuse to end.
    Agents,
    /// The wall clock is set forward and back; needs libfaketime.
    Clock,
    /// Several workers, killed one by one or together, and started again.
    Workers,
    /// Several machines and one git server: machines are killed, and the network is cut.
    Fleet,
}

const ALL: [Campaign; 10] = [
    Campaign::Kill,
    Campaign::Person,
    Campaign::PersonUndisturbed,
    Campaign::Disk,
    Campaign::Concurrency,
    Campaign::Hostile,
    Campaign::Agents,
    Campaign::Clock,
    Campaign::Workers,
    Campaign::Fleet,
];

/// Runs the campaigns.
///
/// # Errors
/// When something was not true that must be, or a campaign could not be run.
pub(crate) fn run(wanted: &Torture) -> Result<()> {
    if wanted.list {
        POINTS.split(' ').for_each(|point| println!("{point}"));
        return Ok(());
    }
    let binaries = match &wanted.binaries {
        Some(folder) => folder.canonicalize_utf8()?,
        None => built()?,
    };
    println!("seed {}", wanted.seed);
    let campaigns = if wanted.campaigns.is_empty() { &ALL[..] } else { &wanted.campaigns };
    let begun = Instant::now();
    let mut tallies = Vec::new();
    for (number, campaign) in campaigns.iter().enumerate() {
        // What one campaign leaves of the time is for those after it.
        let until = wanted.seconds.map(|seconds| {
            let left = Duration::from_secs(seconds).saturating_sub(begun.elapsed());
            Instant::now() + left / u32::try_from(campaigns.len() - number).unwrap_or(1)
        });
        let bounds = Bounds { rounds: wanted.rounds, until };
        tallies.push(campaign.run(&binaries, bounds, wanted.seed)?);
    }
    println!("in all:");
    tallies.iter().for_each(|tally| println!("{tally}"));
    let violations: Vec<&str> =
        tallies.iter().flat_map(|tally| tally.violations()).map(String::as_str).collect();
    ensure!(violations.is_empty(), "seed {}: violated by {}", wanted.seed, violations.join("; "));
    Ok(())
}

/// The points that one machine comes to, with as many workers as there are.
///
/// Those of a fleet are for its own tests, which have a server to talk to.
fn points() -> Vec<&'static str> {
    POINTS.split(' ').filter(|point| !point.starts_with("fleet.")).collect()
}

/// Runs rounds until the tally says that it is enough.
type Act = fn(&Utf8Path, &mut Dice, &mut Tally) -> Result<()>;

impl Campaign {
    fn run(self, binaries: &Utf8Path, bounds: Bounds, seed: u64) -> Result<Tally> {
        // Each campaign has dice of its own, so that it can be repeated alone.
        let mut dice = Dice::new(seed);
        let (name, campaign): (_, Act) = match self {
            Self::Kill => ("kill", kill::run),
            Self::Person => ("person", person::run),
            Self::PersonUndisturbed => ("undisturbed", person::run_undisturbed),
            Self::Disk => ("disk", disk::run),
            Self::Concurrency => ("concurrency", concurrency::run),
            Self::Hostile => ("hostile", hostile::run),
            Self::Agents => ("agents", agents::run),
            Self::Clock => ("clock", clock_jumps::run),
            Self::Workers => ("workers", workers::run),
            Self::Fleet => ("fleet", fleet::run),
        };
        let mut tally = Tally::new(name, bounds);
        campaign(binaries, &mut dice, &mut tally)?;
        println!("{tally}");
        Ok(tally)
    }
}

fn built() -> Result<Utf8PathBuf> {
    run::cargo(&["build", "--quiet", "--package", "ralph-hooks", "--package", "ralph-loop"])?;
    Ok(run::root().join("target/debug"))
}
