//! `cargo xtask fleet-cost`: what a fleet asks of its git server for each story, with plans of different
//! lengths. Heartbeats are counted by time and not by stories, so they are left out by a long lease.

use anyhow::{Result, ensure};
use camino::Utf8PathBuf;
use clap::Args;

use super::Fleet;
use super::server::Asked;
use crate::torture::built;

/// Long enough for no heart to beat but with a claim.
const LEASE_S: u64 = 36_000;

/// The plans and the machines.
#[derive(Debug, Args)]
pub(crate) struct FleetCost {
    /// How many stories; a fleet for each.
    #[arg(long, value_delimiter = ',', default_value = "10,100,1000")]
    stories: Vec<usize>,
    /// How many machines.
    #[arg(long, default_value_t = 4)]
    machines: usize,
    /// A folder with the programs; without it they are built.
    #[arg(long)]
    binaries: Option<Utf8PathBuf>,
}

impl FleetCost {
    /// Prints a line for each plan.
    ///
    /// # Errors
    /// When a machine does not end well.
    pub(crate) fn run(&self) -> Result<()> {
        let binaries = match &self.binaries {
            Some(folder) => folder.canonicalize_utf8()?,
            None => built()?,
        };
        println!("stories  fetches/story  pushes/story  KiB/story");
        for stories in &self.stories {
            let fleet = Fleet::new(&binaries, *stories, self.machines)?;
            let before = fleet.server.asked();
            let machines: Result<Vec<_>> =
                (0..self.machines).map(|machine| fleet.start(machine, LEASE_S)).collect();
            for (machine, mut child) in machines?.into_iter().enumerate() {
                let status = child.wait()?;
                ensure!(status.success(), "machine {machine}: {status}:\n{}", fleet.said(machine));
            }
            let Asked { fetches, pushes, bytes } = fleet.server.asked();
            let each = |count: u64| count as f64 / *stories as f64;
            println!(
                "{stories:>7}  {:>13.2}  {:>12.2}  {:>9.1}",
                each(fetches - before.fetches),
                each(pushes - before.pushes),
                each(bytes - before.bytes) / 1024.0
            );
        }
        Ok(())
    }
}
