//! Machine-readable reports printed to the terminal: JUnit-like XML and the JSON of several
//! runners. Only the few decisive fields are searched; nothing is parsed completely, because the
//! text may be truncated anywhere.

use super::tally::{Numbers, Outcome};
use super::tokens::counted;

/// The content of a report in the output, if there is one.
#[derive(Debug, Default)]
pub(crate) struct Report {
    pub(crate) numbers: Numbers,
    seen: bool,
    failing: bool,
}

/// Elements with the counts: of JUnit, Catch2, doctest, xUnit and NUnit.
const ELEMENTS: &str = "<testsuite |<OverallResultsCases |<OverallResultsTestCases |<assembly |<test-run |<OverallResults ";

const ATTRIBUTES: [(&str, Outcome); 5] = [
    ("tests total", Outcome::Total),
    ("failures failed", Outcome::Failed),
    ("errors", Outcome::Errored),
    ("skipped", Outcome::Skipped),
    ("successes passed", Outcome::Passed),
];

/// Keys in the summaries of jest and vitest, mocha, rspec, phpspec, playwright and newman.
const KEYS: [(&str, Outcome); 5] = [
    ("numFailedTests failures failure_count", Outcome::Failed),
    ("numPassedTests passes", Outcome::Passed),
    ("numPendingTests pending_count", Outcome::Skipped),
    ("example_count", Outcome::Total),
    ("errors_outside_of_examples_count", Outcome::Errored),
];

/// Events of single tests, of go, libtest and dart, with or without a blank after the colon.
const FAILED: &str = "\"Action\":\"fail\"|\"event\":\"failed\"|\"event\": \"failed\"|\"success\":false,\"type\":\"done\"";
const PASSED: &str = "\"event\":\"ok\"|\"event\": \"ok\"";

/// TeamCity's messages about single tests.
const TEAMCITY: &str = "##teamcity[test";

impl Report {
    /// Searches the whole text for each pattern once.
    pub(crate) fn read(text: &str) -> Self {
        let mut report = Self::default();
        // A search for one character is many times faster than for a word.
        let element = || ELEMENTS.split('|').find(|element| text.contains(element));
        let element = if text.contains('<') { element() } else { None };
        if let Some(element) = element {
            report.read_xml(text, element);
        }
        if text.contains('{') && (text.contains("{\"") || text.contains("{\n")) {
            report.read_json(text);
        }
        if text.contains('#') && text.contains(TEAMCITY) {
            report.read_teamcity(text);
        }
        report
    }

    pub(crate) fn is_bad(&self) -> bool {
        self.failing || self.numbers.bad() > 0
    }

    pub(crate) fn is_good(&self) -> bool {
        self.seen && !self.is_bad() && self.numbers.good() != Some(0)
    }

    pub(crate) fn is_none(&self) -> bool {
        self.seen && !self.is_bad() && self.numbers.good() == Some(0)
    }

    /// Returns the failing tests that a report names.
    pub(crate) fn failing_tests(text: &str) -> Vec<String> {
        let cases = text.split("<testcase ").skip(1).filter(|case| {
            case.contains("<failure")
                || case.contains("<error")
                || case.contains("success=\"false\"")
        });
        let cases =
            cases.filter_map(|case| value(&format!(" {case}"), " name=\"").map(str::to_owned));
        let events = text.lines().filter(|line| line.contains("\"Action\":\"fail\""));
        let events = events.filter_map(|line| value(line, "\"Test\":\"").map(str::to_owned));
        let results = text.match_indices("\"status\":\"failed\"").filter_map(|(at, _)| {
            let before = text.get(text.floor_char_boundary(at.saturating_sub(2000))..at)?;
            let (_, name) = before.rsplit_once("\"fullName\":\"")?;
            name.split('"').next().map(str::to_owned)
        });
        cases.chain(events).chain(results).take(50).collect()
    }

    /// Adds the numbers with these names.
    fn add(&mut self, rows: &[(&str, Outcome)], number: impl Fn(&str) -> Option<u64>) {
        for (names, outcome) in rows {
            for number in names.split(' ').filter_map(&number) {
                self.seen = true;
                self.numbers.add(*outcome, number);
            }
        }
    }

    fn read_xml(&mut self, text: &str, element: &str) {
        self.seen = true;
        let mut depth = 0_usize;
        for (at, _) in text.match_indices(['<']) {
            let rest = text.get(at..).unwrap_or_default();
            if rest.starts_with("</testsuite>") {
                depth = depth.saturating_sub(1);
            }
            let Some(inside) = rest.strip_prefix(element) else { continue };
            let Some(end) = inside.bytes().take(600).position(|byte| byte == b'>') else {
                continue;
            };
            let tag = inside.get(..end).unwrap_or_default();
            // An outer suite repeats the counts of its inner ones.
            if depth == 0 {
                self.add(&ATTRIBUTES, |name| attribute(tag, name));
            }
            depth += usize::from(element == "<testsuite " && !tag.ends_with('/'));
        }
        self.failing |= text.contains("<testcase") && text.contains("<failure");
    }

    fn read_json(&mut self, text: &str) {
        self.add(&KEYS, |key| number(text, &format!("\"{key}\":")));
        let holds = |patterns: &str| patterns.split('|').any(|pattern| text.contains(pattern));
        self.failing |= holds(FAILED);
        // behave and cucumber
        if holds("\"elements\"|\"scenarios\"") && text.contains("\"status\"") {
            self.seen = true;
            self.failing |= holds("\"status\": \"failed\"|\"status\": \"undefined\"");
        }
        self.seen |= self.failing || holds(PASSED);
        self.read_go(text);
    }

    /// Reads the events of `go test -json`; those of packages name no test.
    fn read_go(&mut self, text: &str) {
        let of_tests = text.lines().filter(|line| line.contains("\"Test\":\""));
        for line in of_tests {
            let outcome = match value(line, "\"Action\":\"") {
                Some("pass") => Outcome::Passed,
                Some("skip") => Outcome::Skipped,
                Some("fail") => Outcome::Failed,
                _ => continue,
            };
            self.seen = true;
            self.numbers.add(outcome, 1);
        }
        if self.numbers.skipped.is_some() && self.numbers.passed.is_none() {
            self.numbers.add(Outcome::Passed, 0);
        }
    }

    fn read_teamcity(&mut self, text: &str) {
        let count = |message: &str| text.matches(&format!("{TEAMCITY}{message} ")).count() as u64;
        let (failed, ignored) = (count("Failed"), count("Ignored"));
        self.seen = true;
        self.numbers.add(Outcome::Failed, failed);
        self.numbers.add(Outcome::Skipped, ignored);
        let finished = count("Finished").saturating_sub(failed).saturating_sub(ignored);
        self.numbers.add(Outcome::Passed, finished);
    }
}

fn attribute(tag: &str, name: &str) -> Option<u64> {
    counted(value(&format!(" {tag}"), &format!(" {name}=\""))?)
}

/// Returns the text after `key`, up to the next quote.
fn value<'t>(text: &'t str, key: &str) -> Option<&'t str> {
    text.split_once(key)?.1.split('"').next()
}

/// Returns the number after the first occurrence of a key.
fn number(text: &str, key: &str) -> Option<u64> {
    let behind = text.split_once(key)?.1.trim_start();
    let digits = behind.find(|c: char| !c.is_ascii_digit()).unwrap_or(behind.len());
    counted(behind.get(..digits)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outer_suite_is_not_counted_twice() {
        let report = Report::read(
            "<testsuites><testsuite name=\"all\" tests=\"3\" failures=\"1\">\
             <testsuite name=\"a\" tests=\"3\" failures=\"1\"></testsuite></testsuite>\
             <testsuite name=\"b\" tests=\"2\" failures=\"0\"/></testsuites>",
        );
        assert_eq!((report.numbers.total, report.numbers.failed), (Some(3), Some(1)));
        assert!(report.is_bad());
    }
}
