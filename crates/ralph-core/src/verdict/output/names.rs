//! The names of failing tests, for the message: from lines that print one name each, and from the
//! lines next to them. They do not affect the verdict.

use super::name_forms::{self, plain_name};

/// The maximum number of names; more do not help, and hostile output could hold any number.
const MOST_NAMES: usize = 50;
/// The maximum length of a name.
const LONGEST_NAME: usize = 300;

/// Collects failing tests, line by line.
#[derive(Debug, Default)]
pub(crate) struct Names {
    found: Vec<String>,
    /// Whether the last heading was one of pending tests.
    in_pending: bool,
    /// The indent of the last entry, `1) Suite`, if its test may follow on a more indented line.
    unfinished: Option<usize>,
    previous: String,
}

impl Names {
    /// Reads the next line.
    pub(crate) fn push(&mut self, line: &str) {
        if line.len() > LONGEST_NAME * 2 || self.found.len() >= MOST_NAMES {
            return;
        }
        let text = line.trim();
        if text.starts_with("Pending:") || matches!(text, "Skipped:" | "PASSES") {
            self.in_pending = true;
        } else if text.starts_with("Fail") && text.ends_with(':') {
            self.in_pending = false;
        }
        if self.push_continued(line, text) {
            return;
        }
        let previous = std::mem::replace(&mut self.previous, text.to_owned());
        if let Some(name) = by_context(text, &previous).or_else(|| name_forms::read(line)) {
            self.add(name);
        } else if let Some(name) = self.numbered(text) {
            self.add(name);
            let indent = line.len() - line.trim_start().len();
            self.unfinished = (!text.ends_with(':')).then_some(indent);
        }
    }

    /// Returns each name once, in the longest form that was printed. A group is left out if its
    /// tests are named.
    pub(crate) fn finish(mut self, reported: Vec<String>) -> Vec<String> {
        self.found.extend(reported.into_iter().take(MOST_NAMES));
        let mut kept: Vec<String> = Vec::new();
        for name in &self.found {
            let name = self.found.iter().find(|other| is_part_of(name, other)).unwrap_or(name);
            if !kept.contains(name) {
                kept.push(name.clone());
            }
        }
        kept
    }

    /// Reads the test after `1) Suite`, which is more indented and ends with a colon.
    fn push_continued(&mut self, line: &str, text: &str) -> bool {
        let Some(indent) = self.unfinished.take() else { return false };
        let deeper = line.len() - line.trim_start().len() > indent + 2;
        let continues =
            deeper && text.ends_with(':') && !text.contains(": ") && !text.contains("Error");
        if let (true, Some(last)) = (continues, self.found.last_mut()) {
            *last = format!("{last} {}", text.trim_end_matches(':'));
        }
        continues
    }

    fn add(&mut self, name: &str) {
        let name = plain_name(name);
        if name.contains(char::is_alphanumeric) && name.len() <= LONGEST_NAME {
            self.found.push(name.to_owned());
        }
    }

    /// Reads a numbered name: `1) adds negatives`.
    fn numbered<'t>(&self, text: &'t str) -> Option<&'t str> {
        let digits = text.find(|c: char| !c.is_ascii_digit())?;
        let rest = text.get(digits..)?;
        let name = rest.strip_prefix(") ").filter(|_| digits > 0 && !self.in_pending)?;
        (!name_forms::is_message(name)).then_some(name)
    }
}

/// Reads formats in which another line gives this one its meaning.
fn by_context<'t>(text: &'t str, previous: &'t str) -> Option<&'t str> {
    // busted: `Failure -> spec/calc_spec.lua @ 3`, then the name
    if previous.starts_with("Failure -> ") || previous.starts_with("Failure → ") {
        return Some(text);
    }
    // doctest: `File "calc.py", line 6, in calc.add`, then `Failed example:`
    if text == "Failed example:" {
        return Some(previous.rsplit_once(", in ")?.1);
    }
    // pytest: `______ test_add_negative ______`
    if text.starts_with("___") && text.ends_with("___") {
        let name = text.trim_matches('_').trim();
        return (name.starts_with("test") && !name.contains(' ')).then_some(name);
    }
    // minitest: `CalcTest#test_negatives [test/calc_test.rb:14]:`; rails: `UserTest#test_x:`
    let method = text.strip_suffix(':').filter(|name| name.contains('#'))?;
    let (name, place) = method.split_once(" [").unwrap_or((method, ""));
    let headed = previous.ends_with("Error:") || previous.ends_with("Failure:");
    (!name.contains(' ') && (headed || place.ends_with(']'))).then_some(name)
}

/// Returns whether `full` is `name` with its class, suite or file before it, or a test in the group
/// `name`: `TestCalc.test_add` in `test_calc.py::TestCalc::test_add`.
fn is_part_of(name: &str, full: &str) -> bool {
    let ends = |end: &str| {
        full.strip_suffix(end).is_some_and(|before| before.ends_with([' ', ':', '.', '/', '>']))
    };
    full.len() > name.len()
        && (ends(name)
            || (name.contains('.') && ends(&name.replace('.', "::")))
            || full.strip_prefix(name).is_some_and(|rest| rest.starts_with('/')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(output: &str, expected: &[&str]) {
        let mut names = Names::default();
        output.lines().for_each(|line| names.push(line));
        assert_eq!(names.finish(Vec::new()), expected, "{output}");
    }

    #[test]
    fn parts_that_vary_between_runs_are_not_part_of_a_name() {
        check("✕ adds negatives (2 ms)", &["adds negatives"]);
        check("not ok 2 - adds negatives # time=3.1ms", &["adds negatives"]);
        check("FAILED tests/test_a.py::test_x - assert 1 == 2", &["tests/test_a.py::test_x"]);
        check("[12:00:01] ✘ adds 12ms", &["adds"]);
        check("[ 50%] test adds ... FAILED", &["adds"]);
        check("--- FAIL: TestAdd/negatives (0.00s)", &["TestAdd/negatives"]);
    }

    #[test]
    fn headings_and_counts_are_not_names() {
        check("✖ 2 problems (2 errors, 0 warnings)", &[]);
        check("✖ failing tests:", &[]);
        check("[  FAILED  ] 1 test, listed below:", &[]);
        check("FAILED", &[]);
    }

    #[test]
    fn a_test_is_named_once_and_in_full() {
        check(
            "  1) negatives\n\n  1 failing\n\n  1) Calc\n       negatives:\n     AssertionError: x\n",
            &["Calc negatives"],
        );
        check(
            "____ TestCalc.test_add ____\nFAILED test_calc.py::TestCalc::test_add - assert x\n",
            &["test_calc.py::TestCalc::test_add"],
        );
    }
}
