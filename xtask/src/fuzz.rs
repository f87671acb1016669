//! `cargo xtask fuzz`: random inputs for everything that reads what others write. None may panic or
//! take long. The same seed gives the same inputs.

mod readers;
mod shell;
mod target;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use camino::Utf8Path;
use clap::{Args, ValueEnum};

use self::target::Target;
use crate::torture::dice::Dice;
use crate::{linux, run};

/// An input that takes longer is a failure. Far above what the slowest takes on a slow machine: this
/// is about work that grows without bound; how fast a hook is, `cargo xtask bench` measures.
pub(crate) const SLOW: Duration =
    Duration::from_millis(if cfg!(debug_assertions) { 5_000 } else { 500 });

/// What to fuzz, and how much.
#[derive(Debug, Args)]
pub(crate) struct Fuzz {
    /// Which reader; all of them if none is named.
    #[arg(value_enum)]
    readers: Vec<Reader>,
    /// How many inputs for each.
    #[arg(long, default_value_t = 100_000)]
    cases: u64,
    /// Where the randomness begins; the same seed gives the same inputs.
    #[arg(long, default_value_t = 20_260_101)]
    seed: u64,
}

/// Readers of what others write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Reader {
    /// Plans in every format.
    Plan,
    /// Command lines, as the guard reads them.
    Shell,
    /// Outputs of test runs.
    Verdict,
    /// What the client sends to a hook.
    Input,
    /// The settings.
    Config,
    /// Transcripts of sessions.
    Transcript,
}

/// All of them.
pub(crate) const READERS: [Reader; 6] = [
    Reader::Plan,
    Reader::Shell,
    Reader::Verdict,
    Reader::Input,
    Reader::Config,
    Reader::Transcript,
];

/// Runs the task.
///
/// # Errors
/// When an input made a reader panic or took longer than it may.
pub(crate) fn run(wanted: &Fuzz) -> Result<()> {
    let readers = if wanted.readers.is_empty() { &READERS[..] } else { &wanted.readers };
    println!("seed {}", wanted.seed);
    let mut found = Vec::new();
    for reader in readers {
        found.extend(reader.fuzz(wanted.cases, wanted.seed)?);
    }
    ensure!(found.is_empty(), "{} inputs were not taken well", found.len());
    Ok(())
}

impl Reader {
    fn target(self, project: &Utf8Path) -> Result<Target> {
        match self {
            Self::Plan => readers::plan(project),
            Self::Shell => Ok(shell::target()),
            Self::Verdict => readers::verdict(project),
            Self::Input => readers::input(project),
            Self::Config => readers::config(project),
            Self::Transcript => readers::transcript(project),
        }
    }

    /// Its name.
    pub(crate) fn name(self) -> String {
        format!("{self:?}").to_lowercase()
    }

    /// Feeds a reader; returns the inputs that made it panic or took long.
    pub(crate) fn fuzz(self, cases: u64, seed: u64) -> Result<Vec<String>> {
        let target = self.target(&run::root())?;
        let mut dice = Dice::new(seed);
        let mut bad = Vec::new();
        let mut slowest = (Duration::ZERO, Vec::new());
        let mut notable = 0_u64;
        let begun = Instant::now();
        for case in 0..cases {
            let input = target.input(case, &mut dice);
            let answer = catch_unwind(AssertUnwindSafe(|| timed(&target, &input)));
            let Ok((mut taken, found)) = answer else {
                bad.push(format!("{}: panic: {}", target.name, shown(&input)));
                continue;
            };
            notable += u64::from(found);
            if taken > slowest.0 {
                taken = processor_time(|| timed(&target, &input)).unwrap_or(taken);
            }
            if taken > SLOW {
                bad.push(format!("{}: slow, {taken:.2?}: {}", target.name, shown(&input)));
            }
            if taken > slowest.0 {
                slowest = (taken, input);
            }
        }
        println!(
            "{:<10} {cases} inputs, {notable} with something in them, {:.1?} in all, slowest {:.2?}: {}",
            target.name,
            begun.elapsed(),
            slowest.0,
            shown(&slowest.1).chars().take(120).collect::<String>()
        );
        bad.iter().take(10).for_each(|line| println!("{line}"));
        Ok(bad)
    }
}

/// Random, mutated and nested command lines, for whoever reads them besides us.
pub(crate) struct CommandLines(Target);

impl CommandLines {
    pub(crate) fn new() -> Self {
        Self(shell::target())
    }

    /// The line of this number; the seed decides about everything but its kind.
    pub(crate) fn line(&self, case: u64, seed: u64) -> String {
        let line = self.0.input(case, &mut Dice::new(seed));
        String::from_utf8_lossy(&line).into_owned()
    }
}

/// How long a reader takes for an input, and whether it finds something.
fn timed(target: &Target, input: &[u8]) -> (Duration, bool) {
    let begun = Instant::now();
    let found = (target.act)(input);
    (begun.elapsed(), found)
}

/// The time on the processor, where the system tells it: another program may have been in the way.
pub(crate) fn processor_time<T>(act: impl FnOnce() -> T) -> Option<Duration> {
    let before = linux::processor_time()?;
    act();
    linux::processor_time()?.checked_sub(before)
}

fn shown(input: &[u8]) -> String {
    format!("{:?}", String::from_utf8_lossy(input).chars().take(400).collect::<String>())
}

/// Fuzzes the guard alone.
///
/// # Errors
/// When a line made the guard panic or took longer than it may.
pub(crate) fn for_guard(cases: u64, seed: u64) -> Result<()> {
    run(&Fuzz { readers: vec![Reader::Shell], cases, seed })
}
