//! The judgement itself: what was run, how it ended and what it printed, weighed in this order.

use super::command::{self, Ended, Invocation, Purpose};
use super::kind::{Counts, Kind, Verdict};
use super::output::{Evidence, Text};
use super::runners::Runner;
use crate::shell::{self, Script};

/// A finished command, as the client reports it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Run<'a> {
    /// The command line as it was given to the shell.
    pub command: &'a str,
    /// The exit code of the whole line, if it is known.
    pub exit_code: Option<i32>,
    /// What it printed, as far as the client handed it on.
    pub output: &'a str,
    /// The end of the file with all of the output, where the client wrote one.
    pub end: Option<&'a str>,
    /// Whether the client cut `output` and no file has the rest.
    pub cut: bool,
    /// The user's own test commands (`[tests] commands`).
    pub test_commands: &'a [String],
    /// What `command` was read as, if somebody has read it already.
    pub script: Option<&'a Script>,
}

/// Judges a finished command. Never fails, and takes time linear in the length of the output.
pub fn judge(run: &Run<'_>) -> Verdict {
    let read_here;
    let script = match run.script {
        Some(script) => script,
        None => {
            read_here = shell::read(run.command);
            &read_here
        }
    };
    let Some(invocation) = command::find(script, run.test_commands) else {
        return Verdict::not_a_test();
    };
    let text = Text::new(run.output, run.end);
    let evidence = Evidence::gather(&text, breaks_own_rule(run.command, &text));
    let ended = match invocation.ended(run.exit_code) {
        // Behind a pipe, `$?` is the code of the last command in it.
        Ended::Unknown if !invocation.piped => match echoed_exit_code(run.command, &text) {
            Some(0) if !evidence.is_bad() => Ended::Well,
            Some(code) if code != 0 => Ended::Badly(code),
            _ => Ended::Unknown,
        },
        known => known,
    };
    let kind = match invocation.purpose {
        Purpose::Runs(_) => decide(&invocation, ended, &evidence, run.cut),
        Purpose::Lists(_) => decide_listing(ended, &evidence),
        _ => decide_perhaps(ended, &evidence),
    };
    if kind == Kind::NotATest {
        return Verdict::not_a_test();
    }
    let sum = invocation.runner().is_none_or(|row| row.one_summary_per_part);
    let counts = if run.cut { Counts::default() } else { evidence.counts(sum) };
    let failing = if kind == Kind::Failed { evidence.failing().to_vec() } else { Vec::new() };
    let runner = invocation.runner().or_else(|| echoed_runner(&text));
    Verdict { kind, runner: runner.map(|row| row.name), counts, failing }
}

/// Package managers and task runners print the command that they start: `> jest --ci`.
fn echoed_runner(text: &Text<'_>) -> Option<&'static Runner> {
    let echoed =
        |line: &&str| line.len() < 200 && (line.starts_with("> ") || line.starts_with("$ "));
    text.lines().take(60).filter(echoed).take(8).find_map(|line| {
        let script = shell::read(line.get(2..)?);
        command::find(&script, &[])?.runner()
    })
}

/// For commands that do run tests.
fn decide(invocation: &Invocation, ended: Ended, evidence: &Evidence<'_>, cut: bool) -> Kind {
    match ended {
        Ended::Well => {
            if !invocation.exit_tells && evidence.ends_badly() {
                Kind::Failed
            } else if evidence.is_none() {
                Kind::NoTests
            } else {
                Kind::Passed
            }
        }
        Ended::Badly(code) => decide_bad_exit(invocation, code, evidence, cut),
        Ended::Unclear { code, rival_first } => {
            if evidence.is_broken() {
                Kind::Errored
            } else if evidence.is_bad() || evidence.is_against_policy() || evidence.names_failures()
            {
                Kind::Failed
            } else if evidence.is_good() {
                Kind::Passed
            } else if rival_first {
                Kind::Errored
            } else {
                decide_bad_exit(invocation, code, evidence, cut)
            }
        }
        // Nothing is known where neither exit code nor output speak.
        Ended::Unknown => by_summary(evidence, invocation.one_summary).unwrap_or_else(|| {
            let signs = evidence.signs();
            match (signs.success, signs.error) {
                (true, false) => Kind::Passed,
                (false, true) => Kind::Errored,
                _ => Kind::NotATest,
            }
        }),
    }
}

fn decide_bad_exit(invocation: &Invocation, code: i32, evidence: &Evidence<'_>, cut: bool) -> Kind {
    let special = invocation.runner().and_then(|row| row.exit(code));
    let failed_tests = evidence.counts_failures();
    match special {
        Some(Kind::Errored) if failed_tests => return Kind::Failed,
        Some(kind) => return kind,
        None => {}
    }
    // Not found or not executable.
    if matches!(code, 126 | 127) && !evidence.is_bad() && !evidence.is_good() {
        return Kind::Errored;
    }
    if evidence.is_broken() {
        return Kind::Errored;
    }
    if !cut && evidence.complains_of_none() && !evidence.signs().broken {
        return Kind::NoTests;
    }
    if evidence.is_bad() || evidence.names_failures() {
        return Kind::Failed;
    }
    // Killed by a signal or by a time limit, the tests were running.
    if code == 124 || code > 128 && code <= 192 {
        return Kind::Failed;
    }
    if evidence.signs().broken && !evidence.is_against_policy() {
        return Kind::Errored;
    }
    // A cut output may have lost the very lines that would say otherwise.
    if !cut && evidence.is_none() {
        Kind::NoTests
    } else if !cut && evidence.signs().error && !evidence.is_against_policy() && !evidence.is_good()
    {
        Kind::Errored
    } else {
        Kind::Failed
    }
}

/// What the summary alone says.
fn by_summary(evidence: &Evidence<'_>, one_summary: bool) -> Option<Kind> {
    let bad = evidence.is_bad_in_the_end(one_summary);
    if evidence.is_broken() {
        Some(Kind::Errored)
    } else if bad || (evidence.is_against_policy() && evidence.is_good()) {
        Some(Kind::Failed)
    } else if evidence.is_good() {
        Some(Kind::Passed)
    } else if evidence.signs().broken {
        Some(Kind::Errored)
    } else if evidence.is_none() {
        Some(Kind::NoTests)
    } else {
        evidence.names_failures().then_some(Kind::Failed)
    }
}

/// For commands that list or build tests.
fn decide_listing(ended: Ended, evidence: &Evidence<'_>) -> Kind {
    let failed = matches!(ended, Ended::Badly(_) | Ended::Unclear { .. });
    if failed && evidence.signs().broken { Kind::Errored } else { Kind::NoTests }
}

/// For commands that may run tests: the output must say so plainly, and the exit code must agree.
fn decide_perhaps(ended: Ended, evidence: &Evidence<'_>) -> Kind {
    let passed = evidence.shows_passed() && !evidence.ends_badly();
    match ended {
        Ended::Well if passed => Kind::Passed,
        Ended::Well => Kind::NotATest,
        _ if evidence.is_plainly_bad() => by_summary(evidence, false).unwrap_or(Kind::NotATest),
        _ if passed => Kind::Passed,
        _ => Kind::NotATest,
    }
}

/// `phpunit --fail-on-risky` fails where its summary has `Risky: 1`.
fn breaks_own_rule(command: &str, text: &Text<'_>) -> bool {
    let rules = command.split([' ', '\n', ';']).filter_map(|word| word.strip_prefix("--fail-on-"));
    let broken = |rule: &str, line: &str| {
        let mut counts = line.split([',', '.']).filter_map(|count| count.trim().split_once(": "));
        counts.any(|(name, number)| name.eq_ignore_ascii_case(rule) && number != "0")
    };
    rules.take(8).any(|rule| {
        let summaries = text.lines().filter(|line| line.starts_with("Tests: "));
        summaries.take(100).any(|line| broken(rule, line))
    })
}

/// `pytest; echo "exit: $?"` prints the code that the line itself hides.
fn echoed_exit_code(command: &str, text: &Text<'_>) -> Option<i32> {
    let last = text.lines().rev().find(|line| !line.is_empty());
    let last = last.filter(|_| command.contains("$?"))?;
    let number = last.rsplit(|c: char| !c.is_ascii_digit()).next().filter(|_| last.len() < 60)?;
    number.parse().ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(command: &str, exit_code: Option<i32>, output: &str, expected: Kind) {
        let run = Run { command, exit_code, output, ..Run::default() };
        assert_eq!(judge(&run).kind, expected, "{command}\n{output}");
    }

    #[test]
    fn an_exit_code_of_its_own_outweighs_what_was_printed() {
        check("pytest -q", Some(0), "1 failed, 2 passed in 0.1s\n", Kind::Passed);
        check("pytest -q 2>/dev/null", Some(1), "", Kind::Failed);
        check("pytest -q", Some(5), "", Kind::NoTests);
    }

    #[test]
    fn a_masked_exit_code_leaves_it_to_the_summary() {
        check("pytest -q | tail -1", Some(0), "1 failed, 2 passed in 0.1s\n", Kind::Failed);
        check("pytest -q || true", Some(0), "3 passed in 0.1s\n", Kind::Passed);
        check("pytest -q | tail -1", Some(0), "", Kind::NotATest);
        check("pytest -qq --tb=no; echo $?", Some(0), "1\n", Kind::Failed);
        check("pytest -q | tail -1; echo $?", Some(0), "1 failed in 0.1s\n0\n", Kind::Failed);
        check("npx jest", None, "Tests:       1 failed, 4 total\n", Kind::Failed);
    }

    #[test]
    fn the_blame_is_shared_between_commands_that_can_fail() {
        check("make build && make test", Some(2), "cc: fatal error: x.c\n", Kind::Errored);
        check("npm test && ./deploy.sh", Some(1), "  3 passing (8ms)\n", Kind::Passed);
        check("cd app && npm test", Some(1), "", Kind::Failed);
    }

    #[test]
    fn a_failed_script_is_not_an_error_because_its_package_tool_says_so() {
        let notes = "npm error Lifecycle script `test` failed with error:\nnpm error code 1\n";
        check("npm test", Some(1), notes, Kind::Failed);
        check("just test", Some(1), "error: recipe `test` failed with exit code 1\n", Kind::Failed);
        check("npm test", Some(1), "Error: expected 3, got 4\n", Kind::Failed);
        check("npm test", Some(1), "Error: connect ECONNREFUSED\n", Kind::Errored);
    }

    #[test]
    fn a_cut_output_is_no_proof_that_there_were_no_tests() {
        let run = Run {
            command: "cargo test",
            exit_code: Some(101),
            output: "running 0 tests\n",
            ..Run::default()
        };
        assert_eq!(judge(&Run { cut: true, ..run }).kind, Kind::Failed);
        assert_eq!(judge(&run).kind, Kind::NoTests);
    }

    #[test]
    fn the_runner_behind_a_script_is_read_from_its_echo() {
        let output = "\n> demo@1.0.0 test\n> vitest run --coverage\n\n";
        let run = Run { command: "npm test", exit_code: Some(0), output, ..Run::default() };
        assert_eq!(judge(&run).runner, Some("vitest"));
    }

    #[test]
    fn failing_tests_come_with_their_place() {
        let output = "FAILED tests/test_calc.py::test_add - assert 1\n1 failed in 0.1s\n";
        let run = Run { command: "pytest", exit_code: Some(1), output, ..Run::default() };
        let failing = judge(&run).failing;
        assert_eq!(failing.len(), 1);
        assert_eq!(failing[0].name, "tests/test_calc.py::test_add");
        assert_eq!(failing[0].file.as_deref(), Some("tests/test_calc.py"));
    }

    #[test]
    fn numbers_that_no_run_can_have_are_not_added_up_beyond_all_bounds() {
        let huge = "99999999999999999999";
        let output =
            format!("{huge} passed, {huge} failed, {huge} skipped\nTests: {huge} failed\n");
        let run = Run { command: "pytest", exit_code: Some(1), output: &output, ..Run::default() };
        assert_eq!(judge(&run).kind, Kind::Failed);
    }

    proptest! {
        #[test]
        fn any_command_and_any_output_get_a_verdict(
            command in ".{0,80}",
            output in "(\\PC|\n|\x1b|\r| |[0-9]|FAILED|passed|ok|not ok){0,200}",
            exit_code in proptest::option::of(0..256_i32),
            cut: bool,
        ) {
            let run = Run { command: &command, output: &output, exit_code, cut, ..Run::default() };
            judge(&run);
            judge(&Run { command: "./run_tests.sh", ..run });
        }
    }
}
