//! The output of `go test`: one line for each package, and `--- FAIL:` lines for tests. Similar
//! lines of Bazel and other runners are not read here.

use super::super::kind::Counts;

/// The content of the package lines of an output.
#[derive(Debug, Default)]
pub(crate) struct Packages {
    ok: u64,
    failed: u64,
    broken: u64,
    empty: u64,
    tests_failed: u64,
    tests_passed: u64,
    tests_skipped: u64,
    /// Whether a test was started, or a panic printed, behind the last package line.
    ran: bool,
    /// Whether a bare `FAIL` follows the last package line: go's last word.
    gave_up: bool,
}

impl Packages {
    /// Reads the next line.
    pub(crate) fn push(&mut self, line: &str) {
        if !line.contains('\t') {
            return self.push_test(line);
        }
        let mut fields = behind_bar(line).split('\t').map(str::trim);
        let (outcome, package, rest) = (fields.next(), fields.next(), fields.next());
        self.gave_up &= !(matches!(outcome, Some("ok" | "FAIL")) && package.is_some());
        match (outcome, package, rest) {
            (Some("ok"), _, Some(_)) => {
                self.ran = false;
                let empty = line.contains("[no tests to run]");
                *(if empty { &mut self.empty } else { &mut self.ok }) += 1;
            }
            (Some("?"), _, Some(_)) => self.empty += 1,
            (Some("FAIL"), Some(package), _) if package.ends_with(" failed]") => self.broken += 1,
            (Some("FAIL"), Some(_), _) => {
                self.failed += 1;
                let ran = std::mem::take(&mut self.ran);
                self.tests_failed += u64::from(ran && self.tests_failed == 0);
            }
            _ => {}
        }
    }

    /// Reads the next line, trimmed, which has no tabs.
    pub(crate) fn push_test(&mut self, line: &str) {
        let text = behind_bar(line).trim_end();
        self.gave_up |= text == "FAIL";
        let starts = ["=== RUN", "panic: ", "fatal error: "];
        self.ran |= text == "FAIL" || starts.iter().any(|start| text.starts_with(start));
        let Some(result) = text.strip_prefix("--- ") else { return };
        match result.split_once(": ").map(|(outcome, _)| outcome) {
            Some("FAIL") => self.tests_failed += 1,
            Some("PASS") => self.tests_passed += 1,
            Some("SKIP") => self.tests_skipped += 1,
            _ => {}
        }
    }

    /// Returns whether there was a package line, so that bare `FAIL` and `--- FAIL` lines count.
    fn seen(&self) -> bool {
        self.ok + self.failed + self.broken + self.empty > 0
    }

    /// Returns whether any test ran to its end, and not just a package.
    pub(crate) fn any_test_ran(&self) -> bool {
        self.tests_failed + self.tests_passed > 0
    }

    pub(crate) fn any_failed(&self) -> bool {
        // The end of a long output may lack the line of the package that failed.
        let unnamed = self.gave_up && self.seen() && self.broken == 0;
        self.tests_failed > 0 || self.failed > 0 || unnamed
    }

    /// Returns whether a package could not be built or stopped before its first test. If the output
    /// was `cut`, the lines of the tests may be missing.
    pub(crate) fn not_loaded(&self, cut: bool) -> bool {
        let stopped = self.failed > 0 && self.tests_passed == 0 && !cut;
        self.tests_failed == 0 && (self.broken > 0 || stopped)
    }

    /// Returns whether tests of a package passed and none failed.
    pub(crate) fn passed(&self) -> bool {
        self.ok > 0 && !self.is_none() && self.broken == 0 && !self.any_failed()
    }

    pub(crate) fn is_none(&self) -> bool {
        let all_skipped = self.tests_skipped > 0 && self.tests_passed == 0;
        self.seen() && self.broken == 0 && !self.any_failed() && (self.ok == 0 || all_skipped)
    }

    pub(crate) fn counts(&self) -> Counts {
        let (passed, failed, skipped) = (self.tests_passed, self.tests_failed, self.tests_skipped);
        Counts { passed, failed, skipped, errored: 0 }
    }
}

/// Strips the bar that a task runner may put before each line.
fn behind_bar(line: &str) -> &str {
    line.trim_start_matches([' ', '|'])
}
