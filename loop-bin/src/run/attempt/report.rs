//! What an attempt reports to the conductor while it runs: lines for people, events for the journal, and
//! what its agent does now.

use std::sync::mpsc::Sender;

use ralph_base::state::{Event, StoryKey};
use ralph_project::checks::Check;
use ralph_project::config::Config;

use super::{Desk, Done};
use crate::terminal::{Glimpse, Tone};

/// Something that an attempt reports.
pub(in crate::run) enum Report {
    /// A line for people.
    Line(Tone, String),
    Warning(String),
    /// What the loop does now for the story.
    Doing(String),
    /// What the agent does now.
    Glimpse(Glimpse),
    /// An event for the journal.
    Note(StoryKey, Event),
    /// An event only for whoever follows the run.
    Event(StoryKey, Event),
    /// The attempt was asked to end, and its agent has so long for it.
    Stopping,
    /// The job is done, and the desk is free again.
    Done(Box<(Desk, Done)>),
    /// The thread died of a bug.
    Died,
}

/// Sends reports from a slot to the conductor.
#[derive(Debug, Clone)]
pub(in crate::run) struct Reporter {
    slot: usize,
    /// Put before each line, where there are several slots.
    prefix: String,
    reports: Sender<(usize, Report)>,
}

impl Reporter {
    pub(in crate::run) fn new(
        slot: usize,
        prefix: String,
        reports: Sender<(usize, Report)>,
    ) -> Self {
        Self { slot, prefix, reports }
    }

    /// Sends a report. Nobody listens any more once the run has ended.
    pub(in crate::run) fn send(&self, report: Report) {
        let _ = self.reports.send((self.slot, report));
    }

    pub(in crate::run) fn line(&self, text: impl AsRef<str>) {
        self.toned(Tone::Plain, text);
    }

    pub(in crate::run) fn toned(&self, tone: Tone, text: impl AsRef<str>) {
        self.send(Report::Line(tone, format!("{}{}", self.prefix, text.as_ref())));
    }

    pub(in crate::run) fn warn(&self, text: impl AsRef<str>) {
        self.send(Report::Warning(format!("{}{}", self.prefix, text.as_ref())));
    }

    pub(in crate::run) fn doing(&self, text: &str) {
        self.send(Report::Doing(text.to_owned()));
    }

    pub(in crate::run) fn note(&self, key: &StoryKey, event: Event) {
        self.send(Report::Note(key.clone(), event));
    }
}

/// How checks ended, and what their runners counted, as events.
pub(in crate::run) fn checked<'a>(
    checks: &'a [Check],
    config: &'a Config,
) -> impl Iterator<Item = Event> + 'a {
    checks.iter().map(|check| {
        let counts = check.verdict_of(config).map(|verdict| verdict.counts);
        let counts = counts.filter(|counts| counts.passed + counts.failed > 0);
        Event::Checked {
            check: check.name(),
            ended: check.verdict(),
            passed: counts.map(|counts| counts.passed),
            failed: counts.map(|counts| counts.failed),
            seconds: check.took.as_secs_f64(),
        }
    })
}
