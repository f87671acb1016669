//! Random, mutated and deeply nested lines: which reader crashes on them, which takes too long?
//!
//! Each reader works in a process of its own, because nobody can catch a stack overflow: the
//! process says which line it begins, and when it dies or hangs the next one goes on behind that
//! line.

use std::io::{BufRead, BufReader, Write};
use std::panic::{catch_unwind, set_hook};
use std::process::Stdio;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use super::{READERS, Reader, print_row};
use crate::fuzz::{CommandLines, SLOW, processor_time};
use crate::run;

/// The same lines in every run.
const SEED: u64 = 20_261_115;
/// Times below this are not worth a report.
const REPORTED: Duration = Duration::from_millis(2);

/// A reader that is silent for so long hangs.
const PATIENCE: Duration = Duration::from_secs(10);

/// What became of one reader.
#[derive(Debug, Default)]
struct Record {
    panics: u64,
    crashes: u64,
    hangs: u64,
    over_time: u64,
    longest: Duration,
    /// The first line that it did not survive.
    first_lost: Option<u64>,
}

/// Gives `count` lines to each reader and prints what became of them.
pub(super) fn run(lines: &CommandLines, count: u64) -> Result<()> {
    let [ours, shuck] = READERS.map(|reader| record(reader, count));
    let (ours, shuck) = (ours?, shuck?);
    println!("random, mutated and nested lines: {count}");
    println!("{:<34}{:>12}{:>12}", "  panics", ours.panics, shuck.panics);
    println!("{:<34}{:>12}{:>12}", "  crashes of the process", ours.crashes, shuck.crashes);
    println!("{:<34}{:>12}{:>12}", "  hangs for over 10 s", ours.hangs, shuck.hangs);
    println!("{:<34}{:>12}{:>12}", "  over 50 ms", ours.over_time, shuck.over_time);
    print_row("  longest, ms", [&ours, &shuck].map(|one| one.longest.as_secs_f64() * 1e3), 1);
    for (reader, record) in READERS.into_iter().zip([ours, shuck]) {
        if let Some(case) = record.first_lost {
            let line: String = line(case, lines).chars().take(300).collect();
            println!("  the first that {reader:?} did not survive: {line:?}");
        }
    }
    Ok(())
}

/// Has processes read all lines, one after the other if they die.
fn record(reader: Reader, count: u64) -> Result<Record> {
    let mut record = Record::default();
    let mut next = 0;
    while next < count {
        let mut child = run::command(std::env::current_exe()?.to_str().context("a path in UTF-8")?)
            .args(["compare-readers", "--lines", &count.to_string()])
            .args(["--read-with", reader.name(), "--from", &next.to_string()])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let reports = BufReader::new(child.stdout.take().context("no output to read")?);
        let (sender, received) = mpsc::channel();
        std::thread::spawn(move || {
            reports.lines().map_while(Result::ok).try_for_each(|report| sender.send(report))
        });
        let silence = loop {
            match received.recv_timeout(PATIENCE) {
                Ok(report) => record.note(&report, &mut next),
                Err(silence) => break silence,
            }
        };
        let hangs = silence == mpsc::RecvTimeoutError::Timeout;
        if hangs {
            child.kill()?;
        }
        if !child.wait()?.success() {
            record.hangs += u64::from(hangs);
            record.crashes += u64::from(!hangs);
            record.first_lost.get_or_insert(next);
        }
        next += 1;
    }
    Ok(record)
}

impl Record {
    /// `7` begins line 7, `panic` and `took 12000` (microseconds) tell how it went.
    fn note(&mut self, report: &str, current: &mut u64) {
        if report == "panic" {
            self.panics += 1;
        } else if let Some(micros) = report.strip_prefix("took ").and_then(|text| text.parse().ok())
        {
            let taken = Duration::from_micros(micros);
            self.over_time += u64::from(taken > SLOW);
            self.longest = self.longest.max(taken);
        } else if let Ok(case) = report.parse() {
            *current = case;
        }
    }
}

/// What such a process does: reads the lines behind `from` and reports on each.
pub(super) fn read_lines(
    reader: Reader,
    lines: &CommandLines,
    from: u64,
    count: u64,
) -> Result<()> {
    // A panic is reported; its message would only be in the way.
    set_hook(Box::new(|_| {}));
    let mut reports = std::io::stdout().lock();
    for case in from..count {
        let line = line(case, lines);
        writeln!(reports, "{case}")?;
        let begun = Instant::now();
        if catch_unwind(|| reader.reads(&line)).is_err() {
            writeln!(reports, "panic")?;
            continue;
        }
        let mut taken = begun.elapsed();
        if taken > REPORTED {
            // Another program may have been in the way.
            taken = processor_time(|| reader.reads(&line)).unwrap_or(taken);
        }
        if taken > REPORTED {
            writeln!(reports, "took {}", taken.as_micros())?;
        }
    }
    Ok(())
}

/// The line of a case, the same whichever lines were read before it.
fn line(case: u64, lines: &CommandLines) -> String {
    lines.line(case, SEED.wrapping_add(case.wrapping_mul(0x9e37_79b9_7f4a_7c15)))
}
