//! Combines summary lines into blocks: the lines that one run of a runner printed at its end.

use super::super::command::is_test_name;
use super::counts;
use super::search::{find, holds};
use super::tally::{Meaning, Numbers, Outcome, Tally, meaning};

/// The number of other lines allowed between two lines of one summary.
const GAP: usize = 1;

/// Collects the blocks of an output, line by line.
#[derive(Debug, Default)]
pub(crate) struct Blocks<'a> {
    blocks: Vec<Block>,
    /// The outcomes in the heading of a table.
    columns: Vec<&'a str>,
    lines_since: usize,
    line: usize,
}

/// The lines of one summary.
#[derive(Debug, Default)]
pub(crate) struct Block {
    pub(crate) tally: Tally,
    /// Its last line, counted from 1 without blank ones.
    pub(crate) line: usize,
    /// The format of unittest: `Ran 3 tests`, then one line `OK` or `FAILED (…)`.
    ran: bool,
    judged: bool,
}

/// Returns whether a line is a summary by itself.
pub(crate) fn is_summary(line: &str) -> bool {
    counts::read(rewrite(line).as_deref().unwrap_or(line)).is_some()
}

impl<'a> Blocks<'a> {
    /// Skips a line that is not part of a summary.
    pub(crate) fn skip(&mut self) {
        self.line += 1;
        self.lines_since = self.lines_since.saturating_add(1);
    }

    /// Reads the next line.
    pub(crate) fn push(&mut self, line: &'a str) {
        let line = line.trim();
        if line.is_empty() || is_rule(line) {
            self.line += usize::from(!line.is_empty());
            return;
        }
        let rewritten = rewrite(line);
        let text = rewritten.as_deref().unwrap_or(line);
        if let Some(columns) = columns(line) {
            self.columns = columns;
            return self.skip();
        }
        let read = self
            .read_row(line)
            .or_else(|| counts::read(text))
            .or_else(|| counts::read(behind_task(text)?))
            .or_else(|| counts::read(before_names(text)?));
        match read {
            Some(tally) => self.push_tally(text, tally),
            None => self.skip(),
        }
    }

    /// Reads a row of a table: `tests  2  2  1  1  0`.
    fn read_row(&self, line: &str) -> Option<Tally> {
        if self.columns.is_empty() || cells(line).count() != self.columns.len() + 1 {
            return None;
        }
        let mut row = cells(line).next()?.to_owned();
        let counted = cells(line).skip(1).zip(&self.columns);
        for (number, outcome) in counted.filter(|(number, _)| number.parse::<u64>().is_ok()) {
            row.extend([", ", number, " ", outcome]);
        }
        counts::read(&row)
    }

    /// Returns the blocks with a result; a bare outcome word is not one.
    pub(crate) fn finish(mut self) -> Vec<Block> {
        let tells = |tally: &Tally| tally.has_numbers() || (tally.named && tally.word.is_some());
        self.blocks.retain(|block| tells(&block.tally));
        // A line that may be a count by chance says nothing beside a real summary.
        if self.blocks.iter().any(|block| block.tally.is_sure()) {
            self.blocks.retain(|block| block.tally.is_sure());
        }
        self.blocks
    }

    fn push_tally(&mut self, text: &str, tally: Tally) {
        self.line += 1;
        let judges = starts_with_outcome(text);
        let ran = text.to_ascii_lowercase().starts_with("ran") && tally.tests.total.is_some();
        // A good result apart from a bad one is a new summary: a test may have printed the bad one.
        let contradicts = self.lines_since > 0
            && tally.is_good()
            && self.blocks.last().is_some_and(|block| block.tally.is_bad());
        let joins = self.lines_since <= GAP && !self.blocks.is_empty() && !contradicts;
        self.lines_since = 0;
        // Most runners print `Ran 3 tests` first; bun prints it last.
        let counted = self
            .blocks
            .last()
            .is_some_and(|block| !block.ran && !block.judged && block.tally.tests.passed.is_some());
        // Two full counts are two summaries: one of a suite, one of all tests.
        let full = |numbers: &Numbers| {
            numbers.passed.is_some() && numbers.failed.or(numbers.total).is_some()
        };
        let again =
            full(&tally.tests) && self.blocks.last().is_some_and(|block| full(&block.tally.tests));
        // `error 1` below a good summary is a line of some log.
        let by_chance = !tally.is_sure()
            && tally.is_bad()
            && text.starts_with(|c: char| c.is_ascii_alphabetic())
            && !text.contains(':')
            && self
                .blocks
                .last()
                .is_some_and(|block| block.tally.is_sure() && block.tally.is_good());
        if !joins || again || by_chance || (ran && !counted) {
            self.blocks.push(Block::default());
        }
        let Some(block) = self.blocks.last_mut() else { return };
        block.line = self.line;
        // `1 FAILED TEST` below the counts only repeats them.
        let known = block.tally.tests;
        let failed = Numbers { failed: known.failed, ..Numbers::default() };
        let repeats = tally.tests == failed && known.failed.is_some() && known.passed.is_some();
        let judged = block.ran && block.judged && judges;
        if repeats || judged {
            return;
        }
        block.ran |= ran;
        block.judged |= judges;
        block.tally.merge(&tally);
    }
}

fn cells(line: &str) -> impl Iterator<Item = &str> {
    line.split([' ', '\t', '│', '|']).filter(|cell| !cell.is_empty())
}

/// Returns the outcomes in the heading of a table: `Type  Total  Ran  Passed  Failed  Inactive`.
fn columns(line: &str) -> Option<Vec<&str>> {
    if !holds(line, "ailed") || line.contains([',', '.', '!']) || !holds(line, "  ") {
        return None;
    }
    let is_outcome =
        |cell: &str| matches!(meaning(&cell.to_lowercase()), Some(Meaning::Outcome(_)));
    let heading: Vec<&str> = cells(line).collect();
    let columns = heading.rsplit(|cell| !is_outcome(cell)).next().unwrap_or_default();
    (columns.len() > 1).then(|| columns.to_vec())
}

/// Returns the text after the name of a task or file: `web:test: Tests  1 failed`,
/// `all.tcl:\tTotal 2`, `web-1  | 1 failed`.
fn behind_task(line: &str) -> Option<&str> {
    if let Some((_, rest)) = line.split_once(":\t").or_else(|| line.split_once("  | ")) {
        return Some(rest);
    }
    if let Some(rest) = behind_name(line) {
        return Some(rest);
    }
    let (label, rest) = line.split_once(": ").filter(|(label, _)| label.len() < 60)?;
    // `Summary for all V _test.v files: 1 failed, 2 passed`
    let lower = label.to_lowercase();
    let summary = ["summary", "result", "total"].iter().any(|word| lower.contains(word));
    (summary || label.ends_with("test")).then_some(rest)
}

/// Returns the counts before names: `1 out of 2 tests failed: adds`.
fn before_names(line: &str) -> Option<&str> {
    let (counted, _) = line.split_once(": ")?;
    let tests = counts::read(counted)?.tests;
    (tests.bad() > 0 && tests.total.is_some()).then_some(counted)
}

/// Returns the counts after a name or a time, if there are at least three kinds:
/// `[10:00 INF] 2 tests run for calc – 1 passed, 0 ignored, 1 failed`.
fn behind_name(line: &str) -> Option<&str> {
    if line.len() > 300 || !line.contains(',') {
        return None;
    }
    [" – ", " - ", ": ", "! ", "  "].iter().find_map(|separator| {
        let (at, _) = line.match_indices(separator).last()?;
        let rest = line.get(at + separator.len()..)?;
        let tests = counts::read(rest)?.tests;
        let kinds = [tests.passed, tests.failed, tests.errored, tests.skipped];
        (kinds.iter().flatten().count() >= 3).then_some(rest)
    })
}

/// Returns whether a line has only punctuation, such as `=====`.
fn is_rule(line: &str) -> bool {
    line.chars().all(|c| !c.is_alphanumeric())
}

fn starts_with_outcome(line: &str) -> bool {
    let word = line.split(|c: char| !c.is_alphabetic()).next().unwrap_or_default();
    matches!(
        meaning(&word.to_lowercase()),
        Some(Meaning::Outcome(Outcome::Passed | Outcome::Failed))
    )
}

/// Rewrites lines with an unusual format to the common one.
fn rewrite(line: &str) -> Option<String> {
    if let Some((level, rest)) = line.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        let level = level.trim().to_lowercase();
        if LEVELS.split(' ').any(|one| one == level) {
            return Some(rest.trim().to_owned());
        }
        // `[  PASSED  ] 2 tests.`
        let outcome = matches!(level.as_str(), "passed" | "failed" | "skipped");
        let count = rest.split_whitespace().next().filter(|first| first.parse::<u64>().is_ok());
        if let (true, Some(count)) = (outcome, count) {
            let noun = rest.split_whitespace().nth(1).is_some_and(|noun| noun.starts_with("test"));
            return noun.then(|| format!("{count} tests {level}"));
        }
        // `[unit] FAILED (failures=1)`: a task runner's name for the printing program.
        let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | ':');
        if meaning(&level).is_none() && !level.is_empty() && level.chars().all(is_name) {
            return Some(rest.trim().to_owned());
        }
    }
    // `Failed!  - Failed:     1, Passed:     2, … Duration: 15 ms - calc.dll (net8.0)`
    if holds(line, "! ") && holds(line, "- Failed:") {
        let end = line.rfind(" - ").filter(|end| *end > 20).unwrap_or(line.len());
        return line.get(..end).map(str::to_owned);
    }
    // pre-commit: `pytest........Failed`
    if let Some((_, outcome)) = line.split_once("....").filter(|(hook, _)| is_test_name(hook)) {
        let outcome = outcome.trim_start_matches('.');
        return matches!(outcome, "Passed" | "Failed").then(|| format!("1 tests {outcome}"));
    }
    // `Chrome Headless 120 (Linux): Executed 3 of 3 (1 FAILED)`
    if let Some(at) = find(line, ": Executed ") {
        return line.get(at + 2..).map(str::to_owned);
    }
    None
}

/// Prefixes that build tools put before the lines of a runner.
const LEVELS: &str = "error info warning warn debug doctest junit testng java";
