//! Phrases in single lines, for output without a summary that counts: a file could not be loaded,
//! there was nothing to run, a threshold was missed.
//!
//! Phrases rank below counts and exit codes. The shorter a phrase and the more common in logs, the
//! more it can mislead. To add a phrase, add it to a list.

use std::sync::LazyLock;

use super::super::command::is_test_name;
use super::search::{Sieve, holds};

// The lists, from `lists.toml`.
include!(concat!(env!("OUT_DIR"), "/signs.rs"));

static LISTS: LazyLock<Sieve<9>> = LazyLock::new(|| {
    Sieve::new([NOT_LOADED, LOADER, ERROR, NO_ERROR, CRASHED, NOTHING, NONE, IDLE, POLICY])
});

/// The kinds of phrases found in an output.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Signs {
    /// A compile, import or start-up error.
    pub(crate) not_loaded: bool,
    /// Files that could not be loaded, reported as failed tests.
    pub(crate) loader: bool,
    pub(crate) loader_failures: u64,
    /// An error is mentioned, and nothing shows that tests had started.
    pub(crate) error: bool,
    /// The runner reports that it found or ran no test.
    pub(crate) nothing: bool,
    pub(crate) idle: bool,
    /// A threshold was missed although the tests passed.
    pub(crate) policy: bool,
    /// A build that includes the tests succeeded, by its last word.
    pub(crate) success: bool,
    /// The line, counted from 1 without blank ones, in which the program that started the tests
    /// reports near the end that it failed.
    pub(crate) given_up_at: Option<usize>,
    /// Reports of the runner's surroundings show that tests were running.
    pub(crate) running: bool,
    /// A line that is only printed when tests failed.
    pub(crate) failed: bool,
    /// A gradle test task had something to do, or was up to date.
    pub(crate) tested: bool,
    /// A message of make, the only line if there is nothing to do.
    make: bool,
    begun: bool,
    /// A test passed.
    pub(crate) one_passed: bool,
    lines: usize,
    killed_at: Option<usize>,
}

/// The maximum number of lines in the output of a run that stopped before its first test.
const SHORT: usize = 40;

/// The number of lines in which a build tool explains its failure, and the shell a signal.
const EXPLANATION: usize = 60;
const LAST_WORDS: usize = 2;

impl Signs {
    pub(crate) fn of<'a>(lines: impl Iterator<Item = &'a str>) -> Self {
        let mut signs = Self::default();
        lines.for_each(|line| signs.push(line));
        signs.error &= !signs.begun && signs.lines <= SHORT;
        signs.nothing |= signs.make && signs.lines == 1;
        let is_near = |most| move |at: &usize| signs.lines - at <= most;
        signs.given_up_at = signs.given_up_at.filter(is_near(EXPLANATION));
        signs.given_up_at = signs.given_up_at.or(signs.killed_at.filter(is_near(LAST_WORDS)));
        signs
    }

    fn push(&mut self, line: &str) {
        let text = line.trim();
        // Longer lines are data, not messages.
        let text = text.get(..text.floor_char_boundary(400)).unwrap_or_default();
        if text.is_empty() {
            return;
        }
        self.lines += 1;
        let [not_loaded, loader, error, no_error, crashed, nothing, none, idle, policy] =
            LISTS.catches(text);
        let is_assertion = holds(text, "ssert") || holds(text, "error: Failure ");
        // Some runners report it twice, the first time while they run.
        let again = holds(text, "No plan found") || text.ends_with("... ERROR");
        self.loader_failures += u64::from(loader && !again);
        self.loader |= loader;
        let is_message = !is_assertion && !begins(text, HARMLESS);
        self.not_loaded |= not_loaded && is_message || make_gave_up(text);
        // XCTest also prints this if all tests belong to another framework.
        let nothing = nothing && !holds(text, ", with 0 failures");
        self.nothing |= nothing || (none && is_none(text));
        self.make |= text.starts_with("make: ");
        self.idle |= idle && (!text.ends_with("NO-SOURCE") || is_test_task(text));
        self.tested |= is_test_task(text) && !idle;
        self.policy |= policy && is_policy(&text.to_ascii_lowercase());
        self.error |= is_error(text, error, no_error);
        if begins(text, SUCCESS) {
            (self.success, self.given_up_at) = (true, None);
        } else if gives_up(text) {
            (self.success, self.given_up_at) = (false, Some(self.lines));
        }
        if is_killed(text) {
            self.killed_at = Some(self.lines);
        }
        self.running |= begins(text, RUNNING) || is_test_task(text) && !idle;
        self.failed |= begins(text, FAILED) || is_named(text);
        self.begun |= crashed || begins(text, BEGUN);
        self.one_passed |=
            begins(text, PASSED) || PASSED_BEHIND.iter().any(|end| text.ends_with(end));
    }
}

fn begins(text: &str, starts: &[&str]) -> bool {
    starts.iter().any(|start| text.starts_with(start))
}

/// Returns whether the program that started the tests reports that they, or something else that it
/// had to do, failed: `make[1]: *** [check] Error 1`, `[INFO] BUILD FAILURE`.
fn gives_up(text: &str) -> bool {
    begins(text, GIVEN_UP)
        || GIVEN_UP_WITH.iter().any(|part| holds(text, part))
        || (begins(text, &["make", "gmake"]) && holds(text, ": *** "))
}

/// Returns whether the shell reports that a signal ended a program: `Killed`, also behind
/// `run.sh: line 3: 4711`.
fn is_killed(text: &str) -> bool {
    let bare = text.strip_suffix(" (core dumped)").unwrap_or(text);
    let behind = text.split_once(": line ").map_or("", |(_, behind)| behind);
    let message = behind.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, ' ' | ':'));
    let signals = ["Killed", "Terminated", "Aborted", "Segmentation fault"];
    signals.iter().any(|signal| bare == *signal || message.starts_with(signal))
}

/// Returns whether a line names a failed test: `FAILED tests/test_cart.py::test_discount - …`,
/// `rspec ./spec/calc_spec.rb:9 # adds`, `● cart › adds`, `[junit] Test CalcTest FAILED`,
/// `Warning: 1/2 assertions failed (3ms) Used --force, continuing.`
fn is_named(text: &str) -> bool {
    text.strip_prefix("FAILED ").is_some_and(|rest| holds(rest, "::"))
        || (text.starts_with("rspec ./") && holds(text, " # "))
        || (text.starts_with("● ") && holds(text, " › "))
        || (text.starts_with("[junit] Test ") && text.ends_with(" FAILED"))
        || text.ends_with(" Used --force, continuing.")
}

/// Returns whether a line is about a test task: `:app:test`, `> Task :integrationTest UP-TO-DATE`.
fn is_test_task(text: &str) -> bool {
    let Some(task) = text.trim_start_matches("> Task ").strip_prefix(':') else { return false };
    let name = task.split(' ').next().unwrap_or_default().trim_end_matches(':');
    let last = name.rsplit(':').next().unwrap_or_default();
    let plain = last.trim_end_matches(|c: char| c.is_ascii_uppercase());
    // These prepare tests and run none: `lintAnalyzeDebugUnitTest`, `packageDebugUnitTest`.
    (plain.ends_with("test") || plain.ends_with("Test"))
        && is_test_name(last)
        && !begins(last, &["package", "process", "merge", "link", "bundle"])
}

/// Detects a failure of make, in any language: `make: *** No rule to make target 'test'.  Stop.`,
/// `Makefile:2: *** missing separator.  Stop.`, and `make: *** [Makefile:2: test] Error 127` if the
/// shell could not start a command.
fn make_gave_up(text: &str) -> bool {
    let Some((origin, message)) = text.split_once(": *** ") else { return false };
    let not_started = message.ends_with(" 127") || message.ends_with(" 126");
    let stopped = message.ends_with(['.', '。']) && !message.ends_with("...");
    let of_make = origin.starts_with("make") || origin.ends_with(|c: char| c.is_ascii_digit());
    of_make && if message.starts_with('[') { not_started } else { stopped }
}

/// Returns whether a line is another error message; assertions are failures, not errors.
fn is_error(text: &str, error: bool, no_error: bool) -> bool {
    let lower = text.get(..text.floor_char_boundary(20)).unwrap_or_default().to_ascii_lowercase();
    let starts = begins(&lower, ERROR_STARTS);
    // The usual form of a compiler message, whatever else it says.
    let compiler = text.starts_with("error: ") && !holds(text, " failed");
    compiler || ((starts || error) && !no_error)
}

/// Returns whether no tests were found: `No tests found`, but not `no tests failed`.
fn is_none(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    NONE.iter().filter_map(|none| lower.split_once(none)).any(|(before, behind)| {
        let near = behind.get(..behind.floor_char_boundary(12)).unwrap_or_default();
        !before.ends_with(|c: char| c.is_alphanumeric())
            && !near.contains("fail")
            && !near.contains("error")
    })
}

fn is_policy(lower: &str) -> bool {
    let missed = ["does not meet", "fail-under", "not reached", "threshold", "below", "obsolete"];
    missed.iter().any(|word| holds(lower, word))
}
