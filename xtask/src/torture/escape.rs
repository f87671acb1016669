//! `cargo xtask torture escape`: everything that an attempt must not be able to do, tried against
//! the real loop in each role, in copy mode and in place. What happened is judged from outside of
//! the sandbox, each probe proves that it was carried out, and each judgement that it can fail.
//!
//! The acts are data: `xtask/escape/probes.toml` and `attacks.toml`. `escape/world.rs` makes the
//! user's machine for them, `escape/probes.rs` and `escape/attacks.rs` carry them out.

mod attacks;
mod probes;
mod world;

use std::time::Instant;

use anyhow::{Result, ensure};
use camino::Utf8Path;

use self::world::{Machine, Mode};
use crate::run;

/// What was found: each violation, and how much was tried.
#[derive(Debug, Default)]
struct Found {
    violations: Vec<String>,
    /// A line for each probe and attack in each role and mode.
    table: Vec<String>,
}

impl Found {
    /// Adds a line to the table; whatever is not as expected is a violation.
    fn note(&mut self, line: String, violation: Option<String>) {
        if let Some(violation) = violation {
            println!("VIOLATION: {line}: {violation}");
            self.violations.push(line.clone());
            self.table.push(format!("{line}\tVIOLATION\t{violation}"));
        } else {
            self.table.push(format!("{line}\tas expected\t"));
        }
    }
}

/// Runs the campaign; only a part of it if it is a `smoke` test, only what has a name with `only`
/// in it if that is given.
pub(super) fn run(binaries: &Utf8Path, smoke: bool, only: Option<&str>) -> Result<()> {
    let started = Instant::now();
    let machine = Machine::new(binaries)?;
    let mut found = Found::default();
    if only.is_none_or(|only| only == "probes") {
        let modes: &[Mode] = if smoke { &[Mode::Copy] } else { &[Mode::Copy, Mode::InPlace] };
        for mode in modes {
            probes::play(&machine, *mode, &mut found)?;
        }
    }
    if only.is_none_or(|only| only != "probes") {
        attacks::play(&machine, smoke, only, &mut found)?;
    }
    let table = run::root().join("target/escape.tsv");
    fs_err::write(&table, found.table.join("\n") + "\n")?;
    println!(
        "escape: {} lines, {} violations, {} s; all of them: {table}",
        found.table.len(),
        found.violations.len(),
        started.elapsed().as_secs()
    );
    ensure!(found.violations.is_empty(), "escape: {} violations", found.violations.len());
    Ok(())
}
