//! The message to the agent after a failing run: short, concrete, and with a next step.

use super::decide::Outcome;
use ralph_core::git::saved_id;
use ralph_core::verdict::Verdict;

/// How many failing tests are named.
const MOST_NAMED: usize = 8;

/// The maximum length of a name.
const LONGEST_NAME: usize = 200;

/// What was done with the attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Done {
    /// Nothing was rolled back.
    Untouched {
        /// Why, as the beginning of a sentence.
        why: String,
    },
    /// It continues, with this decision.
    Weighed(Outcome),
    /// It was rolled back.
    RolledBack {
        /// The ref under which it was saved.
        saved_as: String,
        /// The story, if our loop runs: it takes the saved work as an attempt when the session ends.
        story: Option<String>,
        /// Whether untracked files were kept, because their owner is unknown.
        untracked_stay: bool,
        /// Nested repositories, and files that changed in the meantime, which were not touched.
        left_alone: Vec<String>,
    },
    /// It should have been rolled back, but that failed.
    CouldNot {
        /// Why.
        why: String,
    },
}

impl Done {
    /// Returns whether this is only information for the agent, with nothing to fix.
    pub fn is_information(&self) -> bool {
        use Outcome::{Baseline, FailedBefore, RedPhase};
        matches!(self, Self::Weighed(Baseline | FailedBefore | RedPhase))
    }
}

/// Returns the message to the agent; `log` is the file with the output.
pub fn answer(verdict: &Verdict, done: &Done, log: &str) -> String {
    let then = match done {
        Done::Untouched { why } => format!(
            "{why}, so nothing was rolled back. The output is in {log}. Fix these tests before you \
             continue."
        ),
        Done::RolledBack { saved_as, story, untracked_stay, left_alone } => {
            let restore = match story {
                Some(story) => format!(
                    "after this session, `ralph-loop attempts {story}` shows the user how to take it"
                ),
                None => {
                    format!("the user can restore it with `ralph-loop undo {}`", saved_id(saved_as))
                }
            };
            rolled_back(saved_as, &restore, (*untracked_stay, left_alone), log)
        }
        Done::CouldNot { why } => format!(
            "The attempt could not be rolled back: {why}. Check `git status` before you continue, \
             and fix these tests. The output is in {log}."
        ),
        Done::Weighed(outcome) => weighed(*outcome, log),
    };
    format!("{}\n{then}", headline(verdict))
}

fn weighed(outcome: Outcome, log: &str) -> String {
    match outcome {
        Outcome::RollBack | Outcome::RolledBackAlready => format!(
            "The attempt has already been rolled back to the checkpoint. Read {log}, then try a \
             different approach in smaller steps."
        ),
        Outcome::Strike { left } => format!(
            "Nothing has been rolled back yet: after {left} more failing {}, the attempt is rolled \
             back to the checkpoint. Fix these tests before anything else. The output is in {log}.",
            if left == 1 { "run" } else { "runs" }
        ),
        Outcome::Recorded => {
            format!("The output is in {log}. Fix these tests before you finish the story.")
        }
        Outcome::RedPhase => {
            "Only test files have changed since the checkpoint, so this counts as \
             writing the test first. Now make it pass."
                .to_owned()
        }
        Outcome::FailedBefore => {
            "These tests already failed before you changed anything, so this does not count \
             against the attempt."
                .to_owned()
        }
        Outcome::Baseline => "Nothing has changed since the checkpoint, so these tests failed \
                              before you started and do not count against the attempt."
            .to_owned(),
    }
}

fn rolled_back(
    saved_as: &str,
    restore: &str,
    (untracked_stay, left_alone): (bool, &[String]),
    log: &str,
) -> String {
    let files = if untracked_stay {
        "all files that git tracks are as they were at the checkpoint (new files were kept)"
    } else {
        "all files are as they were at the checkpoint"
    };
    let but = match left_alone {
        [] => String::new(),
        some => format!(
            "; not touched, because they are nested repositories or changed during the \
             rollback: {}",
            some.join(", ")
        ),
    };
    format!(
        "The attempt was rolled back: {files}{but}. Read files again before you edit them. Nothing \
         is lost: the attempt is saved as {saved_as} (view it with `git diff HEAD {saved_as}`; \
         {restore}). Read {log}, then try a different \
         approach in smaller steps, and run these tests first."
    )
}

/// Returns the cause of a rollback in one line, for the journal, the ref, the lesson and the loop.
pub fn cause(verdict: &Verdict, output: &str) -> String {
    let failed = format!("{} failed", verdict.runner.unwrap_or("tests"));
    match verdict.what_failed(output) {
        Some(what) => format!("{failed}: {what}"),
        None => failed,
    }
}

/// Describes a failure: `what` and its cause on the first line, which is all that lessons and the
/// progress keep, and the output below.
pub fn with_cause(what: &str, verdict: Option<&Verdict>, output: &str) -> String {
    let verdict = verdict.cloned().unwrap_or_else(Verdict::not_a_test);
    match verdict.what_failed(output) {
        Some(cause) => format!("{what}: {cause}\n{}", output.trim_end()),
        None => format!("{what}\n{}", output.trim_end()),
    }
}

/// Formats `Tests failed: 2 failed, 12 passed (pytest)`, with the names of the tests below.
fn headline(verdict: &Verdict) -> String {
    let counts = verdict.counts;
    let failed = counts.bad();
    let mut text = "Tests failed".to_owned();
    if failed > 0 {
        text.push_str(&format!(": {failed} failed, {} passed", counts.passed));
    }
    if let Some(runner) = verdict.runner {
        text.push_str(&format!(" ({runner})"));
    }
    text.push('.');
    for test in verdict.failing.iter().take(MOST_NAMED) {
        let name: String = test.chars().take(LONGEST_NAME).collect();
        text.push_str(&format!("\n- {name}"));
    }
    match verdict.failing.len().saturating_sub(MOST_NAMED) {
        0 => text,
        more => format!("{text}\n- and {more} more"),
    }
}
