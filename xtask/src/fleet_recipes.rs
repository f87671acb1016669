//! `cargo xtask fleet-recipes`: the ways to start a fleet that docs/fleet.md shows, tried as far as they
//! can be on this machine, with an agent that is a script.
//!
//! | recipe | how it is tried |
//! | --- | --- |
//! | `slurm` | a controller and a node of its own; a task is cancelled |
//! | `ssh` | three hosts behind an ssh server on loopback; one of them is killed |
//! | `kubernetes` | the manifest by the published schema; what a pod runs, as process 1 of its namespace |
//! | `workflow` | by a linter; its last step in detached clones, by a server that takes only branches |

mod daemon;
mod kubernetes;
mod server;
mod slurm;
mod ssh;
mod stage;
mod tools;
mod workflow;
mod yaml;

use std::time::Instant;

use anyhow::{Result, ensure};
use camino::Utf8PathBuf;
use clap::Args;

use self::stage::Stage;
use self::tools::Tool;
use crate::run;

/// Where the recipes are, from the root of the sources.
const FOLDER: &str = "xtask/packaging/fleet";

/// Which programs are tried, and how they are started.
#[derive(Debug, Args)]
pub(crate) struct FleetRecipes {
    /// The folder of the programs.
    #[arg(long, default_value = "target/debug")]
    binaries: Utf8PathBuf,
    /// Only the recipe of this name.
    #[arg(long, value_name = "NAME")]
    only: Option<String>,
}

struct Recipe {
    name: &'static str,
    tools: &'static [Tool],
    play: fn(&Stage) -> Result<()>,
}

const RECIPES: [Recipe; 4] = [
    Recipe { name: "slurm", tools: slurm::TOOLS, play: slurm::play },
    Recipe { name: "ssh", tools: ssh::TOOLS, play: ssh::play },
    Recipe { name: "kubernetes", tools: kubernetes::TOOLS, play: kubernetes::play },
    Recipe { name: "workflow", tools: workflow::TOOLS, play: workflow::play },
];

/// Tries them all; what fails is named at the end, so that one failure does not hide another.
pub(crate) fn run(wanted: &FleetRecipes) -> Result<()> {
    let binaries = run::root().join(&wanted.binaries);
    ensure!(binaries.join("ralph-loop").is_file(), "{binaries} has no ralph-loop; build it first");
    let is_wanted = |recipe: &&Recipe| match &wanted.only {
        Some(name) => recipe.name == name,
        None => true,
    };
    let recipes: Vec<&Recipe> = RECIPES.iter().filter(is_wanted).collect();
    let names = RECIPES.map(|recipe| recipe.name).join(", ");
    ensure!(!recipes.is_empty(), "there is no such recipe; there are {names}");
    let mut failed = Vec::new();
    for recipe in recipes {
        let name = recipe.name;
        if let Some(lacking) = tools::provide(recipe.tools) {
            println!("{name}: skipped, {lacking}");
            continue;
        }
        let started = Instant::now();
        match (recipe.play)(&Stage::new(&binaries)?) {
            Ok(()) => println!("{name}: works, {:.0} s", started.elapsed().as_secs_f32()),
            Err(error) => {
                println!("{name}: {error:#}");
                failed.push(name);
            }
        }
    }
    ensure!(failed.is_empty(), "these recipes do not work: {}", failed.join(", "));
    Ok(())
}
