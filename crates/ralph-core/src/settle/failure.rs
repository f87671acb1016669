//! What went wrong last, kept for the next attempt: the failing output and one-line lessons.

use std::io;

use super::attempt::remove_if_there;
use crate::state::{self, Cap, StateDir};

/// When the log is cut, and to what.
const CAP: Cap = Cap { above: 100_000, keep_lines: 500 };

/// What is kept of one failure.
const LINES_KEPT: usize = 100;

const HEADER: &str = "=== Test Failure ";

/// Appends a failure to `failure-context.log`.
pub fn record_failure(state: &StateDir, text: &str) -> io::Result<()> {
    let mut block = format!("{HEADER}{} ===\n", state::now());
    for line in text.lines().take(LINES_KEPT) {
        block.push_str(line);
        block.push('\n');
    }
    state::append_capped(&state.failure_context(), block.as_bytes(), CAP)
}

/// Forgets the failures: the story they belong to is done.
pub fn clear_failure(state: &StateDir) -> io::Result<()> {
    remove_if_there(&state.failure_context())
}

/// The newest failure, without its header.
pub fn last_failure(state: &StateDir) -> Option<String> {
    let log = fs_err::read(state.failure_context()).ok()?;
    let log = String::from_utf8_lossy(&log);
    let newest = log.rsplit(HEADER).next()?;
    let text = newest.split_once('\n').map_or(newest, |(_, text)| text).trim_end();
    (!text.is_empty()).then(|| text.to_owned())
}

/// Adds one short lesson to `guardrails.md`, unless it is there already.
pub fn add_guardrail(state: &StateDir, lesson: &str) -> io::Result<()> {
    let lesson: String = lesson.split_whitespace().collect::<Vec<_>>().join(" ");
    let line = format!("- {}", lesson.chars().take(300).collect::<String>());
    let path = state.guardrails();
    let known = fs_err::read_to_string(&path).unwrap_or_default();
    if known.lines().any(|old| old == line) {
        return Ok(());
    }
    if known.is_empty() {
        state::append_line(&path, b"# Guardrails\n")?;
    }
    state::append_line(&path, line.as_bytes())
}

#[cfg(test)]
mod tests {
    use test_support::Scratch;

    use super::*;

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

    #[test]
    fn a_lesson_is_written_once() {
        let scratch = Scratch::new();
        let state = StateDir::of_project(scratch.root());
        for lesson in ["run the\n tests", "run the tests", "read first"] {
            add_guardrail(&state, lesson).unwrap();
        }
        let text = scratch.read(".ralph/guardrails.md");
        assert_eq!(text, "# Guardrails\n\n- run the tests\n- read first\n");
    }
}
