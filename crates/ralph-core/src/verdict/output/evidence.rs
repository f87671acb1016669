//! Everything in an output about tests that affects the verdict.
//!
//! Summaries are collected in one pass over the lines. Test names and phrases are searched only on
//! demand: a run that passed needs neither.

use std::cell::OnceCell;

use super::super::command::is_test_file;
use super::super::kind::Counts;
use super::lines::Text;
use super::names::Names;
use super::packages::Packages;
use super::report::Report;
use super::search::holds;
use super::signs::Signs;
use super::summary::{Block, Blocks, is_summary};
use super::tally::{Numbers, Tally};
use super::tap::Tap;

/// The evidence found in an output.
#[derive(Debug)]
pub(crate) struct Evidence<'a> {
    text: &'a Text<'a>,
    blocks: Vec<Block>,
    tap: Tap,
    packages: Packages,
    report: Report,
    /// Tests that `ctest` skipped, which it counts as passed.
    skipped: u64,
    /// Whether the summaries bear the runner's marks.
    pub(crate) own: bool,
    signs: OnceCell<Signs>,
    failing: OnceCell<Vec<String>>,
}

impl<'a> Evidence<'a> {
    /// Reads the lines of `text`. If some of them are summaries with one of `marks`, the runner's
    /// own, no other line counts as a summary.
    pub(crate) fn gather(text: &'a Text<'a>, marks: &str) -> Self {
        let is_own = |line: &str| marks.split('|').any(|mark| holds(line, mark));
        let own = !marks.is_empty()
            && text.lines().rev().any(|line| is_own(line) && is_summary(line.trim()));
        let mut blocks = Blocks::default();
        let (mut tap, mut packages, mut skipped) = (Tap::default(), Packages::default(), 0);
        for (line, is_plain) in text.lines_by_kind().filter(|(line, _)| !line.is_empty()) {
            // `ok 1 passes` counts no tests.
            let is_point = tap.push(line);
            if is_plain || is_point {
                packages.push_test(line);
                blocks.skip();
                continue;
            }
            packages.push(line);
            if !own || is_own(line) {
                blocks.push(line);
            } else {
                blocks.skip();
            }
            skipped += u64::from(holds(line, "***Skipped"));
        }
        Self {
            text,
            blocks: blocks.finish(),
            report: Report::read(text.as_str()),
            tap,
            packages,
            skipped,
            own,
            signs: OnceCell::new(),
            failing: OnceCell::new(),
        }
    }

    /// Returns whether the program that started the tests reports after their summary that it failed.
    pub(crate) fn gave_up_later(&self) -> bool {
        let summary = self.blocks.last().map_or(0, |block| block.line);
        self.signs().given_up_at.is_some_and(|at| at > summary)
    }

    /// Returns whether a build tool reports that it ran tests.
    pub(crate) fn shows_tests(&self) -> bool {
        // Most outputs have none of these, which is found quickly.
        let text = self.text.as_str();
        let marks = ["T E S T S", "Tests run: ", "Task :", ":test"];
        marks.iter().any(|mark| text.contains(mark)) && self.signs().running
    }

    /// Returns the phrases found in single lines.
    pub(crate) fn signs(&self) -> &Signs {
        self.signs.get_or_init(|| Signs::of(self.text.lines()))
    }

    /// Returns the names of the failed tests, as far as printed; for the message only.
    pub(crate) fn failing(&self) -> &[String] {
        self.failing.get_or_init(|| {
            let mut names = Names::default();
            let lines = self.text.lines().filter(|line| !line.is_empty());
            lines.for_each(|line| names.push(line));
            names.finish(Report::failing_tests(self.text.as_str()))
        })
    }

    /// Returns whether any summary reports failed tests.
    pub(crate) fn failed(&self) -> bool {
        self.blocks.iter().any(|block| block.tally.is_bad()) || self.failed_by_line()
    }

    /// Returns whether tests failed, by the last summary only.
    pub(crate) fn failed_in_the_end(&self) -> bool {
        let tells = |block: &&Block| {
            let Tally { tests, word, .. } = block.tally;
            (block.tally.is_good() || block.tally.is_bad()) && (!tests.is_empty() || word.is_some())
        };
        match self.blocks.iter().rfind(tells) {
            Some(last) if last.tally.is_good() => self.packages.any_failed(),
            _ => self.failed(),
        }
    }

    /// Returns whether tests failed so clearly that a command which only may run tests is believed.
    pub(crate) fn failed_plainly(&self) -> bool {
        let counted =
            |numbers: &Numbers| numbers.bad() > 0 && numbers.passed.or(numbers.total).is_some();
        let plain = |Tally { tests, suites, assertions, .. }: &Tally| {
            [tests, suites, assertions].into_iter().any(counted)
        };
        self.blocks.iter().any(|block| plain(&block.tally)) || self.failed_by_line()
    }

    fn failed_by_line(&self) -> bool {
        self.tap.failed() || self.packages.any_failed() || self.report.is_bad()
    }

    /// Returns whether the last summary reports failures, which exit code 0 may still follow.
    pub(crate) fn ends_badly(&self) -> bool {
        match self.blocks.last() {
            Some(last) => last.tally.is_bad(),
            None => self.failed_by_line(),
        }
    }

    /// Returns whether the apparent failures are files that could not be loaded or tests that could
    /// not start; `cut` if the output may be incomplete.
    pub(crate) fn not_loaded(&self, cut: bool) -> bool {
        let signs = self.signs();
        let bad: u64 = self.blocks.iter().map(|block| block.tally.tests.bad()).sum();
        let suites = || self.blocks.iter().any(|block| only_suites_failed(&block.tally));
        signs.loader && (bad == 0 || signs.loader_failures >= bad)
            || bad == 0 && (suites() && !self.tap.failed() || self.packages.not_loaded(cut))
            || self.only_errors()
            || self.failed_without_tests()
            || signs.not_loaded && self.only_files_failed()
    }

    /// Returns whether the run ended before its first test and printed the reason.
    pub(crate) fn gave_up(&self) -> bool {
        let reason = self.signs().not_loaded || self.signs().nothing;
        self.tap.gave_up && self.tap.passed == 0 && reason
    }

    /// Returns whether no test passed, and only test files are named as failed.
    fn only_files_failed(&self) -> bool {
        let passed = |block: &Block| block.tally.tests.good() > Some(0);
        self.failed()
            && !self.passed()
            && !self.blocks.iter().any(passed)
            && !self.counts_failures_unnamed()
            && !self.packages.any_test_ran()
            && self.failing().iter().all(|test| is_path(test))
    }

    /// Returns whether failed tests are counted and none is named, so that they may be real.
    fn counts_failures_unnamed(&self) -> bool {
        let of_tests = |Block { tally, .. }: &Block| {
            let Numbers { passed, failed, errored, total, .. } = tally.tests;
            failed > Some(0) && errored.unwrap_or(0) == 0 && passed.or(total).is_some()
        };
        self.blocks.iter().any(of_tests) && self.failing().is_empty()
    }

    /// Returns whether failures were counted, but no test: `0 tests, 1 failure`.
    fn failed_without_tests(&self) -> bool {
        self.blocks
            .last()
            .is_some_and(|last| last.tally.tests.bad() > 0 && last.tally.tests.total == Some(0))
    }

    /// Returns whether only errors were counted: `1 error in 2.01s`.
    fn only_errors(&self) -> bool {
        self.blocks.iter().rfind(|block| block.tally.has_numbers()).is_some_and(|last| {
            let Numbers { passed, failed, errored, total, .. } = last.tally.tests;
            errored > Some(0) && [passed, failed, total].iter().flatten().sum::<u64>() == 0
        })
    }

    /// Returns whether any summary counts failed tests.
    pub(crate) fn counts_failures(&self) -> bool {
        self.blocks.iter().any(|block| block.tally.tests.failed > Some(0))
    }

    /// Returns whether any summary reports passed tests.
    pub(crate) fn passed(&self) -> bool {
        let all_skipped =
            |tally: &Tally| self.skipped > 0 && tally.tests.total == Some(self.skipped);
        let good =
            |Block { tally, .. }: &Block| tally.is_good() && tally.is_sure() && !all_skipped(tally);
        self.blocks.iter().any(good)
            || self.tap.passed()
            || self.packages.passed()
            || self.report.is_good()
    }

    /// Returns whether any line counts tests that did not fail, even if that may be by chance.
    pub(crate) fn seems_passed(&self) -> bool {
        self.passed() || self.blocks.iter().any(|block| block.tally.is_good())
    }

    /// Returns whether failed tests are named, and no summary counts any.
    pub(crate) fn only_names_failures(&self) -> bool {
        self.blocks.is_empty() && !self.failing().is_empty()
    }

    /// Returns whether a summary or phrase reports that no test ran; `idle` includes single steps.
    pub(crate) fn nothing_ran(&self, idle: bool) -> bool {
        !self.passed()
            && (self.blocks.iter().any(|block| block.tally.is_none())
                || self.tap.is_none()
                || self.packages.is_none()
                || self.report.is_none()
                || self.skipped > 0
                || self.signs().nothing
                || idle && self.signs().idle && !self.signs().tested)
    }

    /// Returns the counts of the last summary or, with `sum`, of all summaries of the same form,
    /// for runs that print one for each part.
    pub(crate) fn counts(&self, sum: bool) -> Counts {
        let numbers = |block: &Block| {
            let Tally { tests, suites, assertions, .. } = block.tally;
            let units = [tests, suites, assertions];
            units.into_iter().find(|numbers| !numbers.is_empty()).unwrap_or_default()
        };
        let tells =
            |numbers: &Numbers| numbers.passed.or(numbers.failed).or(numbers.errored).is_some();
        let all = || self.blocks.iter().map(numbers);
        let last = all().rfind(tells).or_else(|| self.blocks.last().map(numbers));
        let parts: Vec<Numbers> = match last.filter(|last| !last.is_empty()) {
            Some(last) if sum => all().filter(|part| part.is_part_like(&last)).collect(),
            Some(last) => vec![last],
            None if !self.report.numbers.is_empty() => vec![self.report.numbers],
            None if self.tap.is_tap() => {
                let Tap { passed, failed, skipped, .. } = self.tap;
                return Counts { passed, failed, skipped, errored: 0 };
            }
            None => return self.packages.counts(),
        };
        let mut counts = Counts::default();
        parts.iter().for_each(|part| add(&mut counts, part));
        counts
    }
}

fn add(sum: &mut Counts, numbers: &Numbers) {
    sum.failed = sum.failed.saturating_add(numbers.missing());
    sum.passed = sum.passed.saturating_add(numbers.good().unwrap_or_default());
    sum.failed = sum.failed.saturating_add(numbers.failed.unwrap_or_default());
    sum.skipped = sum.skipped.saturating_add(numbers.skipped.unwrap_or_default());
    sum.errored = sum.errored.saturating_add(numbers.errored.unwrap_or_default());
}

/// Returns whether suites failed although no test did: they could not be loaded.
fn only_suites_failed(tally: &Tally) -> bool {
    tally.suites.bad() > 0 && !tally.tests.is_empty() && tally.tests.bad() == 0
}

/// Recognises test files: `test/calc_test.js`, `calc.test.js`, `loading test/calc_test.dart`.
fn is_path(name: &str) -> bool {
    let name = name.strip_prefix("loading ").unwrap_or(name);
    let short = name.rsplit_once('.').is_some_and(|(_, extension)| extension.len() <= 5);
    short && !name.contains([' ', '#']) && !name.contains("::") && is_test_file(name)
}
