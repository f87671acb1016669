//! The cost of attempts, and estimates of the time and cost of a run from earlier stories of the
//! project.

use std::collections::BTreeMap;
use std::fmt;

use ralph_base::state::StoryKey;
use serde::Serialize;

use crate::run::{Attempt, Run};
use crate::words::{counted, dollars, thousands, time};

/// How many of the newest stories are used: older ones are poor evidence.
const NEWEST: usize = 30;

/// The estimate for a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Forecast {
    /// Stories that can be worked on.
    pub stories: usize,
    /// The number of earlier stories that it is based on.
    pub based_on: usize,
    /// The time of all attempts at these stories.
    pub seconds: Option<f64>,
    /// The cost of all attempts at these stories.
    pub cost_usd: Option<f64>,
}

impl Forecast {
    /// Estimates one story from all attempts at each of the newest stories.
    pub(crate) fn from_runs(runs: &[Run]) -> Self {
        let mut by_story: BTreeMap<&StoryKey, Vec<&Attempt>> = BTreeMap::new();
        let mut order = Vec::new();
        for attempt in runs.iter().flat_map(|run| &run.attempts) {
            by_story.entry(&attempt.key).or_default().push(attempt);
            // An interrupted attempt is no evidence about its story.
            let has_ended = !["", "interrupted"].contains(&attempt.outcome.as_str());
            if has_ended && !order.contains(&&attempt.key) {
                order.push(&attempt.key);
            }
        }
        let newest: Vec<&StoryKey> = order.into_iter().rev().take(NEWEST).collect();
        let all = || newest.iter().filter_map(|key| by_story.get(*key));
        let cost = |attempts: &Vec<&Attempt>| CostSum::of(attempts.iter().copied(), None).cost_usd;
        let seconds = |attempts: &Vec<&Attempt>| attempts.iter().map(|one| one.duration_s).sum();
        Self {
            stories: 1,
            based_on: newest.len(),
            seconds: mean(all().map(seconds).collect()),
            cost_usd: mean(all().filter_map(cost).collect()),
        }
    }

    /// Scales the estimate to a number of stories.
    #[must_use]
    pub fn of_stories(&self, stories: usize) -> Self {
        let times = |value: f64| value * stories as f64;
        let (seconds, cost_usd) = (self.seconds.map(times), self.cost_usd.map(times));
        Self { stories, based_on: self.based_on, seconds, cost_usd }
    }

    /// Returns the time in words.
    pub(crate) fn time(&self) -> String {
        self.seconds.map_or_else(|| "unknown".to_owned(), time)
    }

    /// Returns the cost in words.
    pub(crate) fn cost(&self) -> String {
        self.cost_usd.map_or_else(|| "unknown".to_owned(), dollars)
    }

    /// Returns the estimate in one line, with the cost limit of the run if there is one.
    pub fn line(&self, max_cost_usd: f64) -> String {
        let stories = counted(self.stories, "story", "stories");
        let limit = match max_cost_usd {
            most if most > 0.0 => format!("; the run stops at ${most:.2}"),
            _ => String::new(),
        };
        let Some(seconds) = self.seconds else {
            return format!("forecast: {stories}; no earlier story here to estimate from{limit}");
        };
        let cost = match self.cost_usd {
            Some(cost) => format!(" and ${cost:.2}"),
            None => ", cost unknown".to_owned(),
        };
        let base = counted(self.based_on, "earlier story", "earlier stories");
        format!("forecast: {stories}, about {}{cost}, going by {base} here{limit}", time(seconds))
    }
}

fn mean(values: Vec<f64>) -> Option<f64> {
    let count = values.len();
    (count > 0).then(|| values.iter().sum::<f64>() / count as f64)
}

/// The total cost of some attempts.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CostSum {
    /// The known part of the cost; `None` if nothing is known.
    pub cost_usd: Option<f64>,
    /// All tokens.
    pub tokens: u64,
    /// The agents' time.
    pub(crate) seconds: f64,
    /// Attempts of unknown cost.
    unknown: usize,
}

impl CostSum {
    /// Sums up attempts. One that was killed before it reported its cost is priced by its tokens,
    /// at `price` for each.
    pub(crate) fn of<'a>(
        attempts: impl IntoIterator<Item = &'a Attempt>,
        price: Option<f64>,
    ) -> Self {
        let (mut sum, mut count) = (Self::default(), 0);
        for attempt in attempts {
            count += 1;
            let tokens = attempt.tokens.unwrap_or(0);
            let priced = || price.filter(|_| tokens > 0).map(|price| price * tokens as f64);
            match attempt.cost_usd.or_else(priced) {
                Some(cost) => *sum.cost_usd.get_or_insert_default() += cost,
                None => sum.unknown += usize::from(!attempt.outcome.is_empty()),
            }
            sum.tokens += tokens;
            sum.seconds += attempt.duration_s;
        }
        if sum.cost_usd.is_none() && count > 0 {
            // Also while the first attempt is running.
            sum.unknown = sum.unknown.max(1);
        }
        sum
    }

    /// Returns the tokens, if any were reported, and the cost.
    pub fn with_tokens(&self) -> String {
        match self.tokens {
            0 => self.to_string(),
            tokens => format!("{} tokens, {self}", thousands(tokens)),
        }
    }

    /// Returns the cost in short form, with `≥` if some of it is unknown.
    pub(crate) fn short(&self) -> String {
        match (self.cost_usd, self.unknown) {
            (None, 1..) => "unknown".to_owned(),
            (cost, 0) => dollars(cost.unwrap_or(0.0)),
            (Some(cost), _) => format!("≥ {}", dollars(cost)),
        }
    }

    /// Returns time, tokens and cost.
    pub fn receipt(&self) -> String {
        format!("{} agent time, {}", time(self.seconds), self.with_tokens())
    }
}

impl fmt::Display for CostSum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.cost_usd, self.unknown) {
            (Some(cost), unknown @ 1..) => {
                let unknown = counted(unknown, "attempt", "attempts");
                write!(f, "{} and {unknown} of unknown cost", dollars(cost))
            }
            (None, 1..) => write!(f, "cost unknown"),
            _ => write!(f, "{}", self.short()),
        }
    }
}

/// Returns the price of a token according to the attempts that reported their cost.
pub(crate) fn price(runs: &[Run]) -> Option<f64> {
    let attempts = runs.iter().flat_map(|run| &run.attempts);
    let priced = attempts.filter_map(|attempt| attempt.cost_usd.zip(attempt.tokens));
    let (cost, tokens) =
        priced.fold((0.0, 0), |(cost, tokens), (more, used)| (cost + more, tokens + used));
    if tokens > 0 { Some(cost / tokens as f64) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failed_attempts_and_blocked_stories_count_too() {
        let attempt = |story: &str, outcome: &str, duration_s, cost_usd| {
            let (key, outcome) = (StoryKey::new("PRD-1", story), outcome.to_owned());
            Attempt { key, outcome, duration_s, cost_usd, ..Attempt::default() }
        };
        let attempts = vec![
            attempt("A", "failed", 100.0, Some(0.5)),
            attempt("A", "success", 200.0, Some(0.5)),
            attempt("B", "success", 100.0, None),
            attempt("C", "failed", 200.0, Some(3.0)),
            attempt("D", "interrupted", 0.0, None),
            attempt("E", "", 0.0, None),
        ];
        let runs = [Run { attempts, ..Run::default() }];
        let forecast = Forecast::from_runs(&runs).of_stories(6);
        let line = "forecast: 6 stories, about 20 m and $12.00, going by 3 earlier stories here; \
                    the run stops at $5.00";
        assert_eq!(forecast.line(5.0), line);
        let forecast = Forecast::from_runs(&[]);
        assert_eq!(forecast.line(0.0), "forecast: 1 story; no earlier story here to estimate from");
    }

    #[test]
    fn unknown_costs_are_estimated_from_tokens_or_shown_as_unknown() {
        let shown = |attempts: &[(&str, Option<u64>, Option<f64>)]| {
            let attempt = |(outcome, tokens, cost_usd): &(&str, Option<u64>, Option<f64>)| {
                let (outcome, tokens, cost_usd) = ((*outcome).to_owned(), *tokens, *cost_usd);
                Attempt { outcome, tokens, cost_usd, ..Attempt::default() }
            };
            let run = Run { attempts: attempts.iter().map(attempt).collect(), ..Run::default() };
            let price = price(std::slice::from_ref(&run));
            CostSum::of(&run.attempts, price).receipt() + "\n"
        };
        let known = ("success", Some(1000), Some(0.5));
        let cases = [
            vec![],
            vec![("failed", None, None)],
            vec![("timeout", Some(10), None)],
            vec![known, ("timeout", Some(2000), None)],
            vec![known, ("failed", None, None)],
            // The second attempt is still running.
            vec![known, ("", None, None)],
            vec![("", None, None)],
        ];
        let all: String = cases.iter().map(|attempts| shown(attempts)).collect();
        insta::assert_snapshot!(all, @r"
        0 s agent time, $0.00
        0 s agent time, cost unknown
        0 s agent time, 10 tokens, cost unknown
        0 s agent time, 3000 tokens, $1.50
        0 s agent time, 1000 tokens, $0.50 and 1 attempt of unknown cost
        0 s agent time, 1000 tokens, $0.50
        0 s agent time, cost unknown
        ");
    }
}
