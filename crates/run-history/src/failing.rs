//! Extracts the useful part of a failing check's output.

/// The maximum number of lines that show the cause.
const CAUSE_LINES: usize = 4;

/// Words that mark a line as the cause, the most specific ones first.
const CAUSES: [&[&str]; 3] = [
    &["E   ", "panicked at", "Expected", "expected", "Received"],
    &["assert", "error:", "error[", "fatal:", "Error:", "ERROR", "✕", "✗", "not ok"],
    &["FAIL", "failed"],
];

/// Returns the lines with the cause: the failing assertion if there is one, else the last lines.
pub fn cause(output: &str) -> String {
    let output = without_rulers(output);
    let lines: Vec<&str> = output.lines().collect();
    for words in CAUSES {
        let says = |line: &&&str| words.iter().any(|word| line.contains(word));
        let found: Vec<&str> = lines.iter().filter(says).copied().take(CAUSE_LINES).collect();
        if !found.is_empty() {
            return found.join("\n");
        }
    }
    lines.get(lines.len().saturating_sub(CAUSE_LINES)..).unwrap_or_default().join("\n")
}

/// Removes rulers, empty lines, and lines that only count or name what passed.
pub fn without_rulers(output: &str) -> String {
    let is_ruler = |c: char| "=-_─━═*~".contains(c);
    let is_dull = |line: &str| {
        let (line, dots) = (line.trim(), line.split('[').next().unwrap_or_default().trim());
        dots.chars().all(|c| ".FEsxX".contains(c) || is_ruler(c))
            || line.ends_with(" ... ok")
            || line.starts_with("ok ")
            || line.starts_with("✓ ")
    };
    let unframed = |line: &'_ str| {
        let inner = line.trim().trim_matches(is_ruler);
        let is_framed = line.trim().len() > inner.len() + 5;
        if is_framed { inner.trim().to_owned() } else { line.to_owned() }
    };
    let kept = output.lines().filter(|line| !is_dull(line)).map(unframed);
    kept.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    const PYTEST: &str = "..F...                    [100%]\n\
        ========= FAILURES =========\n\
        _________ test_ten _________\n\n    \
            def test_ten():\n\
        >       assert apply(1000, 'TEN') == 900\n\
        E       AssertionError: assert 1000 == 900\n\n\
        tests/test_discount.py:4: AssertionError\n\
        ========= short test summary info =========\n\
        FAILED tests/test_discount.py::test_ten - AssertionError: assert 1000 == 900\n";

    #[test]
    fn the_failing_assertion_comes_first() {
        assert_eq!(cause(PYTEST), "E       AssertionError: assert 1000 == 900");
        for (output, expected) in [
            ("ok 1 - a\nnot ok 2 - b\n# tests 2\n", "not ok 2 - b"),
            ("test a ... ok\ntest b ... FAILED\n", "test b ... FAILED"),
            (
                "thread 'b' panicked at src/a.rs:3:5:\nleft: 1\n",
                "thread 'b' panicked at src/a.rs:3:5:",
            ),
            ("1\n2\n3\n4\n5\n", "2\n3\n4\n5"),
            ("", ""),
        ] {
            assert_eq!(cause(output), expected);
        }
    }

    #[test]
    fn rulers_and_passed_tests_are_left_out() {
        let kept = without_rulers(PYTEST);
        assert!(kept.starts_with("FAILURES\ntest_ten\n    def test_ten():\n>"), "{kept}");
        assert!(!kept.contains("==="), "{kept}");
        assert_eq!(without_rulers("ok 1 - a\n-----\nx == y\n- b\n"), "x == y\n- b");
    }
}
