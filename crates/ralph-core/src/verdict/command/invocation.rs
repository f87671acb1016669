//! Goes through the simple commands of a line: which run tests, and whose exit code it was.

use super::super::runners::Runner;
use super::purpose::{self, Purpose};
use super::tasks::is_task;
use crate::shell::{Command, Fate, Reach, Script};

/// What a command line does about tests.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Invocation {
    /// The strongest purpose among its commands.
    pub(crate) purpose: Purpose,
    /// Whether exit code 0 proves that no test failed.
    pub(crate) exit_tells: bool,
    /// Whether only one summary is to be expected, so that of several the last is the true one.
    pub(crate) one_summary: bool,
    /// Whether another command reads their output, and ends after them.
    pub(crate) piped: bool,
    all_decide: bool,
    any_decides: bool,
    /// Another command that could have failed before the first test command, or after the last.
    rival_before: bool,
    rival_after: bool,
}

/// How the test commands ended, as far as the line's exit code tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    /// With 0.
    Well,
    /// With this code.
    Badly(i32),
    /// The line failed, but another command of it may be to blame.
    Unclear {
        code: i32,
        /// Whether that other command comes first, so that the tests may never have started.
        rival_first: bool,
    },
    /// The exit code is not theirs, or was not handed in.
    Unknown,
}

impl Invocation {
    /// What `exit_code` of the whole line says about the test commands.
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
            _ => Ended::Unknown,
        }
    }

    /// The row of the runner, where one was named.
    pub(crate) fn runner(&self) -> Option<&'static Runner> {
        match self.purpose {
            Purpose::Runs(row) | Purpose::Lists(row) => row,
            _ => None,
        }
    }
}

/// Looks for test commands; `configured` are the user's own, which always count.
pub(crate) fn find(script: &Script, configured: &[String]) -> Option<Invocation> {
    let (commands, strongest) = classify(script, configured)?;
    let is_test = |purpose: &Purpose| rank(purpose) == rank(&strongest);
    let tests = || commands.iter().filter(|(purpose, _)| is_test(purpose));
    let decides = |command: &Command| command.fate == Fate::Decides;
    let row = tests().find_map(|(purpose, _)| match purpose {
        Purpose::Runs(Some(row)) | Purpose::Lists(Some(row)) => Some(*row),
        _ => None,
    });
    let purpose = match strongest {
        Purpose::Runs(_) => Purpose::Runs(row),
        Purpose::Lists(_) => Purpose::Lists(row),
        other => other,
    };
    let first = commands.iter().position(|(purpose, _)| is_test(purpose)).unwrap_or_default();
    let last = commands.iter().rposition(|(purpose, _)| is_test(purpose)).unwrap_or_default();
    let rival = |(purpose, command): &(Purpose, &Command)| {
        !is_test(purpose)
            && decides(command)
            && can_fail(command)
            && !is_around(command, &commands, first)
    };
    Some(Invocation {
        purpose,
        exit_tells: tests()
            .all(|(purpose, _)| matches!(purpose, Purpose::Runs(Some(row)) if row.exit_tells)),
        one_summary: is_one_run(&tests().map(|(_, command)| *command).collect::<Vec<_>>())
            && row.is_none_or(|row| !row.one_summary_per_part),
        piped: tests().any(|(_, command)| command.reached.contains(&Reach::Pipe { last: false })),
        all_decide: tests().all(|(_, command)| decides(command)),
        any_decides: tests().any(|(_, command)| decides(command)),
        rival_before: commands.iter().take(first).any(rival),
        rival_after: commands.iter().skip(last + 1).any(rival),
    })
}

/// The commands whose verdict `find` gives, wrappers around them included.
pub(crate) fn test_commands<'s>(script: &'s Script, configured: &[String]) -> Vec<&'s Command> {
    let Some((commands, strongest)) = classify(script, configured) else { return Vec::new() };
    let tests = commands.into_iter().filter(|(purpose, _)| rank(purpose) == rank(&strongest));
    tests.map(|(_, command)| command).collect()
}

/// Every command that is waited for with its purpose, and the strongest of these purposes.
fn classify<'s>(
    script: &'s Script,
    configured: &[String],
) -> Option<(Vec<(Purpose, &'s Command)>, Purpose)> {
    let commands: Vec<(Purpose, &Command)> = script
        .commands
        .iter()
        .filter(|command| !command.reached.contains(&Reach::Background))
        .map(|command| (purpose_of(command, configured), command))
        .collect();
    let strongest = commands.iter().map(|(purpose, _)| *purpose).min_by_key(rank)?;
    let shows =
        commands.iter().any(|(purpose, command)| *purpose == Purpose::Shows && shows_text(command));
    if rank(&strongest) > rank(&Purpose::May) || (strongest == Purpose::May && shows) {
        return None;
    }
    Some((commands, strongest))
}

/// Runs before lists before may; the rest does not matter.
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
    let args: Vec<&str> =
        command.args.iter().map(|word| word.known().unwrap_or("\u{fffc}")).collect();
    let typed = || std::iter::once(program).chain(args.iter().copied());
    let own = configured.iter().any(|own| {
        let mut words = own.split_whitespace().peekable();
        words.peek().is_some() && {
            let mut typed = typed();
            words.all(|word| typed.next() == Some(word))
        }
    });
    if own { Purpose::Runs(None) } else { purpose::of(program, &args) }
}

/// Whether a command shows files or logs rather than filtering what a pipe brings.
fn shows_text(command: &Command) -> bool {
    let piped = command.reached.iter().any(|reach| matches!(reach, Reach::Pipe { .. }));
    let source = command.program.known().is_some_and(|program| {
        matches!(program, "cat" | "git" | "curl" | "gh" | "docker" | "kubectl" | "journalctl")
    });
    !piped || (source && !command.reached.contains(&Reach::Pipe { last: true }))
}

/// Commands that practically never fail do not share the blame.
fn can_fail(command: &Command) -> bool {
    !command.program.known().is_some_and(|program| {
        matches!(
            program,
            "cd" | "echo"
                | "printf"
                | "export"
                | "set"
                | "unset"
                | "source"
                | "."
                | ":"
                | "true"
                | "pwd"
                | "sleep"
                | "mkdir"
                | "date"
                | "ls"
                | "pushd"
                | "popd"
                | "ulimit"
                | "umask"
                | "rm"
                | "touch"
                | "clear"
                | "wait"
                | "shopt"
                | "alias"
                | "exit"
                | "cat"
                | "tail"
                | "head"
                | "tee"
        )
    })
}

/// Whether the commands are one and the same, perhaps behind a wrapper, and no task runner.
fn is_one_run(tests: &[&Command]) -> bool {
    let (Some(first), Some(last)) = (tests.first(), tests.last()) else { return false };
    let one = tests.len() == 1 || (tests.len() < 4 && first.span.end >= last.span.end);
    let looped =
        last.reached.iter().any(|reach| matches!(reach, Reach::Conditional | Reach::Template(_)));
    let task = last.program.known().is_some_and(is_task);
    one && !looped && !task
}

/// Whether `command` is the wrapper around the test command, read as a command of its own.
fn is_around(command: &Command, commands: &[(Purpose, &Command)], test: usize) -> bool {
    commands.get(test).is_some_and(|(_, inner)| {
        command.span.start <= inner.span.start && command.span.end >= inner.span.end
    })
}
