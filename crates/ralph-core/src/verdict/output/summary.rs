//! Puts summary lines together to blocks: what one run of one runner printed at its end.

use super::counts;
use super::plain::plain_part;
use super::search::{find, holds, split_once};
use super::tally::{Numbers, Tally};
use super::tokens::counted;
use super::words::{Meaning, Outcome, Unit, meaning};

/// So many other lines may stand between two lines of one summary.
const GAP: usize = 1;

/// Collects the blocks of an output, line by line.
#[derive(Debug, Default)]
pub(crate) struct Blocks {
    blocks: Vec<Block>,
    lines_since: usize,
    header: Option<Vec<Outcome>>,
    /// Commands of a build that failed are listed, and counted below.
    build_list: bool,
    /// The suite that holds all others has just ended.
    all_ended: bool,
}

/// The lines of one summary.
#[derive(Debug, Default)]
pub(crate) struct Block {
    pub(crate) tally: Tally,
    /// The shape of unittest: `Ran 3 tests`, then one line `OK` or `FAILED (…)`.
    ran: bool,
    judged: bool,
    /// The shape of XCTest: one line for each suite, and in the end one for all of them.
    of_suite: bool,
}

impl Blocks {
    /// Looks at the next line, which only names a test; below the head of a table it may be a row.
    pub(crate) fn push_plain(&mut self, line: &str) {
        match self.header {
            None => self.lines_since = self.lines_since.saturating_add(1),
            Some(_) => self.push(line),
        }
    }

    /// Looks at the next line.
    pub(crate) fn push(&mut self, line: &str) {
        let line = line.trim();
        if self.header.is_none() && plain_part(line) == (line.len(), true) {
            return self.push_plain(line);
        }
        // surefire counts each class, and all of them in the end.
        let of_class = holds(line, "Tests run: ") && holds(line, " Time elapsed: ");
        let of_class = of_class && (line.contains(" - in ") || line.contains(" <<< "));
        // turbo counts its tasks: `Cached:    0 cached, 2 total`.
        let of_tasks = line.starts_with("Cached: ");
        if line.is_empty() || is_rule(line) || of_class || of_tasks {
            return;
        }
        if line.starts_with("Test Suite '") {
            self.all_ended = line.contains("'All tests' ") || line.contains("'Selected tests' ");
        }
        self.build_list |= line == "The following build commands failed:";
        if self.build_list && line.starts_with('(') && line.contains(" failure") {
            self.build_list = false;
            return;
        }
        if self.push_table_row(line) {
            return;
        }
        let rewritten = rewrite(line);
        let text = rewritten.as_deref().unwrap_or(line);
        let read = counts::read(text).or_else(|| counts::read(behind_task(text)?));
        match read {
            Some(tally) => self.push_tally(text, tally),
            None => self.lines_since = self.lines_since.saturating_add(1),
        }
    }

    /// The blocks that say something; bare outcome words alone do not.
    pub(crate) fn finish(self) -> Vec<Tally> {
        self.blocks
            .into_iter()
            .map(|block| block.tally)
            .filter(|tally| tally.has_numbers() || (tally.named && tally.word.is_some()))
            .collect()
    }

    fn push_tally(&mut self, line: &str, tally: Tally) {
        let judges = starts_with_outcome(line);
        let ran = line.to_ascii_lowercase().starts_with("ran") && tally.tests.total.is_some();
        let of_suite = line.starts_with("Executed ") && line.contains(", with ");
        if of_suite && std::mem::take(&mut self.all_ended) {
            self.blocks.retain(|block| !block.of_suite);
        }
        // Good news apart from bad news is another summary: a test may have printed the first.
        let contradicts = self.lines_since > 0
            && tally.is_good()
            && self.blocks.last().is_some_and(|block| block.tally.is_bad());
        let joins = self.lines_since <= GAP && !self.blocks.is_empty() && !contradicts;
        self.lines_since = 0;
        // "All tests passed" never follows failures of the same run.
        let closes =
            tally.word == Some(Outcome::Passed) && line.to_ascii_lowercase().starts_with("all ");
        // Most begin with `Ran 3 tests`; bun ends with it.
        let counted = self
            .blocks
            .last()
            .is_some_and(|block| !block.ran && !block.judged && block.tally.tests.passed.is_some());
        if !joins || (ran && !counted) || closes || of_suite {
            self.blocks.push(Block::default());
        }
        let Some(block) = self.blocks.last_mut() else { return };
        if block.ran && block.judged && judges {
            return;
        }
        // `1 FAILED TEST` below the counts says nothing new.
        let known = block.tally.tests;
        let repeats = tally.tests == (Numbers { failed: known.failed, ..Numbers::default() });
        if repeats && known.failed.is_some() && known.passed.is_some() {
            return;
        }
        if known.is_told_again_by(&tally.tests) {
            return;
        }
        block.of_suite |= of_suite;
        block.ran |= ran;
        block.judged |= judges;
        block.tally.merge(&tally);
    }

    /// Reads tables: a line of column names, then rows with a number in each column.
    fn push_table_row(&mut self, line: &str) -> bool {
        if let Some(columns) = table_header(line) {
            self.header = Some(columns);
            return true;
        }
        let Some(columns) = self.header.as_ref() else { return false };
        if sums_up_rows(line) {
            return true;
        }
        let Some(tally) = table_row(line, columns) else {
            self.header = None;
            return false;
        };
        self.push_tally("", tally);
        true
    }
}

/// What stands behind the name of a task or file: `web:test: Tests  1 failed`, `all.tcl:\tTotal 2`,
/// `web-1  | 1 failed`.
fn behind_task(line: &str) -> Option<&str> {
    if let Some((_, rest)) = split_once(line, ":\t").or_else(|| split_once(line, "  | ")) {
        return Some(rest);
    }
    if let Some(rest) = behind_name(line) {
        return Some(rest);
    }
    let (label, rest) = split_once(line, ": ").filter(|(label, _)| label.len() < 60)?;
    // `Summary for all V _test.v files: 1 failed, 2 passed`
    let lower = label.to_lowercase();
    let summary = ["summary", "result", "total"].iter().any(|word| lower.contains(word));
    (summary || label.ends_with("test")).then_some(rest)
}

/// Counts of three kinds or more are a summary even behind a name or a time:
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

/// Lines of one repeated sign, as in `=====`.
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

/// Brings lines that say their counts in a form of their own into the common one.
fn rewrite(line: &str) -> Option<String> {
    if let Some((level, rest)) = line.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        let level = level.trim().to_lowercase();
        if is_level(&level) {
            return Some(rest.trim().to_owned());
        }
        // `[  PASSED  ] 2 tests.`
        let outcome = matches!(level.as_str(), "passed" | "failed" | "skipped");
        let count = rest.split_whitespace().next().filter(|first| first.parse::<u64>().is_ok());
        if let (true, Some(count)) = (outcome, count) {
            let noun = rest.split_whitespace().nth(1).is_some_and(|noun| noun.starts_with("test"));
            return noun.then(|| format!("{count} tests {level}"));
        }
    }
    if let Some(rewritten) = rewrite_clock(line).or_else(|| rewrite_issues(line)) {
        return Some(rewritten);
    }
    // `Failed!  - Failed:     1, Passed:     2, … Duration: 15 ms - calc.dll (net8.0)`
    if holds(line, "! ") && holds(line, "- Failed:") {
        let end = line.rfind(" - ").filter(|end| *end > 20).unwrap_or(line.len());
        return line.get(..end).map(str::to_owned);
    }
    // CppUnit: `OK (3)`
    if let Some(count) = line.strip_prefix("OK (").and_then(|rest| rest.strip_suffix(')')) {
        return count.parse::<u64>().is_ok().then(|| format!("{count} tests passed"));
    }
    // `Chrome Headless 120 (Linux): Executed 3 of 3 (1 FAILED)`
    if let Some(at) = find(line, ": Executed ") {
        return line.get(at + 2..).map(str::to_owned);
    }
    None
}

/// What build tools put before the lines of a runner.
fn is_level(tag: &str) -> bool {
    matches!(
        tag,
        "error" | "info" | "warning" | "warn" | "debug" | "doctest" | "junit" | "testng" | "java"
    )
}

/// `✘ Test run with 2 tests failed after 0.001 seconds with 1 issue.`: all of them ran, and a test
/// that failed has one issue or more.
fn rewrite_issues(line: &str) -> Option<String> {
    let (_, rest) = split_once(line, "Test run with ")?;
    let (ran, issues) = rest.split_once(" failed after ")?;
    let number = |text: &str| text.split(' ').next()?.parse::<u64>().ok();
    let total = number(ran)?;
    let failed = number(issues.split_once(" with ")?.1)?.clamp(1, total.max(1));
    Some(format!("{total} tests, {failed} failed"))
}

/// `00:01 +2 -1: Some tests failed.` as dart and flutter print it.
fn rewrite_clock(line: &str) -> Option<String> {
    let (time, rest) = split_once(line, " +")?;
    let clock = time.len() >= 5 && time.bytes().all(|byte| byte.is_ascii_digit() || byte == b':');
    let (numbers, text) = rest.split_once(": ").filter(|_| clock)?;
    matches!(text, "Some tests failed." | "All tests passed!").then_some(())?;
    let mut words = numbers.split(' ');
    let mut summary = format!("{} passed", words.next()?);
    for word in words {
        if let Some(failed) = word.strip_prefix('-') {
            summary = format!("{summary}, {failed} failed");
        } else if let Some(skipped) = word.strip_prefix('~') {
            summary = format!("{summary}, {skipped} skipped");
        }
    }
    Some(summary)
}

/// Column names that are all words of the vocabulary, at least two of them outcomes.
fn table_header(line: &str) -> Option<Vec<Outcome>> {
    if line.len() > 160 || line.contains(|c: char| c.is_ascii_digit() || ",;=".contains(c)) {
        return None;
    }
    let named = line.to_lowercase();
    // `Run Summary:  Total  Passed  Failed`: the columns stand behind the label.
    let line = line.rsplit_once(':').map_or(line, |(_, columns)| columns);
    let columns: Vec<Outcome> = cells(line)
        .filter_map(|cell| match meaning(&cell.to_lowercase())? {
            Meaning::Outcome(outcome) => Some(outcome),
            Meaning::Unit(Unit::Test) if cell.eq_ignore_ascii_case("tests") => Some(Outcome::Total),
            _ => None,
        })
        .collect();
    let is_table = named.contains("test")
        || named.contains("summary")
        || columns.len() >= 3
        || (line.contains('│') && columns.len() >= 2);
    let words = cells(line).count();
    let good = |outcome: &Outcome| matches!(outcome, Outcome::Passed | Outcome::Failed);
    let spaced = line.contains("  ") || line.contains(['|', '│', '\t']);
    let plain = spaced && !line.contains(". ") && !line.ends_with(['.', '!', ':']);
    (columns.len() >= 2
        && words <= columns.len() + 4
        && columns.iter().any(good)
        && is_table
        && plain)
        .then_some(columns)
}

fn cells(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| c.is_whitespace() || c == '|' || c == '│' || c == ':')
        .filter(|cell| !cell.is_empty() && cell.chars().any(char::is_alphanumeric) || *cell == "-")
}

/// `✖  1 of 2 failed (50%)   00:04   2   1   1` below the rows, which have been counted one by one.
fn sums_up_rows(line: &str) -> bool {
    let text = line.trim_start_matches(|c: char| !c.is_alphanumeric());
    let (label, numbers) = text.split_once("  ").unwrap_or((text, ""));
    let sums = label.starts_with("All ") || label.contains(" of ");
    sums && numbers.split_whitespace().filter(|cell| is_cell(cell)).count() >= 3
}

/// A cell of a table of counts: a number, a dash or a time such as `00:04`.
pub(super) fn is_cell(cell: &str) -> bool {
    cell == "-" || cell.bytes().all(|byte| byte.is_ascii_digit() || byte == b':')
}

/// A row whose last cells are the numbers of `columns`; durations behind them are skipped.
fn table_row(line: &str, columns: &[Outcome]) -> Option<Tally> {
    let line = line.replace("n/a", "-");
    let is_clock = |word: &&str| word.contains(':') && is_cell(word);
    let line = line.split_whitespace().filter(|word| !is_clock(word)).collect::<Vec<_>>().join(" ");
    let numbers: Vec<Option<u64>> = cells(&line)
        .filter(|cell| cell.starts_with(|c: char| c.is_ascii_digit()) || *cell == "-")
        .filter(|cell| !cell.contains('.') && !cell.ends_with('s'))
        .map(counted)
        .collect();
    let label = line.split_whitespace().find(|word| word.chars().all(char::is_alphabetic));
    let unit = label.and_then(|word| match meaning(&word.to_lowercase())? {
        Meaning::Unit(unit) => Some(unit),
        _ => None,
    });
    (numbers.len() == columns.len()).then_some(())?;
    let mut read = Numbers::default();
    for (number, outcome) in numbers.iter().zip(columns) {
        if let Some(number) = number {
            read.add(*outcome, *number);
        }
    }
    let mut tally = Tally { named: true, ..Tally::default() };
    *tally.numbers_mut(unit.unwrap_or(Unit::Test)) = read;
    Some(tally)
}
