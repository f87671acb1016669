//! Runs the checks on the unchanged project: a check that fails then would fail for every story, at
//! full cost each time.

use std::collections::BTreeMap;
use std::sync::mpsc;

use camino::Utf8PathBuf;
use ralph_base::listing::first_few;
use ralph_core::verdict::Kind;
use ralph_project::checks::{Check, CheckContext, CheckEnd, CheckRules, run_checks};
use ralph_project::config::{Baseline, Config};
use ralph_project::failed_before::FailedBefore;

use crate::exit::Failure;
use crate::run::attempt::{Report, Reporter, prepare};
use crate::terminal::{View, counted, in_words};
use ralph_project::diagnosis::Diagnosis;
use work_copy::doors::Doors;
use work_copy::in_place::protecting;
use work_copy::{Start, Workspace};

/// How much of a failing check's output is shown.
const LINES_SHOWN: usize = 15;

/// How many failing tests are named.
const TESTS_NAMED: usize = 10;

/// How to allow a check what the sandbox refuses.
const NEEDS: &str =
    "list paths it writes in `write`, paths it reads in `show` and variables in `env`";

/// Patterns of output lines that report a missing program or module.
const MISSING: &[&str] = &[
    "No module named",
    "Cannot find module",
    "Cannot find package",
    "command not found",
    "Permission denied",
    ": not found",
    "no required module provides package",
    "could not find gem",
    "bundler: failed to load command",
];

/// Runs every check, even if some fail. Only inside the sandbox: a test that deletes too much would otherwise do
/// so outside.
pub(crate) fn run_baseline(
    copy: &mut Workspace,
    books: [&Utf8PathBuf; 2],
    (config, run): (&Config, &str),
    stop: &dyn Fn() -> bool,
) -> Result<(Vec<Check>, Vec<String>), Failure> {
    let ((checks, restored), more) = protecting(copy, books, |copy| {
        let none = BTreeMap::new();
        let rules = Some(CheckRules::new(config, &none, ""));
        let door = copy.doors.checks.clone();
        let context = CheckContext { dir: copy.root(), run, left: None, rules, door: &door };
        let mut checks = Vec::new();
        for command in &config.verify.commands {
            let (one, limit) = (std::slice::from_ref(command), config.verify.timeout.limit());
            checks.extend(run_checks(context, one, limit, stop)?);
        }
        Ok((checks, copy.programs_ran()?))
    })?;
    Ok((checks, [restored, more].concat()))
}

/// Prepares the copy and runs the checks in it, without a run.
pub(crate) fn examine_copy(
    copy: &mut Workspace,
    config: &Config,
    view: &View,
    start: Start<'_>,
    stop: &(dyn Fn() -> bool + Sync),
) -> Result<Vec<Check>, Failure> {
    let (sender, reports) = mpsc::channel();
    let reporter = Reporter { slot: 0, prefix: String::new(), reports: sender };
    std::thread::scope(|scope| {
        let prepared = std::thread::Builder::new().spawn_scoped(scope, || {
            let reporter = reporter;
            prepare((config, stop), &reporter, copy, start, "")
        })?;
        for (_, report) in reports {
            match report {
                Report::Line(tone, text) => view.toned(tone, text),
                Report::Warning(text) => view.warn(text),
                _ => {}
            }
        }
        prepared.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })?;
    let (checks, restored) = run_baseline(copy, start.books, (config, ""), stop)?;
    restored.into_iter().for_each(|said| view.warn(said));
    Ok(checks)
}

/// The findings about the checks of an unchanged project, each with advice.
pub(crate) fn findings(checks: &[Check], config: &Config, doors: &Doors) -> Vec<Diagnosis> {
    checks.iter().map(|check| finding(check, config, doors)).collect()
}

fn finding(check: &Check, config: &Config, doors: &Doors) -> Diagnosis {
    let (name, took) = (check.name(), in_words(check.took));
    if check.passed() {
        return Diagnosis::Good(format!("`{name}` passes before any changes ({took})"));
    }
    let (refused, removed) = (doors.refused(&check.output), doors.removed(&check.output));
    let mut lines = doors.settings_for(&refused);
    // A variable that is named may be what is missing.
    lines.extend((!removed.is_empty()).then(|| format!("env = {removed:?}")));
    let way_on = match &lines[..] {
        [] => NEEDS.to_owned(),
        lines => format!("add `{}`", lines.join("` and `")),
    };
    if !refused.is_empty() {
        return Diagnosis::Problem(format!(
            "`{name}` fails in the sandbox, which refused {}\n{}\nunder [sandbox], {way_on}, or start \
             with --sandbox off",
            first_few(&refused, TESTS_NAMED),
            last_lines(check)
        ));
    }
    if let Some(what) = missing(check) {
        return Diagnosis::Problem(format!(
            "`{name}` cannot run because something is missing: {what}; install it, add its \
             installation to [workspace] setup, or fix [verify] commands"
        ));
    }
    if check.ran_no_test {
        return Diagnosis::Note(format!(
            "`{name}` runs no tests yet, which does not count as passing; the first story has to \
             add one; if it adds none on purpose, write `(no tests)` at it"
        ));
    }
    let verdict = check.verdict_of(config);
    let how = match verdict.as_ref().map(|verdict| verdict.kind) {
        Some(Kind::Errored) => "could not run its tests".to_owned(),
        _ => check.verdict(),
    };
    let failing = verdict.map(|verdict| verdict.failing).unwrap_or_default();
    let mut text = format!("`{name}` {how} before any changes ({took})");
    if !failing.is_empty() {
        let names = first_few(failing.iter(), TESTS_NAMED);
        text.push_str(&format!("\nfailing: {names}"));
    }
    text.push('\n');
    text.push_str(&last_lines(check));
    if doors.are_sandboxed() {
        text.push_str(&format!("\nif it passes without the sandbox: under [sandbox], {way_on}"));
    }
    match config.verify.baseline {
        Baseline::Ignore => Diagnosis::Note(text + "\n" + &ignored(check, config)),
        _ => Diagnosis::Problem(format!(
            "{text}\nfix it first, or make fixing it the first story and start with \
             --baseline=ignore, which does not count these failures against a story"
        )),
    }
}

fn last_lines(check: &Check) -> String {
    let lines: Vec<&str> = check.output.lines().filter(|line| !line.trim().is_empty()).collect();
    let last = lines.iter().skip(lines.len().saturating_sub(LINES_SHOWN));
    last.map(|line| format!("  {line}")).collect::<Vec<_>>().join("\n")
}

fn ignored(check: &Check, config: &Config) -> String {
    match failed_before(check, config) {
        Some(before) if before.tests.is_empty() => {
            "ignored until it passes once, because it names no failing tests".to_owned()
        }
        Some(before) => {
            let count = counted(before.tests.len(), "test fails", "tests fail");
            format!("ignored: {count} already; any new failure counts")
        }
        None => "this cannot be ignored; a story lands only once it passes".to_owned(),
    }
}

/// What is ignored in a failed check; `None` if nothing can be.
pub(crate) fn failed_before(check: &Check, config: &Config) -> Option<FailedBefore> {
    let verdict = check.verdict_of(config).filter(|_| !check.passed() && !check.ran_no_test)?;
    let mut before = FailedBefore::default();
    before.note(&verdict);
    before.covers(&verdict).then_some(before)
}

/// What a check could not find, according to its output.
fn missing(check: &Check) -> Option<String> {
    if let Some(program) = check.needs() {
        return Some(format!("`{program}`"));
    }
    let CheckEnd::Exited(Some(1..)) = check.end else { return None };
    let says = |line: &&str| MISSING.iter().any(|words| line.contains(words));
    let line = check.output.lines().find(says)?;
    Some(line.trim().chars().take(200).collect())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn check(command: &str, code: i32, output: &str) -> Check {
        let (end, took) = (CheckEnd::Exited(Some(code)), Duration::from_secs(3));
        Check::new(command, end, output.to_owned(), took)
    }

    fn in_words(baseline: Baseline, check: &Check) -> (&'static str, String) {
        let mut config = Config::default();
        config.verify.baseline = baseline;
        match finding(check, &config, &Doors::default()) {
            Diagnosis::Good(text) | Diagnosis::Later(text) => ("good", text),
            Diagnosis::Note(text) => ("note", text),
            Diagnosis::Problem(text) => ("problem", text),
        }
    }

    const RED: &str = "a.py .F\n=== short test summary info ===\nFAILED a.py::test_b - assert 0\n\
                       === 1 failed, 1 passed in 0.01s ===\n";

    #[test]
    fn a_failing_check_lists_its_tests_and_the_options() {
        let red = check("pytest", 1, RED);
        insta::assert_snapshot!(in_words(Baseline::Check, &red).1, @r"
        `pytest` failed with exit code 1 before any changes (3 s)
        failing: a.py::test_b
          a.py .F
          === short test summary info ===
          FAILED a.py::test_b - assert 0
          === 1 failed, 1 passed in 0.01s ===
        fix it first, or make fixing it the first story and start with --baseline=ignore, which does not count these failures against a story
        ");
        let ignored = in_words(Baseline::Ignore, &red).1;
        let last = ignored.lines().last();
        assert_eq!(last, Some("ignored: 1 test fails already; any new failure counts"));
        assert_eq!(in_words(Baseline::Check, &red).0, "problem");
        assert_eq!(in_words(Baseline::Ignore, &red).0, "note");
    }

    #[test]
    fn a_missing_program_is_not_a_failing_test() {
        for (command, code, output, what) in [
            ("pytest", 1, "/usr/bin/python3: No module named pytest\n", "No module named pytest"),
            ("npm test", 127, "> jest\n\nsh: 1: jest: not found\n", "`jest`"),
            ("jest", 127, "sh: 1: jest: not found\n", "`jest`"),
        ] {
            for baseline in [Baseline::Check, Baseline::Ignore] {
                let (level, text) = in_words(baseline, &check(command, code, output));
                assert_eq!(level, "problem", "{text}");
                assert!(text.contains("cannot run") && text.contains(what), "{text}");
            }
        }
    }

    #[test]
    fn tests_that_cannot_be_loaded_cannot_be_ignored() {
        let broken = "E   ImportError: cannot import name 'x'\nERROR a.py\n\
                      !!! Interrupted: 1 error during collection !!!\n=== 1 error in 0.05s ===\n";
        let (level, text) = in_words(Baseline::Ignore, &check("pytest", 2, broken));
        assert_eq!(level, "note");
        assert!(text.contains("could not run its tests") && text.contains("cannot be ignored"));
    }
}
