//! The journal: an append-only record of every decision, one JSON object per line.

use std::fmt::{self, Debug, Formatter};
use std::io;
use std::sync::Arc;

use camino::Utf8PathBuf;

use super::write;
use super::{Event, Id, Record, StateDir, tail};
use crate::secrets::mask_json;

/// The version of the line format.
const VERSION: u32 = 1;

/// The most bytes that are read from the end of the journal.
const MOST_READ: u64 = 16 * 1024 * 1024;

/// A journal and the program that writes to it.
#[derive(Debug, Clone)]
pub struct Journal {
    path: Utf8PathBuf,
    source: String,
    marks: Marks,
    echo: Option<Echo>,
}

/// A function that is called with each line of a journal.
#[derive(Clone)]
pub struct Echo(Arc<Tell>);

type Tell = dyn Fn(&[u8]) + Send + Sync;

impl Echo {
    /// Returns an echo that calls `tell`.
    pub fn new(tell: impl Fn(&[u8]) + Send + Sync + 'static) -> Self {
        Self(Arc::new(tell))
    }
}

impl Debug for Echo {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("Echo")
    }
}

/// The session, run and story that a line belongs to, as far as they are known.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Marks {
    /// The client session.
    pub session: Option<String>,
    /// The loop's run.
    pub run: Option<String>,
    /// The name of the story's plan.
    pub plan_name: Option<String>,
    /// The current story.
    pub story: Option<String>,
}

impl Journal {
    /// Returns the journal of a state folder, written to as `source`.
    pub fn new(state: &StateDir, source: &str) -> Self {
        let (path, source) = (state.journal(), source.to_owned());
        Self { path, source, marks: Marks::default(), echo: None }
    }

    /// Returns the journal with `marks` on each of its lines.
    #[must_use]
    pub fn marked(self, marks: Marks) -> Self {
        Self { marks, ..self }
    }

    /// Returns the journal with each of its lines also passed to `echo`, if there is one.
    #[must_use]
    pub fn echoed(self, echo: Option<Echo>) -> Self {
        Self { echo, ..self }
    }

    /// Appends one event.
    pub fn append(&self, event: &Event) -> io::Result<()> {
        self.write(&self.record_as_it_is(event))
    }

    /// Appends one line.
    pub fn write(&self, record: &Record) -> io::Result<()> {
        let line = self.line(record)?;
        write::append_line(&self.path, line.as_bytes())
    }

    /// Passes one event to `echo` only, without writing it to the journal.
    pub fn tell(&self, event: &Event) -> io::Result<()> {
        self.line(&self.record_as_it_is(event)).map(drop)
    }

    /// Returns a record as a line with every secret masked, and passes it to `echo`.
    fn line(&self, record: &Record) -> io::Result<String> {
        let line = mask_json(&serde_json::to_string(record)?);
        if let Some(Echo(tell)) = &self.echo {
            tell(line.as_bytes());
        }
        Ok(line)
    }

    /// Returns the record of an event that happens now, with every secret masked.
    pub fn record(&self, event: &Event) -> Record {
        let record = self.record_as_it_is(event);
        let masked = serde_json::to_string(&record).map(|line| mask_json(&line));
        masked.and_then(|line| serde_json::from_str(&line)).unwrap_or(record)
    }

    fn record_as_it_is(&self, event: &Event) -> Record {
        let (run, worker) = self.marks.run.as_deref().map_or((None, None), |name| {
            let (run, worker) = run_and_worker(name);
            (Some(run.to_owned()), worker.map(str::to_owned))
        });
        Record {
            v: VERSION,
            at: now(),
            source: self.source.clone(),
            session: self.marks.session.clone(),
            run,
            worker,
            plan_name: self.marks.plan_name.clone(),
            story: self.marks.story.clone(),
            event: event.clone(),
        }
    }

    /// Returns the last `count` lines that can be read, oldest first; torn lines are skipped.
    pub fn tail(&self, count: usize) -> io::Result<Vec<Record>> {
        let end = tail(&self.path, MOST_READ)?;
        let newest = end.lines().rev().filter_map(|line| serde_json::from_slice(line).ok());
        let mut records: Vec<Record> = newest.take(count).collect();
        records.reverse();
        Ok(records)
    }
}

/// Returns the name of one of several workers of a run: `<run>.<worker>`.
pub fn name_of_worker(run: &str, worker: &Id) -> String {
    format!("{run}.{}", worker.as_str())
}

/// Splits such a name into the run and the worker's number; `None` if the run has only one worker.
pub fn run_and_worker(name: &str) -> (&str, Option<&str>) {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match name.rsplit_once('.') {
        Some((run, worker)) if is_number(worker) => (run, Some(worker)),
        _ => (name, None),
    }
}

/// Returns the current time as RFC 3339 in UTC with milliseconds, so that strings sort by time.
pub fn now() -> String {
    format!("{:.3}", jiff::Timestamp::now())
}

/// Returns the current time for use in a name: `20261116-101500-123`.
pub fn stamp() -> String {
    let digits = now().replace(['-', ':', 'Z'], "");
    digits.replace(['T', '.'], "-")
}

#[cfg(test)]
mod tests {
    use test_support::Scratch;

    use super::*;

    #[test]
    fn a_worker_is_named_after_its_run() {
        let name = name_of_worker("20261116-101500-7", &Id::parse("2").unwrap());
        assert_eq!(run_and_worker(&name), ("20261116-101500-7", Some("2")));
        assert_eq!(run_and_worker("20261116-101500-7"), ("20261116-101500-7", None));
        assert_eq!(run_and_worker("mine.v"), ("mine.v", None));
    }

    fn journal(scratch: &Scratch) -> Journal {
        Journal::new(&StateDir::of_project(scratch.root()), "ralph-test")
    }

    #[test]
    fn a_line_has_the_documented_fields() {
        let scratch = Scratch::new();
        let journal = journal(&scratch).marked(Marks {
            session: Some("s1".into()),
            run: Some("r1".into()),
            story: Some("US-001".into()),
            ..Marks::default()
        });
        let denied = Event::Denied {
            rule: "git-push".into(),
            tool: "Bash".into(),
            target: "git push".into(),
            asked: false,
        };
        journal.append(&denied).unwrap();
        let line = scratch.read(".ralph/events.jsonl");
        let at = journal.tail(1).unwrap()[0].at.clone();
        assert_eq!(
            line,
            format!(
                "{{\"v\":1,\"at\":\"{at}\",\"source\":\"ralph-test\",\"session\":\"s1\",\"run\":\"r1\",\"story\":\"US-001\",\
                 \"event\":\"denied\",\"rule\":\"git-push\",\"tool\":\"Bash\",\"target\":\"git push\"}}\n"
            )
        );
        assert!(at.ends_with('Z') && at.parse::<jiff::Timestamp>().is_ok(), "{at}");
    }

    #[test]
    fn torn_and_newer_lines_do_not_hide_the_others() {
        let scratch = Scratch::new();
        let newer =
            r#"{"v":9,"at":"2030-01-01T00:00:00Z","source":"x","event":"teleported","to":1}"#;
        scratch.file(".ralph/events.jsonl", format!("{newer}\n{{\"v\":1,\"at\":"));
        let journal = journal(&scratch);
        let done = Event::StoryDone { scale: None };
        journal.append(&done).unwrap();
        let records = journal.tail(10).unwrap();
        let events: Vec<&Event> = records.iter().map(|record| &record.event).collect();
        assert_eq!(events, [&Event::Other, &done]);
    }
}
