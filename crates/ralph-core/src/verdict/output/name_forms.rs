//! The forms in which runners print the name of one failing test on one line.
//!
//! Adding a form is adding a line to one of the tables.

use super::super::command::is_test_file;
use super::summary::is_cell;
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
    let text = without_origin(line.trim().trim_matches(['│', '┃', '>', ' ']));
    if let Some(point) = tap::point(text) {
        return if point.ok || point.excused { None } else { found(point.name) };
    }
    by_framework(text)
        .or_else(|| by_runner(text))
        .or_else(|| before(text))
        .or_else(|| by_mark(text))
        .or_else(|| behind(text))
        .filter(|found| !is_count(text) && !is_message(found.name))
}

/// The line without the level, the time or the browser that a runner puts before it:
/// `[info] - should add`, `10:00:01  Failure in test x`, `[chrome 124 linux #0-0]  ✖ rejects`.
fn without_origin(text: &str) -> &str {
    if let Some((tag, rest)) = text.strip_prefix('[').and_then(|rest| rest.split_once("] ")) {
        let is_session = tag.rsplit_once(" #").is_some_and(|(_, number)| {
            number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-')
        });
        return if tag == "info" || is_session { rest.trim_start() } else { text };
    }
    let time = text.split_once("  ").filter(|(time, _)| time.len() == 8 && is_cell(time));
    time.map_or(text, |(_, rest)| rest.trim_start())
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
        let name = name.strip_prefix("- ").unwrap_or(name);
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

/// Whether what stands in the place of a name is the message of an assertion.
pub(super) fn is_message(name: &str) -> bool {
    let first = name.split(' ').next().unwrap_or_default();
    let kind = first.trim_end_matches(':');
    let ends = |ending: &str| kind.ends_with(ending) && !kind.contains(['#', '/', '.']);
    let error = (first.ends_with(':') || first == name) && (ends("Error") || ends("Exception"));
    error || first == "Expected" || matches!(name, "Failure:" | "Error:" | "Skipped:")
}

/// Forms of single frameworks that no table can hold.
fn by_framework(text: &str) -> Option<Found<'_>> {
    // Common Test: `%%% app_SUITE ==> add: FAILED`
    if let Some(rest) = text.strip_prefix("%%% ") {
        return found(rest.strip_suffix(": FAILED")?);
    }
    // MUnit: `==> X MySuite.adds  0.03s …`; uTest: `X app.CalcTests.add 5ms`
    if let Some(rest) = text.strip_prefix("==> X ") {
        return found(rest.split("  ").next()?);
    }
    if let Some(rest) = text.strip_prefix("X ") {
        let name = without_duration(rest);
        let plain = name != rest && name.contains('.') && !name.contains(' ');
        return plain.then_some(name).and_then(found);
    }
    // forge: `[FAIL: assertion failed: 1 != 2] test_Increment() (gas: 31303)`
    if text.starts_with("[FAIL: ") || text.starts_with("[FAIL. ") {
        return found(text.rsplit_once("] ")?.1.split(" (").next()?);
    }
    // Pester: `[-] Add.adds 9ms (8ms|1ms)`
    if let Some(rest) = text.strip_prefix("[-] ") {
        let parts = rest.rsplit_once(" (").filter(|(_, times)| times.contains('|'));
        return found(parts.map_or(rest, |(name, _)| name));
    }
    if let Some(rest) = text.strip_prefix("run \"") {
        return found(rest.strip_suffix("\"... fail")?);
    }
    // dotnet: `Calc.Tests.AddTests.Adds (4ms): Error Message: …`
    if let Some((name, _)) = text.split_once("): Error Message: ") {
        return found(name.rsplit_once(" (")?.0);
    }
    let julia = text.split_once(": Test Failed at ");
    if let Some((name, place)) = julia.or_else(|| text.split_once(": Error During Test at ")) {
        return Some(Found { name, place: Some(place) });
    }
    // karma: `Chrome Headless 124.0.0.0 (Linux) AppComponent should create FAILED`
    let (browser, rest) = text.strip_suffix(" FAILED")?.split_once(") ")?;
    let (name, system) = browser.split_once(" (")?;
    let known = ["Chrome", "HeadlessChrome", "Firefox", "Safari", "Edge", "jsdom", "PhantomJS"];
    let known = known.iter().any(|browser| name.starts_with(browser));
    (known && !system.contains(' ')).then_some(rest).and_then(found)
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
        let text = text.trim_start_matches("[ERROR] ");
        let old = || text.split_once("  Time elapsed");
        let (name, _) = text.split_once(" -- Time elapsed").or_else(old)?;
        return (!name.starts_with("Tests run")).then_some(name).and_then(found);
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
        // gotestsum: `✖  pkg/calc (4ms)` is a package, whose tests are named below.
        let package = text.starts_with("✖  ") && rest.trim_start().split(' ').count() == 2;
        let rest = rest.trim_start_matches(['\u{fe0f}', ' ']);
        if package && rest.ends_with("s)") || is_table_row(rest) {
            return None;
        }
        // playwright: `✘  2 [chromium] › login.spec.ts:9:5 › rejects (5.4s)`
        if let Some((title, place)) = in_browser(rest) {
            return Some(Found { name: title, place });
        }
        let rest = rest.strip_prefix("Failed: ").unwrap_or(rest);
        let swift = rest.strip_prefix("Test ").and_then(|rest| rest.split_once(" failed after"));
        let pants = || rest.split_once(" failed in ");
        let rest = swift.or_else(pants).map_or(rest, |(name, _)| name);
        let linter = rest.starts_with(|c: char| c.is_ascii_digit()) && rest.contains(" problem");
        let heading = linter
            || rest.ends_with(':')
            || rest.ends_with(" failed.")
            || rest.starts_with("No ")
            || rest.starts_with("Test run with")
            || rest.contains(" recorded an issue");
        return (!heading && !rest.is_empty()).then_some(rest).and_then(found);
    }
    let (name, _) = text.split_once(" ✘")?;
    name.chars().any(char::is_alphanumeric).then_some(name).and_then(found)
}

/// `login.cy.js   00:04   2   1   1   -   -`
fn is_table_row(text: &str) -> bool {
    let cells = text.split_whitespace().rev().take_while(|cell| is_cell(cell));
    text.contains("   ") && cells.count() >= 3
}

/// The title of a test without its running number, and the place in it: `2 [chromium] › a.ts:9 › x`.
fn in_browser(text: &str) -> Option<(&str, Option<&str>)> {
    let (before, rest) = text.split_once(" › ")?;
    let (number, _) = before.split_once(' ').filter(|(_, browser)| browser.starts_with('['))?;
    number.bytes().all(|byte| byte.is_ascii_digit()).then_some(())?;
    Some((text.get(number.len()..)?.trim_start(), rest.split(" › ").next()))
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
