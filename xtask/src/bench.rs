//! `cargo xtask bench`: how fast the released programs are, next to what they could be compared
//! with.
//!
//! Times are only worth something as ratios within one run; instruction counts hold across runs.

mod growth;
mod hooks;
mod instructions;
mod loop_time;
mod output;
mod recorded;
mod report;
mod rivals;
mod rounds;
mod spawn;
mod stage;
mod statistics;

use std::time::Duration;

use anyhow::{Result, bail};
use camino::{Utf8Path, Utf8PathBuf};
use clap::Args;

use crate::{dist, run};
use loop_time::LoopTime;
use report::Report;
use rounds::Contender;
use stage::Stage;

/// After so long a file that was written counts as settled.
const SETTLED: Duration = Duration::from_millis(2100);

/// Files in the repositories in which the loop is measured.
const REPOSITORIES: [(usize, usize); 3] = [(100, 15), (5_000, 7), (50_000, 3)];

/// Megabytes that an agent prints.
const FLOODS: [usize; 4] = [1, 10, 100, 1000];

/// What to measure.
#[derive(Args)]
pub(crate) struct Bench {
    /// Use the programs in this folder instead of building them.
    #[arg(long, value_name = "DIR")]
    binaries: Option<Utf8PathBuf>,
    /// How often each program is started.
    #[arg(long, default_value_t = 300)]
    rounds: usize,
    /// Only the hooks and what they are compared with.
    #[arg(long)]
    quick: bool,
    /// Only the loop's own time per iteration, and for making its copy.
    #[arg(long = "loop", conflicts_with_all = ["quick", "dense", "record"])]
    only_loop: bool,
    /// Also a transcript of 500 MB of real lines.
    #[arg(long)]
    dense: bool,
    /// Print JSON instead of tables.
    #[arg(long)]
    json: bool,
    /// Write the figures into docs/performance.md.
    #[arg(long)]
    record: bool,
    /// Only count instructions, and fail where they grew by more than 10 % over
    /// docs/performance.md.
    #[arg(long, conflicts_with_all = ["record", "json"])]
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
    let report = measure(&binaries, arguments)?;
    if arguments.json {
        println!("{:#}", report.json());
    } else {
        println!("{}", report.markdown());
    }
    let misses = report.misses();
    for miss in &misses {
        eprintln!("misses its bar: {miss}");
    }
    if arguments.record {
        recorded::record(&report)?;
    }
    Ok(())
}

fn measure(binaries: &Utf8Path, arguments: &Bench) -> Result<Report> {
    if arguments.only_loop {
        return Ok(Report { loops: loop_times(binaries)?, ..Report::default() });
    }
    let stage = Stage::new(binaries)?;
    std::thread::sleep(SETTLED);
    let cases = hooks::cases(&stage)?;
    let mut contenders = rivals::starts(&stage);
    contenders.extend(cases.iter().map(|case| case.contender(&stage)));
    contenders.extend(loop_commands(&stage));
    if rivals::is_there("jq") {
        contenders.extend(cases.iter().map(|case| rivals::script(&stage, case)));
    } else {
        eprintln!("jq is not there, so nothing is compared with bash and jq");
    }
    let mut report = Report::with_bars(&cases);
    report.measured = rounds::measure(&contenders, arguments.rounds)?;
    if instructions::can_count() {
        report.instructions = instructions::count_all(&stage, &cases)?;
    } else {
        eprintln!("valgrind is not there, so no instructions are counted");
    }
    if !arguments.quick {
        report.growth = growth::run(binaries, arguments.rounds, arguments.dense)?;
        report.loops = loop_times(binaries)?;
        report.floods = output::run(binaries, &FLOODS)?;
    }
    Ok(report)
}

fn loop_times(binaries: &Utf8Path) -> Result<Vec<LoopTime>> {
    REPOSITORIES
        .map(|(files, rounds)| loop_time::run(binaries, files, rounds))
        .into_iter()
        .collect()
}

/// The loop where it runs no agent.
fn loop_commands(stage: &Stage) -> Vec<Contender> {
    ["--help", "--dry-run"]
        .map(|flag| {
            let mut program =
                stage.program(vec![stage.ours("ralph-loop"), flag.into()], Vec::new());
            program.folder = Some(stage.repo.root().to_owned());
            // Any agent that is there will do: none is started.
            program.vars.push(("RALPH_AGENT".into(), rivals::EMPTY.into()));
            Contender::new(&format!("ralph-loop {flag}"), program)
        })
        .into()
}

fn check(binaries: &Utf8Path) -> Result<()> {
    if !instructions::can_count() {
        println!("passed over: valgrind is not there, so no instructions can be counted");
        return Ok(());
    }
    let stage = Stage::new(binaries)?;
    std::thread::sleep(SETTLED);
    let counts = instructions::count_all(&stage, &hooks::cases(&stage)?)?;
    for (name, count) in &counts {
        println!("{count:>12}  {name}");
    }
    let regressions = recorded::regressions(&counts)?;
    if !regressions.is_empty() {
        bail!("slower than recorded in docs/performance.md:\n{}", regressions.join("\n"));
    }
    println!(
        "no hook executes 10 % more than recorded in {}",
        run::root().join("docs/performance.md")
    );
    Ok(())
}
