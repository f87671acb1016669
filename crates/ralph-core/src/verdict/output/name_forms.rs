//! The formats in which runners print the name of a failing test on one line.
//!
//! To add a format, add a line to one of the tables.

use std::sync::LazyLock;

use super::search::Sieve;
use super::{counts, tap};

// The lists, from `lists.toml`.
include!(concat!(env!("OUT_DIR"), "/name_forms.rs"));

/// Text before and after a name, anywhere in the line.
const AROUND: &[(&str, &str)] = &[
    ("error: in \"", "\""),
    ("Failure in TEST(", ")"),
    ("Test Case '", "' failed"),
    ("Test case '", "' failed"),
];

const MARKS: [char; 8] = ['✕', '✗', '✘', '✖', '×', '❌', '𐄂', '⨯'];

static SIEVE: LazyLock<Sieve<1>> = LazyLock::new(|| Sieve::new([HINTS]));

/// Returns the failing test that a line names, if one of the formats matches.
pub(crate) fn read(line: &str) -> Option<&str> {
    if SIEVE.catches(line) == [false] {
        return None;
    }
    let text = without_origin(line.trim().trim_matches(['│', '┃', '>', ' ']));
    if let Some(point) = tap::point(text) {
        let failed = !point.ok && !point.excused;
        return failed.then_some(point.name);
    }
    let name = by_runner(text).or_else(|| by_table(text))?;
    let is_count = counts::read(text).is_some_and(|tally| tally.has_numbers());
    let is_name = !is_count && !is_message(name) && !text.contains("listed below");
    is_name.then_some(name)
}

/// Strips the level, time, percentage or browser that a runner puts before a line:
/// `[info] - should add`, `[12:00:01] x`, `[ 50%] x`, `10:00:01  Failure in test x`,
/// `[chrome 124 linux #0-0]  ✖ rejects`.
fn without_origin(text: &str) -> &str {
    let is_clock = |word: &str| word.contains([':', '%']) && is_figure(word);
    if let Some((tag, rest)) = text.strip_prefix('[').and_then(|rest| rest.split_once("] ")) {
        let is_session = tag.rsplit_once(" #").is_some_and(|(_, number)| is_figure(number));
        let is_origin = tag == "info" || is_session || is_clock(tag);
        return if is_origin { rest.trim_start() } else { text };
    }
    let clock = text.split_once(' ').filter(|(word, _)| is_clock(word));
    clock.map_or(text, |(_, rest)| rest.trim_start())
}

fn is_figure(word: &str) -> bool {
    word.bytes().all(|byte| byte.is_ascii_digit() || b" :.-%".contains(&byte))
}

fn by_table(text: &str) -> Option<&str> {
    let before = BEFORE.iter().find_map(|form| {
        let (start, end) = form.split_once('~')?;
        let name = text.strip_prefix(start)?.split(end).next()?;
        Some(name.trim().trim_end_matches('.'))
    });
    let around = || {
        AROUND.iter().find_map(|(open, close)| Some(text.split_once(open)?.1.split_once(close)?.0))
    };
    let text = without_duration(text);
    let behind = || BEHIND.iter().find_map(|end| text.strip_suffix(end));
    let until = || UNTIL.iter().find_map(|end| text.split_once(end).map(|(name, _)| name));
    // `CalcTest > adds() FAILED`
    let gradle = || text.strip_suffix(" FAILED").filter(|name| name.contains(" > "));
    before.or_else(|| by_mark(text)).or_else(around).or_else(|| {
        let name = behind().or_else(until).or_else(gradle)?;
        // `test adds`, `2/2 Test #2: adds ....`, `00:01 +2 -1: adds`, `[ERROR] Calc.adds`
        let name = name.strip_prefix("test ").unwrap_or(name);
        let label = |head: &str| head.contains('#') || head.starts_with('+');
        let name = name.split_once(": ").filter(|(head, _)| label(head)).map_or(name, |(_, n)| n);
        let name = name.trim_start_matches("[ERROR] ").trim_start_matches("- ");
        // unittest: `test_add (test_calc.TestCalc.test_add) ... FAIL`
        let class = name.strip_suffix(')').and_then(|open| open.rsplit_once(" ("));
        let name = class.filter(|(_, class)| !class.contains(' ')).map_or(name, |(name, _)| name);
        Some(name.rsplit_once(" [").map_or(name, |(name, _)| name).trim_end_matches(['.', ' ']))
    })
}

/// Returns whether the text in the place of a name is an assertion message or a heading.
pub(super) fn is_message(name: &str) -> bool {
    let first = name.split(' ').next().unwrap_or_default();
    let kind = first.trim_end_matches(':');
    let ends = |ending: &str| kind.ends_with(ending) && !kind.contains(['#', '/', '.', '_']);
    let error = (first.ends_with(':') || first == name) && (ends("Error") || ends("Exception"));
    error || first == "Expected" || matches!(kind, "Failure" | "Error" | "Skipped" | "Tests")
}

/// Reads formats that a table cannot describe.
fn by_runner(text: &str) -> Option<&str> {
    let (program, rest) = text.split_once(' ')?;
    let rest = rest.trim_start();
    match program {
        // pytest: `FAILED tests/test_calc.py::test_add - assert …`
        "FAILED" | "ERROR" => {
            let name = rest.split(" - ").next()?.trim();
            name.contains("::").then_some(name)
        }
        // unittest and automake: `ERROR: test_login (test_calc.TestCalc)`, but no message
        "ERROR:" => {
            let (name, class) = rest.split_once(" (").unwrap_or((rest, ")"));
            let plain = class.ends_with(')') && !name.contains(' ') && !name.ends_with(':');
            plain.then_some(name)
        }
        // jest: `● adds negatives`
        "●" => {
            let message = rest.starts_with("Test suite failed") || rest.starts_with("Validation ");
            (!message).then_some(rest)
        }
        // `rspec ./spec/calc_spec.rb:9 # Calc adds`, `cucumber login.feature:8 # Scenario: …`
        "rspec" | "cucumber" | "shellspec" => {
            let (_, name) = rest.split_once(" # ")?;
            let name = name.strip_prefix("Scenario: ").unwrap_or(name).trim_end_matches(" FAILED");
            let numbered = name.split_once(") ").filter(|(number, _)| is_figure(number));
            Some(numbered.map_or(name, |(_, name)| name))
        }
        // dotnet: `Failed Calc.Tests.Negatives [8 ms]`
        "Failed" if text.ends_with("s]") => Some(rest.rsplit_once(" [")?.0),
        // vitest: `FAIL  calc.test.js > adds`; nextest: `FAIL [ 0.007s] (1/3) calc tests::adds`
        "FAIL" => match rest.strip_prefix('[').and_then(|timed| timed.split_once(']')) {
            Some((_, name)) => Some(name.split_once(") ").map_or(name, |(_, name)| name).trim()),
            None => Some(rest.split_once(" > ")?.1),
        },
        _ => None,
    }
}

/// Reads a name after a mark: `✕ adds negatives (2 ms)`, `├─ negatives() ✘ expected …`.
fn by_mark(text: &str) -> Option<&str> {
    let text = text.trim_start_matches(['├', '└', '│', '─', ' ', '|', '`', '-']);
    let Some(rest) = text.strip_prefix(MARKS) else {
        let (name, _) = text.split_once(" ✘")?;
        return name.contains(char::is_alphanumeric).then_some(name);
    };
    let rest = rest.trim_start_matches(['\u{fe0f}', ' ']);
    // playwright: `✘  2 [chromium] › login.spec.ts:9:5 › rejects (5.4s)`
    let titled =
        rest.split_once(' ').filter(|(number, rest)| is_figure(number) && rest.starts_with('['));
    let rest = titled.map_or(rest, |(_, title)| title);
    let rest = rest.strip_prefix("Failed: ").unwrap_or(rest);
    let ended = rest.split_once(" failed after").or_else(|| rest.split_once(" failed in "));
    let rest = ended.map_or(rest, |(name, _)| name.strip_prefix("Test ").unwrap_or(name));
    let heading = (rest.starts_with(|c: char| c.is_ascii_digit()) && rest.contains(" problem"))
        || rest.ends_with(':')
        || rest.ends_with(" failed.")
        || rest.starts_with("No ")
        || rest.starts_with("Test run with")
        || rest.contains(" recorded an issue")
        || rest.contains("   ");
    (!heading && !rest.is_empty()).then_some(rest)
}

/// Removes the parts of a name that change from run to run.
pub(super) fn plain_name(name: &str) -> &str {
    let name = without_duration(name.trim().trim_end_matches(':')).trim_end_matches(['─', ' ']);
    let shared = name.strip_suffix("%)").and_then(|rest| rest.rsplit_once(" ("));
    let shared = shared.filter(|(_, share)| is_figure(share));
    shared.map_or(name, |(name, _)| name)
}

/// Strips a duration at the end: `adds (2 ms)`, `adds [0.40ms]`, `adds 12ms`.
fn without_duration(name: &str) -> &str {
    let name = name.trim();
    let is_duration = |text: &str| {
        let unit = text.trim_start_matches(|c: char| c.is_ascii_digit() || ". ".contains(c));
        unit.len() < text.len() && matches!(unit, "s" | "ms" | "µs" | "us" | "ns" | "sec" | "m")
    };
    let bracketed = name.strip_suffix([')', ']']).and_then(|open| {
        let (before, inside) = open.rsplit_once(['(', '['])?;
        inside.split(['|', ',']).all(|part| is_duration(part.trim())).then_some(before)
    });
    let name = bracketed.unwrap_or(name).trim_end();
    let timed = name.rsplit_once(' ').filter(|(_, last)| is_duration(last));
    timed.map_or(name, |(before, _)| before.trim_end())
}
