//! Measures verdicts against the recorded and the written test runs, and fails below the limits.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use ralph_core::verdict::{Run, Verdict, judge};
use test_support::test_runs::{self, Case, Score, cut_by_client};

/// The maximum ratio of times for ten times the output; quadratic work would take a hundred times.
const MOST_GROWTH: f64 = 50.0;

/// The minimum shares for each folder: recall and precision of `failed`, then recall of each other
/// label.
const BARS: [(&str, f64, f64, f64); 5] = [
    ("recorded", 0.99, 0.995, 0.95),
    ("recorded later", 0.98, 0.985, 0.93),
    ("recorded last", 0.96, 0.975, 0.90),
    ("recorded newest", 0.95, 0.985, 0.90),
    ("written by hand", 0.93, 0.97, 0.90),
];

/// Prints one table per folder of cases and the list of misses.
pub(crate) fn run() -> Result<()> {
    let folders = [
        test_runs::recorded(),
        test_runs::recorded_later(),
        test_runs::recorded_last(),
        test_runs::recorded_newest(),
        test_runs::written(),
    ];
    let (mut all, mut short) = (Vec::new(), Vec::new());
    for ((title, recall, precision, others), folder) in BARS.into_iter().zip(folders) {
        let cases = test_runs::load(&folder)?;
        let score = measure(title, &cases);
        let mut check = |what: &str, reached: f64, bar: f64| {
            if reached < bar {
                short.push(format!("{title}: {what} is {reached:.3}, not {bar}"));
            }
        };
        check("recall of failed", score.recall("failed"), recall);
        check("precision of failed", score.precision("failed"), precision);
        for label in ["passed", "errored", "no-tests", "not-a-test"] {
            check(label, score.recall(label), others);
        }
        all.extend(cases);
    }
    measure_disguises(&all);
    if !short.is_empty() {
        bail!("verdicts are below the bar: {}", short.join("; "));
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
            named += usize::from(verdict.failing.iter().any(|found| found.contains(test.as_str())));
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

/// Measures how much the verdict depends on the exit code and the table of runners: without either,
/// the output must be enough.
#[expect(clippy::print_stdout, reason = "a task reports to the terminal")]
fn measure_disguises(cases: &[Case]) {
    let (mut hidden, mut unknown) = (Score::default(), Score::default());
    for case in cases.iter().filter(|case| case.label != "not-a-test" && !case.output.is_empty()) {
        let command = format!("{} 2>&1 | cat", case.command);
        let run = Run { exit_code: Some(0), output: &case.output, ..Run::default() };
        hidden.add(case, judge(&Run { command: &command, ..run }).kind.name());
        let several = case.group == "composite" || case.command.contains('|');
        let listing = ["--list", " list", "--no-run", "--collect-only"];
        if !several && !listing.iter().any(|option| case.command.contains(option)) {
            let run = Run { command: "npm test", exit_code: Some(case.exit_code), ..run };
            unknown.add(case, judge(&run).kind.name());
        }
    }
    for (title, score) in [("exit code hidden", hidden), ("runner unknown", unknown)] {
        println!("{title:<20} {score}   {} of {} right", score.right(), score.total());
    }
}

/// Measures hostile outputs: ten times the length must not take much more than ten times as long.
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
        let timed = |length: usize| time(&piece.repeat(length / piece.len()));
        // Beyond 256 KiB the middle is left out, so growth is only visible below that.
        let (short, long, whole) = (timed(25_000), timed(250_000), timed(1_000_000));
        let growth = long.as_secs_f64() / short.as_secs_f64().max(1e-6);
        println!(
            "{name:<20} 25 KB {short:>9.2?}, 250 KB {long:>9.2?}, 1 MB {whole:>9.2?}, growth {growth:.1}"
        );
        if growth > MOST_GROWTH {
            bail!("{name}: ten times the output takes {growth:.1} times as long");
        }
    }
    Ok(())
}

/// Measures the best of five runs, which other load on the machine disturbs least.
fn time(output: &str) -> Duration {
    let once = || {
        let start = Instant::now();
        judge(&Run { command: "./run_tests.sh", exit_code: Some(1), output, ..Run::default() });
        start.elapsed()
    };
    (0..5).map(|_| once()).min().unwrap_or_default()
}
