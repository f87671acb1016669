//! `cargo xtask bench`: measures how fast the released programs are.
//!
//! Times are only meaningful as ratios within one run; instruction counts are comparable across
//! runs. To measure single commands, use hyperfine.

mod growth;
mod hooks;
mod loop_time;
mod program;
mod report;
mod stage;

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use camino::{Utf8Path, Utf8PathBuf};
use clap::Args;

use self::hooks::Case;
use self::program::{Contender, EMPTY, faults, measure};
use self::report::Report;
use self::stage::Stage;
use crate::{dist, run};

/// The age after which a written file counts as unchanged.
const SETTLED: Duration = Duration::from_millis(2100);

/// What to measure.
#[derive(Args)]
pub(crate) struct Bench {
    /// Use the programs in this folder instead of building them.
    #[arg(long, value_name = "DIR")]
    binaries: Option<Utf8PathBuf>,
    /// How often each hook is started.
    #[arg(long, default_value_t = 300)]
    rounds: usize,
    /// Only the times of the hooks beside an empty program.
    #[arg(long)]
    quick: bool,
    /// Write the figures into docs/dev/performance.md.
    #[arg(long)]
    record: bool,
    /// Only count instructions, page faults and bytes, and fail where a hook uses too many.
    #[arg(long, conflicts_with = "record")]
    check: bool,
}

/// Runs the benchmark.
pub(crate) fn run(arguments: &Bench) -> Result<()> {
    let binaries = match &arguments.binaries {
        Some(folder) => folder.canonicalize_utf8()?,
        None => dist::run()?,
    };
    if arguments.check {
        return check(&binaries);
    }
    let report = measured(&binaries, arguments)?;
    println!("{}", report.markdown());
    report.misses().iter().for_each(|miss| eprintln!("misses its bar: {miss}"));
    if arguments.record { report::record(&report) } else { Ok(()) }
}

fn measured(binaries: &Utf8Path, arguments: &Bench) -> Result<Report> {
    let (stage, cases) = staged(binaries)?;
    let empty = stage.program(vec![EMPTY.into()], Vec::new());
    let mut contenders = vec![Contender::new(EMPTY, empty)];
    contenders.extend(cases.iter().map(|case| case.contender(&stage)));
    let mut report = Report {
        hooks: measure(&contenders, arguments.rounds)?,
        bars: cases.iter().map(|case| (case.name, case.bar)).collect(),
        ..Report::default()
    };
    if !arguments.quick {
        report.instructions = counted(&stage, &cases)?;
        report.growth = growth::run(binaries, arguments.rounds)?;
        report.loops = loop_time::run(binaries)?;
    }
    Ok(report)
}

/// Creates the project, and the cases of all hooks.
fn staged(binaries: &Utf8Path) -> Result<(Stage, Vec<Case>)> {
    let stage = Stage::new(binaries)?;
    let cases = hooks::cases(&stage)?;
    std::thread::sleep(SETTLED);
    Ok((stage, cases))
}

fn counted(stage: &Stage, cases: &[Case]) -> Result<Vec<(String, u64)>> {
    let valgrind = run::output(run::command("valgrind").arg("--version"));
    valgrind.context("install valgrind (`apt-get install valgrind`)")?;
    cases.iter().map(|case| case.instructions(stage)).collect()
}

fn check(binaries: &Utf8Path) -> Result<()> {
    let (stage, cases) = staged(binaries)?;
    let empty = faults(&Contender::new(EMPTY, stage.program(vec![EMPTY.into()], Vec::new())))?;
    println!("{empty} faults  {EMPTY}");
    let mut excess = Vec::new();
    for case in &cases {
        excess.extend(case.excess(&stage, empty)?);
    }
    ensure!(excess.is_empty(), "the hooks became too large or too slow:\n{}", excess.join("\n"));
    Ok(())
}
