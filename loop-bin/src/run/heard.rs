//! What the journal tells of the iteration under way: the hooks speak there, whichever session of the
//! agent's they were called by.

use ralph_core::state::{Event, Id, Journal, LastVerdict, Record};

use super::stage::Stage;
use crate::agent::Run;

/// How far back the journal is looked through for what happened in one iteration.
const LINES: usize = 5_000;

/// What the loop calls itself in the journal.
pub(super) const OURS: &str = "ralph-loop";

/// A test run that failed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct FailedRun {
    /// The command, where it is known.
    pub(super) command: String,
    /// The tests that failed, where they were printed.
    pub(super) tests: Vec<String>,
}

impl Stage {
    /// The records of this run since the loop began an iteration, newest first. Those that the stop
    /// hook began in the session since belong to it.
    pub(super) fn heard(&self) -> Vec<Record> {
        let journal = Journal::new(self.state(), OURS);
        let journal = journal.tail_since(self.heard_from.get(), LINES).unwrap_or_default();
        let ours =
            journal.into_iter().rev().filter(|record| record.run.as_ref() == Some(&self.run));
        let is_begin = |record: &Record| {
            let begun =
                matches!(record.event, Event::IterationStarted { .. } | Event::LoopStarted { .. });
            begun && record.source == OURS
        };
        ours.take_while(|record| !is_begin(record)).collect()
    }

    /// Whether a hook took back what the agent did: then it did something.
    pub(super) fn was_rolled_back(&self, story: &str) -> bool {
        let heard = self.heard();
        let mut own = heard.iter().filter(|record| record.story.as_deref() == Some(story));
        own.any(|record| matches!(record.event, Event::RolledBack { .. }))
    }

    /// Whether a hook rolled anything back, for whichever story: then it left a lesson.
    pub(super) fn has_learned(&self) -> bool {
        self.heard().iter().any(|record| matches!(record.event, Event::RolledBack { .. }))
    }

    /// The last test run of the iteration, if it failed. An agent that prints plain text does not
    /// name its session, but its hooks tell the journal.
    pub(super) fn failed_run(&self, run: &Run) -> Option<FailedRun> {
        let told = match self.attempt.as_ref() {
            Some(attempt) => last_verdict(&self.heard(), &attempt.story),
            None => None,
        };
        match told {
            Some(Told { verdict, .. }) if verdict != "failed" => None,
            Some(Told { session, tests, .. }) => {
                let last = self.verdict_of(session.as_deref());
                let command = last.map(|last| last.command).unwrap_or_default();
                Some(FailedRun { command, tests })
            }
            None => {
                let last = self.verdict_of(run.seen.session.as_deref())?;
                (last.verdict == "failed")
                    .then_some(FailedRun { command: last.command, tests: last.tests })
            }
        }
    }

    fn verdict_of(&self, session: Option<&str>) -> Option<LastVerdict> {
        let id = Id::parse(session?).ok()?;
        LastVerdict::load(&self.state().session(&id))
    }
}

/// What the journal says of a test run.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Told {
    session: Option<String>,
    verdict: String,
    tests: Vec<String>,
}

/// The newest verdict on a story, of records that are newest first.
fn last_verdict(records: &[Record], story: &str) -> Option<Told> {
    let mut own = records.iter().filter(|record| record.story.as_deref() == Some(story));
    own.find_map(|record| match &record.event {
        Event::Verdict { verdict, tests, .. } => Some(Told {
            session: record.session.clone(),
            verdict: verdict.clone(),
            tests: tests.clone(),
        }),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(session: &str, story: &str, verdict: &str) -> Record {
        let verdict = Event::Verdict {
            verdict: verdict.to_owned(),
            runner: None,
            passed: None,
            failed: None,
            tests: vec![],
        };
        Record {
            v: 1,
            at: String::new(),
            source: "ralph-post-tool".to_owned(),
            session: Some(session.to_owned()),
            run: Some("r1".to_owned()),
            story: Some(story.to_owned()),
            event: verdict,
        }
    }

    fn check(records: &[Record], expected: Option<(&str, &str)>) {
        let found = last_verdict(records, "US-001");
        let found = found.map(|told| (told.session.unwrap_or_default(), told.verdict));
        let expected = expected.map(|(session, verdict)| (session.to_owned(), verdict.to_owned()));
        assert_eq!(found, expected);
    }

    #[test]
    fn the_newest_verdict_on_the_story_counts_whoever_gave_it() {
        check(&[], None);
        check(&[record("a", "US-002", "failed")], None);
        check(
            &[record("b", "US-001", "failed"), record("a", "US-001", "passed")],
            Some(("b", "failed")),
        );
        check(
            &[record("b", "US-002", "failed"), record("a", "US-001", "passed")],
            Some(("a", "passed")),
        );
    }
}
