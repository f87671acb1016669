//! The project's own tasks: `cargo xtask <task>`.
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "tasks start cargo and talk to the person who runs them"
)]

mod bench;
mod book;
mod ci;
mod compare_readers;
mod dist;
mod e2e;
mod fleet_recipes;
mod fuzz;
mod guard;
mod install;
mod linux;
mod nightly;
mod pages;
mod plugin;
mod release;
mod run;
#[cfg(test)]
mod tidy;
mod torture;
mod verdicts;

use clap::{Parser, Subcommand};

/// The project's own tasks.
#[derive(Parser)]
#[command(name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// How fast the released programs are; times as ratios within one run.
    Bench(bench::Bench),
    /// The pages of docs/ as a site with search, in target/book; fetches mdbook if there is none.
    Book,
    /// Everything that must pass before a change lands.
    Ci,
    /// Our reader of command lines beside shuck-parser: speed, robustness, cost of a process.
    CompareReaders(compare_readers::CompareReaders),
    /// The five release binaries, statically linked, in target/dist.
    Dist,
    /// The real client with our hooks against a scripted model; needs node, npm and the registry.
    E2e(e2e::E2e),
    /// What a fleet asks of its git server for each story.
    FleetCost(torture::FleetCost),
    /// The ways to start a fleet of docs/fleet.md, tried with a real Slurm, sshd and linters.
    FleetRecipes(fleet_recipes::FleetRecipes),
    /// Build the hooks and register them with the client.
    Install(installer::Install),
    /// How well the guard judges the labelled commands.
    Guard,
    /// Random and damaged inputs for everything that reads what others write.
    Fuzz(fuzz::Fuzz),
    /// Random and mutated commands: none may crash the guard or take long.
    FuzzGuard {
        /// How many.
        #[arg(long, default_value_t = 1_000_000)]
        cases: u64,
        /// Where the randomness begins; the same seed gives the same commands.
        #[arg(long, default_value_t = 20_260_101)]
        seed: u64,
    },
    /// What takes too long for every change: fault campaigns at full length, fuzzing, benchmark, a release.
    Nightly {
        /// Where the randomness begins; the same seed gives the same faults.
        #[arg(long, default_value_t = 20_260_101)]
        seed: u64,
    },
    /// Reports of runs in a headless browser; needs chromium, node, npm and the registry.
    Pages(pages::Pages),
    /// The plugin for the client with the release binaries inside, in target/plugin.
    Plugin(plugin::Plugin),
    /// Everything that people download, in target/packages.
    Release(release::Release),
    /// The checks of the tree's own rules: file lengths, names, documented paths, what hooks link.
    Tidy,
    /// Breaks our own programs on purpose, and checks that nothing is lost.
    Torture(torture::Torture),
    /// Take the registrations and the binaries out again.
    Uninstall(installer::Uninstall),
    /// How well finished commands are judged, by runner.
    Verdicts,
}

fn main() -> anyhow::Result<()> {
    match Arguments::parse().task {
        Task::Bench(arguments) => bench::run(&arguments),
        Task::Book => book::run(),
        Task::Ci => ci::run(),
        Task::CompareReaders(arguments) => compare_readers::run(&arguments),
        Task::Dist => dist::run().map(drop),
        Task::E2e(arguments) => e2e::run(&arguments),
        Task::FleetCost(arguments) => arguments.run(),
        Task::FleetRecipes(arguments) => fleet_recipes::run(&arguments),
        Task::Install(arguments) => install::install(&arguments),
        Task::Guard => guard::run(),
        Task::Fuzz(arguments) => fuzz::run(&arguments),
        Task::Pages(arguments) => pages::run(&arguments),
        Task::Plugin(arguments) => plugin::run(&arguments),
        Task::Release(arguments) => release::run(&arguments),
        Task::Nightly { seed } => nightly::run(seed),
        Task::FuzzGuard { cases, seed } => fuzz::for_guard(cases, seed),
        Task::Verdicts => verdicts::run(),
        Task::Torture(arguments) => torture::run(&arguments),
        Task::Tidy => run::cargo(&["test", "--package", "xtask", "tidy"]),
        Task::Uninstall(arguments) => install::uninstall(&arguments),
    }
}
