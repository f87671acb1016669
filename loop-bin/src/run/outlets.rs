//! What a run shows and writes down: the view, the journal, and its record.

use ralph_base::fault;
use ralph_base::state::{Event, StoryKey};

use super::attempt::Report;
use super::state::Conductor;
use crate::terminal::Tone;

impl Conductor {
    /// Shows what an attempt reports while it runs.
    pub(super) fn show(&mut self, slot: usize, report: Report) {
        match report {
            Report::Line(tone, text) => self.view.toned(tone, text),
            Report::Warning(text) => self.view.warn(text),
            Report::Doing(text) => self.view.doing(slot, &text),
            Report::Glimpse(seen) => {
                if let Some(slot) = self.slots.get_mut(slot) {
                    slot.running = (seen.cost_usd, seen.tokens);
                }
                let running = self.slots.iter().map(|slot| slot.running);
                let cost = self.record.tally.cost_so_far(running);
                self.view.glimpse(slot, &seen, cost);
            }
            Report::Note(key, event) => self.note_in(slot, Some(&key), &event),
            Report::Event(key, event) => {
                let _ = self.context.journal(self.name_of(slot), Some(&key)).tell(&event);
            }
            Report::Stopping => self.save(),
            Report::Done(_) | Report::Died => {}
        }
    }

    /// Shows what was reported so far by steps that run on this thread.
    pub(super) fn show_reports(&mut self) {
        while let Ok((slot, report)) = self.reports.1.try_recv() {
            self.show(slot, report);
        }
    }

    /// Writes an event of a story down, marked with its slot. A journal that cannot be written does not end
    /// the run.
    pub(super) fn note_in(&self, slot: usize, key: Option<&StoryKey>, event: &Event) {
        self.append(self.name_of(slot), key, event);
    }

    /// Writes an event down that is no slot's.
    pub(super) fn note(&self, key: Option<&StoryKey>, event: &Event) {
        self.append(&self.context.run, key, event);
    }

    fn append(&self, name: &str, key: Option<&StoryKey>, event: &Event) {
        let journal = self.context.journal(name, key);
        let record = journal.record(event);
        if let Err(error) = journal.write(&record) {
            self.view.warn(error.to_string());
        }
        self.history.borrow_mut().take(&record);
        self.show_counts();
    }

    /// Shows where the run stands by all that happened so far.
    pub(super) fn show_counts(&self) {
        let mut history = self.history.borrow_mut();
        // A journal that cannot be read is reported where it is written.
        let _ = history.read_on();
        if history.last().is_some() && history.has_plans() {
            let running = self.slots.iter().map(|slot| slot.running);
            let cost = self.record.tally.cost_so_far(running);
            self.view.counts(history.counts(), cost);
        }
    }

    /// Shows a line about a slot's story.
    pub(super) fn line(&self, slot: usize, text: impl AsRef<str>) {
        self.toned(slot, Tone::Plain, text);
    }

    /// The same in a colour.
    pub(super) fn toned(&self, slot: usize, tone: Tone, text: impl AsRef<str>) {
        let prefix = self.slots.get(slot).map_or("", |slot| &slot.prefix);
        self.view.toned(tone, format!("{prefix}{}", text.as_ref()));
    }

    /// Writes down where the run stands. A full disk does not end it.
    pub(super) fn save(&mut self) {
        self.record.process.elapsed_s = self.context.elapsed().as_secs_f64();
        self.record.process.interrupted = self.context.is_interrupted();
        for slot in &self.slots {
            let record = self.record.slots.entry(slot.name.clone()).or_default();
            let work = slot.work.as_ref().filter(|work| !work.key.story.is_empty());
            record.story = work.map(|work| work.key.clone());
            let discarding = slot.work.as_ref().and_then(|work| work.discarding.as_ref());
            record.discarding = discarding.map(|(kept, _)| kept.clone());
        }
        if let Err(error) = self.record.save(&self.context.run_dir) {
            self.view.warn(format!("the run record could not be written: {error}"));
        }
        fault::point("loop.step-saved");
    }
}
