//! Judges a finished command, by the policy in `docs/verdicts.md`.

use std::borrow::Cow;

use super::command::{self, Ended, Invocation, Purpose};
use super::kind::{Counts, Kind, Verdict};
use super::output::{Evidence, Text};
use super::runners::Runner;
use shell_reader::Script;

/// A finished command, as the client reports it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Run<'a> {
    /// The command line, as given to the shell.
    pub command: &'a str,
    /// The exit code of the whole line, if it is known.
    pub exit_code: Option<i32>,
    /// The output, as far as the client passed it on.
    pub output: &'a str,
    /// The end of the file with the complete output, if the client wrote one.
    pub end: Option<&'a str>,
    /// Whether the client truncated `output` and no file has the rest.
    pub cut: bool,
    /// The user's own test commands (`[tests] commands`).
    pub test_commands: &'a [String],
    /// The parsed `command`, if the caller has already parsed it.
    pub script: Option<&'a Script>,
}

/// Judges a finished command. Never fails, and takes time linear in the length of the output.
pub fn judge(run: &Run<'_>) -> Verdict {
    let read = || Cow::Owned(shell_reader::read(run.command));
    let script = run.script.map_or_else(read, Cow::Borrowed);
    let Some(invocation) = command::find(&script, run.test_commands) else {
        return Verdict::not_a_test();
    };
    let text = Text::new(run.output, run.end);
    let (runner, one_summary) = match echoed(&invocation, &text) {
        Some(echoed) => (echoed.runner(), echoed.one_summary),
        None => (invocation.runner(), invocation.one_summary),
    };
    // `until pytest; do …` ends with the run that passed.
    let before = run.command.get(..invocation.start).unwrap_or_default().trim_end();
    let one_summary = one_summary || before.ends_with("until") || before.ends_with("while !");
    let says = runner.filter(|_| invocation.one_runner).map_or("", |runner| runner.row.says);
    let evidence = Evidence::gather(&text, says);
    let case = Case {
        runner,
        exits: invocation.runner(),
        one_summary,
        evidence: &evidence,
        cut: run.cut,
        piped: invocation.piped,
        own_code: invocation.runner().is_some_and(|runner| !runner.row.ends_with_zero)
            && !gives_up_its_code(run.command),
    };
    let ended = match invocation.ended(run.exit_code) {
        // After a pipe, `$?` is the exit code of the pipe's last command.
        Ended::Unknown if !invocation.piped => case.echoed_exit_code(run.command, &text),
        known => known,
    };
    let kind = match invocation.purpose {
        Purpose::Runs(_) => case.decide(ended),
        Purpose::Lists(_) => case.decide_listing(ended),
        _ => case.decide_perhaps(ended),
    };
    if kind == Kind::NotATest {
        return Verdict::not_a_test();
    }
    let sum = runner.is_none_or(|runner| runner.row.one_summary_per_part);
    let counts = if run.cut { Counts::default() } else { evidence.counts(sum) };
    let failing = if kind == Kind::Failed { evidence.failing().to_vec() } else { Vec::new() };
    Verdict { kind, runner: runner.map(|runner| runner.name), counts, failing }
}

/// Returns whether an option makes the runner exit with 0 after failures.
fn gives_up_its_code(command: &str) -> bool {
    let options = ["--failure-exit-code 0", "--suppress-tests-failed-exit-code", "--nostatusrc"];
    options.iter().any(|option| command.contains(option))
}

/// Finds the runner in the command that package managers and task runners print: `> jest --ci`, or
/// with make `jest --ci`. Several such commands are ambiguous and give `None`.
fn echoed(invocation: &Invocation, text: &Text<'_>) -> Option<Invocation> {
    if invocation.runner().is_some() || !invocation.task {
        return None;
    }
    let early = text.lines().filter(|line| !line.is_empty() && line.len() < 200).take(30);
    let marked = |line: &str| line.starts_with("> ") || line.starts_with("$ ");
    let mut found = early.filter_map(|line| {
        let line = if marked(line) { line.get(2..)? } else { line };
        // A command line begins with a program name; this check excludes most lines.
        line.starts_with(|c: char| c.is_ascii_lowercase() || c == '.').then_some(())?;
        let invocation = command::find(&shell_reader::read(line), &[])?;
        invocation.runner().map(|_| invocation)
    });
    let only = found.next()?;
    found.next().is_none().then_some(only)
}

struct Case<'e, 'a> {
    runner: Option<Runner>,
    /// The runner whose exit code is known: not one that a task started, which has codes of its own.
    exits: Option<Runner>,
    one_summary: bool,
    evidence: &'e Evidence<'a>,
    cut: bool,
    piped: bool,
    /// Whether the runner was started by name and does not exit with 0 after failures; a script or
    /// task may swallow the code (`jest || true`, `grunt --force`).
    own_code: bool,
}

impl Case<'_, '_> {
    /// Decides for commands that do run tests.
    fn decide(&self, ended: Ended) -> Kind {
        match ended {
            Ended::Well => self.ended_well(),
            Ended::Badly(code) => self.ended_badly(Some(code)),
            Ended::Unclear { code, rival_first } => self.by_output().unwrap_or_else(|| {
                // Compilers do not crash or abort, so it was the program under test.
                let crashed = matches!(code, 134 | 136 | 139);
                if rival_first && !crashed { Kind::Errored } else { self.ended_badly(Some(code)) }
            }),
            Ended::Unknown if self.evidence.gave_up_later() => self.ended_badly(None),
            Ended::Unknown => self.by_output().unwrap_or_else(|| self.by_phrase()),
        }
    }

    /// Decides after exit code 0: no test failed, unless the runner's own last summary says so, or
    /// the code may be another program's.
    fn ended_well(&self) -> Kind {
        let evidence = self.evidence;
        let parts = self.runner.is_some_and(|runner| runner.row.one_summary_per_part);
        let failed = if self.own_code {
            evidence.own && evidence.ends_badly()
        } else {
            (if parts { evidence.failed() } else { evidence.ends_badly() })
                || evidence.signs().failed
        };
        if failed {
            Kind::Failed
        } else if evidence.nothing_ran(true) {
            Kind::NoTests
        } else {
            Kind::Passed
        }
    }

    /// Decides after another exit code, which may be hidden: the tests did not pass, whatever is
    /// printed.
    fn ended_badly(&self, code: Option<i32>) -> Kind {
        let (evidence, signs) = (self.evidence, self.evidence.signs());
        let code = code.unwrap_or(1);
        match self.exits.and_then(|runner| runner.row.exit(code)) {
            Some(Kind::Errored) if evidence.counts_failures() => {}
            Some(kind) => return kind,
            None => {}
        }
        let failed = (evidence.failed() || signs.failed) && !evidence.gave_up();
        // A line that counts tests by chance, such as source code, does not outweigh an error.
        let passed = evidence.passed() || !signs.not_loaded && evidence.seems_passed();
        // The shell did not find the program, or could not start it.
        let not_started = matches!(code, 126 | 127) && !failed && !passed;
        if not_started || evidence.not_loaded(self.cut) {
            return Kind::Errored;
        }
        // The tests were running when a signal or a time limit killed them.
        let killed = code == 124 || (code > 128 && code <= 192);
        // Phrases never override counts: if tests passed, the run broke another rule.
        if failed || killed || passed || signs.policy {
            return Kind::Failed;
        }
        // A truncated output may lack the very lines that would say otherwise.
        if signs.not_loaded && !(self.cut && signs.one_passed) {
            Kind::Errored
        } else if !self.cut && evidence.nothing_ran(false) {
            Kind::NoTests
        } else if !self.cut && signs.error {
            Kind::Errored
        } else {
            Kind::Failed
        }
    }

    /// Decides by the summaries alone.
    fn by_output(&self) -> Option<Kind> {
        let (evidence, signs) = (self.evidence, self.evidence.signs());
        let failed =
            if self.one_summary { evidence.failed_in_the_end() } else { evidence.failed() };
        let passed = evidence.passed();
        let failed = failed || !passed && signs.failed;
        if !signs.success && evidence.not_loaded(self.piped) {
            Some(Kind::Errored)
        } else if failed || passed && signs.policy {
            Some(Kind::Failed)
        } else if passed {
            Some(Kind::Passed)
        } else if signs.not_loaded && !signs.success {
            Some(Kind::Errored)
        } else {
            (!self.cut && evidence.nothing_ran(true)).then_some(Kind::NoTests)
        }
    }

    /// Decides by single phrases, if there is neither an exit code nor a summary.
    fn by_phrase(&self) -> Kind {
        let signs = self.evidence.signs();
        match (signs.success, signs.error) {
            (true, false) => Kind::Passed,
            _ if self.evidence.only_names_failures() => Kind::Failed,
            (false, true) => Kind::Errored,
            _ => Kind::Unknown,
        }
    }

    /// Decides for commands that list or build tests.
    fn decide_listing(&self, ended: Ended) -> Kind {
        let failed = matches!(ended, Ended::Badly(_) | Ended::Unclear { .. });
        let not_loaded = failed && self.evidence.signs().not_loaded;
        if not_loaded { Kind::Errored } else { Kind::NoTests }
    }

    /// Decides for commands that may run tests: the output must be clear, and the exit code agree.
    fn decide_perhaps(&self, ended: Ended) -> Kind {
        let evidence = self.evidence;
        if evidence.shows_tests() {
            return self.decide(ended);
        }
        let well = matches!(ended, Ended::Well | Ended::Unknown);
        let passed = evidence.passed() && !evidence.ends_badly();
        if ended != Ended::Well && evidence.failed_plainly() {
            return self.by_output().unwrap_or(Kind::NotATest);
        }
        if passed && well {
            Kind::Passed
        } else if passed && evidence.signs().policy {
            Kind::Failed
        } else {
            Kind::NotATest
        }
    }

    /// Reads the tests' exit code in the output of a line such as `pytest; echo "exit: $?"`.
    fn echoed_exit_code(&self, command: &str, text: &Text<'_>) -> Ended {
        let last = text.lines().rev().find(|line| !line.is_empty());
        let last = last.filter(|last| command.contains("$?") && last.len() < 60);
        let number = last.and_then(|last| last.rsplit(|c: char| !c.is_ascii_digit()).next());
        match number.and_then(|number| number.parse().ok()) {
            Some(0) if !self.evidence.failed() => Ended::Well,
            Some(code) if code != 0 => Ended::Badly(code),
            _ => Ended::Unknown,
        }
    }
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
    fn the_exit_code_of_a_runner_outweighs_its_output() {
        check("pytest -q", Some(0), "FAILED (errors=1)\n2 failed of 3\n", Kind::Passed);
        check("pytest -q", Some(0), "1 failed, 2 passed in 0.1s\n", Kind::Failed);
        check("pytest -q 2>/dev/null", Some(1), "", Kind::Failed);
        check("pytest -q", Some(5), "", Kind::NoTests);
        // Error notes of package tools do not make a run errored.
        let notes = "npm error Lifecycle script `test` failed with error:\nnpm error code 1\n";
        check("npm test", Some(1), notes, Kind::Failed);
        check("just test", Some(1), "error: recipe `test` failed with exit code 1\n", Kind::Failed);
        check("npm test", Some(1), "Error: expected 3, got 4\n", Kind::Failed);
        check("npm test", Some(1), "Error: connect ECONNREFUSED\n", Kind::Errored);
        // Huge counts do not overflow.
        let huge = "99999999999999999999";
        let counts = format!("{huge} passed, {huge} failed\nTests: {huge} failed\n");
        check("pytest", Some(1), &counts, Kind::Failed);
    }

    #[test]
    fn a_script_may_hide_the_exit_code_of_its_tests() {
        let counted = "Tests:       1 failed, 1 passed, 2 total\n";
        check("npm test", Some(0), &format!("> jest || true\n\n{counted}"), Kind::Failed);
        check("./run_tests.sh", Some(0), "1 failed (of the sample)\n2 passed\n", Kind::Passed);
        check("rspec --failure-exit-code 0", Some(0), "2 examples, 1 failure\n", Kind::Failed);
        check("npx grunt test --force", Some(0), "  1 passing\n  1 failing\n", Kind::Failed);
        let parts = "cargo test\ntest result: FAILED. 1 passed; 1 failed\n\n\
                     test result: ok. 3 passed; 0 failed\n";
        check("make test", Some(0), parts, Kind::Failed);
        check("node test.js", Some(0), "ok 1 fails\n1..1\n", Kind::Passed);
    }

    #[test]
    fn messages_of_build_tools_are_read_in_any_language() {
        for (code, output, expected) in [
            (2, "make: *** Keine Regel, um „test“ zu erstellen.  Schluss.\n", Kind::Errored),
            (2, "diff a b\nmake: *** [Makefile:2: test] Fehler 1\n", Kind::Failed),
            (2, "make: *** [Makefile:2: test] Fehler 127\n", Kind::Errored),
            (0, "make: Für das Ziel „test“ ist nichts zu tun.\n", Kind::NoTests),
        ] {
            check("make test", Some(code), output, expected);
        }
        check("gradle test", Some(0), ":compileJava NO-SOURCE\n:test\n", Kind::Passed);
        check("gradle test", Some(0), ":compileJava\n:test NO-SOURCE\n", Kind::NoTests);
    }

    #[test]
    fn the_summary_decides_if_the_exit_code_is_masked() {
        check("pytest -q | tail -1", Some(0), "1 failed, 2 passed in 0.1s\n", Kind::Failed);
        check("pytest -q || true", Some(0), "3 passed in 0.1s\n", Kind::Passed);
        check("pytest -q | tail -1", Some(0), "", Kind::Unknown);
        check("mvn test | tail", Some(0), "[INFO] BUILD SUCCESS\n", Kind::Passed);
        check("pytest -qq --tb=no; echo $?", Some(0), "1\n", Kind::Failed);
        check("pytest -q | tail -1; echo $?", Some(0), "1 failed in 0.1s\n0\n", Kind::Failed);
        check("npx jest", None, "Tests:       1 failed, 4 total\n", Kind::Failed);
    }

    /// Checks an output of pytest, or of a script, whose exit code is hidden.
    #[track_caller]
    fn hidden(output: &str, expected: Kind) {
        check("pytest 2>&1 | tee log", Some(0), output, expected);
        check("npm test 2>&1 | tee log", Some(0), output, expected);
    }

    #[test]
    fn lines_that_are_counts_by_chance_prove_nothing() {
        for noise in [
            "Step 1 to 3...",
            "Count 4 to 6...",
            "Started on 03/22/16",
            "9:   test(\"sub returns\") {",
            "PASS #542",
            "Total: 12",
            "timeout: undefined,",
        ] {
            hidden(noise, Kind::Unknown);
            hidden(&format!("1 failed, 4 passed in 0.3s\n\n\nmore\n{noise}\n"), Kind::Failed);
        }
        let expected = "Ran 4 tests in 0.1s\n\nOK (expected failures=1)\n";
        check("python -m unittest 2>&1 | tee log", Some(0), expected, Kind::Passed);
        let lone = "Ran 3 tests in 0.1s\n\nOK\n\n   error 1\n";
        check("tox 2>&1 | tee log", Some(0), lone, Kind::Passed);
        hidden("3 tests were collected\n", Kind::Unknown);
    }

    #[test]
    fn the_last_word_of_the_program_that_started_the_tests_counts() {
        let passed = "[INFO] Tests run: 3, Failures: 0, Errors: 0, Skipped: 0\n";
        for (last, expected) in [
            ("[INFO] BUILD FAILURE", Kind::Failed),
            ("make[1]: *** [Makefile:3: check] Error 1", Kind::Failed),
            ("Killed", Kind::Failed),
            ("./run.sh: line 3:  4711 Killed   mvn verify", Kind::Failed),
            ("error: could not compile `calc`", Kind::Failed),
            ("[INFO] BUILD SUCCESS", Kind::Passed),
            ("Killed the process of the last test", Kind::Passed),
        ] {
            check("mvn verify 2>&1 | tee log", Some(0), &format!("{passed}{last}\n"), expected);
        }
        // A test may print the same, long before the end.
        let printed = format!("[INFO] BUILD FAILURE\nKilled\n{passed}");
        check("mvn verify | tee log", Some(0), &printed, Kind::Passed);
        let logger = "SLF4J: Failed to load class \"org.slf4j.impl.StaticLoggerBinder\".\n";
        let built = format!("{logger}BUILD SUCCESSFUL in 3s\n");
        check("gradle test | tee log", Some(0), &built, Kind::Passed);
        let pending = "  1 test passed\n  2 tests remained pending after a timeout\n";
        check("npx ava | tee log", Some(0), pending, Kind::Failed);
        let summary = "[info] Failed: Total 2, Failed 1, Errors 0, Passed 1\n";
        check("sbt clean scoverage:test", Some(0), summary, Kind::Failed);
    }

    #[test]
    fn goals_of_build_tools_are_found_at_any_position() {
        let counted = "[ERROR] Tests run: 3, Failures: 1, Errors: 0, Skipped: 0\n";
        for command in ["mvn clean verify", "mvn -q clean install", "mvnd compile verify"] {
            check(command, Some(1), counted, Kind::Failed);
        }
        let gradle = "> Task :test FAILED\n\n3 tests completed, 1 failed\n";
        for command in ["./gradlew clean build", "gradle clean check", "gradle :app:check"] {
            check(command, Some(1), gradle, Kind::Failed);
        }
        // The count was cut away, but tests ran.
        check("mvn install", Some(1), " T E S T S\nRunning a.b.CalcTest\n", Kind::Failed);
        check("mvn install", Some(1), "[ERROR] cannot find symbol\n", Kind::NotATest);
        check("./gradlew build", Some(0), "> Task :test\n\nBUILD SUCCESSFUL in 3s\n", Kind::Passed);
    }

    #[test]
    fn an_unknown_word_in_an_unmistakable_summary_is_skipped() {
        let nose = "Ran 20 tests in 0.1s\n\nFAILED (KNOWNFAIL=6, SKIP=14, errors=1)\n";
        check("nosetests | tee log", Some(0), nose, Kind::Failed);
        let old = "=== 2 failed, 9 passed, 1 pytest-warnings in 0.28 seconds ===\n";
        check("pytest | tee log", Some(0), old, Kind::Failed);
        let counts = "Tests: 3, Assertions: 4, Errors: 1, PHPUnit Deprecations: 1.\n";
        check("phpunit", Some(2), counts, Kind::Failed);
        let lua = "Ran 4 tests in 0.0 seconds, 3 successes, 1 failure, 10 non-selected\n";
        check("lua test.lua | tee log", Some(0), lua, Kind::Failed);
    }

    #[test]
    fn only_its_own_exit_code_says_something_special_about_a_runner() {
        let output = "pytest -q\n1 failed, 2 passed in 0.1s\nmake: *** [test] Error 1\n";
        check("make test", Some(2), output, Kind::Failed);
        let passed = "Tests:       3 passed, 3 total\n";
        check("yarn test | coveralls", Some(1), passed, Kind::Passed);
        let error = "error[E11001]: test failure\nTest result: FAILED. passed: 0; failed: 3\n";
        check("aptos move test", Some(1), error, Kind::Failed);
        let built = "calc [build failed]\nDONE 0 tests, 1 failure, 1 error in 0.1s\n";
        check("gotestsum", Some(1), built, Kind::Errored);
    }

    #[test]
    fn more_formats_of_reports_are_read() {
        let doctest = "[doctest] test cases:  3 |  3 passed | 0 failed |\n\
                       [doctest] assertions: 20 |  2 passed | 18 failed |\n";
        check("./calc_test", Some(0), doctest, Kind::Passed);
        let skips = "{\"Action\":\"skip\",\"Package\":\"a\",\"Test\":\"TestX\"}\n\
                     {\"Action\":\"pass\",\"Package\":\"a\"}\n";
        check("go test -json ./...", Some(0), skips, Kind::NoTests);
        let tap = "TAP version 13\nok adds\nnot ok subtracts\n";
        check("node test.js | tee log", Some(0), tap, Kind::Failed);
        let teamcity = "##teamcity[testFailed name='a']\n##teamcity[testFinished name='a']\n";
        check("./calc_test -r teamcity | tee log", Some(0), teamcity, Kind::Failed);
        let passed = "##teamcity[testFinished name='a']\n";
        check("./calc_test -r teamcity | tee log", Some(0), passed, Kind::Passed);
    }

    #[test]
    fn an_exit_code_may_belong_to_any_command_that_can_fail() {
        check("make build && make test", Some(2), "cc: fatal error: x.c\n", Kind::Errored);
        check("npm test && ./deploy.sh", Some(1), "  3 passing (8ms)\n", Kind::Passed);
        check("cd app && npm test", Some(1), "", Kind::Failed);
        let aborted = "t: t.c:3: main: Assertion `0' failed.\n";
        check("cc -o test_a t.c && ./test_a", Some(134), aborted, Kind::Failed);
    }

    #[test]
    fn tasks_that_prepare_tests_run_none() {
        let prepared = "> Task :app:processDebugManifest UP-TO-DATE\n\
                        > Task :app:packageDebugUnitTestForUnitTest UP-TO-DATE\n\
                        > Task :app:javaPreCompileDebugUnitTest\n\
                        > Task :app:lintAnalyzeDebugUnitTest\n";
        let built = format!("{prepared}\nBUILD SUCCESSFUL in 3s\n");
        check("./gradlew lint", Some(0), &built, Kind::NotATest);
        check("./gradlew assembleAndroidTest", Some(0), &built, Kind::NotATest);
        let failed =
            format!("{prepared}e: calc.kt:2:7 Unresolved reference\n\nBUILD FAILED in 1s\n");
        check("./gradlew assemble", Some(1), &failed, Kind::NotATest);
        let tested = "> Task :app:testDebugUnitTest\n\nBUILD SUCCESSFUL in 3s\n";
        check("./gradlew assemble", Some(0), tested, Kind::Passed);
        let counted = "Tests run: 3, Failures: 1, Errors: 0, Skipped: 0\n";
        check("mvn install -Dmaven.test.skip=false", Some(1), counted, Kind::Failed);
        check("mvn install -Dmaven.test.skip", Some(1), counted, Kind::NotATest);
    }

    #[test]
    fn a_failed_package_is_known_without_its_tests() {
        let end = "--- PASS: TestAdds (0.00s)\nPASS\nok  \tcalc/sum\t0.1s\nFAIL\n";
        check("go test -v ./... | tail -4", Some(0), end, Kind::Failed);
        let broken = "FAIL\tcalc/cmd [build failed]\nok  \tcalc/sum\t0.1s\nFAIL\n";
        check("go test ./... | tail -4", Some(0), broken, Kind::Errored);
        let crashed = "=== RUN   TestAdds\nfatal error: concurrent map writes\nFAIL\tcalc\t0.1s\n";
        check("go test -v ./...", Some(1), crashed, Kind::Failed);
        let named = "--- FAIL: TestSum_ParseError (0.00s)\nFAIL\nFAIL\tcalc\t0.1s\n\
                     database.go:34 failed to parse as URL\n";
        check("go test ./... | cat", Some(0), named, Kind::Failed);
        let xcode = "Test case 'CalcTests.testAdds()' failed on 'Clone 1 of phone' (0.1 seconds)\n";
        check("xcodebuild test | cat", Some(0), xcode, Kind::Failed);
    }

    #[test]
    fn source_code_in_an_error_counts_no_tests() {
        let output = "error[E0061]: this method takes 1 argument\n1776 +     &TARGET,\n\
                      error: could not compile `calc` (lib test)\n";
        check("cargo test", Some(101), output, Kind::Errored);
    }

    #[test]
    fn truncated_output_does_not_prove_that_no_tests_ran() {
        let (command, output) = ("cargo test", "running 0 tests\n");
        let run = Run { command, exit_code: Some(101), output, ..Run::default() };
        assert_eq!(judge(&Run { cut: true, ..run }).kind, Kind::Failed);
        assert_eq!(judge(&run).kind, Kind::NoTests);
        // The tests ran, so an error that one of them printed stopped nothing.
        let output = "'which' is not recognized as a command\n ✓ calc.test.ts (3 tests) 5ms\n";
        let run = Run { command: "npm test", exit_code: Some(1), output, cut: true, ..run };
        assert_eq!(judge(&run).kind, Kind::Failed);
        let run = Run { output: "'jest' is not recognized as a command\n", ..run };
        assert_eq!(judge(&run).kind, Kind::Errored);
    }

    #[test]
    fn the_runner_of_a_script_is_read_from_its_echoed_command() {
        let output = "\n> demo@1.0.0 test\n> vitest run --coverage\n\n";
        let run = Run { command: "npm test", exit_code: Some(0), output, ..Run::default() };
        assert_eq!(judge(&run).runner, Some("vitest"));
    }

    proptest! {
        #[test]
        fn any_command_and_output_get_a_verdict(
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
