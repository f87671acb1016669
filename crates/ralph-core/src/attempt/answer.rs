//! What the agent is told after a failing run: short, concrete, and with a next step.

use super::decide::Outcome;
use crate::verdict::{FailingTest, Verdict};

/// How many failing tests are named.
const MOST_NAMED: usize = 8;

/// A failing run, and what was done about it.
#[derive(Debug, Clone, Copy)]
pub struct Failed<'a> {
    /// How it ended.
    pub verdict: &'a Verdict,
    /// What became of the attempt; none if there is no checkpoint.
    pub outcome: Option<Outcome>,
    /// The ref that keeps the attempt, after a rollback.
    pub saved_as: Option<&'a str>,
    /// Where the output is kept, relative to the project.
    pub log: &'a str,
}

/// The text for the agent.
pub fn answer(failed: &Failed<'_>) -> String {
    let what = headline(failed.verdict);
    let log = failed.log;
    let then = match (failed.outcome, failed.saved_as) {
        (None, _) => format!(
            "There is no checkpoint, so nothing was rolled back; the output is kept in {log}. \
             Fix these tests before you go on."
        ),
        (Some(Outcome::RollBack), Some(saved_as)) => rolled_back(saved_as, log),
        (Some(Outcome::RollBack | Outcome::TakenBackAlready), _) => format!(
            "The tree is back at the checkpoint already. Read {log}, then try another approach in \
             smaller steps."
        ),
        (Some(Outcome::Strike { left }), _) => format!(
            "This is still your attempt: {left} more failing {} and it is rolled back to the \
             checkpoint. Mend these tests before anything else; the output is kept in {log}.",
            if left == 1 { "run" } else { "runs" }
        ),
        (Some(Outcome::Recorded), _) => {
            format!("The output is kept in {log}. Mend these tests before you call the story done.")
        }
        (Some(Outcome::RedPhase), _) => {
            "Only test files have changed since the checkpoint, so this \
             counts as writing the test first. Now make it pass."
                .to_owned()
        }
        (Some(Outcome::FailedBefore), _) => {
            "These tests failed before you changed anything, so this \
             does not count against the attempt."
                .to_owned()
        }
        (Some(Outcome::Baseline), _) => "Nothing has changed since the checkpoint: these tests \
             failed before you began, and will not be held against the attempt."
            .to_owned(),
    };
    format!("{what}\n{then}")
}

fn rolled_back(saved_as: &str, log: &str) -> String {
    let id = saved_as.rsplit('/').next().unwrap_or(saved_as);
    format!(
        "The attempt was rolled back: all files are as they were at the checkpoint, so read them \
         again before you edit. Nothing is lost: the attempt is kept as {saved_as} (look at it with \
         `git diff HEAD {saved_as}`; the user can restore it with `ralph-loop undo {id}`). \
         Read {log}, then try another approach in smaller steps, and run these tests first."
    )
}

/// The cause of a rollback in one line, for the journal, the ref and the lesson.
pub fn cause(verdict: &Verdict) -> String {
    let names: Vec<&str> = verdict.failing.iter().take(3).map(|test| test.name.as_str()).collect();
    let runner = verdict.runner.map(|runner| format!(" ({runner})")).unwrap_or_default();
    match names.len() {
        0 => format!("tests failed{runner}"),
        _ => format!("failed{runner}: {}", names.join(", ")),
    }
}

/// `Tests failed: 2 failed, 12 passed (pytest)`, and their names below.
fn headline(verdict: &Verdict) -> String {
    let counts = verdict.counts;
    let failed = counts.failed.saturating_add(counts.errored);
    let mut text = "Tests failed".to_owned();
    if failed > 0 {
        text.push_str(&format!(": {failed} failed, {} passed", counts.passed));
    }
    if let Some(runner) = verdict.runner {
        text.push_str(&format!(" ({runner})"));
    }
    text.push('.');
    for test in verdict.failing.iter().take(MOST_NAMED) {
        text.push_str(&format!("\n- {}", described(test)));
    }
    match verdict.failing.len().saturating_sub(MOST_NAMED) {
        0 => text,
        more => format!("{text}\n- and {more} more"),
    }
}

fn described(test: &FailingTest) -> String {
    let name: String = test.name.chars().take(200).collect();
    match (&test.file, test.line) {
        (Some(file), Some(line)) => format!("{name} ({file}:{line})"),
        (Some(file), None) => format!("{name} ({file})"),
        _ => name,
    }
}
