//! The live view's content, laid out for a terminal of any width. Pure.
//!
//! The loop draws it below its lines, and saves it so that `status` can draw the same.

use std::time::Duration;

use camino::Utf8PathBuf;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::width::{columns_of, cut};
use super::{clock, dollars, in_words, printable};

/// Between two parts of a line.
const GAP: &str = "  ";

/// The width from which whole words are used.
const WIDE: usize = 70;

/// The width from which part of the title, and the context in use, are shown.
const ROOMY: usize = 100;

/// The least width of a story's name, and the fraction of the line that it may take.
const NAME: (usize, usize) = (10, 5);

/// The content of the live view.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Scene {
    pub(crate) workers: Vec<Worker>,
    pub(crate) totals: Totals,
}

/// A worker's current state.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Worker {
    /// The worker's number, if there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) worker: Option<String>,
    /// The story's display name; `None` between stories.
    pub(crate) story: Option<String>,
    /// Its title, unless the name is derived from it.
    pub(crate) title: String,
    /// The attempt's number, and the most attempts.
    pub(crate) attempt: u64,
    pub(crate) attempts: u64,
    pub(crate) since: Option<Timestamp>,
    /// The current activity of the agent or the loop, and whether that was refused.
    pub(crate) doing: String,
    pub(crate) is_refused: bool,
    /// The end of a pause.
    pub(crate) until: Option<Timestamp>,
    /// How much of the context is in use, in percent.
    pub(crate) context: Option<u64>,
    /// The agent's log.
    #[serde(skip)]
    pub(crate) log: Option<Utf8PathBuf>,
}

/// The agent's current activity.
#[derive(Debug, Clone, Default)]
pub(crate) struct Glimpse {
    pub(crate) doing: String,
    pub(crate) is_refused: bool,
    /// The cost reported so far, and the session's tokens.
    pub(crate) cost_usd: Option<f64>,
    pub(crate) tokens: u64,
    /// How much of the context is in use, in percent.
    pub(crate) context: Option<u64>,
}

/// The run's totals.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Totals {
    pub(crate) done: usize,
    pub(crate) blocked: usize,
    pub(crate) left: usize,
    pub(crate) cost_usd: f64,
    /// The cost limit; 0 without a limit.
    pub(crate) max_cost_usd: f64,
    /// The average time of a story so far.
    pub(crate) story_s: Option<f64>,
}

impl Scene {
    /// An empty view for this many workers, numbered if there are several.
    pub(super) fn of_workers(workers: u64) -> Self {
        let name = |number: u64| if workers > 1 { Some(number.to_string()) } else { None };
        let all = (1..=workers.max(1)).map(|n| Worker { worker: name(n), ..Worker::default() });
        Self { workers: all.collect(), totals: Totals::default() }
    }

    /// The run's totals as one line that fits the terminal.
    pub(crate) fn totals_line(&self, now: Timestamp, columns: usize) -> String {
        let elapsed = self.workers.first().map(|worker| worker.elapsed(now)).unwrap_or_default();
        let left = self.totals.time_left(elapsed).map(in_words);
        let left = left.map(|left| format!("about {left} left")).unwrap_or_default();
        let short = joined([&*self.totals.counts(), &self.totals.cost()]);
        let long = joined([&*short, &left]);
        cut(if columns_of(&long) <= columns { &long } else { &short }, columns)
    }
}

impl Worker {
    fn elapsed(&self, now: Timestamp) -> Duration {
        let since = self.since.map(|since| now.duration_since(since));
        since.and_then(|since| since.try_into().ok()).unwrap_or_default()
    }

    /// The current state as text.
    pub(crate) fn activity(&self, now: Timestamp) -> String {
        let doing = printable(&self.doing);
        match self.until {
            Some(until) => {
                let left = Duration::try_from(until.duration_since(now)).unwrap_or_default();
                format!("{doing}; continuing in {}", clock(left))
            }
            None if self.is_refused => format!("refused: {doing}"),
            None => doing,
        }
    }

    /// Stable parts come first, so that nothing jumps; the activity gets the remaining width, at
    /// least half of the line.
    pub(crate) fn line(&self, now: Timestamp, columns: usize) -> String {
        let Some(worker) = &self.worker else { return self.own_line(now, columns) };
        let name = format!("{worker}:");
        let rest = columns.saturating_sub(columns_of(&name) + 1);
        cut(&format!("{name} {}", self.own_line(now, rest)), columns)
    }

    fn own_line(&self, now: Timestamp, columns: usize) -> String {
        let Some(story) = &self.story else { return cut(&self.activity(now), columns) };
        let time = clock(self.elapsed(now));
        let attempt = match self.attempts {
            0 => String::new(),
            most if columns < WIDE => format!("{}/{most}", self.attempt),
            most => format!("attempt {} of {most}", self.attempt),
        };
        let room = (columns / NAME.1).max(NAME.0);
        let (name, whole) = (printable(story), printable(&format!("{story} {}", self.title)));
        let has_room = columns >= ROOMY || columns_of(&whole) <= room;
        let name = cut(if has_room { &whole } else { &name }, room);
        let context = if columns >= ROOMY { self.context } else { None };
        let context = context.map(|part| format!("context {part}%")).unwrap_or_default();
        let before = joined([name.trim_end(), &attempt, &time, &context]);
        let rest = columns.saturating_sub(columns_of(&before) + GAP.len());
        cut(&joined([before.as_str(), &cut_activity(&self.activity(now), rest)]), columns)
    }
}

impl Totals {
    /// The numbers of stories done, blocked and left.
    fn counts(&self) -> String {
        let Self { done, blocked, left, .. } = self;
        match blocked {
            0 => format!("{done} done, {left} left"),
            _ => format!("{done} done, {blocked} blocked, {left} left"),
        }
    }

    /// The cost and its limit.
    fn cost(&self) -> String {
        let Self { cost_usd, max_cost_usd, .. } = self;
        match (*cost_usd > 0.0, *max_cost_usd > 0.0) {
            (_, true) => format!("{} of {}", dollars(*cost_usd), dollars(*max_cost_usd)),
            (true, false) => dollars(*cost_usd),
            (false, false) => String::new(),
        }
    }

    /// The time for all remaining stories; part of it has passed for the one in progress.
    fn time_left(&self, elapsed: Duration) -> Option<Duration> {
        let story = Duration::try_from_secs_f64(self.story_s?).ok()?;
        let others = u32::try_from(self.left.checked_sub(1)?).ok()?;
        let left = story.saturating_mul(others) + story.saturating_sub(elapsed);
        Some(left).filter(|left| left.as_secs() > 0)
    }
}

/// The activity in this many columns. The end of a path is more useful than its beginning.
fn cut_activity(activity: &str, columns: usize) -> String {
    let (tool, path) = activity.rsplit_once(": ").unwrap_or_default();
    match path.rsplit_once('/') {
        Some((_, name)) if columns_of(activity) > columns && !path.contains(' ') => {
            cut(&format!("{tool}: …/{name}"), columns)
        }
        _ => cut(activity, columns),
    }
}

fn joined<'a>(parts: impl IntoIterator<Item = &'a str>) -> String {
    let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    parts.join(GAP)
}

#[cfg(test)]
#[path = "scene_tests.rs"]
mod tests;
