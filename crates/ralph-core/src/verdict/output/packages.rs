//! The output of `go test`: one line a package, and `--- FAIL:` lines for tests. Bazel's and
//! other runners' lines of one outcome a target are not read here.

/// What the package lines of an output say.
#[derive(Debug, Default)]
pub(crate) struct Packages {
    ok: u64,
    failed: u64,
    broken: u64,
    empty: u64,
    tests_failed: u64,
    tests_passed: u64,
    tests_skipped: u64,
    /// A bare `FAIL` or a panic since the last package line: its tests did run.
    ran: bool,
}

impl Packages {
    /// Looks at the next line.
    pub(crate) fn push(&mut self, line: &str) {
        if !line.contains('\t') {
            return self.push_test(line.trim());
        }
        let mut fields = line.split('\t').map(str::trim);
        match (fields.next(), fields.next(), fields.next()) {
            (Some("ok"), Some(_), Some(rest)) if rest.contains("[no tests to run]") => {
                self.empty += 1;
            }
            (Some("ok"), Some(_), Some(_)) => match fields.next() {
                Some(rest) if rest.contains("[no tests to run]") => self.empty += 1,
                _ => self.ok += 1,
            },
            (Some("?"), Some(_), Some(_)) => self.empty += 1,
            (Some("FAIL"), Some(package), _) if package.ends_with(" failed]") => self.broken += 1,
            (Some("FAIL"), Some(_), _) => {
                self.failed += 1;
                self.tests_failed +=
                    u64::from(std::mem::take(&mut self.ran) && self.tests_failed == 0);
            }
            _ => {}
        }
    }

    /// Looks at the next line, trimmed, which has no columns.
    pub(crate) fn push_test(&mut self, text: &str) {
        self.ran |= text == "FAIL" || text.starts_with("panic: ");
        let Some(result) = text.strip_prefix("--- ") else { return };
        match result.split_once(": ").map(|(outcome, _)| outcome) {
            Some("FAIL") => self.tests_failed += 1,
            Some("PASS") => self.tests_passed += 1,
            Some("SKIP") => self.tests_skipped += 1,
            _ => {}
        }
    }

    /// Whether any package line was seen, so that the bare `FAIL` and `--- FAIL` lines count.
    fn seen(&self) -> bool {
        self.ok + self.failed + self.broken + self.empty > 0
    }

    pub(crate) fn is_bad(&self) -> bool {
        self.tests_failed > 0 || (self.failed > 0 && !self.is_broken())
    }

    /// No test failed, but a package could not be built or stopped before its first test.
    pub(crate) fn is_broken(&self) -> bool {
        self.tests_failed == 0 && (self.broken > 0 || (self.failed > 0 && self.tests_passed == 0))
    }

    pub(crate) fn is_good(&self) -> bool {
        self.ok > 0 && !self.is_none() && self.failed + self.broken + self.tests_failed == 0
    }

    pub(crate) fn is_none(&self) -> bool {
        let all_skipped = self.tests_skipped > 0 && self.tests_passed == 0;
        self.seen()
            && self.failed + self.broken + self.tests_failed == 0
            && (self.ok == 0 || all_skipped)
    }

    pub(crate) fn counts(&self) -> (u64, u64, u64) {
        (self.tests_passed, self.tests_failed, self.tests_skipped)
    }
}
