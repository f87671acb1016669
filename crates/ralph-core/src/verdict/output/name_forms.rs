//! The forms in which runners print the name of one failing test on one line.
//!
//! Adding a form is adding a line to one of the tables.

use super::super::command::is_test_file;
use super::{counts, tap};

/// A failing test as one line names it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Found<'a> {
    pub(crate) name: &'a str,
    /// `file` or `file:line`, where the line has it.
    pub(crate) place: Option<&'a str>,
}

fn found(name: &str) -> Option<Found<'_>> {
    Some(Found { name, place: None })
}

/// What stands before a name, and what ends it; an end that must be there is marked with `!`.
const BEFORE: &[(&str, &[&str])] = &[
    ("--- FAIL: ", &[" ("]),
    ("=== FAIL: ", &[" ("]),
    ("FAIL in (", &[")"]),
    ("FAIL in ", &[" ("]),
    ("FAIL: ", &[" ("]),
    ("FAIL!  : ", &[" "]),
    ("FAIL  \"", &["!\""]),
    ("FAIL \"", &["!\""]),
    ("Failure in test ", &[" ("]),
    ("Error in test ", &[" ("]),
    ("Failure in ", &[]),
    ("Failure: ", &["!("]),
    ("[FAILED] ", &[]),
    ("[FAIL] ", &[": ", " ("]),
    ("[  FAILED  ] ", &[" (", ", listed"]),
    ("Test Case '", &["!' failed"]),
    ("TEST CASE:  ", &[]),
    ("FAILED  Tests\\", &[]),
    ("test ", &["! ... FAILED"]),
];

/// What stands behind a name.
const BEHIND: &[&str] = &[
    " ... FAILED",
    " --- FAILED",
    " ... FAIL",
    " ... ERROR",
    "...FAILED",
    "...*failed*",
    " ...FAILED",
    " | FAIL |",
    " *** FAILED ***",
    " ... [FAIL]",
    "...[FAIL]",
    " [✘]",
    " [E]",
    " FAILED TO BUILD",
];

/// Reads a line; `None` if no form fits.
pub(crate) fn read(line: &str) -> Option<Found<'_>> {
    let text = line.trim().trim_matches(['│', '┃', '>', ' ']);
    if let Some(point) = tap::point(text) {
        return if point.ok || point.excused { None } else { found(point.name) };
    }
    by_runner(text)
        .or_else(|| before(text))
        .or_else(|| by_mark(text))
        .or_else(|| behind(text))
        .filter(|_| !is_count(text))
}

/// `[  FAILED  ] 1 test, listed below:` counts tests, it names none.
fn is_count(text: &str) -> bool {
    text.contains("listed below") || counts::read(text).is_some_and(|tally| tally.has_numbers())
}

fn before(text: &str) -> Option<Found<'_>> {
    BEFORE.iter().find_map(|(start, ends)| {
        let rest = text.strip_prefix(start)?;
        let mut name = rest;
        for end in *ends {
            match end.strip_prefix('!') {
                Some(must) => name = name.split_once(must)?.0,
                None => name = name.split_once(end).map_or(name, |(name, _)| name),
            }
        }
        found(name.trim())
    })
}

fn behind(text: &str) -> Option<Found<'_>> {
    let text = without_duration(text);
    if let Some(name) = BEHIND.iter().find_map(|end| text.strip_suffix(end)) {
        let name = name
            .split_once(": ")
            .filter(|(time, _)| time.contains(" +"))
            .map_or(name, |(_, name)| name);
        let name = name
            .strip_prefix('{')
            .and_then(|rest| rest.split_once("} "))
            .map_or(name, |(_, name)| name);
        return found(
            name.rsplit_once(" [").map_or(name, |(name, _)| name).trim_end_matches(['.', ' ']),
        );
    }
    if let Some(name) =
        text.strip_suffix("[FAIL]").and_then(|name| name.trim_end().strip_suffix(" ..."))
    {
        return found(name);
    }
    // `adds negatives:   FAIL`, `CalcTest > adds() FAILED`, `negatives FAILED [1]`
    if let Some((name, rest)) = text.rsplit_once(':') {
        return (matches!(rest.trim(), "FAIL" | "FAILED") && !name.contains(": "))
            .then_some(name)
            .and_then(found);
    }
    let name = text
        .split_once(" FAILED [")
        .or_else(|| text.split_once(" (FAILED - "))
        .map(|(name, _)| name);
    let name = name.or_else(|| text.strip_suffix(" FAILED").filter(|name| name.contains(" > ")))?;
    Some(Found { name, place: name.split_once("::").map(|(file, _)| file) })
}

/// Forms that need more than a start and an end.
fn by_runner(text: &str) -> Option<Found<'_>> {
    // pytest: `FAILED tests/test_calc.py::test_add - assert …`
    if let Some(rest) = text.strip_prefix("FAILED ").or_else(|| text.strip_prefix("ERROR ")) {
        let name = rest.split(" - ").next()?.trim();
        if name.contains("::") {
            return Some(Found { name, place: name.split("::").next() });
        }
    }
    // unittest and automake: `ERROR: test_login (test_calc.TestCalc)`, but no message
    if let Some(rest) = text.strip_prefix("ERROR: ") {
        let (name, class) = rest.split_once(" (").unwrap_or((rest, ")"));
        let plain = class.ends_with(')') && !name.contains(' ') && !name.ends_with(':');
        return plain.then_some(name).and_then(found);
    }
    // jest: `● adds negatives`
    if let Some(rest) = text.strip_prefix("● ") {
        let message = rest.starts_with("Test suite failed") || rest.starts_with("Validation ");
        return (!message).then_some(rest).and_then(found);
    }
    // `rspec ./spec/calc_spec.rb:9 # Calc adds`, `cucumber login.feature:8 # Scenario: …`
    let (program, rest) = text.split_once(' ')?;
    if let ("rspec" | "cucumber" | "shellspec" | "behat", Some((place, name))) =
        (program, rest.split_once(" # "))
    {
        let name = name.strip_prefix("Scenario: ").unwrap_or(name).trim_end_matches(" FAILED");
        let name = name
            .split_once(") ")
            .filter(|(n, _)| n.bytes().all(|b| b.is_ascii_digit()))
            .map_or(name, |(_, n)| n);
        return Some(Found { name, place: Some(place.trim_start_matches("./")) });
    }
    // dotnet: `Failed Calc.Tests.Negatives [8 ms]`
    if program == "Failed" && text.ends_with("s]") {
        return found(rest.rsplit_once(" [")?.0);
    }
    // vitest: `FAIL  calc.test.js > adds`; nextest: `FAIL [ 0.007s] (1/3) calc tests::adds`
    if program == "FAIL" {
        let rest = rest.trim_start();
        if let Some((_, name)) = rest.strip_prefix('[').and_then(|timed| timed.split_once(']')) {
            return found(name.trim().split_once(") ").map_or(name.trim(), |(_, name)| name));
        }
        let (file, name) = rest.split_once(" > ")?;
        return Some(Found { name, place: Some(file) });
    }
    by_middle(text)
}

/// Forms that are known by what stands in the middle.
fn by_middle(text: &str) -> Option<Found<'_>> {
    // deno: `adds negatives => ./calc_test.js:4:6`
    if let Some((name, place)) = text.split_once(" => ./") {
        return Some(Found { name, place: Some(place) });
    }
    // Boost.Test, CppUTest, testthat
    if let Some((_, rest)) = text.split_once("error: in \"") {
        return found(rest.split('"').next()?);
    }
    if let Some((_, rest)) = text.split_once("Failure in TEST(") {
        return found(rest.split(')').next()?);
    }
    if let Some((_, rest)) = text.split_once("Failure (").filter(|_| text.contains("): ")) {
        let (place, name) = rest.split_once("): ")?;
        return Some(Found {
            name: name.trim_end_matches(['─', ' ']),
            place: Some(place.trim_matches('\'')),
        });
    }
    // rspec -f failures: `./spec/calc_spec.rb:9:adds negatives`
    if let Some(rest) = text.strip_prefix("./") {
        let mut parts = rest.splitn(3, ':');
        let (file, line, name) = (parts.next()?, parts.next()?, parts.next()?);
        let numbered = line.bytes().all(|byte| byte.is_ascii_digit());
        let named = name.starts_with(char::is_alphabetic) && is_test_file(file);
        let place = rest.get(..file.len() + 1 + line.len());
        return (numbered && named).then_some(Found { name, place });
    }
    // kyua, Unity, surefire, prove
    if let Some((name, _)) =
        text.split_once("  ->  failed").or_else(|| text.split_once("  ->  broken"))
    {
        return found(name);
    }
    if let Some((place, _)) =
        text.split_once(":FAIL").filter(|(place, _)| place.matches(':').count() == 2)
    {
        let (place, name) = place.rsplit_once(':')?;
        return Some(Found { name, place: Some(place) });
    }
    if text.ends_with("<<< FAILURE!") || text.ends_with("<<< ERROR!") {
        let name = text.trim_start_matches("[ERROR] ").split_once(" -- Time elapsed")?.0;
        return found(name);
    }
    if let Some((name, rest)) = text.split_once(" (Wstat: ") {
        return (!rest.starts_with("0 Tests") || !rest.ends_with("Failed: 0)"))
            .then_some(name)
            .and_then(found);
    }
    // alcotest: `[FAIL]        add          1   adds negatives.`
    if let Some(rest) = text.strip_prefix("[FAIL]   ") {
        return found(rest.trim().trim_end_matches('.'));
    }
    numbered_progress(text)
}

/// `2/2 negatives FAIL  0.01s`, `2/2 calc.test.adds...FAIL (…)`, `3/3 Test #3: Calc ***Failed`
fn numbered_progress(text: &str) -> Option<Found<'_>> {
    let (number, rest) = text.split_once(' ')?;
    let (one, all) = number.split_once('/')?;
    if one.is_empty() || !one.bytes().chain(all.bytes()).all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    if let Some((name, _)) = rest.split_once(" FAIL ").or_else(|| rest.split_once("...FAIL")) {
        return found(name.trim());
    }
    let (name, _) = rest.split_once("***Failed").or_else(|| rest.split_once("***Exception"))?;
    found(name.split_once(": ").map_or(name, |(_, name)| name).trim_end_matches(['.', ' ']))
}

/// `✕ adds negatives (2 ms)`, `├─ negatives() ✘ expected …`
fn by_mark(text: &str) -> Option<Found<'_>> {
    let marks = ['✕', '✗', '✘', '✖', '×', '❌', '𐄂', '⨯'];
    let text = text.trim_start_matches(['├', '└', '│', '─', ' ', '|', '`', '-']);
    if let Some(rest) = text.strip_prefix(marks) {
        let rest = rest.trim_start_matches(['\u{fe0f}', ' ']);
        let rest = rest.strip_prefix("Failed: ").unwrap_or(rest);
        let swift = rest.strip_prefix("Test ").and_then(|rest| rest.split_once(" failed after"));
        let rest = swift.map_or(rest, |(name, _)| name);
        let linter = rest.starts_with(|c: char| c.is_ascii_digit()) && rest.contains(" problem");
        let heading = linter
            || rest.ends_with(':')
            || rest.starts_with("No ")
            || rest.starts_with("Test run with")
            || rest.contains(" recorded an issue");
        return (!heading && !rest.is_empty()).then_some(rest).and_then(found);
    }
    let (name, _) = text.split_once(" ✘")?;
    name.chars().any(char::is_alphanumeric).then_some(name).and_then(found)
}

/// Takes a duration off the end: `adds (2 ms)`, `adds [0.40ms]`, `adds 12ms`.
pub(crate) fn without_duration(name: &str) -> &str {
    let name = name.trim();
    let bracketed = name.strip_suffix([')', ']']).and_then(|open| {
        let (before, inside) = open.rsplit_once([' '].as_slice()).and_then(|(before, last)| {
            let inside = last.strip_prefix(['(', '[']).map(|inside| (before, inside));
            inside.or_else(|| {
                before
                    .rsplit_once([' '])
                    .and_then(|(b, number)| Some((b, number.strip_prefix(['(', '['])?)))
            })
        })?;
        let duration = inside.starts_with(|c: char| c.is_ascii_digit()) && open.ends_with('s');
        duration.then_some(before)
    });
    let name = bracketed.unwrap_or(name).trim_end();
    let timed = name
        .rsplit_once(' ')
        .filter(|(_, last)| last.ends_with('s') && last.starts_with(|c: char| c.is_ascii_digit()));
    timed.map_or(name, |(before, _)| before.trim_end())
}
