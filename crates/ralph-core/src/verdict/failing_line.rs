//! Describes a failure in one line, for reasons and lessons that are read without the output.

use super::kind::Verdict;
use super::output::Text;

// The lists, from `lists.toml`.
include!(concat!(env!("OUT_DIR"), "/failing_line.rs"));

/// The maximum number of failing tests to name.
const MOST_NAMED: usize = 3;

/// The maximum length of the description.
const LONGEST: usize = 200;

impl Verdict {
    /// Returns the names of the failing tests or, if there are none, the first line of the output
    /// that reports a failure; `None` if all lines only count.
    pub fn what_failed(&self, output: &str) -> Option<String> {
        if self.failing.is_empty() {
            return failing_line(output);
        }
        let named = self.failing.iter().take(MOST_NAMED).map(|test| cut(test));
        let named = named.collect::<Vec<_>>().join(", ");
        match self.failing.len().saturating_sub(MOST_NAMED) {
            0 => Some(named),
            rest => Some(format!("{named} and {rest} more")),
        }
    }
}

/// Returns the first line that reports a failure, with the line below if it ends with a colon; else
/// the last line that does more than count.
fn failing_line(output: &str) -> Option<String> {
    let text = Text::new(output, None);
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| says_what(line)).collect();
    let Some(at) = lines.iter().position(|line| tells_of_failure(line)) else {
        return lines.last().map(|line| cut(line));
    };
    let found = lines.get(at..)?;
    Some(match found {
        [heading, below, ..] if heading.ends_with(':') => cut(&format!("{heading} {below}")),
        [line, ..] => cut(line),
        [] => return None,
    })
}

fn cut(line: &str) -> String {
    let line = ralph_base::secrets::mask(line);
    match line.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
        None => line,
    }
}

/// Returns whether a line does more than count, and is not from a program that started the tests.
fn says_what(line: &str) -> bool {
    let low = line.to_lowercase();
    let mut words = low.split(|c: char| !c.is_alphabetic()).filter(|word| !word.is_empty());
    words.any(|word| !COUNTING.contains(&word))
        && !OF_STARTERS.iter().any(|start| low.starts_with(start))
}

fn tells_of_failure(line: &str) -> bool {
    let low = line.to_lowercase();
    let is_advice = low.contains("warning") || low.contains("future version");
    FAILURE.iter().any(|word| low.contains(word)) && !is_advice
}

#[cfg(test)]
mod tests {
    use test_support::test_runs;

    use super::*;
    use crate::verdict::{Run, judge};

    /// Returns the line that is shown for a recorded run.
    fn in_words(name: &str) -> String {
        let folders = [test_runs::recorded(), test_runs::recorded_later()];
        let mut cases = folders.iter().flat_map(|folder| test_runs::load(folder).unwrap());
        let case = cases.find(|case| case.name == name).unwrap();
        let (command, output, exit_code) = (&*case.command, &*case.output, Some(case.exit_code));
        let verdict = judge(&Run { command, output, exit_code, ..Run::default() });
        verdict.what_failed(output).unwrap_or_default()
    }

    #[test]
    fn failing_tests_are_named_and_errors_are_quoted() {
        for (name, expected) in [
            ("cargotest/fail-result", "tests::parses"),
            ("jest/fail-two-suites", "upper"),
            ("gotest/build-failed-v", "./calc_test.go:6:5: undefined: Addd"),
            ("gotest/testmain-exit", "setup: cannot connect to database: connection refused"),
            ("shunit2/syntax", "./calc_test.sh: 7: Syntax error: \"}\" unexpected"),
            ("ctest/not-built", "The following tests FAILED: 1 - calc_test_NOT_BUILT (Not Run)"),
            ("catch2/fail", "test.cpp:7: FAILED: REQUIRE( add(-1, -2) == -4 )"),
            ("jest/fail-tail", ""),
        ] {
            assert_eq!(in_words(name), expected, "{name}");
        }
    }

    #[test]
    fn a_line_of_counts_alone_is_ignored() {
        for counts in ["1 failed", "Tests: 1 failed, 3 passed, 4 total", "FAILED (failures=1)\n"] {
            assert_eq!(failing_line(counts), None, "{counts}");
        }
        for (output, expected) in [
            ("ok\n\u{1b}[31mhello.sh: wrong\u{1b}[0m\n1 failed\n", "hello.sh: wrong"),
            ("make: *** [Makefile:2: test] Error 1", ""),
            ("E: broken\nmore", "more"),
            ("Errors found:\n  no such table\n", "Errors found: no such table"),
        ] {
            assert_eq!(failing_line(output).unwrap_or_default(), expected);
        }
        assert!(failing_line(&"error x".repeat(99)).unwrap().ends_with('…'));
    }
}
