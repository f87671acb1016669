//! Measures verdicts against the recorded and the written test runs, and fails below the bars.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use ralph_core::verdict::{Run, Verdict, judge};
use test_support::test_runs::{self, Case, Score, cut_by_client};

/// Ten times the output may take this much more time.
const MOST_GROWTH: f64 = 25.0;

/// Prints one table per folder of cases and the list of misses.
pub fn run() -> Result<()> {
    let recorded = measure("recorded", &test_runs::load(&test_runs::recorded())?);
    let written = measure("written by hand", &test_runs::load(&test_runs::written())?);
    let bars = [
        ("recorded: recall of failed", recorded.recall("failed"), 0.97),
        ("recorded: precision of failed", recorded.precision("failed"), 0.985),
        ("recorded: passed", recorded.recall("passed"), 0.95),
        ("recorded: errored", recorded.recall("errored"), 0.95),
        ("recorded: no-tests", recorded.recall("no-tests"), 0.95),
        ("written: recall of failed", written.recall("failed"), 0.93),
        ("written: precision of failed", written.precision("failed"), 0.97),
    ];
    let mut short = bars.iter().filter(|(_, reached, bar)| reached < bar).peekable();
    if short.peek().is_some() {
        let list: Vec<String> =
            short.map(|(name, reached, bar)| format!("{name} is {reached:.3}, not {bar}")).collect();
        bail!("verdicts are below the bar: {}", list.join("; "));
    }
    measure_growth()
}

fn verdict_on(case: &Case) -> Verdict {
    judge(&Run {
        command: &case.command,
        exit_code: Some(case.exit_code),
        output: &case.output,
        ..Run::default()
    })
}

fn verdict_on_cut(case: &Case) -> Verdict {
    let (output, end, cut) = cut_by_client(case);
    judge(&Run {
        command: &case.command,
        exit_code: Some(case.exit_code),
        output: &output,
        end: end.as_deref(),
        cut,
        ..Run::default()
    })
}

#[expect(clippy::print_stdout, reason = "a task reports to the terminal")]
fn measure(title: &str, cases: &[Case]) -> Score {
    let mut all = Score::default();
    let mut groups: BTreeMap<&str, Score> = BTreeMap::new();
    let (mut named, mut to_name, mut counted, mut to_count, mut changed) = (0, 0, 0, 0, Vec::new());
    for case in cases {
        let verdict = verdict_on(case);
        all.add(case, verdict.kind.name());
        groups.entry(&case.group).or_default().add(case, verdict.kind.name());
        if verdict_on_cut(case).kind != verdict.kind {
            changed.push(case.name.as_str());
        }
        for test in &case.failed_tests {
            to_name += 1;
            named += usize::from(verdict.failing.iter().any(|found| found.name.contains(test.as_str())));
        }
        let failed: Vec<u64> =
            case.counts.iter().filter(|(name, _)| name == "failed").map(|(_, n)| *n).collect();
        if !failed.is_empty() && case.label == "failed" {
            to_count += 1;
            counted += usize::from(verdict.counts.failed == failed.iter().sum::<u64>());
        }
    }
    println!("\n{title:<20} cases  recall precision  passed errored no-tests not-a-test");
    for (group, score) in &groups {
        println!("{group:<20} {score}");
    }
    println!("{:<20} {all}", "all");
    println!("failing tests named: {named} of {to_name}; failed counted: {counted} of {to_count}");
    println!("verdict changed by the client's cut: {changed:?}");
    for (name, label, verdict) in &all.misses {
        println!("  {name}: {label}, judged {verdict}");
    }
    all
}

/// Hostile outputs: ten times the length may not take much more than ten times as long.
#[expect(clippy::print_stdout, reason = "a task reports to the terminal")]
fn measure_growth() -> Result<()> {
    let pieces = [
        ("one line", "x"),
        ("escapes", "\u{1b}[31"),
        ("titles", "\u{1b}]"),
        ("near-matches", "not ok 1 failed, 2 passed and more\n"),
        ("counts", "1 failed, 2 passed\n"),
        ("numbers on one line", "1 failed 2 "),
        ("tags", "<testsuite "),
        ("names", "✕ adds\n"),
        ("blank lines", "\n"),
    ];
    println!();
    for (name, piece) in pieces {
        let short = time(&piece.repeat(100_000 / piece.len()));
        let long = time(&piece.repeat(1_000_000 / piece.len()));
        let growth = long.as_secs_f64() / short.as_secs_f64().max(1e-6);
        println!("{name:<22} 100 KB {short:>9.2?}   1 MB {long:>9.2?}   growth {growth:.1}");
        if growth > MOST_GROWTH {
            bail!("{name}: ten times the output takes {growth:.1} times as long");
        }
    }
    Ok(())
}

/// The best of three, which other work on the machine disturbs least.
fn time(output: &str) -> Duration {
    let once = || {
        let start = Instant::now();
        judge(&Run { command: "./run_tests.sh", exit_code: Some(1), output, ..Run::default() });
        start.elapsed()
    };
    (0..3).map(|_| once()).min().unwrap_or_default()
}
