//! Proves a story's new tests: without the change or, where they cannot run then, with the change broken on
//! purpose, one of them must fail.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ralph_base::listing::first_few;
use ralph_core::verdict::{Kind, Verdict};
use ralph_project::checks::{Check, CheckEnd};
use ralph_project::config::{Config, Prove};
use ralph_project::leftovers::without_comments;
use ralph_project::mutants::{Mutant, mutants};
use ralph_project::strikes::is_test_file;
use ralph_project::verification::{Finding, Grade};
use ralph_project::weakening::{holds_tests, test_names};

use super::trial::tests_with;
use crate::run::attempt::Stopped;
use crate::run::attempt::verify::{Stage, Texts, Verifier, Work};
use crate::terminal::{Tone, counted};

/// How many small changes are tried until a new test fails.
const MOST_MUTANTS: usize = 6;

/// How long that may take, unless the settings say: between these, twice what the checks took.
const PROVE_TIME: [Duration; 2] = [Duration::from_secs(15), Duration::from_secs(120)];

/// How many small changes that no test noticed are named.
const SURVIVORS_NAMED: usize = 10;

/// What runners say where something is missing that a test needs.
#[rustfmt::skip]
const MISSING: &[&str] = &[
    "AttributeError", "ImportError", "ModuleNotFoundError", "NameError", "NoMethodError", "LoadError",
    "FileNotFoundError", "No such file", "ReferenceError", "is not a function", "is not a constructor",
    "is not defined", "undefined method", "uninitialized constant", "Cannot find module",
    "Cannot find package", "ERR_MODULE_NOT_FOUND", "command not found", ": not found", "cannot load such file",
];

/// Tries the new tests.
#[derive(Debug)]
pub(super) struct Proofs;

/// The result of running a story's new tests without its change, or with that broken.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Proof {
    /// They failed; with the number of failures, if known.
    Failed(Option<u64>),
    /// One failed when this was changed.
    Noticed(String),
    /// They could not run, because something that they need is missing.
    Broken,
    /// A check failed, but its output does not show whether a new test did.
    Unclear,
    /// They passed.
    Hollow,
    /// They passed, whatever was changed, so many times.
    Blind(usize),
    /// There was no time to try.
    NoTime,
    /// There are none.
    NoTests,
}

impl Proof {
    fn is_good(&self) -> bool {
        matches!(self, Self::Failed(_) | Self::Noticed(_))
    }

    fn is_hollow(&self) -> bool {
        matches!(self, Self::Hollow | Self::Blind(_))
    }

    /// Short text for messages, after `proven:` or `not proven:`.
    fn in_words(&self) -> String {
        match self {
            Self::Failed(Some(1)) => "its new test fails without the change".to_owned(),
            Self::Failed(Some(count)) => format!("its {count} new tests fail without the change"),
            Self::Failed(None) => "its new tests fail without the change".to_owned(),
            Self::Noticed(what) => format!("a new test fails when {what}"),
            Self::Broken => "its new tests cannot run without the change".to_owned(),
            Self::Unclear => "no new test was seen to fail without the change".to_owned(),
            Self::Hollow => "its new tests also pass without the change".to_owned(),
            Self::Blind(1) => "its new tests also pass with the change broken".to_owned(),
            Self::Blind(times) => {
                format!("its new tests also pass with the change broken in {times} ways")
            }
            Self::NoTime => "no time".to_owned(),
            Self::NoTests => "no new test".to_owned(),
        }
    }
}

/// What ran, as far as new tests are concerned.
fn proof_of(checks: &[Check], config: &Config, new: &NewTests) -> Proof {
    let Some(check) = checks.iter().find(|check| !check.passed()) else { return Proof::Hollow };
    match check.verdict_of(config) {
        _ if !matches!(check.end, CheckEnd::Exited(Some(_))) => Proof::Broken,
        Some(Verdict { kind: Kind::Failed, counts, failing, .. })
            if failing.is_empty() && !is_missing(check) =>
        {
            let count = Some(counts.failed).filter(|count| *count > 0);
            if new.are_all { Proof::Failed(count) } else { Proof::Unclear }
        }
        // What a test calls is not there, so nothing shows that it looks at the result.
        Some(Verdict { kind: Kind::Failed, .. }) if is_missing(check) => Proof::Broken,
        Some(Verdict { kind: Kind::Failed, failing, .. }) => {
            let count = failing.iter().filter(|name| new.has(name)).count() as u64;
            if count > 0 { Proof::Failed(Some(count)) } else { Proof::Unclear }
        }
        Some(Verdict { kind: Kind::Errored | Kind::NoTests, .. }) => Proof::Broken,
        _ => Proof::Unclear,
    }
}

fn is_missing(check: &Check) -> bool {
    MISSING.iter().any(|words| check.output.contains(words))
}

/// The tests of a story that were not there before.
#[derive(Debug, Default)]
struct NewTests {
    /// New files of tests, and those of them that name none and so are tests themselves.
    files: Vec<String>,
    unnamed: Vec<String>,
    names: BTreeSet<String>,
    /// Whether the story changed no file of tests that was there before.
    are_all: bool,
}

impl NewTests {
    fn of(texts: &[Texts]) -> Self {
        let old: BTreeSet<&str> = texts.iter().flat_map(|one| test_names(&one.old)).collect();
        let names = texts.iter().flat_map(|one| test_names(&one.new));
        let names = names.filter(|name| !old.contains(name)).map(str::to_owned).collect();
        let of_tests = || texts.iter().filter(|one| is_test_file(Path::new(&one.path)));
        // A file that was only moved has no new test.
        let is_moved = |one: &Texts| texts.iter().any(|other| other.old == one.new);
        let new = || of_tests().filter(|one| one.is_new && is_code(&one.path) && !is_moved(one));
        let unnamed = new().filter(|one| test_names(&one.new).next().is_none());
        Self {
            files: new().map(|one| one.path.clone()).collect(),
            unnamed: unnamed.map(|one| one.path.clone()).collect(),
            names,
            are_all: of_tests().all(|one| one.is_new),
        }
    }

    fn is_empty(&self) -> bool {
        self.files.is_empty() && self.names.is_empty()
    }

    /// Whether a runner means one of them by this name.
    fn has(&self, failing: &str) -> bool {
        // A file that fails as a whole is no test.
        if let Some(path) = self.files.iter().find(|path| failing.ends_with(path.as_str())) {
            return self.unnamed.contains(path);
        }
        if self.files.iter().any(|path| failing.starts_with(path.as_str())) {
            return true;
        }
        let plain = failing.split([' ', '[', '(', '/']).next().unwrap_or(failing);
        let parts = [failing, plain].into_iter().flat_map(|text| {
            ["::", "#", ".", " > ", " › ", " "]
                .into_iter()
                .map(move |by| text.rsplit_once(by).map_or(text, |(_, last)| last))
        });
        let is_it = |name: &String| {
            failing == name
                || failing.ends_with(&format!(" {name}"))
                || parts.clone().any(|part| part == name)
        };
        self.names.iter().any(is_it)
    }
}

impl Verifier for Proofs {
    fn name(&self) -> &'static str {
        "proof"
    }

    fn is_due(&self, work: &Work<'_>) -> bool {
        work.stage == Stage::New
            && work.job.context.config.verify.prove != Prove::Off
            // Not in place: a kill would leave the user's tree half reverted.
            && !work.copy.is_in_place
            && !work.checks.is_empty()
            && !work.staged.files.is_empty()
    }

    fn verify(&self, work: &mut Work<'_>) -> Result<Vec<Finding>, Stopped> {
        let (proof, tests) = prove(work)?;
        let mut findings = self.found(work, &proof, &tests);
        let most = work.job.context.config.verify.mutants as usize;
        if most > 0 {
            findings.extend(survivors(self.name(), work, most)?);
        }
        Ok(findings)
    }
}

impl Proofs {
    fn found(&self, work: &Work<'_>, proof: &Proof, tests: &[String]) -> Vec<Finding> {
        let (config, reporter) = (&work.job.context.config, &work.job.reporter);
        let (story, found) = (&work.attempt.story, proof.in_words());
        if proof.is_good() {
            reporter.toned(Tone::Good, format!("{story} proven: {found}"));
            return vec![Finding::new(self.name(), Grade::Proven, found)];
        }
        let line = format!("not proven: {found}");
        if !proof.is_hollow() {
            if *proof != Proof::NoTests {
                reporter.line(format!("{story} {line}"));
            }
            return vec![Finding::new(self.name(), Grade::Fine, line)];
        }
        if config.verify.prove == Prove::Refuse {
            let why = format!("{found}; make them fail without it: {}", tests.join(", "));
            return vec![Finding::refused(self.name(), why)];
        }
        reporter.toned(Tone::Warning, format!("{story} {line}"));
        let remark = Finding::remark(self.name(), "not proven", found);
        vec![Finding { line, ..remark }]
    }
}

/// Tries the story's new tests without the rest of its work and then, if they cannot run, with that broken.
fn prove(work: &mut Work<'_>) -> Result<(Proof, Vec<String>), Stopped> {
    let Some(base) = work.attempt.base.clone() else { return Ok((Proof::NoTests, Vec::new())) };
    let new = NewTests::of(&work.texts(holds_tests)?);
    let others: Vec<PathBuf> =
        work.staged.files.iter().filter(|path| !is_test_file(path)).cloned().collect();
    if new.is_empty() || others.is_empty() {
        return Ok((Proof::NoTests, Vec::new()));
    }
    // Tests that stand beside the code would go with it.
    let mut proof = Proof::Broken;
    if work.staged.files.iter().any(|path| is_test_file(path)) {
        let files = counted(others.len(), "other file", "other files");
        let doing = format!("trying its tests without its changes to {files}");
        work.job.reporter.doing(&doing);
        work.job.reporter.line(format!("{}: {doing}", work.attempt.story));
        let checks = tests_with(work, &base, &others, None)?;
        proof = proof_of(&checks, &work.job.context.config, &new);
    }
    if !matches!(proof, Proof::Broken | Proof::Unclear) {
        return Ok((proof, new.files));
    }
    let end = Instant::now() + time_to_prove(work);
    let mut candidates = mutants_of(work)?;
    candidates.truncate(MOST_MUTANTS);
    let mut unnoticed = 0;
    for mutant in candidates {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            let proof = if unnoticed > 0 { Proof::Unclear } else { Proof::NoTime };
            return Ok((proof, new.files));
        }
        let what = format!(
            "{}:{} is changed from {}",
            mutant.path, mutant.change.line, mutant.change.what
        );
        match try_mutant(work, &mutant, left, &new)? {
            Proof::Failed(_) => return Ok((Proof::Noticed(what), new.files)),
            Proof::Hollow => unnoticed += 1,
            _ => {}
        }
    }
    Ok((if unnoticed > 0 { Proof::Blind(unnoticed) } else { proof }, new.files))
}

fn time_to_prove(work: &Work<'_>) -> Duration {
    let set = work.job.context.config.verify.prove_time.limit();
    let [least, most] = PROVE_TIME;
    let took: Duration = work.checks.iter().map(|check| check.took).sum();
    set.unwrap_or((took * 2).clamp(least, most))
}

/// A file that was broken on purpose.
struct Broken {
    path: String,
    change: Mutant,
}

/// Small changes of the story's own new lines, in files of code.
fn mutants_of(work: &Work<'_>) -> Result<Vec<Broken>, Stopped> {
    let is_wanted = |path: &Path| !is_test_file(path) && is_code(&path.to_string_lossy());
    let mut ranked: Vec<(usize, Broken)> = Vec::new();
    for one in work.texts(is_wanted)? {
        let old: BTreeSet<&str> = one.old.lines().map(str::trim).collect();
        // In Rust, tests stand beside the code.
        let code =
            one.new.find("#[cfg(test)]").and_then(|at| one.new.get(..at)).unwrap_or(&one.new);
        let lines: Vec<&str> = code.lines().collect();
        let is_new =
            |number: usize| lines.get(number - 1).is_some_and(|line| !old.contains(line.trim()));
        let found = mutants(&one.path, &one.new, is_new).into_iter().enumerate();
        ranked
            .extend(found.map(|(rank, change)| (rank, Broken { path: one.path.clone(), change })));
    }
    ranked.sort_by_key(|(rank, _)| *rank);
    Ok(ranked.into_iter().map(|(_, broken)| broken).collect())
}

fn try_mutant(
    work: &mut Work<'_>,
    Broken { path, change }: &Broken,
    limit: Duration,
    new: &NewTests,
) -> Result<Proof, Stopped> {
    let story = &work.attempt.story;
    work.job
        .reporter
        .doing(&format!("{story}: trying its tests with {path}:{} changed", change.line));
    let tree = work.copy.tree_with(Path::new(path), change.text.as_bytes())?;
    let checks = tests_with(work, &tree, &[PathBuf::from(path)], Some(limit))?;
    Ok(proof_of(&checks, &work.job.context.config, new))
}

/// Reports small changes of the story that no test noticed.
fn survivors(
    name: &'static str,
    work: &mut Work<'_>,
    most: usize,
) -> Result<Option<Finding>, Stopped> {
    let mut candidates = mutants_of(work)?;
    candidates.truncate(most);
    let (tried, mut alive) = (candidates.len(), Vec::new());
    let limit = work.job.context.config.verify.timeout.limit();
    let any = NewTests { are_all: true, ..NewTests::default() };
    for mutant in candidates {
        let limit = limit.unwrap_or(Duration::MAX);
        if try_mutant(work, &mutant, limit, &any)? == Proof::Hollow {
            alive.push(format!("{}:{} {}", mutant.path, mutant.change.line, mutant.change.what));
        }
    }
    if alive.is_empty() {
        return Ok(None);
    }
    let all = counted(tried, "small change", "small changes");
    let what =
        format!("no test noticed {} of {all}: {}", alive.len(), first_few(alive, SURVIVORS_NAMED));
    Ok(Some(Finding::remark(name, "mutants", what)))
}

/// Whether a file can contain tests, rather than only data for them.
fn is_code(path: &str) -> bool {
    without_comments(path, "").is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proof(command: &str, end: CheckEnd, output: &str, new: &NewTests) -> Proof {
        let check = Check::new(command, end, output.to_owned(), Duration::ZERO);
        proof_of(&[check], &Config::default(), new)
    }

    fn tests(path: &str, old: &str, new: &str) -> NewTests {
        let [path, old, new] = [path, old, new].map(str::to_owned);
        NewTests::of(&[Texts { path, is_new: old.is_empty(), old, new }])
    }

    #[test]
    fn only_new_tests_that_fail_prove_anything() {
        let red = CheckEnd::Exited(Some(1));
        let new = tests("test_a.py", "", "def test_b():\n    assert f() == 2\n");
        let shown = |command: &str, end, output: &str| proof(command, end, output, &new).in_words();
        let out = "FAILED test_a.py::test_b - assert 1 == 2\n1 failed, 3 passed in 0.1s\n";
        assert_eq!(shown("pytest", red, out), "its new test fails without the change");
        let out = "2 failed in 0.1s\n";
        assert_eq!(shown("pytest", red, out), "its 2 new tests fail without the change");
        let out = "E   ImportError: cannot import name 'b'\n1 error in 0.05s\n";
        assert_eq!(proof("pytest", CheckEnd::Exited(Some(2)), out, &new), Proof::Broken);
        assert_eq!(proof("./check.sh", red, "nope\n", &new), Proof::Unclear);
        let green = CheckEnd::Exited(Some(0));
        assert_eq!(proof("pytest", green, "4 passed in 0.1s\n", &new), Proof::Hollow);
        assert_eq!(proof("pytest", CheckEnd::TimedOut, "", &new), Proof::Broken);
        assert_eq!(proof_of(&[], &Config::default(), &new), Proof::Hollow);
    }

    #[test]
    fn a_test_that_was_there_before_proves_nothing() {
        let red = CheckEnd::Exited(Some(1));
        let old = "def test_b():\n    assert f() == 1\n";
        let changed = tests("test_a.py", old, "def test_b():\n    assert f() == 2\n");
        assert!(changed.is_empty());
        let added = tests(
            "test_a.py",
            old,
            "def test_b():\n    assert f() == 2\ndef test_c():\n    assert g()\n",
        );
        let failed = |name: &str| {
            format!("FAILED test_a.py::{name} - assert 1 == 2\n1 failed, 3 passed in 0.1s\n")
        };
        assert_eq!(proof("pytest", red, &failed("test_b"), &added), Proof::Unclear);
        assert_eq!(proof("pytest", red, &failed("test_c"), &added), Proof::Failed(Some(1)));
        assert_eq!(proof("pytest", red, "1 failed, 3 passed in 0.1s\n", &added), Proof::Unclear);
    }

    #[test]
    fn names_of_runners_are_recognised() {
        let is_new = |text: &str, failing: &str| {
            tests("x.test", "", text).names.len() == 1 && tests("src/a.rs", "x", text).has(failing)
        };
        assert!(is_new("it('adds two', f)\n", "Calc adds two"));
        assert!(is_new("#[test]\nfn adds() {}\n", "tests::adds"));
        assert!(is_new("func TestAdd(t *testing.T) {}\n", "TestAdd/one"));
        assert!(is_new("@Test\nvoid adds() {}\n", "CalcTest.adds"));
        assert!(is_new("def test_adds\n", "CalcTest#test_adds"));
        assert!(is_new("def test_adds(self):\n", "test_adds (test_calc.Calc.test_adds)"));
        assert!(!is_new("it('adds two', f)\n", "adds three"));
    }
}
