//! Runs the user's own checks: each command under `sh -c`, until a deadline; `supervised.rs`
//! watches them.

use std::collections::BTreeMap;
use std::io;
use std::process::Command;
use std::time::{Duration, Instant};

use camino::Utf8Path;

use ralph_base::env::WORKER;
use ralph_base::state::run_and_worker;
pub use ralph_base::supervised::CheckEnd;
use ralph_base::supervised::{self, Door};
use ralph_core::verdict::{self, Kind, Verdict};

use crate::config::Config;
use crate::failed_before::FailedBefore;

/// How many lines of a long output are shown: a few from the beginning, and the end, where runners
/// report failures. Together they are less than a failure's record holds.
const FIRST_LINES: usize = 15;
const LAST_LINES: usize = 75;

/// The result of a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// The command as the user wrote it.
    pub command: String,
    /// How it ended.
    pub end: CheckEnd,
    /// Its output, truncated in the middle.
    pub output: String,
    /// How long it took.
    pub took: Duration,
    /// Whether it is a test run that ran no test, which does not count as a pass.
    pub ran_no_test: bool,
    /// Whether it is one that ran no test and may.
    pub may_be_empty: bool,
    /// Whether it hides the exit code of a test run whose output proves nothing, which does not
    /// count as a pass either.
    pub hides_result: bool,
    /// Its failures, if all of them existed before the first story.
    pub excused: Option<FailedBefore>,
}

impl Check {
    /// Returns a check that ended in this way, before any [`CheckRules`] are applied.
    pub fn new(command: &str, end: CheckEnd, output: String, took: Duration) -> Self {
        let command = command.to_owned();
        let (ran_no_test, may_be_empty, hides_result) = (false, false, false);
        Self { command, end, output, took, ran_no_test, may_be_empty, hides_result, excused: None }
    }

    /// Returns the verdict on its output as a test run; `None` if it did not exit by itself.
    pub fn verdict_of(&self, config: &Config) -> Option<Verdict> {
        let CheckEnd::Exited(exit_code @ Some(_)) = self.end else { return None };
        let (command, output, test_commands) =
            (&*self.command, &*self.output, &*config.tests.commands);
        let run = verdict::Run { command, exit_code, output, test_commands, ..Default::default() };
        Some(verdict::judge(&run))
    }

    /// Returns whether it passed.
    pub fn passed(&self) -> bool {
        let is_proven = !self.ran_no_test && !self.hides_result;
        let ended_well = self.end == CheckEnd::Exited(Some(0)) && is_proven;
        ended_well || self.may_be_empty || self.excused.is_some()
    }

    /// Returns the command on one line, for messages.
    pub fn name(&self) -> String {
        one_line(&self.command)
    }

    /// Returns its output, shortened for display.
    pub fn excerpt(&self) -> String {
        let lines: Vec<&str> = self.output.lines().collect();
        let left_out = lines.len().saturating_sub(FIRST_LINES + LAST_LINES);
        if left_out == 0 {
            return self.output.clone();
        }
        let first = lines.iter().take(FIRST_LINES).copied();
        let last = lines.iter().skip(FIRST_LINES + left_out).copied();
        let gap = format!("[lines omitted: {left_out}]");
        first.chain([gap.as_str()]).chain(last).map(|line| format!("{line}\n")).collect()
    }

    /// Returns the result in a few words.
    pub fn verdict(&self) -> String {
        match self.end {
            _ if self.ran_no_test || self.may_be_empty => "ran no test".to_owned(),
            _ if self.hides_result => "hides whether its tests passed (let it end with their exit \
                                       code: without a pipe, or with `set -o pipefail` in bash)"
                .to_owned(),
            _ if self.excused.is_some() => "failed as before".to_owned(),
            CheckEnd::Exited(Some(0)) => "passed".to_owned(),
            CheckEnd::Exited(Some(code)) => format!("failed with exit code {code}"),
            CheckEnd::Exited(None) => "was killed by a signal".to_owned(),
            CheckEnd::TimedOut => "timed out".to_owned(),
            CheckEnd::Stopped => "was stopped".to_owned(),
        }
    }

    /// Returns the missing program because of which no attempt can pass the check. A path does not
    /// count, because a story may create that file.
    pub fn needs(&self) -> Option<&str> {
        let said = self.output.lines().rev().find(|line| !line.trim().is_empty())?;
        let said = said.trim().strip_prefix("sh: ")?;
        let name = [": command not found", ": not found"].iter().find_map(|e| said.strip_suffix(e));
        let name = name?.rsplit(": ").next()?;
        (self.end == CheckEnd::Exited(Some(127)) && !name.contains('/')).then_some(name)
    }
}

/// Shortens a check to its first line: messages and the progress have one line for each check.
pub fn one_line(command: &str) -> String {
    let mut lines = command.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.next().unwrap_or_default();
    match lines.count() {
        0 => first.to_owned(),
        // Of a here-document, only keep the program that reads it.
        more => {
            let first = first.split("<<").next().unwrap_or_default().trim_end();
            format!("{first} … ({} lines)", more + 1)
        }
    }
}

/// The variable that marks processes of a run other than its agent. They outlive a loop that is
/// killed, and the next start ends them.
pub const RUN_MARK: &str = "RALPH_INTERNAL__RUN";

/// The context in which checks run.
#[derive(Debug, Clone, Copy)]
pub struct CheckContext<'a> {
    /// The folder.
    pub dir: &'a Utf8Path,
    /// The loop's run that they belong to; empty outside of one.
    pub run: &'a str,
    /// The time that is left for that run.
    pub left: Option<Duration>,
    /// Rules besides the exit code; `None` if only that counts.
    pub rules: Option<CheckRules<'a>>,
    /// The door through which they are started.
    pub door: &'a Door,
}

/// Rules for the result of a check besides its exit code.
#[derive(Debug, Clone, Copy)]
pub struct CheckRules<'a> {
    /// The user's settings.
    pub config: &'a Config,
    /// What failed in each check before the first story, if that is ignored.
    pub failed_before: &'a BTreeMap<String, FailedBefore>,
    /// Whether a run without any test passes.
    allows_no_tests: bool,
}

/// The note at a story that adds no tests on purpose, so that a run without any passes.
const NO_TESTS: &str = "(no tests)";

impl<'a> CheckRules<'a> {
    /// Returns the rules for a story with this text.
    pub fn new(
        config: &'a Config,
        failed_before: &'a BTreeMap<String, FailedBefore>,
        story: &str,
    ) -> Self {
        let allows_no_tests = config.verify.allow_no_tests || story.contains(NO_TESTS);
        Self { config, failed_before, allows_no_tests }
    }

    fn judge(&self, check: &mut Check) {
        let Some(verdict) = check.verdict_of(self.config) else { return };
        let said_nothing = verdict.kind == Kind::NoTests;
        check.ran_no_test = said_nothing && !self.allows_no_tests;
        check.hides_result = verdict.kind == Kind::Unknown;
        let before = self.failed_before.get(&check.command);
        if said_nothing && self.allows_no_tests && matches!(check.end, CheckEnd::Exited(Some(_))) {
            // Some runners end with a code of their own then.
            check.may_be_empty = true;
        } else if check.end != CheckEnd::Exited(Some(0))
            && !check.ran_no_test
            && before.is_some_and(|before| before.covers(&verdict))
        {
            let mut now = FailedBefore::default();
            now.note(&verdict);
            check.excused = Some(now);
        }
    }
}

/// Runs the checks in order, up to the first that does not pass. Each may take up to `limit`.
/// `stop` is polled before and during each check.
pub fn run_checks(
    context: CheckContext<'_>,
    commands: &[String],
    limit: Option<Duration>,
    stop: &dyn Fn() -> bool,
) -> io::Result<Vec<Check>> {
    let mut checks: Vec<Check> = Vec::new();
    for command in commands {
        let check = run(context, command, limit, stop)?;
        let passed = check.passed();
        checks.push(check);
        if !passed {
            break;
        }
    }
    Ok(checks)
}

fn run(
    context: CheckContext<'_>,
    command: &str,
    limit: Option<Duration>,
    stop: &dyn Fn() -> bool,
) -> io::Result<Check> {
    let begun = Instant::now();
    let (end, output) = run_program(context, shell(context.door, command), &[], limit, stop)?;
    let mut check = Check::new(command, end, output, begun.elapsed());
    if let Some(rules) = context.rules {
        rules.judge(&mut check);
    }
    Ok(check)
}

/// Runs a program of the user's on the work, and gives it this input. Returns how it ended, and its
/// output. Checks run like that too.
pub fn run_program(
    context: CheckContext<'_>,
    mut program: Command,
    input: &[u8],
    limit: Option<Duration>,
    stop: &dyn Fn() -> bool,
) -> io::Result<(CheckEnd, String)> {
    if stop() {
        return Ok((CheckEnd::Stopped, String::new()));
    }
    // With this variable, runners neither watch for changes nor ask questions.
    program.current_dir(context.dir).env("CI", "true").env(RUN_MARK, context.run);
    match run_and_worker(context.run) {
        (_, Some(worker)) => program.env(WORKER, worker),
        (_, None) => program.env_remove(WORKER),
    };
    let limit = limit.into_iter().chain(context.left).min();
    supervised::run(program, input, limit, stop, None)
}

fn shell(door: &Door, command: &str) -> Command {
    let mut shell = door.command("sh");
    // Otherwise only the last of several lines would count.
    if command.trim().contains('\n') {
        shell.arg("-e");
    }
    shell.arg("-c").arg(command);
    shell
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use test_support::Scratch;

    use super::*;

    static DOOR: Door = Door { by: Vec::new(), vars: Vec::new() };

    fn context(dir: &Utf8Path, left: Option<Duration>) -> CheckContext<'_> {
        CheckContext { dir, run: "", left, rules: None, door: &DOOR }
    }

    fn check(command: &str, limit: Option<Duration>, stop: bool) -> Check {
        let scratch = Scratch::new();
        run(context(scratch.root(), None), command, limit, &|| stop).unwrap()
    }

    #[test]
    fn a_check_that_hides_the_result_of_its_tests_has_not_passed() {
        let config = Config::default();
        let none = BTreeMap::new();
        let rules = CheckRules::new(&config, &none, "");
        for (command, output, passed) in [
            ("pytest | tee log", "Step 1 to 3...\n", false),
            ("pytest | tee log", "3 passed in 0.1s\n", true),
            ("pytest", "Step 1 to 3...\n", true),
            ("ruff check . | tee log", "", true),
        ] {
            let end = CheckEnd::Exited(Some(0));
            let mut check = Check::new(command, end, output.to_owned(), Duration::ZERO);
            rules.judge(&mut check);
            assert_eq!(check.passed(), passed, "{command}: {}", check.verdict());
        }
    }

    #[test]
    fn the_exit_code_decides_and_both_outputs_are_kept() {
        let failed = check("echo out; echo err >&2; exit 3", None, false);
        assert_eq!(failed.end, CheckEnd::Exited(Some(3)));
        assert_eq!(failed.output, "out\nerr\n");
        assert!(check("true", None, false).passed());
        assert_eq!(check("kill -9 $$", None, false).end, CheckEnd::Exited(None));
    }

    #[test]
    fn every_line_of_a_check_must_succeed() {
        let several = |lines: &str| check(lines, None, false);
        let failed = several("\necho first; false\necho second\n");
        assert_eq!((failed.passed(), failed.output.as_str()), (false, "first\n"));
        assert_eq!(failed.name(), "echo first; false … (2 lines)");
        for lines in ["true\ntrue\n", "if false\nthen exit 1\nfi", "false || true\n! false\n"] {
            assert!(several(lines).passed(), "{lines}");
        }
        // On a single line, the shell decides which exit code counts.
        assert!(several("false; true\n").passed());
        assert_eq!(one_line("  cargo test\n"), "cargo test");
    }

    #[test]
    fn a_missing_program_is_reported_unless_it_is_a_project_file() {
        let needs = |command: &str| check(command, None, false).needs().map(str::to_owned);
        assert_eq!(needs("no-such-program --all"), Some("no-such-program".to_owned()));
        assert_eq!(needs("cd / && no-such-program"), Some("no-such-program".to_owned()));
        for ordinary in ["./test.sh", "tools/check x", "exit 127", "echo 'sh: x: not found'; false"]
        {
            assert_eq!(needs(ordinary), None, "{ordinary}");
        }
    }

    #[test]
    fn a_check_that_takes_too_long_is_killed_with_its_children() {
        let begun = Instant::now();
        let limit = Some(Duration::from_millis(100));
        let slow = check("sleep 60 & echo $!; sleep 60; true", limit, false);
        assert_eq!(slow.end, CheckEnd::TimedOut);
        test_support::until("its child is gone", || !test_support::is_alive(&slow.output));
        assert_eq!(check("sleep 60", None, true).end, CheckEnd::Stopped);
        let scratch = Scratch::new();
        let late = run(context(scratch.root(), limit), "sleep 60", None, &|| false).unwrap();
        assert_eq!(late.end, CheckEnd::TimedOut, "the run is over");
        assert!(check("sleep 60 & echo done", None, false).passed(), "in the background");
        assert!(begun.elapsed() < Duration::from_secs(90));
    }

    #[test]
    fn an_excerpt_shows_the_first_and_last_lines() {
        let output = |lines: usize| (1..=lines).map(|n| format!("{n}\n")).collect::<String>();
        let shown =
            |lines: usize| Check { output: output(lines), ..check("true", None, false) }.excerpt();
        assert_eq!(shown(90), output(90));
        let long = shown(300);
        assert!(long.starts_with("1\n2\n") && long.ends_with("\n299\n300\n"), "{long}");
        assert!(long.contains("\n15\n[lines omitted: 210]\n226\n"), "{long}");
        assert_eq!(long.lines().count(), 91);
    }

    #[test]
    fn long_output_keeps_its_beginning_and_its_end() {
        let long = check("echo first; yes | head -c 1000000; echo last", None, false);
        assert!(long.output.starts_with("first\n") && long.output.ends_with("last\n"));
        assert!(long.output.len() < 70 * 1024 && long.output.contains("bytes omitted"));
    }

    #[test]
    fn checks_stop_at_the_first_failure() {
        let scratch = Scratch::new();
        let commands = ["true", "false", "touch ran"].map(str::to_owned);
        let checks = run_checks(context(scratch.root(), None), &commands, None, &|| false).unwrap();
        assert_eq!(checks.iter().map(Check::passed).collect::<Vec<_>>(), [true, false]);
        assert!(!scratch.path("ran").exists());
    }
}
