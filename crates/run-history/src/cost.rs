//! What a run cost, story by story. Pure.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use super::text::{line, time};
use crate::history::{PastAttempt, PastRun};
use crate::terminal::{counted, dollars};

/// What a story cost.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct Cost {
    pub(crate) story: String,
    pub(crate) all: String,
    pub(crate) failed: String,
}

/// What some attempts cost.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct CostSum {
    /// As far as it is known; none if nothing is.
    pub(super) cost_usd: Option<f64>,
    pub(super) tokens: u64,
    /// Attempts of which it is not known.
    unknown: usize,
}

impl CostSum {
    /// Of a whole run.
    pub(super) fn of_run(run: &PastRun) -> Self {
        Self::of(&run.attempts, price(run))
    }

    /// Of some attempts of a run, in which a token cost so much. One that was killed before it said
    /// what it cost is priced by its tokens.
    pub(super) fn of<'a>(
        attempts: impl IntoIterator<Item = &'a PastAttempt>,
        price: Option<f64>,
    ) -> Self {
        let mut spent = Self::default();
        for attempt in attempts {
            let priced = || Some(price? * attempt.tokens? as f64);
            match attempt.cost_usd.or_else(priced) {
                Some(cost) => *spent.cost_usd.get_or_insert_default() += cost,
                None if attempt.outcome.is_empty() => {}
                None => spent.unknown += 1,
            }
            spent.tokens += attempt.tokens.unwrap_or(0);
        }
        spent
    }
}

impl fmt::Display for CostSum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.cost_usd, self.unknown) {
            (None, 0) => write!(f, "{}", dollars(0.0)),
            (cost @ Some(_), 1..) => {
                let unknown = counted(self.unknown, "attempt", "attempts");
                write!(f, "{} and {unknown} of unknown cost", money(cost))
            }
            (cost, _) => write!(f, "{}", money(cost)),
        }
    }
}

/// The price of a token, by the attempts that say what they cost.
pub(super) fn price(run: &PastRun) -> Option<f64> {
    let (mut cost, mut tokens) = (0.0, 0);
    for attempt in &run.attempts {
        if let (Some(more), Some(used)) = (attempt.cost_usd, attempt.tokens) {
            cost += more;
            tokens += used;
        }
    }
    if tokens > 0 { Some(cost / tokens as f64) } else { None }
}

pub(super) fn is_failed(attempt: &PastAttempt) -> bool {
    attempt.outcome != "success" && !attempt.outcome.is_empty()
}

/// The attempts at each story.
pub(super) type ByStory<'a> = BTreeMap<&'a str, Vec<&'a PastAttempt>>;

pub(super) fn by_story(run: &PastRun) -> ByStory<'_> {
    let mut found = ByStory::new();
    for attempt in &run.attempts {
        found.entry(&attempt.story).or_default().push(attempt);
    }
    found
}

pub(super) fn costs(run: &PastRun) -> Vec<Cost> {
    let (price, mut left) = (price(run), by_story(run));
    let stories = run.attempts.iter().map(|attempt| attempt.story.as_str());
    // In the order in which they were begun, each once.
    let stories = stories.filter_map(|story| Some((story, left.remove(story)?)));
    let of = |(story, all): (&str, Vec<&PastAttempt>)| Cost {
        story: line(story),
        failed: CostSum::of(all.iter().copied().filter(|one| is_failed(one)), price).to_string(),
        all: CostSum::of(all, price).to_string(),
    };
    stories.filter(|(story, _)| !story.is_empty()).map(of).collect()
}

pub(super) fn forecast(run: &PastRun, done: usize) -> Vec<String> {
    let Some(expected) = &run.forecast else { return Vec::new() };
    let cost = CostSum::of_run(run);
    let took: f64 = run.attempts.iter().map(|attempt| attempt.duration_s).sum();
    let expected_time = expected.seconds.map_or_else(|| "unknown".to_owned(), time);
    vec![
        format!("stories: {} expected, {done} done", expected.stories),
        format!("agent time: {expected_time} expected, {} taken", time(took)),
        format!("cost: {} expected, {} spent", money(expected.cost_usd), cost),
    ]
}

/// What something cost, where that is known.
pub(super) fn money(cost: Option<f64>) -> String {
    cost.map_or_else(|| "unknown".to_owned(), dollars)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(attempts: &[(&str, Option<u64>, Option<f64>)]) -> String {
        let attempt = |(outcome, tokens, cost_usd): &(&str, Option<u64>, Option<f64>)| {
            let (outcome, tokens, cost_usd) = ((*outcome).to_owned(), *tokens, *cost_usd);
            PastAttempt { outcome, tokens, cost_usd, ..PastAttempt::default() }
        };
        let attempts = attempts.iter().map(attempt).collect();
        CostSum::of_run(&PastRun { attempts, ..PastRun::default() }).to_string()
    }

    #[test]
    fn what_is_not_known_is_priced_by_its_tokens_or_called_unknown() {
        let known = ("success", Some(1000), Some(0.5));
        assert_eq!(told(&[]), "$0.00");
        assert_eq!(told(&[("failed", None, None)]), "unknown");
        assert_eq!(told(&[("timeout", Some(10), None)]), "unknown");
        assert_eq!(told(&[known, ("timeout", Some(2000), None)]), "$1.50");
        assert_eq!(told(&[known, ("failed", None, None)]), "$0.50 and 1 attempt of unknown cost");
        assert_eq!(told(&[known, ("", None, None)]), "$0.50", "under way");
    }
}
