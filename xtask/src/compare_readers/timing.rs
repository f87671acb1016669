//! How long each reader takes, in the process: over the labelled commands and by length.

use std::time::Instant;

use super::{READERS, Reader, median, print_row};

/// Rounds over the labelled commands; of each command the median counts.
const ROUNDS: usize = 15;
/// Readings in a row, because one is too short to be timed.
const REPEATS: u32 = 4;

/// What a line is made of until it is long enough: what agents write all day.
const PIECE: &str = "cd crates/core && RUST_LOG=info cargo test --workspace -- --nocapture 2>&1 \
                     | tee /tmp/out.log | tail -20; ";

/// Times every labelled command.
pub(super) fn corpus(corpus: &[String]) {
    let times = times(corpus, ROUNDS, REPEATS);
    let read = READERS.map(|reader| corpus.iter().filter(|line| reader.reads(line)).count());
    println!("labelled commands: {}", corpus.len());
    println!("{:<34}{:>12}{:>12}", "  understood to the end", read[0], read[1]);
    print_row("  median, µs", [0, 1].map(|reader| median(column(&times, reader))), 2);
    print_row("  all of them, µs", [0, 1].map(|reader| column(&times, reader).iter().sum()), 0);
    let sooner = times.iter().filter(|[ours, shuck]| ours < shuck).count();
    println!("{:<34}{sooner:>12}{:>12}", "  sooner than the other", corpus.len() - sooner);
}

/// Times lines of a hundred bytes, two and a hundred kilobytes.
pub(super) fn sized_lines() {
    // Short turns, so that whatever else the machine does falls on both alike.
    for (length, rounds, repeats) in [(100, 401, 10), (2_048, 101, 1), (100_000, 25, 1)] {
        let line: String = PIECE.chars().cycle().take(length).collect();
        let whole = READERS.iter().all(|reader| reader.reads(&line));
        let note = if whole { "" } else { " (not read to its end)" };
        let times = times(&[line], rounds, repeats);
        let middle = [0, 1].map(|reader| median(column(&times, reader)));
        print_row(&format!("a line of {length} bytes, µs{note}"), middle, 1);
    }
}

/// The median time of each line in microseconds, by reader.
fn times(lines: &[String], rounds: usize, repeats: u32) -> Vec<[f64; 2]> {
    let mut taken: Vec<[Vec<f64>; 2]> = vec![Default::default(); lines.len()];
    for _ in 0..rounds {
        for (line, [ours, shuck]) in lines.iter().zip(&mut taken) {
            ours.push(time(Reader::Ours, line, repeats));
            shuck.push(time(Reader::Shuck, line, repeats));
        }
    }
    taken.into_iter().map(|pair| pair.map(median)).collect()
}

fn time(reader: Reader, line: &str, repeats: u32) -> f64 {
    let begun = Instant::now();
    for _ in 0..repeats {
        reader.reads(line);
    }
    begun.elapsed().as_secs_f64() * 1e6 / f64::from(repeats)
}

fn column(times: &[[f64; 2]], reader: usize) -> Vec<f64> {
    times.iter().filter_map(|pair| pair.get(reader)).copied().collect()
}
