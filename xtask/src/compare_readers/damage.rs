//! Random, mutated and deeply nested lines: which reader panics on them, which takes too long?

use std::panic::{catch_unwind, set_hook, take_hook};
use std::time::{Duration, Instant};

use super::{READERS, Reader};
use crate::fuzz_guard::{Dice, SLOW, processor_time, random_line};

/// The same lines in every run.
const SEED: u64 = 20_261_115;

/// What became of one reader.
#[derive(Debug, Default)]
struct Record {
    panics: u64,
    over_time: u64,
    longest: Duration,
}

/// Gives `count` lines to each reader.
pub(super) fn run(corpus: &[String], count: u64) {
    let hook = take_hook();
    // A panic is counted; its message would only hide the table.
    set_hook(Box::new(|_| {}));
    let mut dice = Dice::new(SEED);
    let mut records: [Record; 2] = Default::default();
    for case in 0..count {
        let line = random_line(&mut dice, case, corpus);
        for (reader, record) in READERS.into_iter().zip(&mut records) {
            record.give(reader, &line);
        }
    }
    set_hook(hook);
    let [ours, shuck] = &records;
    println!("random, mutated and nested lines: {count}");
    println!("{:<34}{:>12}{:>12}", "  panics", ours.panics, shuck.panics);
    println!("{:<34}{:>12}{:>12}", "  over 50 ms", ours.over_time, shuck.over_time);
    let longest = [ours, shuck].map(|record| record.longest.as_secs_f64() * 1e3);
    super::print_row("  longest, ms", longest, 1);
}

impl Record {
    fn give(&mut self, reader: Reader, line: &str) {
        let begun = Instant::now();
        if catch_unwind(|| reader.reads(line)).is_err() {
            self.panics += 1;
            return;
        }
        let mut taken = begun.elapsed();
        if taken > self.longest.max(SLOW / 10) {
            // Another program may have been in the way.
            taken = processor_time(|| reader.reads(line)).unwrap_or(taken);
        }
        self.over_time += u64::from(taken > SLOW);
        self.longest = self.longest.max(taken);
    }
}
