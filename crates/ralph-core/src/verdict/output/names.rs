//! The names of failing tests, from the lines in which runners print them one by one, and from
//! the few lines around them that say more.

use super::super::kind::FailingTest;
use super::name_forms::{self, Found, is_message, without_duration};

/// More names help nobody, and a hostile output could hold any number.
const MOST_NAMES: usize = 50;
/// A longer name is not one.
const LONGEST_NAME: usize = 300;

/// Collects failing tests, line by line.
#[derive(Debug, Default)]
pub(crate) struct Names {
    found: Vec<FailingTest>,
    /// How many of them stand on a line that says by itself that a test failed.
    certain: usize,
    /// Whether a heading such as `Failures:` was the last one.
    in_failures: bool,
    in_pending: bool,
    /// The last entry may still get a location from the lines below it.
    open: bool,
    /// The last entry is `1) Suite`, and its test may stand on the next line, further to the right.
    unfinished: Option<usize>,
    /// Which entries are numbered ones before any heading, and how many stand behind one.
    in_tree: Vec<usize>,
    listed: usize,
    previous: String,
    candidate: String,
}

impl Names {
    /// Looks at the next line.
    pub(crate) fn push(&mut self, line: &str) {
        if line.len() > LONGEST_NAME * 2 || self.found.len() >= MOST_NAMES {
            return;
        }
        let text = line.trim();
        self.push_heading(text);
        if self.push_continued(line, text) || self.push_by_context(text) {
            return;
        }
        if let Some(Found { name, place }) = name_forms::read(line) {
            self.certain += 1;
            self.add(name, place);
        } else if let Some(name) = self.numbered(text) {
            if self.in_failures {
                self.listed += 1;
            } else {
                self.in_tree.push(self.found.len());
            }
            let place = scenario_place(name);
            self.add(name, place);
            let indent = line.len() - line.trim_start().len();
            self.unfinished = (!text.ends_with(':')).then_some(indent);
        } else {
            self.locate(text);
        }
        self.previous.clear();
        self.previous.push_str(text);
    }

    /// Whether a line by itself said that a test failed.
    pub(crate) fn is_certain(&self) -> bool {
        self.certain > 0
    }

    /// The names, each once; a group is left out where its own tests are named.
    pub(crate) fn finish(mut self, reported: Vec<FailingTest>) -> Vec<FailingTest> {
        self.found.extend(reported.into_iter().take(MOST_NAMES));
        self.forget_tree();
        self.merge_unqualified_names();
        self.merge_short_names();
        let groups: Vec<String> = self.found.iter().map(|test| format!("{}/", test.name)).collect();
        let mut kept: Vec<FailingTest> = Vec::new();
        for (test, group) in self.found.iter().zip(&groups) {
            let is_group = self.found.iter().any(|other| other.name.starts_with(group.as_str()));
            match kept.iter_mut().find(|other| other.name == test.name) {
                Some(known) if known.line.is_none() => {
                    known.line = test.line;
                    known.file = test.file.clone().or(known.file.take());
                }
                Some(_) => {}
                None if is_group => {}
                None => kept.push(test.clone()),
            }
        }
        kept
    }

    /// mocha numbers the tests that failed in its tree, and lists them in full below.
    fn forget_tree(&mut self) {
        let tree = std::mem::take(&mut self.in_tree);
        if self.listed >= tree.len() {
            let mut at = 0;
            self.found.retain(|_| {
                at += 1;
                !tree.contains(&(at - 1))
            });
        }
    }

    /// Pest and others name a test twice: alone, and behind its class or file.
    fn merge_unqualified_names(&mut self) {
        let names: Vec<String> = self.found.iter().map(|test| test.name.clone()).collect();
        self.found.retain(|test| {
            let end = format!(" > {}", test.name);
            !names.iter().any(|name| name.ends_with(&end))
        });
    }

    /// pytest names a test twice: `TestCalc.test_add` above its traceback, and in full, with the
    /// file before it, in the summary. The full name gets the place that the short one has.
    fn merge_short_names(&mut self) {
        let mut full: Vec<FailingTest> =
            self.found.iter().filter(|test| test.name.contains("::")).cloned().collect();
        if full.is_empty() {
            return;
        }
        self.found.retain(|test| {
            let end = format!("::{}", test.name.replace('.', "::"));
            let Some(same) = full.iter_mut().find(|other| other.name.ends_with(&end)) else {
                return true;
            };
            if same.line.is_none() && test.line.is_some() {
                same.line = test.line;
                same.file.clone_from(&test.file);
            }
            false
        });
        for test in &mut self.found {
            if let Some(known) = full.iter().find(|other| other.name == test.name) {
                test.clone_from(known);
            }
        }
    }

    fn push_heading(&mut self, text: &str) {
        if is_failure_heading(text) {
            (self.in_failures, self.in_pending) = (true, false);
        } else if matches!(text, "Pending:" | "Skipped:" | "PASSES")
            || text.starts_with("Pending: (")
        {
            (self.in_failures, self.in_pending) = (false, true);
        }
    }

    /// `1) Suite` is followed by its test, further to the right and with a colon at its end.
    fn push_continued(&mut self, line: &str, text: &str) -> bool {
        let Some(indent) = self.unfinished.take() else { return false };
        let deeper = line.len() - line.trim_start().len() > indent + 2;
        let continues =
            deeper && text.ends_with(':') && !text.contains(": ") && !text.contains("Error");
        if let (true, Some(last)) = (continues, self.found.last_mut()) {
            last.name = format!("{} {}", last.name, text.trim_end_matches(':'));
        }
        continues
    }

    /// Forms in which another line says what this one is.
    fn push_by_context(&mut self, text: &str) -> bool {
        let previous = std::mem::take(&mut self.previous);
        // busted: `Failure -> spec/calc_spec.lua @ 3`, then the name
        let announced = previous.starts_with("Failure -> ") || previous.starts_with("Failure → ");
        // doctest: `File "calc.py", line 6, in calc.add`, then `Failed example:`
        let example = (text == "Failed example:").then(|| previous.rsplit_once(", in ")).flatten();
        // Catch2: the name between two rules, then `test.cpp:7: FAILED:`
        let is_rule = |line: &str| line.len() > 40 && line.bytes().all(|byte| byte == b'-');
        if is_rule(text) && !previous.is_empty() && !is_rule(&previous) {
            self.candidate.clone_from(&previous);
        }
        let catch = text.ends_with(": FAILED:") && !self.candidate.is_empty();
        // pytest: `______ test_add_negative ______`
        let banner = text.starts_with("___") && text.ends_with("___");
        let banner = banner
            .then(|| text.trim_matches('_').trim())
            .filter(|name| !name.starts_with("ERROR coll"));
        // minitest: `CalcTest#test_negatives [test/calc_test.rb:14]:`
        let method = text.strip_suffix("]:").and_then(|rest| rest.split_once(" ["));
        let method = method.filter(|(name, _)| name.contains('#') && !name.contains(' '));
        // rails: `Error:`, then `UserTest#test_x:`
        let headed = previous.ends_with("Error:") || previous.ends_with("Failure:");
        let raised = text.strip_suffix(':').filter(|name| name.contains('#') && headed);
        let raised = raised.filter(|name| !name.contains(' '));
        if announced {
            self.add(text, None);
        } else if let Some((_, name)) = example {
            let name = name.to_owned();
            self.add(&name, None);
        } else if catch {
            let name = std::mem::take(&mut self.candidate);
            self.add(&name, Some(text.trim_end_matches(": FAILED:")));
        } else if let Some(name) =
            banner.filter(|name| name.starts_with("test") && !name.contains(' '))
        {
            self.add(name, None);
        } else if let Some((name, place)) = method {
            self.add(name, Some(place));
        } else if let Some(name) = raised {
            self.add(name, None);
        } else {
            self.previous = previous;
            return false;
        }
        self.certain += 1;
        true
    }

    fn add(&mut self, name: &str, place: Option<&str>) {
        let name = without_duration(name.trim().trim_end_matches(':')).trim_end_matches(['─', ' ']);
        if name.is_empty() || name.len() > LONGEST_NAME || self.found.len() >= MOST_NAMES {
            return;
        }
        let (file, line) = place.map_or((None, None), split_location);
        self.found.push(FailingTest { name: name.to_owned(), file, line });
        self.open = true;
    }

    /// `1) adds negatives`, or `features/login.feature:8  Failed login` below a heading.
    fn numbered<'a>(&self, text: &'a str) -> Option<&'a str> {
        let digits = text.find(|c: char| !c.is_ascii_digit())?;
        let rest = text.get(digits..)?;
        if let Some(name) = rest.strip_prefix(") ").filter(|_| digits > 0 && !self.in_pending) {
            return (!is_message(name)).then_some(name);
        }
        // behat: `features/login.feature:8`
        if self.in_failures && scenario_place(text).is_some() {
            return Some(text);
        }
        let (place, name) = text.split_once("  ").filter(|_| self.in_failures)?;
        location(place).is_some().then(|| name.trim())
    }

    /// The first `file:line` below an entry is where it failed.
    fn locate(&mut self, text: &str) {
        if !self.open {
            return;
        }
        let Some(last) = self.found.last_mut() else { return };
        let words = text.split(['(', ')', ' ', '[', ']', '\'']).take(12);
        if let Some((file, line)) = words.filter_map(location).next() {
            let same = last.file.as_ref().is_none_or(|known| file.ends_with(known.as_str()));
            if last.line.is_none() && same {
                last.file = Some(file.trim_start_matches("./").to_owned());
                last.line = Some(line);
            }
            self.open = false;
        }
    }
}

/// A line that is nothing but the place of a scenario.
fn scenario_place(text: &str) -> Option<&str> {
    (text.contains(".feature:") && !text.contains(' ')).then_some(text)
}

fn is_failure_heading(text: &str) -> bool {
    if text.len() > 60 {
        return false;
    }
    let text = text.trim_start_matches(['-', ' ']).to_ascii_lowercase();
    matches!(
        text.trim_end_matches(':'),
        "failures"
            | "failed tests"
            | "failed examples"
            | "failing tests"
            | "failed scenarios"
            | "failing scenarios"
            | "errored scenarios"
    ) || text.ends_with(" failing")
        || (text.starts_with("there w") && (text.contains("failure") || text.contains("error")))
        || text.starts_with("failures (")
}

fn split_location(place: &str) -> (Option<String>, Option<u32>) {
    match location(place) {
        Some((file, line)) => (Some(file.to_owned()), Some(line)),
        None => (Some(place.trim().to_owned()), None),
    }
}

/// `src/calc.rs:18`, `calc.test.js:7:52`
fn location(word: &str) -> Option<(&str, u32)> {
    let word = word.trim_end_matches([':', ',', '.', ';']);
    let (file, rest) = word.split_once(':')?;
    let line = rest.split(':').next()?.parse().ok()?;
    let name = file.rsplit('/').next()?;
    let (stem, extension) = name.rsplit_once('.')?;
    let plausible = !stem.is_empty()
        && (1..=7).contains(&extension.len())
        && extension.bytes().all(|byte| byte.is_ascii_alphanumeric())
        && !["node_modules", "://"].iter().any(|part| file.contains(part))
        && !file.starts_with("node");
    plausible.then_some((file, line))
}
