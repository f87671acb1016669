//! The names of failing tests, from the lines in which runners print them one by one.
//!
//! A name is decoration: no verdict is built on it alone unless the runner prints nothing else.

use super::super::kind::FailingTest;
use super::tap;

/// More names help nobody, and a hostile output could hold any number.
const MOST_NAMES: usize = 50;
/// A longer name is not one.
const LONGEST_NAME: usize = 300;

/// Collects failing tests, line by line.
#[derive(Debug, Default)]
pub(crate) struct Names {
    found: Vec<FailingTest>,
    /// Numbered entries (`1) name`) count only below a heading such as `Failures:`.
    in_failures: bool,
    /// The entry that a location on one of the next lines belongs to.
    open: bool,
}

impl Names {
    /// Looks at the next line.
    pub(crate) fn push(&mut self, line: &str) {
        if line.len() > LONGEST_NAME * 4 {
            return;
        }
        let text = line.trim();
        if is_failure_heading(text) {
            self.in_failures = true;
        } else if is_other_heading(text) {
            self.in_failures = false;
        }
        match name(line).or_else(|| self.numbered(text)) {
            Some((name, file)) => self.add(name, file),
            None => self.locate(text),
        }
    }

    /// The names, each once; a group is left out where its own tests are named.
    pub(crate) fn finish(self) -> Vec<FailingTest> {
        let names: Vec<String> = self.found.iter().map(|test| format!("{}/", test.name)).collect();
        let mut kept: Vec<FailingTest> = Vec::new();
        for (test, as_group) in self.found.iter().zip(&names) {
            let group = self.found.iter().any(|other| other.name.starts_with(as_group.as_str()));
            if !group && !kept.iter().any(|other| other.name == test.name) {
                kept.push(test.clone());
            }
        }
        kept
    }

    fn add(&mut self, name: &str, file: Option<&str>) {
        let name = clean(name);
        if name.is_empty() || name.len() > LONGEST_NAME || self.found.len() >= MOST_NAMES {
            return;
        }
        let (file, line) = file.map_or((None, None), split_location);
        self.found.push(FailingTest { name: name.to_owned(), file, line });
        self.open = true;
    }

    /// `1) adds negatives`, `● adds negatives`, below a heading.
    fn numbered<'a>(&self, text: &'a str) -> Option<(&'a str, Option<&'a str>)> {
        if !self.in_failures {
            return None;
        }
        let digits = text.find(|c: char| !c.is_ascii_digit())?;
        let rest = text.get(digits..)?;
        let rest = rest.strip_prefix(") ").or_else(|| rest.strip_prefix(". "))?;
        (digits > 0).then(|| (rest.trim_end_matches(':'), None))
    }

    /// The first `file:line` below an entry is where it failed.
    fn locate(&mut self, text: &str) {
        if !self.open {
            return;
        }
        let Some(last) = self.found.last_mut() else { return };
        let words = text.split(['(', ')', ' ', '[', ']', '\'']).take(12);
        if let Some((file, line)) = words.filter_map(location).next() {
            if last.line.is_none()
                && last.file.as_ref().is_none_or(|known| file.ends_with(known.as_str()))
            {
                last.file = Some(file.trim_start_matches("./").to_owned());
                last.line = Some(line);
            }
            self.open = false;
        }
    }
}

fn is_failure_heading(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    matches!(
        text.trim_end_matches(':'),
        "failures" | "failed tests" | "failed examples" | "failing tests" | "failed scenarios"
    ) || text.ends_with(" failing")
        || (text.starts_with("there w") && (text.contains("failure") || text.contains("error")))
        || text.starts_with("failures (")
        || text.starts_with("--- failed")
}

fn is_other_heading(text: &str) -> bool {
    matches!(text, "Pending:" | "Skipped:" | "PASSES") || text.starts_with("Pending: (")
}

/// A failing test named on a line of its own; the second part is its file where that is printed.
fn name(line: &str) -> Option<(&str, Option<&str>)> {
    let text = line.trim();
    if let Some(point) = tap::point(text) {
        return (!point.ok && !point.excused).then_some((point.name, None));
    }
    by_prefix(text).or_else(|| by_mark(text)).or_else(|| by_suffix(text))
}

fn by_prefix(text: &str) -> Option<(&str, Option<&str>)> {
    if let Some(rest) = text.strip_prefix("--- FAIL: ") {
        return Some((rest.split(" (").next()?, None));
    }
    if let Some(rest) = text.strip_prefix("FAILED ").or_else(|| text.strip_prefix("ERROR ")) {
        let test = rest.split(" - ").next()?.trim();
        return test.contains("::").then(|| (test, test.split("::").next()));
    }
    if let Some(rest) = text.strip_prefix("FAIL: ") {
        return Some((rest.split(" (").next()?, None));
    }
    if let Some(rest) = text.strip_prefix("ERROR: ") {
        // `test_login (test_calc.TestCalc)` and `two.sh`, but no message.
        let (name, class) = rest.split_once(" (").unwrap_or((rest, ")"));
        return (class.ends_with(')') && !name.contains(' ')).then_some((name, None));
    }
    if let Some(rest) = text.strip_prefix("[  FAILED  ] ").or_else(|| text.strip_prefix("[FAIL] "))
    {
        let test = rest.split([' ', ',']).next()?;
        return test.contains(|c: char| !c.is_ascii_digit()).then_some((test, None));
    }
    if let Some(rest) = text.strip_prefix("[FAILED] ").or_else(|| text.strip_prefix("● ")) {
        let message = rest.starts_with("Test suite failed") || rest.starts_with("Validation ");
        return (!message).then_some((rest, None));
    }
    if let Some(rest) = text.strip_prefix("rspec ./") {
        let (place, name) = rest.split_once(" # ")?;
        return Some((name, Some(place)));
    }
    if let Some(rest) = text.strip_prefix("FAIL ") {
        // vitest: `FAIL  calc.test.js > adds`; nextest: `FAIL [ 0.007s] (1/3) calc tests::adds`
        let rest = rest.trim_start();
        if let Some(timed) = rest.strip_prefix('[') {
            let name = timed.split_once(']')?.1.trim();
            return Some((name.split_once(") ").map_or(name, |(_, name)| name), None));
        }
        let (file, name) = rest.split_once(" > ")?;
        return Some((name, Some(file)));
    }
    None
}

/// `✕ adds negatives (2 ms)`, `├─ negatives() ✘ expected …`
fn by_mark(text: &str) -> Option<(&str, Option<&str>)> {
    let marks = ['✕', '✗', '✘', '✖', '×', '❌', '𐄂'];
    let text = text.trim_start_matches(['├', '└', '│', '─', ' ', '|', '`', '-']);
    if let Some(rest) = text.strip_prefix(marks) {
        let rest = rest.trim_start_matches(['\u{fe0f}', ' ']);
        let heading = rest.ends_with(':')
            || rest.starts_with(|c: char| c.is_ascii_digit())
            || rest.starts_with("No ");
        return (!heading).then_some((rest, None));
    }
    let (name, _) = text.split_once(" ✘")?;
    Some((name, None))
}

/// `test a::b ... FAILED`, `CalcTest > adds() FAILED`, `2/2 negatives FAIL  0.01s`
fn by_suffix(text: &str) -> Option<(&str, Option<&str>)> {
    if let Some(test) = text.strip_prefix("test ") {
        return Some((test.strip_suffix(" ... FAILED")?, None));
    }
    if let Some((test, _)) = text.split_once(" FAILED [").or_else(|| text.split_once(" (FAILED - "))
    {
        let file = test.split_once("::").map(|(file, _)| file);
        return Some((test, file));
    }
    if let Some(test) = text.strip_suffix(" FAILED") {
        return test.contains(" > ").then_some((test, None));
    }
    let numbered = text.split_once(' ').filter(|(number, _)| {
        number.split_once('/').is_some_and(|(one, all)| {
            !one.is_empty() && one.bytes().chain(all.bytes()).all(|byte| byte.is_ascii_digit())
        })
    });
    let (_, rest) = numbered?;
    let name =
        rest.split_once(" FAIL ").or_else(|| rest.split_once("...FAIL")).map(|(name, _)| name);
    let name = name.or_else(|| {
        let (name, _) = rest.split_once("***Failed")?;
        Some(name.split_once(": ").map_or(name, |(_, name)| name).trim_end_matches(['.', ' ']))
    });
    name.map(|name| (name, None))
}

/// Takes durations and other decoration off the end of a name.
fn clean(name: &str) -> &str {
    let name = name.trim().trim_end_matches(':');
    let without = name.strip_suffix(')').and_then(|open| {
        let (before, inside) = open.rsplit_once(" (")?;
        let duration = inside.ends_with('s') && inside.starts_with(|c: char| c.is_ascii_digit());
        duration.then_some(before)
    });
    let name = without.unwrap_or(name).trim_end();
    let timed = name
        .rsplit_once(' ')
        .filter(|(_, last)| last.ends_with("ms") && last.starts_with(|c: char| c.is_ascii_digit()));
    timed.map_or(name, |(before, _)| before.trim_end())
}

fn split_location(file: &str) -> (Option<String>, Option<u32>) {
    match location(file) {
        Some((file, line)) => (Some(file.to_owned()), Some(line)),
        None => (Some(file.trim().to_owned()), None),
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
        && (1..=5).contains(&extension.len())
        && extension.bytes().all(|byte| byte.is_ascii_alphanumeric())
        && !file.starts_with("node")
        && !file.contains("node_modules")
        && !file.contains("://");
    plausible.then_some((file, line))
}
