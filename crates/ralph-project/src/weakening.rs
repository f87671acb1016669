//! Did an attempt make the tests weaker? A test that was removed, skipped or checks less passes
//! more easily, and an agent that cannot make a test pass may be tempted.
//!
//! Tests, skips and checks are counted by the beginnings or contents of lines, in test files and in
//! languages that keep tests beside the code. Counts are compared over all files of the attempt
//! together, so that tests that move from one file to another do not count as removed. This cannot
//! show whether the remaining tests are good.
//!
//! ```
//! use ralph_project::weakening::weakened;
//!
//! let before = "test('adds', () => { assert(sum(1, 1) === 2) })\n";
//! let after = "test.skip('adds', () => { assert(sum(1, 1) === 2) })\n";
//! let found = weakened(&[["sum.test.js", before, after].map(str::to_owned)]);
//! assert_eq!(found.unwrap(), "1 test skipped (sum.test.js)");
//! ```

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::strikes::is_test_file;
use ralph_core::git::{GitError, Repo, content_now, contents_at};

/// The beginnings of lines that declare a test.
const TESTS: &str = "\
    #[test]|#[tokio::test|#[rstest|#[test_case|def test|async def test|test(|test.|it.|it(|\
    Deno.test(|func Test|func test|@Test|@ParameterizedTest|[Fact|[Theory|[Test|it \"|it '|it do|\
    test \"|test '|xit(|xtest(|fit(|public function test|TEST(|TEST_F(|TEST_P(|TEST_CASE(|@test |\
    (deftest |specify |scenario |Scenario:|fun `";

/// Parts of lines that keep a test, or all the others, from running.
const SKIPS: &str = "\
    #[ignore|.skip(|.only(|xit(|xtest(|xdescribe(|fit(|fdescribe(|.todo(|mark.skip|mark.xfail|\
    unittest.skip|pytest.skip(|skipTest(|t.Skip|@Disabled|@Ignore|[Ignore|Skip =|GTEST_SKIP|\
    DISABLED_|@tag :skip|markTestSkipped|XCTSkip|pending \"";

/// Parts of lines that check something.
const CHECKS: &str = "assert|Assert|expect|should|require.|t.Error|t.Fatal|EXPECT_|verify(";

/// How many tests there are, how many of them would run, and how many checks they make.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Count {
    tests: usize,
    running: usize,
    checks: usize,
}

/// Returns in what respect the tests are weaker than before, if they are. For each file of an
/// attempt, `files` has the path, the content when the attempt began, and the content now. A
/// missing file counts as empty.
pub fn weakened(files: &[[String; 3]]) -> Option<String> {
    let counted: Vec<(&str, Count, Count)> =
        files.iter().map(|[path, old, new]| (path.as_str(), count(old), count(new))).collect();
    let fewer = |of: fn(&Count) -> usize| {
        let before: usize = counted.iter().map(|(_, before, _)| of(before)).sum();
        let after: usize = counted.iter().map(|(_, _, after)| of(after)).sum();
        let paths = counted.iter().filter(|(_, before, after)| of(after) < of(before));
        let paths: Vec<&str> = paths.map(|(path, ..)| *path).collect();
        (before.saturating_sub(after), paths.join(", "))
    };
    let words = |count: usize, one: &str, what: &str| {
        let ending = if count == 1 { "" } else { "s" };
        Some(format!("{count} {one}{ending} {what}")).filter(|_| count > 0)
    };
    let ((stopped, in_files), (unchecked, elsewhere)) =
        (fewer(|count| count.running), fewer(|count| count.checks));
    let removed = fewer(|count| count.tests).0.min(stopped);
    let tests = [words(removed, "test", "removed"), words(stopped - removed, "test", "skipped")];
    let tests: Vec<String> = tests.into_iter().flatten().collect();
    if tests.is_empty() {
        let found = words(unchecked, "assertion", "removed")?;
        return Some(format!("{found} ({elsewhere})"));
    }
    Some(format!("{} ({in_files})", tests.join(", ")))
}

fn count(text: &str) -> Count {
    let mut count = Count::default();
    let mut skips: usize = 0;
    for line in text.lines().map(str::trim_start) {
        let holds = |list: &str| list.split('|').any(|words| line.contains(words));
        let is_test = TESTS.split('|').any(|beginning| line.starts_with(beginning));
        count.tests += usize::from(is_test);
        skips += usize::from(holds(SKIPS));
        count.checks += usize::from(holds(CHECKS));
    }
    count.running = count.tests.saturating_sub(skips);
    count
}

/// Like [`weakened`], for the files of an attempt that began at this commit.
pub fn weakened_since(
    repo: &Repo,
    commit: &str,
    files: &[PathBuf],
) -> Result<Option<String>, GitError> {
    let holds_tests =
        |path: &Path| is_test_file(path) || path.extension() == Some(OsStr::new("rs"));
    let paths: Vec<Vec<u8>> = files
        .iter()
        .filter(|path| holds_tests(path))
        .map(|path| path.as_os_str().as_bytes().to_vec())
        .filter(|path| !path.contains(&b'\n'))
        .collect();
    if paths.is_empty() {
        return Ok(None);
    }
    let before = contents_at(repo, commit, &paths)?;
    let texts: Vec<[String; 3]> = paths
        .iter()
        .map(|path| {
            let old = before.get(path.as_slice()).map(Vec::as_slice).unwrap_or_default();
            let new = content_now(&repo.top().join(OsStr::from_bytes(path))).unwrap_or_default();
            [path.as_slice(), old, &new].map(|bytes| String::from_utf8_lossy(bytes).into_owned())
        })
        .collect();
    Ok(weakened(&texts))
}

#[cfg(test)]
mod tests {
    use test_support::TestRepo;

    use super::*;

    fn check(before: &str, after: &str, expected: Option<&str>) {
        let found = weakened(&[["a", before, after].map(str::to_owned)]);
        assert_eq!(found.as_deref(), expected, "{before} -> {after}");
    }

    #[test]
    fn removed_and_skipped_tests_are_detected() {
        let two = "#[test]\nfn a() {\n    assert!(x);\n}\n#[test]\nfn b() {}\n";
        let one = Some("1 test skipped (a)");
        check(two, "#[test]\nfn a() {\n    assert!(x);\n}\n", Some("1 test removed (a)"));
        check(two, &two.replace("fn b", "#[ignore]\nfn b"), one);
        check(two, "", Some("2 tests removed (a)"));
        check("def test_a():\n", "@pytest.mark.skip\ndef test_a():\n", one);
        check("it('a')\nit('b')\n", "it('a')\nit.skip('b')\n", one);
        check("func TestA(t *T) {", "func TestA(t *T) { t.Skip()", one);
    }

    #[test]
    fn removed_assertions_are_detected() {
        let one = Some("1 assertion removed (a)");
        check("def test_a():\n  assert f()\n  assert g()\n", "def test_a():\n  assert f()\n", one);
        check("expect(a)\nexpect(b)\n", "", Some("2 assertions removed (a)"));
    }

    #[test]
    fn ordinary_changes_are_not_reported() {
        check("", "it('a')\n", None);
        check("it('a', () => expect(1))\n", "it('b', () => expect(2))\n", None);
        check("fn a() {}\n", "", None);
        check("it.skip('a')\n", "it('a')\n", None);
    }

    #[test]
    fn tests_may_move_between_files() {
        let test = "it('a', () => expect(1))\n";
        let from = ["a.test.js", test, ""].map(str::to_owned);
        let to = ["b.test.js", "", test].map(str::to_owned);
        assert_eq!(weakened(&[from.clone(), to]), None);
        assert_eq!(weakened(&[from]).unwrap(), "1 test removed (a.test.js)");
    }

    #[test]
    fn files_are_compared_with_the_commit() {
        let repo = TestRepo::new();
        repo.write("a.test.js", "it('a')\nit('b')\n");
        repo.write("a.js", "it('is code')\n");
        repo.commit_all("tests");
        repo.remove("a.test.js");
        repo.remove("a.js");
        let files = ["a.test.js", "a.js"].map(PathBuf::from);
        let opened = Repo::open(repo.root()).unwrap();
        let found = weakened_since(&opened, &repo.head(), &files).unwrap();
        assert_eq!(found.unwrap(), "2 tests removed (a.test.js)");
        assert_eq!(weakened_since(&opened, &repo.head(), &files[1..]).unwrap(), None);
    }
}
