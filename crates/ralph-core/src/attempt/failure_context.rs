//! `failure-context.log`: the failing output, newest last, for the next prompt and for people.

use std::io;

use crate::state::{self, Cap, StateDir};

/// How many lines of one failure are kept.
pub const LONGEST_EXCERPT: usize = 100;

/// Above this size the file is cut to its last lines.
const CAP: Cap = Cap { above: 100_000, keep_lines: 500 };

/// A single line may be as long as a whole bundle; more than this of it helps nobody.
const LONGEST_LINE: usize = 2_000;

/// Appends the beginning of a failing run's output under a header with the time.
pub fn record_failure(state: &StateDir, at: &str, command: &str, output: &str) -> io::Result<()> {
    let mut block = format!("=== Test Failure {at} ===\n$ {}\n", one_line(command));
    for line in output.lines().take(LONGEST_EXCERPT) {
        block.extend(line.chars().take(LONGEST_LINE));
        block.push('\n');
    }
    state::append_capped(&state.failure_context(), block.as_bytes(), CAP)
}

fn one_line(command: &str) -> String {
    command.replace('\n', " ").chars().take(LONGEST_LINE).collect()
}

#[cfg(test)]
mod tests {
    use test_support::Scratch;

    use super::*;

    #[test]
    fn each_failure_has_a_header_and_a_hundred_lines_at_most() {
        let scratch = Scratch::new();
        let state = StateDir::of_project(scratch.root());
        let output: String = (0..300).map(|n| format!("line {n}\n")).collect();
        record_failure(&state, "2026-01-02T03:04:05Z", "pytest\n-x", &output).unwrap();
        let text = scratch.read(".ralph/failure-context.log");
        assert!(
            text.starts_with("=== Test Failure 2026-01-02T03:04:05Z ===\n$ pytest -x\nline 0\n")
        );
        assert!(text.ends_with("line 99\n"));
    }

    #[test]
    fn the_file_is_cut_to_its_last_lines() {
        let scratch = Scratch::new();
        let state = StateDir::of_project(scratch.root());
        let output = "x".repeat(150) + "\n";
        let output = output.repeat(100);
        for n in 0..12 {
            record_failure(&state, &format!("time {n}"), "t", &output).unwrap();
        }
        let text = scratch.read(".ralph/failure-context.log");
        assert!(text.len() < 110_000, "{}", text.len());
        assert!(text.contains("=== Test Failure time 11 ===") && !text.contains("time 0 ==="));
    }
}
