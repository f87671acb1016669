//! `failure-context.log`: the failing output, newest last, for the next prompt and for people.

use std::io;

use ralph_base::secrets::mask;
use ralph_base::state::{self, Cap, StateDir};

/// How many lines of one failure are kept.
const LONGEST_EXCERPT: usize = 100;

/// The size above which the file is cut to its last lines.
const CAP: Cap = Cap { above: 100_000, keep_lines: 500 };

/// The maximum length of a line: a single line may be a whole minified bundle.
const LONGEST_LINE: usize = 2_000;

const HEADER: &str = "=== Test Failure ";

/// The line below the header, if the failure belongs to a story.
const STORY: &str = "Story: ";

/// Appends the beginning of a failure's text under a header with the time, with secrets masked.
pub fn record_failure(state: &StateDir, story: Option<&str>, text: &str) -> io::Result<()> {
    let mut block = format!("{HEADER}{} ===\n", state::now());
    if let Some(story) = story {
        block.push_str(&format!("{STORY}{story}\n"));
    }
    let excerpt: Vec<&str> = text.lines().take(LONGEST_EXCERPT).collect();
    for line in mask(&excerpt.join("\n")).lines() {
        block.extend(line.chars().take(LONGEST_LINE));
        block.push('\n');
    }
    append_failures(state, block.as_bytes())
}

/// Appends failures that were recorded elsewhere.
pub fn append_failures(state: &StateDir, blocks: &[u8]) -> io::Result<()> {
    state::append_capped(&state.failure_context(), blocks, CAP)
}

/// Removes the failures of a finished story, and those without a story.
pub fn clear_failure(state: &StateDir, story: &str) -> io::Result<()> {
    let path = state.failure_context();
    let others = |log: &[u8]| -> String {
        let log = String::from_utf8_lossy(log);
        failures(&log).filter(|failure| !failure.concerns(story)).map(|one| one.block).collect()
    };
    state::edit_users(&path, |log| Some(others(log?).into_bytes()))?;
    if fs_err::metadata(&path).is_ok_and(|log| log.len() == 0) {
        state::remove_if_there(&path)?;
    }
    Ok(())
}

/// Returns the newest failure of a story, without its header. A failure without a story may be this
/// story's; one whose header was cut off is ignored.
pub fn last_failure(state: &StateDir, story: &str) -> Option<String> {
    let mut log = state::read(state.of_all().failure_context()).unwrap_or_default();
    if state.is_of_attempt() {
        log.extend(state::read(state.failure_context()).unwrap_or_default());
    }
    let log = String::from_utf8_lossy(&log);
    let whole = failures(&log).filter(|failure| failure.block.starts_with(HEADER));
    let newest = whole.filter(|failure| failure.concerns(story)).last()?;
    Some(newest.text.trim_end().to_owned()).filter(|text| !text.is_empty())
}

/// A failure in the log.
struct Failure<'a> {
    /// The whole entry.
    block: &'a str,
    story: Option<&'a str>,
    /// What failed.
    text: &'a str,
}

impl Failure<'_> {
    /// Whether it may belong to a story, which is named with its plan (`PRD-1/US-001`) if known.
    fn concerns(&self, story: &str) -> bool {
        let Some(own) = self.story else { return true };
        let id = |name: &str| name.rsplit('/').next().map(str::to_owned);
        let are_plans_known = own.contains('/') && story.contains('/');
        own == story || !are_plans_known && id(own) == id(story)
    }
}

/// Returns the failures of a log, oldest first.
fn failures(log: &str) -> impl Iterator<Item = Failure<'_>> {
    let starts = log.match_indices(HEADER).map(|(at, _)| at);
    let starts: Vec<usize> = [0].into_iter().chain(starts.filter(|at| *at > 0)).collect();
    let ends: Vec<usize> = starts.iter().skip(1).copied().chain([log.len()]).collect();
    starts.into_iter().zip(ends).filter_map(|(start, end)| {
        let block = log.get(start..end)?;
        let (_, text) = block.split_once('\n')?;
        let named = text.strip_prefix(STORY).and_then(|rest| rest.split_once('\n'));
        let (story, text) = named.map_or((None, text), |(story, text)| (Some(story), text));
        Some(Failure { block, story, text })
    })
}

#[cfg(test)]
mod tests {
    use test_support::Scratch;

    use super::*;

    #[test]
    fn the_file_is_cut_to_its_last_lines() {
        let scratch = Scratch::new();
        let state = StateDir::of_project(scratch.root());
        for n in 0..12 {
            let line = format!("{n} {}\n", "x".repeat(150));
            record_failure(&state, Some("US-001"), &line.repeat(100)).unwrap();
        }
        let text = scratch.read(".ralph/failure-context.log");
        assert!(text.len() < 110_000, "{}", text.len());
        assert!(text.contains("\n11 xxx") && !text.contains("\n0 xxx"));
        assert!(!text.starts_with(HEADER), "the oldest failure is cut");
        assert_eq!(last_failure(&state, "US-002"), None);
    }

    #[test]
    fn each_story_has_its_own_failures() {
        let scratch = Scratch::new();
        let state = StateDir::of_project(scratch.root());
        for (story, text) in [("US-001", "one"), ("US-002", "two"), ("US-001", "three\n  four")] {
            record_failure(&state, Some(story), text).unwrap();
        }
        let last = |story: &str| last_failure(&state, story).unwrap_or_default();
        assert_eq!(["US-001", "US-002", "US-003"].map(last), ["three\n  four", "two", ""]);
        clear_failure(&state, "US-001").unwrap();
        assert_eq!(["US-001", "US-002"].map(last), ["", "two"]);
        clear_failure(&state, "US-002").unwrap();
        assert!(!scratch.path(".ralph/failure-context.log").exists());
    }

    #[test]
    fn the_newest_failure_is_found_without_its_keys_and_can_be_cleared() {
        let scratch = Scratch::new();
        let state = StateDir::of_project(scratch.root());
        assert_eq!(last_failure(&state, "US-001"), None);
        record_failure(&state, None, "one\n=== not a header ===\n").unwrap();
        let lines: String = (1..300).map(|n| format!("line {n}\n")).collect();
        let key = "expected ghp_0123456789abcdefghij0123456789 to be refused\n";
        record_failure(&state, None, &(key.to_owned() + &lines)).unwrap();
        let text = scratch.read(".ralph/failure-context.log");
        assert!(text.starts_with("=== Test Failure 2") && text.contains("Z ===\none\n"), "{text}");
        let last = last_failure(&state, "US-001").unwrap();
        assert!(last.starts_with("expected [masked] to be refused\nline 1\n"), "{last}");
        assert!(last.ends_with("\nline 99") && last.lines().count() == 100, "{last}");
        clear_failure(&state, "US-001").unwrap();
        clear_failure(&state, "US-001").unwrap();
        assert_eq!(last_failure(&state, "US-001"), None);
    }
}
