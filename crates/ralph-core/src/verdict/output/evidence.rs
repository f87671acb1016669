//! All that an output says about tests.
//!
//! Summaries are gathered in one pass over the lines. Names of tests and single messages are
//! looked for only once they are asked about: a run that passed needs neither.

use std::cell::OnceCell;

use super::super::kind::{Counts, FailingTest};
use super::lines::Text;
use super::names::Names;
use super::packages::Packages;
use super::report::Report;
use super::search::holds;
use super::signs::{Signs, says_that_tests_failed};
use super::summary::Blocks;
use super::tally::{Numbers, Tally};
use super::tap::Tap;

/// What was found.
#[derive(Debug)]
pub(crate) struct Evidence<'a> {
    text: &'a Text<'a>,
    blocks: Vec<Tally>,
    tap: Tap,
    packages: Packages,
    report: Report,
    /// Progress signs such as `..F.  [100%]`: whether one was bad.
    progress: Option<bool>,
    not_run: u64,
    skipped: u64,
    /// A line that is printed only when tests failed.
    said_to_fail: bool,
    /// A rule that the command itself set was broken.
    breaks_own_rule: bool,
    signs: OnceCell<Signs>,
    named: OnceCell<Named>,
}

/// The failing tests, and whether a line by itself said that one failed.
#[derive(Debug)]
struct Named {
    failing: Vec<FailingTest>,
    certain: bool,
}

impl<'a> Evidence<'a> {
    /// Reads the lines of `text`.
    pub(crate) fn gather(text: &'a Text<'a>, breaks_own_rule: bool) -> Self {
        let mut blocks = Blocks::default();
        let mut tap = Tap::default();
        let mut packages = Packages::default();
        let (mut progress, mut not_run, mut skipped) = (None, 0, 0);
        let mut said_to_fail = false;
        for (line, is_plain) in text.lines_by_kind().filter(|(line, _)| !line.is_empty()) {
            tap.push(line);
            said_to_fail = said_to_fail || says_that_tests_failed(line);
            if is_plain {
                packages.push_test(line.trim_start());
                blocks.push_plain(line);
                continue;
            }
            packages.push(line);
            blocks.push(line);
            let starred = holds(line, "***");
            not_run += u64::from(starred && holds(line, "***Not Run") || is_unloaded(line));
            skipped += u64::from(starred && holds(line, "***Skipped"));
            if let Some(bad) = progress_line(line) {
                progress = Some(progress.unwrap_or_default() || bad);
            }
        }
        Self {
            text,
            blocks: blocks.finish(),
            report: Report::read(text.as_str()),
            tap,
            packages,
            progress,
            not_run,
            skipped,
            said_to_fail,
            breaks_own_rule,
            signs: OnceCell::new(),
            named: OnceCell::new(),
        }
    }

    /// What single lines give away.
    pub(crate) fn signs(&self) -> &Signs {
        self.signs.get_or_init(|| {
            let mut signs = Signs::default();
            self.text.lines().for_each(|line| signs.push(line));
            signs
        })
    }

    /// A threshold was missed, or a rule that the command itself set.
    pub(crate) fn is_against_policy(&self) -> bool {
        self.breaks_own_rule || self.signs().policy
    }

    fn named(&self) -> &Named {
        self.named.get_or_init(|| {
            let mut names = Names::default();
            let lines = self.text.lines().filter(|line| !line.is_empty());
            lines.for_each(|line| names.push(line));
            let certain = names.is_certain();
            let failing = names.finish(Report::failing_tests(self.text.as_str()));
            Named { failing, certain }
        })
    }

    /// The tests that failed, as far as they are named.
    pub(crate) fn failing(&self) -> &[FailingTest] {
        &self.named().failing
    }

    /// Some summary says that tests failed.
    pub(crate) fn is_bad(&self) -> bool {
        self.has_bad_summary() || self.said_to_fail || self.progress == Some(true)
    }

    /// Some summary says that tests failed, and where the run prints only one, it is the last.
    pub(crate) fn is_bad_in_the_end(&self, one_summary: bool) -> bool {
        let tells = |block: &&Tally| {
            (block.is_good() || block.is_bad()) && (!block.tests.is_empty() || block.word.is_some())
        };
        let last = self.blocks.iter().rfind(tells);
        match last {
            Some(last) if one_summary && last.is_good() => self.packages.is_bad(),
            _ => self.is_bad(),
        }
    }

    /// So plainly that even a command which need not run tests is believed to have done so.
    pub(crate) fn is_plainly_bad(&self) -> bool {
        let counted = |block: &Tally| {
            block.tests.bad() > 0 && block.tests.passed.or(block.tests.total).is_some()
        };
        self.blocks.iter().any(counted)
            || self.tap.is_bad()
            || self.packages.is_bad()
            || self.report.is_bad()
            || (self.is_bad() && self.named().certain)
    }

    /// The last summary says that tests failed: for runners whose exit code cannot be relied on.
    pub(crate) fn ends_badly(&self) -> bool {
        match self.blocks.last() {
            Some(last) => last.is_bad(),
            None => self.tap.is_bad() || self.report.is_bad(),
        }
    }

    fn has_bad_summary(&self) -> bool {
        self.blocks.iter().any(Tally::is_bad)
            || self.tap.is_bad()
            || self.packages.is_bad()
            || self.report.is_bad()
    }

    /// What looks like failures are files that could not be loaded or tests that could not start.
    pub(crate) fn is_broken(&self) -> bool {
        let failed: u64 = self.blocks.iter().map(|block| block.tests.failed.unwrap_or(0)).sum();
        let errored: u64 = self.blocks.iter().map(|block| block.tests.errored.unwrap_or(0)).sum();
        let loader = self.signs().loader_failures;
        (failed == 0 && errored > 0 && loader >= errored)
            || (self.signs().unplanned > 0 && self.signs().failed_points == 0)
            || (self.not_run > 0 && self.not_run >= failed && failed > 0)
            || (self.packages.is_broken() && !self.has_bad_tests())
            || (!self.has_bad_tests() && self.blocks.iter().any(only_suites_failed))
            || self.only_files_failed()
            || self.only_errors()
            || self.only_said_to_fail()
    }

    fn has_bad_tests(&self) -> bool {
        self.blocks.iter().any(|block| block.tests.bad() > 0) || self.tap.is_bad()
    }

    /// The failed "tests" are the test files themselves, which could not be loaded.
    fn only_files_failed(&self) -> bool {
        self.signs().unloadable
            && !self.shows_passed()
            && self
                .failing()
                .iter()
                .all(|test| is_path(&test.name) || test.name.starts_with("An uncaught"))
    }

    /// `Tests failed.` without a count or a name, below a compile error.
    fn only_said_to_fail(&self) -> bool {
        let mut bad = self.blocks.iter().filter(|block| block.is_bad()).peekable();
        self.signs().broken
            && bad.peek().is_some()
            && bad.all(|block| !block.has_numbers())
            && !self.shows_passed()
            && !self.named().certain
            && !self.tap.is_bad()
            && !self.packages.is_bad()
            && !self.report.is_bad()
    }

    /// Errors were counted, and nothing else: `1 error in 2.01s`.
    fn only_errors(&self) -> bool {
        let errors_only = |numbers: &Numbers| {
            numbers.errored > Some(0)
                && numbers.failed.unwrap_or(0) == 0
                && numbers.good().unwrap_or(0) == 0
        };
        self.blocks
            .iter()
            .any(|block| errors_only(&block.tests) && block.tests.total.unwrap_or(0) == 0)
            && self.blocks.iter().all(|block| !block.is_bad() || errors_only(&block.tests))
    }

    /// Single failing tests are named, whatever a summary says.
    pub(crate) fn names_failures(&self) -> bool {
        self.named().certain
    }

    /// Some summary says that tests passed, or at least that none failed.
    pub(crate) fn is_good(&self) -> bool {
        let clean = self.blocks.iter().any(Tally::is_clean) && !self.signs().no_tests;
        self.shows_passed() || clean
    }

    /// Some summary says that tests passed.
    pub(crate) fn shows_passed(&self) -> bool {
        self.blocks.iter().any(Tally::is_good)
            || self.tap.is_good()
            || self.packages.is_good()
            || self.report.is_good()
            || self.progress == Some(false)
    }

    /// The runner says outright that it found no test, and no more than that one complaint.
    pub(crate) fn complains_of_none(&self) -> bool {
        let failed: u64 = self.blocks.iter().map(|block| block.tests.bad()).max().unwrap_or(0);
        self.signs().no_tests
            && !self.shows_passed()
            && !self.packages.is_bad()
            && !self.report.is_bad()
            && self.blocks.iter().all(|block| block.tests.passed.unwrap_or(0) == 0)
            && failed.max(self.tap.failed) <= 1
            && self.failing().len() <= 1
    }

    /// Every test of `ctest` was skipped, which it reports as passed.
    fn all_skipped(&self) -> bool {
        self.skipped > 0 && self.blocks.iter().any(|block| block.tests.total == Some(self.skipped))
    }

    /// The output says that no test ran.
    pub(crate) fn is_none(&self) -> bool {
        self.all_skipped()
            || !self.is_good()
                && (self.blocks.iter().any(Tally::is_none)
                    || self.tap.is_none()
                    || self.packages.is_none()
                    || self.report.is_none()
                    || self.signs().no_tests)
    }

    /// Whether any summary counts failed tests.
    pub(crate) fn counts_failures(&self) -> bool {
        self.blocks.iter().any(|block| block.tests.failed > Some(0))
    }

    /// The counts of the last summary, or with `sum` those of all summaries of the same form, for
    /// runs that print one for every part.
    pub(crate) fn counts(&self, sum: bool) -> Counts {
        let numbers = |block: &Tally| {
            // Where only an assertion failed, its count says more.
            if block.tests.bad() == 0 && block.assertions.bad() > 0 {
                return block.assertions;
            }
            let units = [block.tests, block.suites, block.assertions];
            units.into_iter().find(|numbers| !numbers.is_empty()).unwrap_or_default()
        };
        let full = self.blocks.iter().any(|block| block.named && block.tests.passed.is_some());
        let mut counts = Counts::default();
        let tells =
            |numbers: &Numbers| numbers.passed.or(numbers.failed).or(numbers.errored).is_some();
        let last = self.blocks.iter().rev().filter(|block| !(full && counts_tasks(block)));
        let last = last.map(numbers).find(tells);
        let last = last.or_else(|| self.blocks.last().map(numbers));
        if let Some(last) = last.filter(|last| !last.is_empty()) {
            let parts =
                self.blocks.iter().filter(|block| !(full && counts_tasks(block))).map(numbers);
            let parts =
                parts.filter(
                    |part| {
                        if sum { part.is_part_like(&last) } else { part.has_form_of(&last) }
                    },
                );
            parts.skip_while(|part| !sum && *part != last).for_each(|part| {
                if !sum {
                    counts = Counts::default();
                }
                add(&mut counts, &part);
            });
        } else if !self.report.numbers.is_empty() {
            add(&mut counts, &self.report.numbers);
        } else if self.tap.is_tap() {
            let Tap { passed, failed, skipped, .. } = self.tap;
            counts = Counts { passed, failed, skipped, errored: 0 };
        } else {
            let (passed, failed, skipped) = self.packages.counts();
            counts = Counts { passed, failed, skipped, errored: 0 };
        }
        counts
    }
}

/// `✖ 1/1 failed` below a full summary counts the tasks that a task runner started.
fn counts_tasks(block: &Tally) -> bool {
    let Numbers { passed, failed, total, .. } = block.tests;
    !block.named && passed.is_none() && failed.is_some() && total.is_some()
}

fn add(sum: &mut Counts, numbers: &Numbers) {
    sum.failed = sum.failed.saturating_add(numbers.missing());
    sum.passed = sum.passed.saturating_add(numbers.good().unwrap_or_default());
    sum.failed = sum.failed.saturating_add(numbers.failed.unwrap_or_default());
    sum.skipped = sum.skipped.saturating_add(numbers.skipped.unwrap_or_default());
    sum.errored = sum.errored.saturating_add(numbers.errored.unwrap_or_default());
}

/// Suites failed although none of their tests did: they could not be loaded.
fn only_suites_failed(block: &Tally) -> bool {
    block.suites.bad() > 0 && !block.tests.is_empty() && block.tests.bad() == 0
}

/// `00:00 +0 -1: loading test/calc_test.dart [E]`
fn is_unloaded(line: &str) -> bool {
    line.ends_with(" [E]") && line.contains(": loading ")
}

fn is_path(name: &str) -> bool {
    let word = name.split_whitespace().next().unwrap_or_default();
    word.len() == name.len() && word.contains('/') && word.contains('.')
}

/// `..F.  [100%]` as pytest prints it; `Some(true)` if a test failed.
fn progress_line(line: &str) -> Option<bool> {
    let (dots, percent) = line.strip_suffix("%]")?.rsplit_once('[')?;
    percent.trim().parse::<u8>().ok()?;
    let dots = dots.trim().rsplit(' ').next()?;
    let known = !dots.is_empty() && dots.chars().all(|c| ".FEsxX".contains(c));
    known.then(|| dots.contains(['F', 'E']))
}
