//! Summary lines of many runners, and lines that only look like summaries.

use super::*;

/// Returns `passed failed errored skipped total` of the tests, with `-` for a missing count.
fn show(line: &str) -> Option<String> {
    let Tally { tests, .. } = read(line)?;
    let show = |number: Option<u64>| number.map_or("-".to_owned(), |number| number.to_string());
    let parts = [tests.passed, tests.failed, tests.errored, tests.skipped, tests.total];
    Some(parts.map(show).join(" "))
}

#[track_caller]
fn check(line: &str, expected: &str) {
    assert_eq!(show(line).as_deref(), Some(expected), "{line}");
}

#[test]
fn counts_before_words_are_read() {
    check("===== 1 failed, 4 passed, 2 skipped in 1.20s (0:00:01) =====", "4 1 - 2 -");
    check("Tests:       1 failed, 3 passed, 4 total", "3 1 - - 4");
    check("      Tests  1 failed | 3 passed (4)", "3 1 - - -");
    check("test result: FAILED. 2 passed; 1 failed; 0 ignored; 0 measured", "2 1 - 0 -");
    check("3 examples, 1 failure, 1 pending", "- 1 - 1 3");
    check("[==========] 3 tests from 1 test suite ran. (0 ms total)", "- - - - 3");
    check("1 success / 1 failure / 0 errors / 0 pending : 0.000 seconds", "1 1 0 0 -");
    check("100% tests passed, 0 tests failed out of 2", "- 0 - - 2");
    check("1 out of 2 tests failed (0.00s)", "- 1 - - 2");
    check("1 success(es) 1 failure(s) 0 error(s) 2 test(s) run", "1 1 0 - 2");
    check("2 scenarios (1 failed, 1 passed)", "1 1 - - 2");
    check("Executed 2 tests, with 1 failure (0 unexpected) in 0.003 (0.003) seconds", "- 1 - - 2");
    check("3 Tests 1 Failures 0 Ignored", "- 1 - 0 3");
}

#[test]
fn counts_after_words_are_read() {
    check("Tests run: 2,  Failures: 1", "- 1 - - 2");
    check("Tests: 3, Assertions: 3, Failures: 1.", "- 1 - - 3");
    check("Failed!  - Failed:  1, Passed:  2, Skipped:  0, Total:  3", "2 1 - 0 3");
    check("# fail 1", "- 1 - - -");
    check("Fail:               1", "- 1 - - -");
    check("Expected Fail:      1", "- - - - -");
    check("# of unexpected failures\t1", "- 1 - - -");
    check("[ FAIL 1 | WARN 0 | SKIP 0 | PASS 2 ]", "2 1 - 0 -");
    check("Tests: succeeded 2, failed 1, canceled 0, ignored 0, pending 0", "2 1 - 0 -");
    check("FAILED: Cases: 2 Tried: 2 Errors: 0 Failures: 1 Skip: 0 Todo: 0.", "- 1 0 0 2");
    check("FAILED (failures=1, errors=2)", "- 1 2 - -");
    check("** TESTS=3 PASS=2 FAIL=1 SKIP=0", "2 1 - 0 3");
    check("PASS 2 FAIL 1 SKIP 0", "2 1 - 0 -");
    check("PASS: 2/3", "2 - - - 3");
}

#[test]
fn words_without_counts_are_read() {
    for (line, word) in [
        ("All tests passed", Outcome::Passed),
        ("** TEST FAILED **", Outcome::Failed),
        ("Result: FAIL", Outcome::Failed),
        ("OK", Outcome::Passed),
    ] {
        assert_eq!(read(line).and_then(|tally| tally.word), Some(word), "{line}");
    }
}

#[test]
fn suites_and_assertions_are_counted_separately() {
    let tally = read("Test Suites: 1 failed, 2 total").unwrap();
    assert!(tally.tests.is_empty());
    assert_eq!(tally.suites.failed, Some(1));
    let tally = read("5 steps passed, 1 failed, 0 skipped").unwrap();
    assert_eq!(tally.assertions.failed, Some(1));
}

#[test]
fn lines_with_other_words_are_not_summaries() {
    for line in [
        "usb 1-1: device not ok, 3 failed, 1 ok",
        "ERROR    app:test_l.py:4 job FAILED: (3 failed, 0 passed)",
        "tests: 2 failed, 3 passed before; gone",
        "failed login is rejected",
    ] {
        assert_eq!(show(line), None, "{line}");
    }
}

/// Summaries of runners that no other test covers.
#[test]
fn failures_in_other_wordings_are_recognized() {
    for line in [
        "FAIL  | 1 passed, 1 failed   // 2s",
        "complete: 1 passing, 1 failing, 0 errors, 0 skipped, 2 total",
        "Done. PASS=1 WARN=0 ERROR=1 SKIP=0 TOTAL=2",
        "fail 1 of 2",
        "2 specifications (3 requirements), 1 failures, 0 errors",
        "✗ 1 failed, 1 succeeded.",
        "Test Count: 3, Passed: 2, Failed: 1, Warnings: 0, Inconclusive: 0, Skipped: 0",
        "Total tests: 3. Passed: 2. Failed: 1. Skipped: 0.",
        "Test results: passed: 2; failed: 1",
        "2 tests passed. 1 tests failed. 0 tests ignored.",
        "Tests failed    :    1 ( 50.0%)",
        "Test cases run: 1/1, Passes: 2, Failures: 1, Exceptions: 0",
        "2 run, 1 passes, 0 expected defects, 1 failures, 0 errors",
        "Test result: FAILED. Total tests: 2; passed: 1; failed: 1",
        "Tests: 1 passed, 1 failed, 0 skipped, 0 ignored, 0 filtered out",
        "# tests 2 # passes 1 # fails 1",
        "Executed 2 of 3 FAIL (FAILURE: 1) in 0.01 seconds",
        "Tests Found: 2 Tests Failed: 1",
        "Passed: 2, Failed: 1, Errors: 0, Total: 3",
        "1 error, 0 failed, 2 passed",
        "not ok: 1, ok: 2",
        "FAILED 1 / 3 tests",
        "1 test FAILED",
        "Some tests failed!",
        "Test run failed.",
        "Overall result: Failed",
        "3 total, 2 passed, 1 failed",
        "total: 3, pass: 2, fail: 1",
        "Passed 2/3 tests",
        "2 out of 3 tests passed",
    ] {
        assert!(read(line).is_some_and(|tally| tally.is_bad()), "{line}: {:?}", read(line));
    }
}

#[test]
fn passing_runs_in_other_wordings_are_recognized() {
    for line in [
        "OK  | 2 passed   // 2s",
        "complete: 2 passing, 0 failing, 0 errors, 0 skipped, 2 total",
        "Done. PASS=2 WARN=0 ERROR=0 SKIP=0 TOTAL=2",
        "pass 2 of 2",
        "✓ 2 succeeded.",
        "All 3 tests passed!",
        "All tests passed.",
        "Test run passed.",
        "3 of 3 tests passed",
        "OK: 3 passed",
        "3 tests OK",
        "Success: 3 tests, 0 failures",
        "Tests passed: 3",
        "PASSED 3 tests in 0.02s",
    ] {
        assert!(read(line).is_some_and(|tally| tally.is_good()), "{line}: {:?}", read(line));
    }
}
