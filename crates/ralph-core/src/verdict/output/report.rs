//! Machine-readable reports printed to the terminal: JUnit-like XML and the JSON of several
//! runners. Only the few fields that decide are looked for; nothing is parsed in full, because the
//! text may be cut anywhere.

use super::super::kind::FailingTest;
use super::tally::Numbers;
use super::tokens::counted;
use super::words::Outcome;

/// What a report in the output says, if there is one.
#[derive(Debug, Default)]
pub(crate) struct Report {
    pub(crate) numbers: Numbers,
    seen: bool,
    failing: bool,
}

impl Report {
    /// Searches the whole text, each pattern once.
    pub(crate) fn read(text: &str) -> Self {
        let mut report = Self::default();
        let elements = ["<test", "<Overall", "<assembl"];
        if text.contains('<') && elements.iter().any(|element| text.contains(element)) {
            report.read_xml(text);
        }
        if text.contains('{') && (text.contains("{\"") || text.contains("{\n")) {
            report.read_json(text);
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

    /// The failing tests that a report names.
    pub(crate) fn failing_tests(text: &str) -> Vec<FailingTest> {
        let mut names = Vec::new();
        if text.contains("<testcase ") || text.contains("<TestCase ") {
            names.extend(
                text.split("<testcase ")
                    .skip(1)
                    .chain(text.split("<TestCase ").skip(1))
                    .filter_map(|case| {
                        let failed = case.contains("<failure")
                            || case.contains("<error")
                            || case.contains("success=\"false\"");
                        let name = case
                            .split_once("name=\"")
                            .filter(|(before, _)| !before.ends_with("class"))
                            .or_else(|| case.split_once(" name=\""));
                        failed.then(|| name?.1.split('"').next()).flatten()
                    }),
            );
        }
        if text.contains("\"Action\":\"fail\"") {
            names.extend(
                text.lines()
                    .filter(|line| line.contains("\"Action\":\"fail\""))
                    .filter_map(|line| line.split_once("\"Test\":\"")?.1.split('"').next()),
            );
        }
        for status in ["\"status\":\"failed\"", "\"status\": \"failed\""] {
            names.extend(
                text.match_indices(status)
                    .filter_map(|(at, _)| {
                        let before =
                            text.get(text.floor_char_boundary(at.saturating_sub(2000))..at)?;
                        let name = before.rsplit_once("\"fullName\":\"")?.1;
                        name.split('"').next()
                    })
                    .take(50),
            );
        }
        if let Some((_, failures)) =
            text.split_once("\"failures\": [").filter(|_| text.contains("\"fullTitle\""))
        {
            let list = failures.split("\n  ]").next().unwrap_or_default();
            names.extend(
                list.split("\"fullTitle\": \"").skip(1).filter_map(|rest| rest.split('"').next()),
            );
        }
        let test =
            |name: &str| FailingTest { name: name.trim().to_owned(), file: None, line: None };
        names.into_iter().take(50).map(test).collect()
    }

    fn read_xml(&mut self, text: &str) {
        // An outer element repeats what its inner ones say, so one level is enough.
        let element = if text.contains("<testsuite ") {
            "<testsuite "
        } else if text.contains("<OverallResultsCases ") {
            "<OverallResultsCases "
        } else if text.contains("<OverallResultsTestCases ") {
            "<OverallResultsTestCases "
        } else if text.contains("<assembly ") {
            "<assembly "
        } else {
            "<test-run "
        };
        for tag in tags(text, element) {
            self.seen = true;
            for (name, outcome) in ATTRIBUTES {
                if let Some(number) = attribute(tag, name) {
                    self.numbers.add(*outcome, number);
                }
            }
        }
        if element.starts_with("<Overall") {
            // Catch2 prints one such element for the group and one for all.
            self.numbers = Numbers { passed: self.numbers.passed, ..self.numbers };
        }
        let nested = text.contains("<failure ") || text.contains("<failure>");
        self.failing |= nested && text.contains("<testcase");
        self.seen |= text.contains("<testcase ") && text.contains("</testsuites>");
    }

    fn read_json(&mut self, text: &str) {
        for (key, outcome) in KEYS {
            if let Some(number) = value(text, key) {
                self.seen = true;
                self.numbers.add(*outcome, number);
            }
        }
        let failing = [
            // go test -json, libtest, behave and cucumber, dart.
            "\"Action\":\"fail\"",
            "\"event\":\"failed\"",
            "\"event\": \"failed\"",
            "\"type\":\"done\",\"success\":false",
            "\"success\":false,\"type\":\"done\"",
        ];
        let passing = ["\"Action\":\"pass\"", "\"event\":\"ok\"", "\"event\": \"ok\""];
        self.failing |= failing.iter().any(|pattern| text.contains(pattern));
        self.seen |= self.failing || passing.iter().any(|pattern| text.contains(pattern));
        let steps = text.contains("\"elements\"") || text.contains("\"scenarios\"");
        if steps && text.contains("\"status\"") {
            self.seen = true;
            self.failing |= text.contains("\"status\": \"failed\"")
                || text.contains("\"status\":\"failed\"")
                || text.contains("\"status\": \"undefined\"");
        }
    }
}

const ATTRIBUTES: &[(&str, Outcome)] = &[
    ("tests", Outcome::Total),
    ("total", Outcome::Total),
    ("failures", Outcome::Failed),
    ("failed", Outcome::Failed),
    ("errors", Outcome::Errored),
    ("skipped", Outcome::Skipped),
    ("successes", Outcome::Passed),
    ("passed", Outcome::Passed),
];

/// Keys of the summaries of jest and vitest, mocha, rspec, phpspec, playwright and newman.
const KEYS: &[(&str, Outcome)] = &[
    ("\"numFailedTests\":", Outcome::Failed),
    ("\"numPassedTests\":", Outcome::Passed),
    ("\"numPendingTests\":", Outcome::Skipped),
    ("\"passes\":", Outcome::Passed),
    ("\"failures\":", Outcome::Failed),
    ("\"example_count\":", Outcome::Total),
    ("\"failure_count\":", Outcome::Failed),
    ("\"errors_outside_of_examples_count\":", Outcome::Errored),
    ("\"pending_count\":", Outcome::Skipped),
];

/// The insides of the tags that start with `element`.
fn tags<'a>(text: &'a str, element: &'a str) -> impl Iterator<Item = &'a str> {
    text.match_indices(element).filter_map(move |(at, _)| {
        let inside = text.get(at + element.len()..)?;
        let end = inside.bytes().take(600).position(|byte| byte == b'>')?;
        inside.get(..end)
    })
}

fn attribute(tag: &str, name: &str) -> Option<u64> {
    tag.match_indices(name).find_map(|(at, _)| {
        let before = tag.get(..at)?;
        let behind = tag.get(at + name.len()..)?.strip_prefix("=\"")?;
        (before.is_empty() || before.ends_with(char::is_whitespace)).then_some(())?;
        counted(behind.split('"').next()?)
    })
}

/// The number behind the first occurrence of a key.
fn value(text: &str, key: &str) -> Option<u64> {
    let behind = text.get(text.find(key)? + key.len()..)?.trim_start();
    let digits = behind.find(|c: char| !c.is_ascii_digit()).unwrap_or(behind.len());
    counted(behind.get(..digits)?)
}
