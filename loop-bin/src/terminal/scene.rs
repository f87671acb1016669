//! What goes on now and where the run stands, laid out for a terminal of any width. Pure.
//!
//! The loop draws it below its lines, and writes it down so that `status` can draw the same.

use std::time::Duration;

use jiff::Timestamp;
use ralph_base::state::RunDir;
use serde::{Deserialize, Serialize};

use super::width::{columns_of, cut};
use super::{clock, dollars, in_words, printable, thousands};

/// Between two parts of a line.
const GAP: &str = "  ";

/// The least and the most columns that are kept for what the agent does.
const ACTIVITY: (usize, usize) = (16, 100);

/// A title that is cut shorter than this says nothing.
const LEAST_TITLE: usize = 12;

/// A name that is longer makes room for the number of the attempt.
const LEAST_NAME: usize = 10;

/// From so many columns on there is room for a bar.
const BAR: (usize, usize) = (100, 20);

/// What goes on now, and where the run stands.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Scene {
    pub(crate) worker: Worker,
    /// The other workers, where there are several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) others: Vec<Worker>,
    pub(crate) totals: Totals,
}

/// What goes on now.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Worker {
    /// Which one, where there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) worker: Option<String>,
    /// The story, as it is called in a line; none between two of them.
    pub(crate) story: Option<String>,
    /// Its title, where the name is not made from it.
    pub(crate) title: String,
    /// Which attempt it is, and how many there may be.
    pub(crate) attempt: u64,
    pub(crate) attempts: u64,
    pub(crate) since: Option<Timestamp>,
    /// What the agent or the loop does now, and whether that was refused.
    pub(crate) doing: String,
    pub(crate) is_refused: bool,
    /// The end of a wait.
    pub(crate) until: Option<Timestamp>,
    pub(crate) tokens: u64,
    /// How much of the context is in use, in percent.
    pub(crate) context: Option<u64>,
}

/// What an agent does now.
#[derive(Debug, Clone, Default)]
pub(crate) struct Glimpse {
    pub(crate) doing: String,
    pub(crate) is_refused: bool,
    /// The cost that it has reported, and the tokens of its session.
    pub(crate) cost_usd: Option<f64>,
    pub(crate) tokens: u64,
    /// How much of the context is in use, in percent.
    pub(crate) context: Option<u64>,
}

/// Where the run stands.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Totals {
    pub(crate) done: usize,
    pub(crate) blocked: usize,
    pub(crate) left: usize,
    pub(crate) cost_usd: f64,
    /// What the run may cost; 0 without a limit.
    pub(crate) max_cost_usd: f64,
    /// What a story takes, going by earlier ones.
    pub(crate) story_s: Option<f64>,
}

impl Scene {
    /// One with so many workers, named where there are several.
    pub(super) fn of_workers(workers: u64) -> Self {
        let name = |number: u64| if workers > 1 { Some(number.to_string()) } else { None };
        let mut all = (1..=workers.max(1)).map(|n| Worker { worker: name(n), ..Worker::default() });
        Self { worker: all.next().unwrap_or_default(), others: all.collect(), ..Self::default() }
    }

    /// The worker of a slot.
    pub(super) fn at(&mut self, slot: usize) -> &mut Worker {
        match slot.checked_sub(1) {
            Some(at) => self.others.get_mut(at).unwrap_or(&mut self.worker),
            None => &mut self.worker,
        }
    }

    /// What the loop of a project shows now; none if that cannot be read.
    pub(crate) fn load(run_dir: &RunDir) -> Option<Self> {
        serde_json::from_slice(&fs_err::read(run_dir.live()).ok()?).ok()
    }

    /// The lines, none longer than the terminal is wide: one for each worker, and the run's.
    pub(crate) fn lines(&self, now: Timestamp, columns: usize) -> Vec<String> {
        let workers = self.all().map(|worker| worker.line(now, columns));
        let totals = self.totals.line(self.worker.elapsed(now), columns);
        workers.chain([totals]).collect()
    }

    /// All workers.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Worker> {
        [&self.worker].into_iter().chain(&self.others)
    }

    /// What the window of the terminal is called meanwhile.
    pub(crate) fn title(&self) -> String {
        let Totals { done, blocked, left, .. } = self.totals;
        let story = self.worker.story.as_deref().unwrap_or("ralph");
        printable(&format!("{story} ({done}/{})", done + blocked + left))
    }
}

impl Worker {
    fn elapsed(&self, now: Timestamp) -> Duration {
        let since = self.since.map(|since| now.duration_since(since));
        since.and_then(|since| since.try_into().ok()).unwrap_or_default()
    }

    /// What goes on, in words.
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

    /// What stays the same comes first, so that nothing jumps; what the agent does gets all the rest,
    /// and never less than half of the line.
    fn line(&self, now: Timestamp, columns: usize) -> String {
        let Some(worker) = &self.worker else { return self.own_line(now, columns) };
        let name = format!("{worker}:");
        let rest = columns.saturating_sub(columns_of(&name) + 1);
        cut(&format!("{name} {}", self.own_line(now, rest)), columns)
    }

    fn own_line(&self, now: Timestamp, columns: usize) -> String {
        let Some(story) = &self.story else { return cut(&self.activity(now), columns) };
        let room = columns.saturating_sub((columns * 11 / 20).clamp(ACTIVITY.0, ACTIVITY.1));
        let time = clock(self.elapsed(now));
        let ways = [
            format!("{}/{}", self.attempt, self.attempts),
            format!("attempt {} of {}", self.attempt, self.attempts),
        ];
        let beside = room.saturating_sub(columns_of(&time) + GAP.len() * 2);
        let name_room = beside.saturating_sub(ways[0].len() + GAP.len()).max(LEAST_NAME);
        let mut name = cut(&printable(story), name_room.min(beside));
        let mut attempt = String::new();
        let mut figures = Vec::new();
        let used = |name: &str, attempt: &str, figures: &[String]| {
            let parts = [name, attempt, &time].into_iter();
            columns_of(&joined(parts.chain(figures.iter().map(String::as_str)))) + GAP.len()
        };
        for way in ways.into_iter().filter(|_| self.attempts > 0) {
            if used(&name, &way, &figures) <= room {
                attempt = way;
            }
        }
        let title = printable(&self.title);
        let free = room.saturating_sub(used(&name, &attempt, &figures) + 1);
        if !title.is_empty() && free >= LEAST_TITLE.min(columns_of(&title)) {
            name = format!("{name} {}", cut(&title, free));
        }
        let context = self.context.map(|part| format!("context {part}%"));
        let tokens = Some(self.tokens).filter(|tokens| *tokens > 0);
        let tokens = tokens.map(|tokens| format!("{} tokens", thousands(tokens)));
        for figure in [context, tokens].into_iter().flatten() {
            figures.push(figure);
            if used(&name, &attempt, &figures) > room {
                figures.pop();
            }
        }
        let figures = joined(figures.iter().map(String::as_str));
        let before = joined([name.as_str(), &attempt, &time, &figures]);
        let rest = columns.saturating_sub(columns_of(&before) + GAP.len());
        cut(&joined([before.as_str(), &cut_activity(&self.activity(now), rest)]), columns)
    }
}

impl Totals {
    fn line(&self, elapsed: Duration, columns: usize) -> String {
        let left = self.time_left(elapsed).map(in_words);
        let spent = if self.cost_usd > 0.0 { dollars(self.cost_usd) } else { String::new() };
        let ways = [
            vec![self.counts()],
            vec![self.cost(), spent],
            left.map_or_else(Vec::new, |left| {
                vec![format!("about {left} left"), format!("~{left}")]
            }),
        ];
        let mut parts: Vec<String> = Vec::new();
        for ways in ways {
            let fits = |way: &String| {
                let line = joined(parts.iter().chain([way]).map(String::as_str));
                columns_of(&line) <= columns
            };
            let way = ways.into_iter().find(fits);
            parts.extend(way);
        }
        if columns >= BAR.0 {
            parts.insert(0, self.bar());
        }
        cut(&joined(parts.iter().map(String::as_str)), columns)
    }

    /// How many stories are done, blocked and left.
    fn counts(&self) -> String {
        let Self { done, blocked, left, .. } = self;
        match blocked {
            0 => format!("{done} done, {left} left"),
            _ => format!("{done} done, {blocked} blocked, {left} left"),
        }
    }

    /// What was spent, and the limit of it.
    fn cost(&self) -> String {
        let Self { cost_usd, max_cost_usd, .. } = self;
        match (*cost_usd > 0.0, *max_cost_usd > 0.0) {
            (_, true) => format!("{} of {}", dollars(*cost_usd), dollars(*max_cost_usd)),
            (true, false) => dollars(*cost_usd),
            (false, false) => String::new(),
        }
    }

    /// For all stories that are left; the one under way has taken its part already.
    fn time_left(&self, elapsed: Duration) -> Option<Duration> {
        let story = Duration::try_from_secs_f64(self.story_s?).ok()?;
        let others = u32::try_from(self.left.checked_sub(1)?).ok()?;
        let left = story.saturating_mul(others) + story.saturating_sub(elapsed);
        Some(left).filter(|left| left.as_secs() > 0)
    }

    fn bar(&self) -> String {
        let all = (self.done + self.blocked + self.left).max(1);
        let full = self.done * BAR.1 / all;
        format!("[{}{}]", "=".repeat(full), " ".repeat(BAR.1 - full))
    }
}

/// What the agent does, in so many columns. The end of a path says more than its beginning.
fn cut_activity(activity: &str, columns: usize) -> String {
    let path =
        activity.rsplit(": ").next().filter(|path| path.contains('/') && !path.contains(' '));
    let (Some(path), true) = (path, columns_of(activity) > columns) else {
        return cut(activity, columns);
    };
    let tool = activity.strip_suffix(path).unwrap_or_default();
    let mut kept = path;
    while columns_of(tool) + columns_of(kept) + 2 > columns {
        let Some((_, rest)) = kept.split_once('/') else {
            return cut(&format!("{tool}{kept}"), columns);
        };
        kept = rest;
    }
    format!("{tool}…/{kept}")
}

fn joined<'a>(parts: impl IntoIterator<Item = &'a str>) -> String {
    let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    parts.join(GAP)
}

#[cfg(test)]
#[path = "scene_tests.rs"]
mod tests;
