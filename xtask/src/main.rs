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
mod dist;
mod e2e;
mod extensions;
mod guard;
mod install;
mod linux;
mod nightly;
mod pages;
mod plugin;
mod run;
mod tidy;
mod torture;
mod trial;
mod verdicts;
mod words;

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
    /// The five release binaries, statically linked, in target/dist.
    Dist,
    /// The real client with our hooks against a scripted model; needs node, npm and the registry.
    E2e(e2e::E2e),
    /// Removes each extension in a copy of the tree, and checks that the rest compiles.
    Extensions(extensions::Extensions),
    /// How well the guard judges the labelled commands.
    Guard,
    /// Build the hooks and register them with the client, by `ralph-loop install`.
    Install(Passed),
    /// What takes too long for every change: long campaigns, all scenarios, benchmark, packages.
    Nightly {
        /// Where the randomness begins; the same seed gives the same faults.
        #[arg(long, default_value_t = 20_260_101)]
        seed: u64,
    },
    /// Reports of runs in a headless browser; needs chromium, node, npm and the registry.
    Pages(pages::Pages),
    /// The plugin for the client with the release binaries inside, in target/plugin.
    Plugin(plugin::Plugin),
    /// The checks of the tree's own rules: file lengths, names, documented paths, what hooks link.
    Tidy,
    /// Breaks our own programs on purpose, and checks that nothing is lost.
    Torture(torture::Torture),
    /// Installs an archive of target/dist without cargo, runs the demo and asks the guard.
    Trial,
    /// Take the registrations and the binaries out again, by `ralph-loop uninstall`.
    Uninstall(Passed),
    /// How well finished commands are judged, by runner.
    Verdicts,
    /// Every text of the programs that a person may read, as one list.
    Words,
}

/// What is passed on as it is.
#[derive(clap::Args)]
struct Passed {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<String>,
}

fn main() -> anyhow::Result<()> {
    perform(Arguments::parse().task)
}

fn perform(task: Task) -> anyhow::Result<()> {
    match task {
        Task::Bench(arguments) => bench::run(&arguments),
        Task::Book => book::run(),
        Task::Ci => ci::run(),
        Task::Dist => dist::run().map(drop),
        Task::E2e(arguments) => e2e::run(&arguments),
        Task::Extensions(arguments) => extensions::run(&arguments),
        Task::Guard => guard::run(),
        Task::Install(arguments) => install::run("install", &arguments.arguments),
        Task::Nightly { seed } => nightly::run(seed),
        Task::Pages(arguments) => pages::run(&arguments),
        Task::Plugin(arguments) => plugin::run(&arguments),
        Task::Tidy => run::cargo("test --package xtask tidy"),
        Task::Torture(arguments) => torture::run(&arguments),
        Task::Trial => trial::run(),
        Task::Uninstall(arguments) => install::run("uninstall", &arguments.arguments),
        Task::Verdicts => verdicts::run(),
        Task::Words => words::run(),
    }
}

/// Runs a task given by its command line, and prints how long it took.
fn task(line: &str) -> anyhow::Result<()> {
    println!("$ cargo xtask {line}");
    let started = std::time::Instant::now();
    let words = std::iter::once("xtask").chain(line.split(' '));
    perform(Arguments::try_parse_from(words)?.task)?;
    println!("{line}: {} s", started.elapsed().as_secs());
    Ok(())
}
