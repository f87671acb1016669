//! Did an attempt make the tests weaker? A test that was removed, skipped or checks less passes
//! more easily, and an agent that cannot make a test pass may be tempted.
//!
//! Tests, skips and checks are known by the beginnings or contents of lines, in test files and in
//! languages that keep tests beside the code. Only what was there when the attempt began counts, so no
//! new test hides a lost one; tests that move from one file to another, or get another name and check
//! what they did, are not lost. This cannot show whether the remaining tests are good.
//!
//! ```
//! use ralph_project::weakening::weakened;
//!
//! let before = "test('adds', () => { assert(sum(1, 1) === 2) })\n";
//! let after = "test.skip('adds', () => { assert(sum(1, 1) === 2) })\n";
//! let found = weakened(&[["sum.test.js", before, after].map(str::to_owned)]);
//! assert_eq!(found.lost.unwrap(), "1 test skipped (sum.test.js)");
//! ```

use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::Path;

use crate::strikes::is_test_file;

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

/// In what respect tests are weaker than before.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Weaker {
    /// Tests that are gone or do not run any more.
    pub lost: Option<String>,
    /// Checks that are gone or different.
    pub changed: Option<String>,
}

/// Returns in what respect the tests are weaker than before. For each file of an attempt, `files` has
/// the path, the content when the attempt began, and the content now. A missing file counts as empty.
pub fn weakened(files: &[[String; 3]]) -> Weaker {
    let now: Vec<&str> = files.iter().flat_map(|[_, _, new]| tests_of(new)).collect();
    let (mut names, mut checks) = (counts(now.iter().filter_map(name_of)), counts(checks_of(&now)));
    let (mut removed, mut skipped, mut changed) =
        (Found::new("test"), Found::new("test"), Found::new("assertion"));
    for [path, old, new] in files {
        let before: Vec<&str> = tests_of(old).collect();
        let gone = checks_of(&before).filter(|check| !take(&mut checks, check));
        let gone: Vec<&str> = gone.collect();
        changed.add(path, gone.len());
        // A test without any of its checks is another test.
        let lost = |test: &&&str| {
            let own: Vec<&str> = checks_of(&[**test]).collect();
            !own.is_empty() && own.iter().all(|check| gone.contains(check))
        };
        let missing =
            before.iter().filter(|test| name_of(test).is_some_and(|name| !take(&mut names, name)));
        let is_file_gone = new.is_empty();
        removed.add(path, missing.filter(|test| is_file_gone || lost(test)).count());
        skipped.add(path, if is_file_gone { 0 } else { skips(new).saturating_sub(skips(old)) });
    }
    if removed.count > 0 {
        // Its checks are gone with it.
        changed.count = 0;
    }
    let lost: Vec<String> =
        [removed.said("removed"), skipped.said("skipped")].into_iter().flatten().collect();
    let lost = (!lost.is_empty()).then(|| lost.join(", "));
    Weaker { lost, changed: changed.said("changed or removed") }
}

/// What was found in which files.
struct Found<'a> {
    what: &'static str,
    count: usize,
    paths: Vec<&'a str>,
}

impl<'a> Found<'a> {
    fn new(what: &'static str) -> Self {
        Self { what, count: 0, paths: Vec::new() }
    }

    fn add(&mut self, path: &'a str, count: usize) {
        self.count += count;
        self.paths.extend((count > 0).then_some(path));
    }

    fn said(&self, how: &str) -> Option<String> {
        let Self { what, count, paths } = self;
        let ending = if *count == 1 { "" } else { "s" };
        (*count > 0).then(|| format!("{count} {what}{ending} {how} ({})", paths.join(", ")))
    }
}

/// How often something occurs.
type Counts<'a> = HashMap<&'a str, usize>;

fn counts<'a>(all: impl Iterator<Item = &'a str>) -> Counts<'a> {
    let mut counts = Counts::new();
    all.for_each(|one| *counts.entry(one).or_default() += 1);
    counts
}

/// Takes one occurrence; returns whether there was one left.
fn take(counts: &mut Counts<'_>, one: &str) -> bool {
    let left = counts.get_mut(one).filter(|left| **left > 0);
    left.map(|left| *left -= 1).is_some()
}

fn holds(line: &str, list: &str) -> bool {
    list.split('|').any(|words| line.contains(words))
}

/// Splits a text into its tests: each begins with the line that declares it.
fn tests_of(text: &str) -> impl Iterator<Item = &str> {
    let mut starts: Vec<usize> = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if TESTS.split('|').any(|beginning| line.trim_start().starts_with(beginning)) {
            starts.push(at);
        }
        at += line.len();
    }
    let ends = starts.iter().skip(1).copied().chain([text.len()]).collect::<Vec<_>>();
    starts.into_iter().zip(ends).filter_map(|(start, end)| text.get(start..end))
}

/// Returns what a test is called: the part in quotes, or the name of its function.
fn name_of<'a>(test: &&'a str) -> Option<&'a str> {
    let is_attribute =
        |line: &&str| line.starts_with(['@', '[', '#']) && !line.starts_with("@test ");
    let line = test.lines().map(str::trim).find(|line| !line.is_empty() && !is_attribute(line))?;
    let quoted = line.find(['"', '\'', '`']).and_then(|at| {
        let quote = line.get(at..)?.chars().next()?;
        line.get(at + 1..)?.split(quote).next()
    });
    let function =
        || line.split(['(', '{', ':']).next().and_then(|head| head.split_whitespace().last());
    quoted.filter(|name| !name.is_empty()).or_else(function)
}

/// Returns the lines of tests that check something.
fn checks_of<'a>(tests: &[&'a str]) -> impl Iterator<Item = &'a str> + use<'a> {
    let lines: Vec<&str> = tests.iter().flat_map(|test| test.lines()).map(str::trim).collect();
    lines.into_iter().filter(|line| holds(line, CHECKS))
}

fn skips(text: &str) -> usize {
    text.lines().filter(|line| holds(line, SKIPS)).count()
}

/// Returns whether a file may hold tests.
pub fn holds_tests(path: &Path) -> bool {
    is_test_file(path) || path.extension() == Some(OsStr::new("rs"))
}

/// Returns the names of the tests in a text.
pub fn test_names(text: &str) -> impl Iterator<Item = &str> {
    tests_of(text).filter_map(|test| name_of(&test))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(before: &str, after: &str) -> Weaker {
        weakened(&[["a", before, after].map(str::to_owned)])
    }

    fn check(before: &str, after: &str, lost: Option<&str>, changed: Option<&str>) {
        let found = found(before, after);
        assert_eq!(
            (found.lost.as_deref(), found.changed.as_deref()),
            (lost, changed),
            "{before} -> {after}"
        );
    }

    #[test]
    fn removed_and_skipped_tests_are_detected() {
        let two = "#[test]\nfn a() {\n    assert!(x);\n}\n#[test]\nfn b() {\n    assert!(y);\n}\n";
        let (removed, skipped) = (Some("1 test removed (a)"), Some("1 test skipped (a)"));
        check(two, "#[test]\nfn a() {\n    assert!(x);\n}\n", removed, None);
        check(two, &two.replace("fn b", "#[ignore]\nfn b"), skipped, None);
        check(two, "", Some("2 tests removed (a)"), None);
        check("def test_a():\n", "@pytest.mark.skip\ndef test_a():\n", skipped, None);
        check("it('a')\nit('b')\n", "it('a')\nit.skip('b')\n", skipped, None);
        check("func TestA(t *T) {", "func TestA(t *T) { t.Skip()", skipped, None);
    }

    #[test]
    fn a_new_test_does_not_hide_a_lost_one() {
        let old = "def test_a():\n    assert f() == 1\n";
        let new = "def test_b():\n    assert g() == 1\ndef test_c():\n    assert h() == 1\n";
        check(old, new, Some("1 test removed (a)"), None);
        let skipped = format!("@pytest.mark.skip\n{old}{new}");
        check(old, &skipped, Some("1 test skipped (a)"), None);
    }

    #[test]
    fn changed_and_removed_assertions_are_detected() {
        let one = Some("1 assertion changed or removed (a)");
        check(
            "def test_a():\n  assert f()\n  assert g()\n",
            "def test_a():\n  assert f()\n",
            None,
            one,
        );
        check(
            "def test_a():\n  assert f() == 1\n",
            "def test_a():\n  assert f() == 2\n",
            None,
            one,
        );
        let (equal, truth) =
            ("def test_a():\n  s.assertEqual(f(), 1)\n", "def test_a():\n  s.assertTrue(f())\n");
        check(equal, truth, None, one);
    }

    #[test]
    fn ordinary_changes_are_not_reported() {
        check("", "it('a')\n", None, None);
        check(
            "it('a', () => expect(1))\n",
            "it('a', () => expect(1))\nit('b', () => expect(2))\n",
            None,
            None,
        );
        check("fn a() { x.expect(\"y\") }\n", "", None, None);
        check("it.skip('a')\n", "it('a')\n", None, None);
        let (old, new) =
            ("def test_a():\n    assert f()\n", "def test_better_name():\n    assert f()\n");
        check(old, new, None, None);
        check(old, "class T:\n    def test_a(self):\n        assert f()\n", None, None);
    }

    #[test]
    fn tests_may_move_between_files() {
        let test = "it('a', () => expect(1))\n";
        let from = ["a.test.js", test, ""].map(str::to_owned);
        let to = ["b.test.js", "", test].map(str::to_owned);
        assert_eq!(weakened(&[from.clone(), to]), Weaker::default());
        assert_eq!(weakened(&[from]).lost.unwrap(), "1 test removed (a.test.js)");
    }

    #[test]
    fn tests_are_named_by_their_text_or_their_function() {
        let names = |text: &'static str| test_names(text).collect::<Vec<_>>();
        assert_eq!(names("it('adds two', () => {})\ntest(`b`, f)\n"), ["adds two", "b"]);
        assert_eq!(
            names("#[test]\nfn adds() {}\n@Test\nvoid subtracts() {}\n"),
            ["adds", "subtracts"]
        );
        assert_eq!(names("func TestAdd(t *testing.T) {\n"), ["TestAdd"]);
    }
}
