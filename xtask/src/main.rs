//! The project's own tasks: `cargo xtask <task>`.
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "tasks start cargo and talk to the person who runs them"
)]

mod ci;
mod dist;
mod run;
#[cfg(test)]
mod tidy;

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
    /// Everything that must pass before a change lands.
    Ci,
    /// The five release binaries, statically linked, in target/dist.
    Dist,
    /// The checks of the tree's own rules: file lengths, names, documented paths, what hooks link.
    Tidy,
}

fn main() -> anyhow::Result<()> {
    match Arguments::parse().task {
        Task::Ci => ci::run(),
        Task::Dist => dist::run().map(drop),
        Task::Tidy => run::cargo(&["test", "--package", "xtask", "tidy"]),
    }
}
