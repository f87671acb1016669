//! `cargo xtask torture`: campaigns that break our own programs on purpose. An oracle checks what
//! must be true afterwards; docs/dev/reliability.md lists the promises and how each one is tested.

mod campaign;
mod dice;
mod disk;
mod escape;
mod hostile;
mod kill;
mod liar;
mod oracle;
mod person;
mod stage;
mod users_work;

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use camino::Utf8PathBuf;
use clap::{Args, ValueEnum};
use ralph_base::fault::POINTS;

use self::campaign::{Bounds, Campaign};
use crate::run;

/// What to break, and for how long.
#[derive(Debug, Args)]
pub(crate) struct Torture {
    /// Which campaigns; all of them if none is named.
    #[arg(value_enum)]
    campaigns: Vec<Name>,
    /// How many rounds each campaign has at most.
    #[arg(long, default_value_t = 200)]
    rounds: usize,
    /// How many seconds all of it may take; the campaigns share them.
    #[arg(long)]
    seconds: Option<u64>,
    /// Where the randomness begins; the same seed gives the same faults.
    #[arg(long, default_value_t = 20_260_101)]
    seed: u64,
    /// A folder with the programs; without it they are built.
    #[arg(long, value_name = "DIR")]
    binaries: Option<Utf8PathBuf>,
    /// Only print the points at which the loop can be killed.
    #[arg(long)]
    list: bool,
    /// Only a minute's worth of `escape` or `liar`.
    #[arg(long)]
    smoke: bool,
    /// Only `probes`, or attacks with this text in their names, of `escape`; of `liar`, a language or a kind.
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
}

/// What is done to the loop and its hooks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Name {
    /// Killed at every point and at random instants.
    Kill,
    /// Killed or interrupted while several workers are at work.
    Workers,
    /// Writes fail, disks are full or read-only, state files are damaged.
    Disk,
    /// A person edits, stages and commits during a run, and the loop is killed.
    Person,
    /// The same without a kill.
    PersonUndisturbed,
    /// The agent harms its copy in every way we know.
    Hostile,
    /// The same where the agent works in the project's own tree.
    HostileInPlace,
    /// Agents that pretend, honest ones beside them, and proofs of clean and hollow tests.
    Liar,
    /// Probes and attacks on the sandbox and on what crosses it, in every role.
    Escape,
}

impl Name {
    /// The campaign with rounds of this name, if it is one.
    fn campaign(self) -> Option<Campaign> {
        Some(match self {
            Self::Kill => Campaign { name: "kill", stage: kill::one_worker, play: kill::play },
            Self::Workers => {
                Campaign { name: "workers", stage: kill::several_workers, play: kill::play }
            }
            Self::Disk => Campaign { name: "disk", stage: disk::stage, play: disk::play },
            Self::Person => Campaign { name: "person", stage: person::stage, play: person::play },
            Self::PersonUndisturbed => Campaign {
                name: "undisturbed",
                stage: person::stage,
                play: person::play_undisturbed,
            },
            Self::Hostile => {
                Campaign { name: "hostile", stage: hostile::stage, play: hostile::play }
            }
            Self::HostileInPlace => Campaign {
                name: "in-place",
                stage: hostile::stage_in_place,
                play: hostile::play_in_place,
            },
            Self::Escape | Self::Liar => return None,
        })
    }
}

/// Runs the campaigns.
///
/// # Errors
/// If a promise was broken, or a campaign could not be run.
pub(crate) fn run(wanted: &Torture) -> Result<()> {
    if wanted.list {
        POINTS.split(' ').for_each(|point| println!("{point}"));
        return Ok(());
    }
    let binaries = match &wanted.binaries {
        Some(folder) => folder.canonicalize_utf8()?,
        None => run::built()?,
    };
    println!("seed {}", wanted.seed);
    let campaigns =
        if wanted.campaigns.is_empty() { Name::value_variants() } else { &wanted.campaigns };
    let started = Instant::now();
    let mut violations = Vec::new();
    for (number, name) in campaigns.iter().enumerate() {
        // Time that a campaign does not use is left for those after it.
        let until = wanted.seconds.map(|seconds| {
            let left = Duration::from_secs(seconds).saturating_sub(started.elapsed());
            Instant::now() + left / u32::try_from(campaigns.len() - number).unwrap_or(1)
        });
        let bounds = Bounds { rounds: wanted.rounds, until };
        match name.campaign() {
            Some(campaign) => violations.extend(campaign.run(&binaries, bounds, wanted.seed)?),
            None if *name == Name::Liar => {
                liar::run(&binaries, wanted.smoke, wanted.only.as_deref())?;
            }
            None => escape::run(&binaries, wanted.smoke, wanted.only.as_deref())?,
        }
    }
    ensure!(violations.is_empty(), "seed {}: violated by {}", wanted.seed, violations.join("; "));
    Ok(())
}
