//! Signs that no test could run, that there was none, or that a rule other than a test was broken.
//! They are asked only where the summary and the exit code leave the question open.

use super::messages::{
    BROKEN_PARTS, BROKEN_STARTS, COMPILER_MARKS, ERROR_PARTS, ERROR_STARTS, EXIT_NOTES, FAILING,
    NO_TESTS, SUCCESS, UNLOADABLE,
};
use super::search::{Sieve, find, holds};

/// What single lines give away.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Signs {
    /// A compile, import or start-up error.
    pub(crate) broken: bool,
    /// One of those that stop a whole file from being loaded.
    pub(crate) unloadable: bool,
    /// A loader reports tests that it could not import, in the form of failed tests.
    pub(crate) loader_failures: u64,
    /// Test scripts that ended before their plan, and scripts with points that failed.
    pub(crate) unplanned: u64,
    pub(crate) failed_points: u64,
    /// Some error is spoken of, and no assertion.
    pub(crate) error: bool,
    /// The runner says that it found or ran no test.
    pub(crate) no_tests: bool,
    /// A threshold was missed although the tests passed.
    pub(crate) policy: bool,
    /// A build that includes the tests succeeded.
    pub(crate) success: bool,
}

impl Signs {
    /// Looks at the next line.
    pub(crate) fn push(&mut self, line: &str) {
        let text = line.trim();
        // Longer lines are data, not messages.
        let text = text.get(..text.floor_char_boundary(400)).unwrap_or_default();
        if text.is_empty() {
            return;
        }
        self.push_starts(text);
        if SPECIAL.catches(text) {
            self.unplanned += u64::from(holds(text, "No plan found in TAP output"));
            self.broken = self.broken || is_broken(text);
            self.unloadable = self.unloadable || UNLOADABLE.iter().any(|sign| holds(text, sign));
        }
        if GENERAL.catches(text) {
            let lower = text.to_ascii_lowercase();
            self.no_tests = self.no_tests || is_no_tests(&lower);
            self.policy = self.policy || is_policy(&lower);
            self.error = self.error || is_error(&lower);
        }
    }

    fn push_starts(&mut self, text: &str) {
        self.loader_failures += u64::from(is_loader_failure(text));
        self.failed_points += u64::from(text.starts_with("Failed test"));
        self.broken = self.broken || BROKEN_STARTS.iter().any(|start| text.starts_with(start));
        self.success = self.success || SUCCESS.iter().any(|sign| text.starts_with(sign));
    }
}

static SPECIAL: Sieve = Sieve::new(
    &[BROKEN_PARTS, UNLOADABLE, COMPILER_MARKS, &["No plan found in TAP output"]],
    false,
);

static GENERAL: Sieve = Sieve::new(
    &[
        ERROR_STARTS,
        ERROR_PARTS,
        NO_TESTS,
        &["no ", "0 test", "0 item", "0 spec", "0 of 0", "coverage", "thresholds on", "obsolete"],
    ],
    true,
);

/// Which bytes one of the signs begins with.
#[expect(clippy::indexing_slicing, reason = "evaluated by the compiler, which would refuse it")]
static FIRST_OF_FAILING: [bool; 256] = {
    let mut first = [false; 256];
    let mut at = 0;
    while at < FAILING.len() {
        first[FAILING[at].as_bytes()[0] as usize] = true;
        at += 1;
    }
    first
};

/// A heading or closing line that some runners print only when tests failed.
pub(crate) fn says_that_tests_failed(line: &str) -> bool {
    let text = line.trim();
    // Most lines are told from all signs by their first byte.
    let first = text.bytes().next().map_or(0, usize::from);
    FIRST_OF_FAILING.get(first) == Some(&true) && FAILING.iter().any(|sign| text.starts_with(sign))
}

fn is_loader_failure(text: &str) -> bool {
    (text.starts_with("ERROR: ") || text.starts_with("Error in "))
        && (text.contains("_FailedTest") || text.contains("ModuleImportFailure"))
}

fn is_broken(text: &str) -> bool {
    BROKEN_PARTS.iter().any(|part| holds(text, part)) || is_compiler_message(text)
}

/// `file.c:6:27: error: …`, `Calc.java:5: error: …`, `calc.nim(3, 5) Error: …`
fn is_compiler_message(text: &str) -> bool {
    COMPILER_MARKS.iter().any(|mark| {
        find(text, mark).is_some_and(|at| {
            let place = text.get(..at).unwrap_or_default();
            let numbered = place
                .rsplit([':', ',', '(', '.', '-'])
                .next()
                .map(|number| number.trim_matches([' ', ')']))
                .is_some_and(|number| {
                    !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
                });
            numbered && (!place.contains(' ') || place.contains('('))
        })
    })
}

/// `No tests found`, `no test modules found`, `Ran 0 tests`; but `no tests failed` is good news.
fn is_no_tests(lower: &str) -> bool {
    let nouns = ["test", "spec", "example", "scenario", "feature", "matching test", "failed test"];
    let none = lower.match_indices("no ").any(|(at, _)| {
        let starts_word = lower.get(..at).is_none_or(|before| {
            before.is_empty() || !before.ends_with(|c: char| c.is_alphanumeric())
        });
        let rest = lower.get(at + 3..).unwrap_or_default();
        let behind = nouns.iter().find_map(|noun| rest.strip_prefix(noun));
        let good_news = |behind: &str| {
            let near = behind.get(..behind.floor_char_boundary(12)).unwrap_or_default();
            near.contains("fail") || near.contains("error")
        };
        starts_word && behind.is_some_and(|behind| !good_news(behind))
    });
    let zero =
        ["collected", "running", "ran", "found", "executed", "discovered"].iter().any(|verb| {
            // XCTest says so as well where all tests are those of another framework.
            let rest = lower.strip_prefix(verb).filter(|rest| !rest.contains(", with 0 failures"));
            rest.is_some_and(|rest| {
                let rest = rest.trim_start_matches([':', ' ']);
                ["0 test", "0 item", "0 spec", "0 of 0"].iter().any(|none| rest.starts_with(none))
            })
        });
    none || zero || NO_TESTS.iter().any(|phrase| holds(lower, phrase))
}

/// Any other message of an error; assertions are failures, not errors.
fn is_error(lower: &str) -> bool {
    let expectation = lower.contains("assert")
        || lower.contains("expectation")
        || (lower.contains("expected")
            && !lower.contains("unexpected")
            && !lower.contains("expected near"));
    !expectation
        && !EXIT_NOTES.iter().any(|note| holds(lower, note))
        && (ERROR_STARTS.iter().any(|start| lower.starts_with(start))
            || ERROR_PARTS.iter().any(|part| holds(lower, part)))
}

fn is_policy(lower: &str) -> bool {
    let threshold = ["does not meet", "fail-under", "not reached", "threshold", "below"];
    (lower.contains("coverage") && threshold.iter().any(|word| lower.contains(word)))
        || lower.contains("thresholds on metrics")
        || lower.contains("snapshot obsolete")
}
