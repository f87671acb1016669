//! The output of `go test`: one line a package, and `--- FAIL:` lines for tests. Bazel's and
//! other runners' lines of one outcome a target are not read here.

use super::super::kind::Counts;

/// What the package lines of an output say.
#[derive(Debug, Default)]
pub(crate) struct Packages<'a> {
    ok: u64,
    failed: u64,
    broken: u64,
    empty: u64,
    tests_failed: u64,
    tests_passed: u64,
    tests_skipped: u64,
    /// A bare `FAIL` or a panic since the last package line: its tests did run.
    ran: bool,
    /// The last line of a good package, and of a bad one.
    good: &'a str,
    bad: &'a str,
}

impl<'a> Packages<'a> {
    /// Looks at the next line.
    pub(crate) fn push(&mut self, line: &'a str) {
        if !line.contains('\t') {
            return self.push_test(line);
        }
        let mut fields = line.split('\t').map(str::trim);
        match (fields.next(), fields.next(), fields.next()) {
            (Some("ok"), _, Some(_)) if line.contains("[no tests to run]") => self.empty += 1,
            (Some("ok"), _, Some(_)) => (self.ok, self.good) = (self.ok + 1, line),
            (Some("?"), _, Some(_)) => self.empty += 1,
            (Some("FAIL"), Some(package), _) if package.ends_with(" failed]") => {
                (self.broken, self.bad) = (self.broken + 1, line);
            }
            (Some("FAIL"), Some(_), _) => {
                (self.failed, self.bad) = (self.failed + 1, line);
                let ran = std::mem::take(&mut self.ran);
                self.tests_failed += u64::from(ran && self.tests_failed == 0);
            }
            _ => {}
        }
    }

    /// Looks at the next line, trimmed, which has no columns.
    pub(crate) fn push_test(&mut self, line: &'a str) {
        let text = line.trim();
        self.ran |= text == "FAIL" || text.starts_with("panic: ");
        let Some(result) = text.strip_prefix("--- ") else { return };
        match result.split_once(": ").map(|(outcome, _)| outcome) {
            Some("FAIL") => (self.tests_failed, self.bad) = (self.tests_failed + 1, line),
            Some("PASS") => self.tests_passed += 1,
            Some("SKIP") => self.tests_skipped += 1,
            _ => {}
        }
    }

    /// Whether any package line was seen, so that the bare `FAIL` and `--- FAIL` lines count.
    fn seen(&self) -> bool {
        self.ok + self.failed + self.broken + self.empty > 0
    }

    /// The line that says that a test failed.
    pub(crate) fn failed(&self) -> Option<&'a str> {
        let failed = self.tests_failed > 0 || self.failed > 0;
        failed.then_some(self.bad)
    }

    /// The line of a package that could not be built or stopped before its first test. Of a `cut`
    /// output, the lines of the tests may be missing.
    pub(crate) fn not_loaded(&self, cut: bool) -> Option<&'a str> {
        (self.is_broken() && (self.broken > 0 || !cut)).then_some(self.bad)
    }

    fn is_broken(&self) -> bool {
        self.tests_failed == 0 && (self.broken > 0 || (self.failed > 0 && self.tests_passed == 0))
    }

    /// The line of a package whose tests passed, where none failed.
    pub(crate) fn passed(&self) -> Option<&'a str> {
        let failed = self.failed + self.broken + self.tests_failed;
        (self.ok > 0 && !self.is_none() && failed == 0).then_some(self.good)
    }

    pub(crate) fn is_none(&self) -> bool {
        let all_skipped = self.tests_skipped > 0 && self.tests_passed == 0;
        self.seen()
            && self.failed + self.broken + self.tests_failed == 0
            && (self.ok == 0 || all_skipped)
    }

    pub(crate) fn counts(&self) -> Counts {
        let (passed, failed, skipped) = (self.tests_passed, self.tests_failed, self.tests_skipped);
        Counts { passed, failed, skipped, errored: 0 }
    }
}
