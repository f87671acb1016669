//! The recorded and written test runs under `fixtures/`, and how well verdicts match them.
//!
//! It knows verdicts by name only, so that both the tests of the core and the measuring task can
//! use it.

use std::collections::BTreeMap;
use std::fmt;

use camino::{Utf8Path, Utf8PathBuf};

use crate::fixtures;

/// One run with its label.
#[derive(Debug, Clone)]
pub struct Case {
    /// `<runner>/<what>`.
    pub name: String,
    /// Its folder: a runner, `composite` or `nontest`.
    pub group: String,
    /// The command line as typed.
    pub command: String,
    /// The exit code of the whole line.
    pub exit_code: i32,
    /// The right verdict.
    pub label: String,
    /// `passed=3`, `failed=1`, as the runner printed them.
    pub counts: Vec<(String, u64)>,
    /// The names of the tests that failed.
    pub failed_tests: Vec<String>,
    /// Why the label is a matter of taste, if it is.
    pub taste: Option<String>,
    /// The output of the run.
    pub output: String,
}

/// The folder with recorded runs.
pub fn recorded() -> Utf8PathBuf {
    fixtures().join("test-runs")
}

/// The folder with runs recorded later: wrappers, monorepos, retries, chatty runs, odd exits.
pub fn recorded_later() -> Utf8PathBuf {
    fixtures().join("test-runs-later")
}

/// The folder with the runs recorded last: more runners, swallowed exit codes, listings.
pub fn recorded_last() -> Utf8PathBuf {
    fixtures().join("test-runs-last")
}

/// The folder with the newest recorded runs: runners and forms that no other folder has.
pub fn recorded_newest() -> Utf8PathBuf {
    fixtures().join("test-runs-newest")
}

/// The folder with runs written by hand.
pub fn written() -> Utf8PathBuf {
    fixtures().join("test-runs-written")
}

/// Reads all cases below `folder`, sorted by name.
pub fn load(folder: &Utf8Path) -> std::io::Result<Vec<Case>> {
    let mut cases = Vec::new();
    for group in folder.read_dir_utf8()? {
        let group = group?;
        if !group.file_type()?.is_dir() {
            continue;
        }
        for file in group.path().read_dir_utf8()? {
            cases.push(parse(group.file_name(), file?.path())?);
        }
    }
    cases.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(cases)
}

fn parse(group: &str, path: &Utf8Path) -> std::io::Result<Case> {
    let bytes = fs_err::read(path)?;
    let text = String::from_utf8_lossy(&bytes);
    let broken = || std::io::Error::other(format!("{path}: no line `---` below the header"));
    let (header, output) = text.split_once("---\n").ok_or_else(broken)?;
    let mut case = Case {
        name: format!("{group}/{}", path.file_stem().unwrap_or_default()),
        group: group.to_owned(),
        command: String::new(),
        exit_code: 0,
        label: String::new(),
        counts: Vec::new(),
        failed_tests: Vec::new(),
        taste: None,
        output: output.to_owned(),
    };
    for line in header.lines() {
        let (key, value) = line.split_once(": ").unwrap_or((line, ""));
        match key {
            "command" => case.command = unescape(value),
            "exit_code" => case.exit_code = value.parse().map_err(std::io::Error::other)?,
            "label" => value.clone_into(&mut case.label),
            "counts" => case.counts = counts(value),
            "failed_test" => case.failed_tests.push(value.to_owned()),
            "taste" => case.taste = Some(value.to_owned()),
            other => return Err(std::io::Error::other(format!("{path}: unknown key `{other}`"))),
        }
    }
    Ok(case)
}

fn counts(value: &str) -> Vec<(String, u64)> {
    value
        .split_whitespace()
        .filter_map(|pair| pair.split_once('='))
        .filter_map(|(name, number)| Some((name.to_owned(), number.parse().ok()?)))
        .collect()
}

fn unescape(value: &str) -> String {
    let mut plain = String::with_capacity(value.len());
    let mut chars = value.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some('n') => plain.push('\n'),
                Some(other) => plain.push(other),
                None => plain.push('\\'),
            },
            other => plain.push(other),
        }
    }
    plain
}

/// Returns how the client passes on the output of this case: the inline part, the end of the file
/// that it wrote, and whether the rest is lost.
pub fn cut_by_client(case: &Case) -> (String, Option<String>, bool) {
    const INLINE: usize = 30_000;
    const KEPT: usize = 5_000;
    let chars: Vec<char> = case.output.chars().take(INLINE + 1).collect();
    let kept = |chars: &[char]| chars.iter().collect::<String>();
    if case.exit_code == 0 {
        if chars.len() <= INLINE {
            return (case.output.clone(), None, false);
        }
        let start = case.output.ceil_char_boundary(case.output.len().saturating_sub(64 * 1024));
        let end = case.output.get(start..).unwrap_or_default();
        return (kept(chars.get(..INLINE).unwrap_or(&chars)), Some(end.to_owned()), false);
    }
    if chars.len() <= 2 * KEPT {
        return (case.output.clone(), None, false);
    }
    let first = chars.get(..INLINE.min(chars.len())).unwrap_or(&chars);
    let (head, tail) = (first.get(..KEPT), first.get(first.len().saturating_sub(KEPT)..));
    let joined = format!("{}{}", kept(head.unwrap_or_default()), kept(tail.unwrap_or_default()));
    (joined, None, true)
}

/// A comparison of verdicts with labels.
#[derive(Debug, Default, Clone)]
pub struct Score {
    /// The number of cases by label and verdict.
    pairs: BTreeMap<(String, String), usize>,
    /// The cases with a wrong verdict: name, label, verdict.
    pub misses: Vec<(String, String, String)>,
}

impl Score {
    /// Adds the verdict on a case.
    pub fn add(&mut self, case: &Case, verdict: &str) {
        *self.pairs.entry((case.label.clone(), verdict.to_owned())).or_default() += 1;
        if case.label != verdict {
            self.misses.push((case.name.clone(), case.label.clone(), verdict.to_owned()));
        }
    }

    fn count(&self, label: impl Fn(&str) -> bool, verdict: impl Fn(&str) -> bool) -> f64 {
        let pairs = self.pairs.iter().filter(|((one, other), _)| label(one) && verdict(other));
        let sum: usize = pairs.map(|(_, count)| count).sum();
        #[expect(clippy::cast_precision_loss, reason = "a few hundred cases")]
        {
            sum as f64
        }
    }

    /// Returns the share of cases with this label whose verdict is right; 1 if there are none.
    pub fn recall(&self, kind: &str) -> f64 {
        let all = self.count(|label| label == kind, |_| true);
        ratio(self.count(|label| label == kind, |verdict| verdict == kind), all)
    }

    /// Returns the share of verdicts of this kind that are right; 1 if there are none.
    pub fn precision(&self, kind: &str) -> f64 {
        let all = self.count(|_| true, |verdict| verdict == kind);
        ratio(self.count(|label| label == kind, |verdict| verdict == kind), all)
    }

    /// Returns the number of cases with this label.
    pub fn labelled(&self, kind: &str) -> usize {
        self.pairs.iter().filter(|((label, _), _)| label == kind).map(|(_, count)| count).sum()
    }

    /// Returns the number of right verdicts.
    pub fn right(&self) -> usize {
        self.total() - self.misses.len()
    }

    /// Returns the number of cases.
    pub fn total(&self) -> usize {
        self.pairs.values().sum()
    }
}

fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 1.0 }
}

impl fmt::Display for Score {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:>5} {:>7.3} {:>9.3} {:>7.3} {:>7.3} {:>8.3} {:>10.3}",
            self.total(),
            self.recall("failed"),
            self.precision("failed"),
            self.recall("passed"),
            self.recall("errored"),
            self.recall("no-tests"),
            self.recall("not-a-test"),
        )
    }
}
