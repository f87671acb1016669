//! Stories that are settled and not counted yet: the loop waits for the end of the session in which
//! the stop hook settled them, or it was killed before it could count.

use ralph_core::settle::Attempt;
use ralph_core::state::{self, Event, Journal, StateDir};

use super::heard::OURS;
use super::record::Record;

/// How far back the journal is looked through.
const LINES: usize = 5_000;

impl Record {
    /// The same, with what the journal and the attempt under way tell of the session; a run that got
    /// to its end has counted everything.
    pub(crate) fn caught_up(mut self, state: &StateDir) -> Self {
        if self.finish.is_some() {
            return self;
        }
        let settled = uncounted(&journal_of(state, &self.run), &self);
        let counters = &mut self.counters;
        if settled > 0 {
            // Each of them was an iteration, and the first of these is counted.
            counters.iteration += if counters.counted == 0 { settled - 1 } else { settled };
            counters.commits += settled;
        }
        if let Ok(Some(attempt)) = Attempt::load_without_plan(state)
            && attempt.run == self.run
        {
            counters.iteration = counters.iteration.max(attempt.iteration);
            self.story = Some(attempt.story);
        }
        self
    }
}

/// Whether the journal tells that a run has settled this story.
pub(super) fn is_told(state: &StateDir, run: &str, story: &str) -> bool {
    journal_of(state, run)
        .iter()
        .any(|line| line.event == Event::StoryDone && line.story.as_deref() == Some(story))
}

/// Whether the journal tells that a run got as far as to start an agent in this iteration.
pub(super) fn is_begun(state: &StateDir, run: &str, iteration: u64) -> bool {
    journal_of(state, run).iter().any(|line| match line.event {
        Event::IterationStarted { iteration: begun } => u64::from(begun) == iteration,
        _ => false,
    })
}

/// What the journal tells of a run, newest first.
fn journal_of(state: &StateDir, run: &str) -> Vec<state::Record> {
    let journal = Journal::new(state, OURS).tail(LINES).unwrap_or_default();
    journal.into_iter().rev().filter(|line| line.run.as_deref() == Some(run)).collect()
}

/// How many stories were settled in the iteration under way, besides those that are counted.
fn uncounted(journal: &[state::Record], record: &Record) -> u64 {
    let mut settled = 0_u64;
    for line in journal {
        match line.event {
            Event::StoryDone => settled += 1,
            Event::IterationStarted { iteration } if line.source == OURS => {
                let is_under_way = u64::from(iteration) == record.counters.begun;
                let counted = record.counters.counted;
                return if is_under_way { settled.saturating_sub(counted) } else { 0 };
            }
            Event::LoopStarted { .. } => return 0,
            _ => {}
        }
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(event: Event) -> state::Record {
        let run = Some("r1".to_owned());
        let (at, source) = (String::new(), OURS.to_owned());
        state::Record { v: 1, at, source, session: None, run, story: None, event }
    }

    fn check(stories: usize, begun: u64, counted: u64, expected: u64) {
        let mut journal: Vec<state::Record> = vec![line(Event::StoryDone); stories];
        journal.push(line(Event::IterationStarted { iteration: 2 }));
        journal.push(line(Event::StoryDone));
        let mut record = Record::new();
        (record.counters.begun, record.counters.counted) = (begun, counted);
        assert_eq!(uncounted(&journal, &record), expected);
    }

    #[test]
    fn what_is_counted_is_not_counted_again() {
        check(0, 2, 0, 0);
        check(2, 2, 0, 2);
        check(1, 2, 1, 0);
        check(3, 2, 2, 1);
        // The next iteration is chosen, and not told yet.
        check(2, 3, 0, 0);
    }
}
