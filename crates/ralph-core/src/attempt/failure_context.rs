//! `failure-context.log`: the failing output, newest last, for the next prompt and for people.

use std::io;

use crate::secrets::mask;
use crate::state::{self, Cap, StateDir};

/// How many lines of one failure are kept.
const LONGEST_EXCERPT: usize = 100;

/// Above this size the file is cut to its last lines.
const CAP: Cap = Cap { above: 100_000, keep_lines: 500 };

/// A single line may be as long as a whole bundle; more than this of it helps nobody.
const LONGEST_LINE: usize = 2_000;

const HEADER: &str = "=== Test Failure ";

/// What stands below the failures of a story that was set aside.
const CLOSED: &str = "=== Set aside ";

/// Appends the beginning of a failure's text under a header with the time, without the keys in it.
pub fn record_failure(state: &StateDir, text: &str) -> io::Result<()> {
    let mut block = format!("{HEADER}{} ===\n", state::now());
    let mut excerpt = String::new();
    for line in text.lines().take(LONGEST_EXCERPT) {
        excerpt.extend(line.chars().take(LONGEST_LINE));
        excerpt.push('\n');
    }
    block.push_str(&mask(&excerpt));
    state::append_capped(&state.failure_context(), block.as_bytes(), CAP)
}

/// Says that the failures are none of the next story's: the one that they belong to is set aside. They
/// stay for people to read.
pub fn close_failure(state: &StateDir) -> io::Result<()> {
    if last_failure(state).is_none() {
        return Ok(());
    }
    let line = format!("{CLOSED}{} ===\n", state::now());
    state::append_capped(&state.failure_context(), line.as_bytes(), CAP)
}

/// Forgets the failures: the story they belong to is done.
pub fn clear_failure(state: &StateDir) -> io::Result<()> {
    state::remove_if_there(state.failure_context())
}

/// The newest failure, without its header; none if its story was set aside.
pub fn last_failure(state: &StateDir) -> Option<String> {
    let log = state::read(state.failure_context()).ok()?;
    let log = String::from_utf8_lossy(&log);
    let newest = log.rsplit(HEADER).next()?;
    let text = newest.split_once('\n').map_or(newest, |(_, text)| text).trim_end();
    let is_closed = text.lines().next_back().is_some_and(|line| line.starts_with(CLOSED));
    (!text.is_empty() && !is_closed).then(|| text.to_owned())
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
        record_failure(&state, &output).unwrap();
        let text = scratch.read(".ralph/failure-context.log");
        assert!(text.starts_with("=== Test Failure 2"), "{text}");
        assert!(text.contains("Z ===\nline 0\n") && text.ends_with("line 99\n"), "{text}");
    }

    #[test]
    fn the_file_is_cut_to_its_last_lines() {
        let scratch = Scratch::new();
        let state = StateDir::of_project(scratch.root());
        for n in 0..12 {
            let line = format!("{n} {}\n", "x".repeat(150));
            record_failure(&state, &line.repeat(100)).unwrap();
        }
        let text = scratch.read(".ralph/failure-context.log");
        assert!(text.len() < 110_000, "{}", text.len());
        assert!(text.contains("\n11 xxx") && !text.contains("\n0 xxx"));
    }

    #[test]
    fn keys_in_the_output_are_not_kept() {
        let scratch = Scratch::new();
        let state = StateDir::of_project(scratch.root());
        record_failure(&state, "expected ghp_0123456789abcdefghij0123456789 to be refused\n")
            .unwrap();
        assert_eq!(last_failure(&state).unwrap(), "expected [masked] to be refused");
    }

    #[test]
    fn the_failures_of_a_story_that_was_set_aside_are_kept_and_not_told() {
        let scratch = Scratch::new();
        let state = StateDir::of_project(scratch.root());
        close_failure(&state).unwrap();
        assert!(!scratch.path(".ralph/failure-context.log").exists());
        record_failure(&state, "one\n").unwrap();
        close_failure(&state).unwrap();
        assert_eq!(last_failure(&state), None);
        assert!(scratch.read(".ralph/failure-context.log").contains("one\n=== Set aside 2"));
        record_failure(&state, "two\n").unwrap();
        assert_eq!(last_failure(&state).unwrap(), "two");
    }

    #[test]
    fn the_newest_failure_is_found_and_forgotten() {
        let scratch = Scratch::new();
        let state = StateDir::of_project(scratch.root());
        assert_eq!(last_failure(&state), None);
        record_failure(&state, "one\n=== not a header ===\n").unwrap();
        record_failure(&state, &"two\n".repeat(200)).unwrap();
        assert_eq!(last_failure(&state).unwrap(), "two\n".repeat(100).trim_end());
        clear_failure(&state).unwrap();
        clear_failure(&state).unwrap();
        assert_eq!(last_failure(&state), None);
    }
}
