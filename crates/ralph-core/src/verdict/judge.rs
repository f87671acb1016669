//! The judgement itself: what was run, how it ended and what it printed, weighed in this order.

use super::command::{self, Ended, Invocation, Purpose};
use super::kind::{Kind, Verdict};
use super::output::{Evidence, Text};
use crate::shell;

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
}

/// Judges a finished command. Never fails, and takes time linear in the length of the output.
pub fn judge(run: &Run<'_>) -> Verdict {
    let script = shell::read(run.command);
    let Some(invocation) = command::find(&script, run.test_commands) else {
        return Verdict::not_a_test();
    };
    let text = Text::new(run.output, run.end);
    let evidence = Evidence::gather(&text);
    if std::env::var("DBG").is_ok() {
        eprintln!("{invocation:?} {evidence:?}");
    }
    let ended = match invocation.ended(run.exit_code) {
        Ended::Unknown => echoed_exit_code(run.command, &text).map_or(Ended::Unknown, |code| {
            if code == 0 { Ended::Well } else { Ended::Badly(code) }
        }),
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
    let counts = if run.cut { Default::default() } else { evidence.counts() };
    let failing = if kind == Kind::Failed { evidence.failing } else { Vec::new() };
    Verdict { kind, runner: invocation.runner().map(|row| row.name), counts, failing }
}

/// For commands that do run tests.
fn decide(invocation: &Invocation, ended: Ended, evidence: &Evidence, cut: bool) -> Kind {
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
            } else if evidence.is_bad() || evidence.signs.policy || evidence.names_failures() {
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
        Ended::Unknown => by_summary(evidence).unwrap_or(Kind::NotATest),
    }
}

fn decide_bad_exit(invocation: &Invocation, code: i32, evidence: &Evidence, cut: bool) -> Kind {
    let special = invocation.runner().and_then(|row| row.exit(code));
    let failed_tests = evidence.counts().failed > 0;
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
    if evidence.is_bad() || evidence.names_failures() {
        return Kind::Failed;
    }
    // Killed by a signal or by a time limit, the tests were running.
    if code == 124 || code > 128 && code <= 192 {
        return Kind::Failed;
    }
    if evidence.signs.broken && !evidence.signs.policy {
        return Kind::Errored;
    }
    // A cut output may have lost the very lines that would say otherwise.
    if !cut && evidence.is_none() {
        Kind::NoTests
    } else if !cut && evidence.signs.error && !evidence.signs.policy && !evidence.is_good() {
        Kind::Errored
    } else {
        Kind::Failed
    }
}

/// What the summary alone says.
fn by_summary(evidence: &Evidence) -> Option<Kind> {
    if evidence.is_broken() {
        Some(Kind::Errored)
    } else if evidence.is_bad() || (evidence.signs.policy && evidence.is_good()) {
        Some(Kind::Failed)
    } else if evidence.is_good() {
        Some(Kind::Passed)
    } else if evidence.signs.broken {
        Some(Kind::Errored)
    } else if evidence.is_none() {
        Some(Kind::NoTests)
    } else {
        (!evidence.failing.is_empty()).then_some(Kind::Failed)
    }
}

/// For commands that list or build tests.
fn decide_listing(ended: Ended, evidence: &Evidence) -> Kind {
    let failed = matches!(ended, Ended::Badly(_) | Ended::Unclear { .. });
    if failed && evidence.signs.broken { Kind::Errored } else { Kind::NoTests }
}

/// For commands that may run tests: the output must say so, and the exit code must agree.
fn decide_perhaps(ended: Ended, evidence: &Evidence) -> Kind {
    let kind = match ended {
        Ended::Well if evidence.shows_passed() && !evidence.ends_badly() => Some(Kind::Passed),
        Ended::Well => None,
        Ended::Badly(_) | Ended::Unclear { .. } => by_summary(evidence),
        Ended::Unknown => by_summary(evidence)
            .filter(|kind| *kind != Kind::Failed || !evidence.failing.is_empty()),
    };
    let shown = evidence.is_bad() || evidence.shows_passed();
    kind.filter(|_| shown).unwrap_or(Kind::NotATest)
}

/// `pytest; echo "exit: $?"` prints the code that the line itself hides.
fn echoed_exit_code(command: &str, text: &Text) -> Option<i32> {
    let echoes = command.contains("$?") || command.contains("PIPESTATUS");
    let last = text.lines().rev().find(|line| !line.is_empty()).filter(|_| echoes)?;
    let number = last.rsplit(|c: char| !c.is_ascii_digit()).next().filter(|_| last.len() < 60)?;
    number.parse().ok()
}
