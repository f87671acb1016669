//! What single lines give away where no summary counts anything: that a file could not be loaded,
//! that there was nothing to run, that a threshold was missed.
//!
//! Words rank below counts and exit codes. The shorter a text here and the more common in logs,
//! the more it can mislead; adding one is adding it to a list.

use std::sync::LazyLock;

use super::search::{Sieve, holds};

// The lists, from `lists.toml`.
include!(concat!(env!("OUT_DIR"), "/signs.rs"));

static LISTS: LazyLock<Sieve<9>> = LazyLock::new(|| {
    Sieve::new([NOT_LOADED, LOADER, ERROR, NO_ERROR, CRASHED, NOTHING, NONE, IDLE, POLICY])
});

/// The first line of each kind.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Signs<'a> {
    /// A compile, import or start-up error.
    pub(crate) not_loaded: Option<&'a str>,
    /// Files that could not be loaded, in the form of failed tests.
    pub(crate) loader: Option<&'a str>,
    pub(crate) loader_failures: u64,
    /// Some error is spoken of, and nothing that shows that tests had begun.
    pub(crate) error: Option<&'a str>,
    /// The runner says that it found or ran no test.
    pub(crate) nothing: Option<&'a str>,
    pub(crate) idle: Option<&'a str>,
    /// A threshold was missed although the tests passed.
    pub(crate) policy: Option<&'a str>,
    /// A build that includes the tests succeeded.
    pub(crate) success: Option<&'a str>,
    /// A line that is printed only when tests failed.
    pub(crate) failed: Option<&'a str>,
    /// A test task of gradle had something to do.
    pub(crate) tested: bool,
    begun: bool,
    lines: usize,
}

/// A message that stops a run before its first test is soon said.
const SHORT: usize = 40;

impl<'a> Signs<'a> {
    pub(crate) fn of(lines: impl Iterator<Item = &'a str>) -> Self {
        let mut signs = Self::default();
        lines.for_each(|line| signs.push(line));
        if signs.begun || signs.lines > SHORT {
            signs.error = None;
        }
        signs
    }

    fn push(&mut self, line: &'a str) {
        let text = line.trim();
        // Longer lines are data, not messages.
        let text = text.get(..text.floor_char_boundary(400)).unwrap_or_default();
        if text.is_empty() {
            return;
        }
        self.lines += 1;
        let note = |sign: &mut Option<&'a str>, is: bool| {
            if is && sign.is_none() {
                *sign = Some(text);
            }
        };
        let [not_loaded, loader, error, no_error, crashed, nothing, none, idle, policy] =
            LISTS.catches(text);
        // Some say it twice, once while they run.
        let again = holds(text, "No plan found") || text.ends_with("... ERROR");
        self.loader_failures += u64::from(loader && !again);
        note(&mut self.loader, loader);
        note(&mut self.not_loaded, not_loaded);
        // XCTest says so as well where all tests are those of another framework.
        let nothing = nothing && !holds(text, ", with 0 failures");
        note(&mut self.nothing, nothing || (none && is_none(text)));
        note(&mut self.idle, idle);
        self.tested |= text.starts_with("> Task :") && text.ends_with("est");
        note(&mut self.policy, policy && is_policy(&text.to_ascii_lowercase()));
        note(&mut self.error, is_error(text, error, no_error));
        note(&mut self.success, begins(text, SUCCESS));
        note(&mut self.failed, begins(text, FAILED) || is_named(text));
        self.begun |= crashed || begins(text, BEGUN);
    }
}

fn begins(text: &str, starts: &[&str]) -> bool {
    starts.iter().any(|start| text.starts_with(start))
}

/// `FAILED tests/test_cart.py::test_discount - assert …`, `rspec ./spec/calc_spec.rb:9 # adds`,
/// `[junit] Test CalcTest FAILED`
fn is_named(text: &str) -> bool {
    text.strip_prefix("FAILED ").is_some_and(|rest| holds(rest, "::"))
        || (text.starts_with("rspec ./") && holds(text, " # "))
        || (text.starts_with("[junit] Test ") && text.ends_with(" FAILED"))
}

/// Any other message of an error; assertions are failures, not errors.
fn is_error(text: &str, error: bool, no_error: bool) -> bool {
    let lower = text.get(..text.floor_char_boundary(20)).unwrap_or_default().to_ascii_lowercase();
    let starts = begins(&lower, ERROR_STARTS);
    // So begins the message of a compiler, whatever it expected.
    let compiler = text.starts_with("error: ") && !holds(text, " failed");
    compiler || ((starts || error) && !no_error)
}

/// `No tests found`, `no test modules found`; but `no tests failed` is good news.
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
