//! Analyses the simple commands of a line: which ones run tests, and whose exit code it has.

use super::super::runners::Runner;
use super::names::{base_name, is_test_file};
use super::purpose::{self, Purpose};
use super::tasks::is_task;
use shell_reader::{Command, Effect, Reach, Script, Word};

// The lists, from `lists.toml`.
include!(concat!(env!("OUT_DIR"), "/invocation.rs"));

/// The test commands of a command line.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Invocation {
    /// The strongest purpose among its commands.
    pub(crate) purpose: Purpose,
    /// Whether only one summary is expected, so that the last of several is the valid one.
    pub(crate) one_summary: bool,
    /// Whether all of them start the same runner.
    pub(crate) one_runner: bool,
    /// Whether another command reads their output through a pipe.
    pub(crate) piped: bool,
    /// The offset of the first test command on the line.
    pub(crate) start: usize,
    /// Whether a task runner runs the tests, so that its output names the runner.
    pub(crate) task: bool,
    all_decide: bool,
    any_decides: bool,
    /// Whether another command may have failed before the first test command, or after the last.
    rival_before: bool,
    rival_after: bool,
    /// Whether the line ends with a program that reads the tests' output and judges them by it.
    formatted: bool,
}

/// The result of the test commands, as far as the line's exit code shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    /// They ended with 0.
    Well,
    /// They ended with this code.
    Badly(i32),
    /// The line failed, but another of its commands may be the cause.
    Unclear {
        code: i32,
        /// Whether the other command comes first, so that the tests may not have started.
        rival_first: bool,
    },
    /// The exit code is not theirs, or is unknown.
    Unknown,
}

impl Invocation {
    /// Returns what `exit_code` of the whole line means for the test commands.
    pub(crate) fn ended(&self, exit_code: Option<i32>) -> Ended {
        match exit_code {
            Some(0) if self.all_decide => Ended::Well,
            Some(code) if code != 0 && self.any_decides => {
                if self.rival_before || self.rival_after {
                    Ended::Unclear { code, rival_first: self.rival_before }
                } else {
                    Ended::Badly(code)
                }
            }
            // A formatter fails if tests did, and an uploader of coverage for reasons of its own.
            Some(code) if code != 0 && self.formatted => {
                Ended::Unclear { code: 1, rival_first: false }
            }
            _ => Ended::Unknown,
        }
    }

    /// Returns the runner, if one was named.
    pub(crate) fn runner(&self) -> Option<Runner> {
        match self.purpose {
            Purpose::Runs(row) | Purpose::Lists(row) => row,
            _ => None,
        }
    }
}

/// Finds the test commands; `configured` are the user's own, which always count.
pub(crate) fn find(script: &Script, configured: &[String]) -> Option<Invocation> {
    let (commands, strongest) = classify(script, configured)?;
    let is_test = |purpose: &Purpose| rank(purpose) == rank(&strongest);
    let tests = commands.iter().filter(|(purpose, _)| is_test(purpose));
    let tests: Vec<&Command> = tests.map(|(_, command)| *command).collect();
    let row = commands.iter().find_map(|(purpose, _)| match purpose {
        Purpose::Runs(Some(row)) | Purpose::Lists(Some(row)) if is_test(purpose) => Some(*row),
        _ => None,
    });
    let purpose = match strongest {
        Purpose::Runs(_) => Purpose::Runs(row),
        Purpose::Lists(_) => Purpose::Lists(row),
        other => other,
    };
    let waits = |command: &&Command| command.name() == Some("wait");
    let awaited =
        script.commands.iter().filter(waits).any(|wait| !wait.args.is_empty() && decides(wait));
    let decides = |command: &Command| decides(command) || (awaited && is_background(command));
    let rival = |(purpose, command): &(Purpose, &Command)| {
        // A command with the same span is the wrapper of a test command, or is wrapped by it.
        !is_test(purpose)
            && decides(command)
            && !command.program.known().is_some_and(|program| NEVER_FAIL.contains(&program))
            && !ends_pipe(command)
            && !tests.iter().any(|test| overlap(test, command))
    };
    let is_first = |(purpose, _): &(Purpose, &Command)| is_test(purpose);
    let first = commands.iter().position(is_first).unwrap_or_default();
    let last = commands.iter().rposition(is_first).unwrap_or_default();
    let piped = tests.iter().any(|test| test.reached.contains(&Reach::Pipe { last: false }));
    Some(Invocation {
        purpose,
        one_summary: is_one_run(&tests, script)
            && row.is_none_or(|runner| !runner.row.one_summary_per_part),
        one_runner: commands.iter().filter(|(purpose, _)| is_test(purpose)).all(|(purpose, _)| {
            matches!(purpose, Purpose::Runs(one) | Purpose::Lists(one) if one.map(|one| one.row) == row.map(|row| row.row))
        }),
        piped,
        start: tests.first().map_or(0, |test| test.span.start),
        task: tests.iter().any(|test| test.name().is_some_and(is_task)),
        all_decide: tests.iter().all(|test| decides(test)),
        any_decides: tests.iter().any(|test| decides(test)),
        rival_before: commands.iter().take(first).any(rival),
        rival_after: commands.iter().skip(last + 1).any(rival),
        formatted: piped
            && commands.iter().skip(last + 1).any(|(purpose, command)| {
                ends_pipe(command) && decides(command) && *purpose == Purpose::May
            }),
    })
}

/// Returns the folders in which the test commands of a line run, as set by `cd`; `None` is the
/// line's starting folder. `configured` are the user's own test commands, as in
/// [`Run`](crate::verdict::Run::test_commands).
///
/// ```
/// let line = shell_reader::read("pytest && cd web && npm test");
/// let folders = ralph_core::verdict::test_folders(&line, &[]);
/// assert_eq!(folders, [None, Some(&"web".into())]);
/// ```
pub fn test_folders<'s>(script: &'s Script, configured: &[String]) -> Vec<Option<&'s Word>> {
    let Some((commands, strongest)) = classify(script, configured) else { return Vec::new() };
    let tests = commands.into_iter().filter(|(purpose, _)| rank(purpose) == rank(&strongest));
    tests.map(|(_, command)| command.directory.as_ref()).collect()
}

/// Returns every awaited command with its purpose, and the strongest of these purposes.
fn classify<'s>(
    script: &'s Script,
    configured: &[String],
) -> Option<(Vec<(Purpose, &'s Command)>, Purpose)> {
    let awaited = script.commands.iter().any(|command| command.name() == Some("wait"));
    let commands: Vec<(Purpose, &Command)> = script
        .commands
        .iter()
        .enumerate()
        .filter(|(_, command)| awaited || !is_background(command))
        .map(|(at, command)| {
            let wraps =
                script.commands.get(at + 1).is_some_and(|next| is_wrapped_in(next, command));
            match purpose_of(command, configured) {
                // The wrapped command determines what a wrapper does.
                Purpose::May if wraps => (Purpose::Other, command),
                purpose => (purpose, command),
            }
        })
        .collect();
    let strongest = commands.iter().map(|(purpose, _)| *purpose).min_by_key(rank)?;
    let shows =
        commands.iter().any(|(purpose, command)| *purpose == Purpose::Shows && shows_text(command));
    if rank(&strongest) > rank(&Purpose::May) || (strongest == Purpose::May && shows) {
        return None;
    }
    Some((commands, strongest))
}

/// Returns whether `outer` is a wrapper that leads to `inner`.
fn is_wrapped_in(inner: &Command, outer: &Command) -> bool {
    let behind = inner.reached.strip_prefix(outer.reached.as_slice());
    inner.span == outer.span && matches!(behind, Some([Reach::Wrapper(_), ..]))
}

fn decides(command: &Command) -> bool {
    command.effect == Effect::Passed
}

fn is_background(command: &Command) -> bool {
    command.reached.contains(&Reach::Background)
}

fn ends_pipe(command: &Command) -> bool {
    command.reached.contains(&Reach::Pipe { last: true })
}

fn overlap(one: &Command, other: &Command) -> bool {
    one.span.start < other.span.end && other.span.start < one.span.end
}

/// Ranks purposes from strongest to weakest.
fn rank(purpose: &Purpose) -> u8 {
    match purpose {
        Purpose::Runs(_) => 0,
        Purpose::Lists(_) => 1,
        Purpose::May => 2,
        Purpose::Shows => 3,
        Purpose::Other => 4,
    }
}

fn purpose_of(command: &Command, configured: &[String]) -> Purpose {
    let Some(program) = command.program.known() else { return Purpose::May };
    let args: Vec<&str> = command.args.iter().map(Word::text).collect();
    let typed = || std::iter::once(program).chain(args.iter().copied());
    let own = configured.iter().any(|own| {
        let mut words = own.split_whitespace().peekable();
        words.peek().is_some() && {
            let mut typed = typed();
            words.all(|word| typed.next() == Some(word))
        }
    });
    match purpose::of(program, &args) {
        _ if own || runs_inline(command) => Purpose::Runs(None),
        Purpose::May if runs_all(program, &args) && in_test_folder(command) => Purpose::Runs(None),
        purpose => purpose,
    }
}

/// Recognises inline test runs: `python -c 'import pytest; pytest.main()'`.
fn runs_inline(command: &Command) -> bool {
    command.inline.as_ref().is_some_and(|text| INLINE.iter().any(|call| text.contains(call)))
}

/// Recognises scripts that run everything: `./run.sh`, `csi -s all.scm`.
fn runs_all(program: &str, args: &[&str]) -> bool {
    let script = args.iter().find(|arg| !arg.starts_with('-') && arg.contains('.'));
    let file = if program.starts_with("./") { Some(&program) } else { script };
    let name = file.and_then(|file| base_name(file).split('.').next());
    matches!(name, Some("run" | "all" | "run_all" | "run-all" | "runall"))
}

/// Returns whether a command runs in a test folder: `cd tests && …`.
fn in_test_folder(command: &Command) -> bool {
    let folder = command.directory.as_ref().and_then(|folder| folder.known());
    folder.is_some_and(|folder| is_test_file(&format!("{}/x", folder.trim_end_matches('/'))))
}

/// Returns whether a command shows files or logs, rather than filtering piped input.
fn shows_text(command: &Command) -> bool {
    let piped = command.reached.iter().any(|reach| matches!(reach, Reach::Pipe { .. }));
    let source = matches!(
        command.program.known(),
        Some("cat" | "git" | "curl" | "gh" | "docker" | "kubectl" | "journalctl")
    );
    let edits = command.args.iter().any(|arg| arg.text().starts_with("-i"));
    (!piped || (source && !ends_pipe(command))) && !edits
}

/// Returns whether all output comes from one run: a single command, possibly wrapped or retried
/// until it passes, and not a task, which may run several.
fn is_one_run(tests: &[&Command], script: &Script) -> bool {
    let Some(first) = tests.first() else { return false };
    let retried = script.commands.iter().any(|command| command.name() == Some("break"));
    let same = |test: &&Command| {
        (is_wrapped_in(test, first) || overlap(first, test)) && test.directory == first.directory
    };
    let looped = |reach: &Reach| matches!(reach, Reach::Conditional | Reach::Template);
    let task = tests.iter().any(|test| test.name().is_some_and(is_task));
    tests.iter().all(same) && (retried || !(task || first.reached.iter().any(looped)))
}
