//! What a run is likely to take and to cost, from what earlier stories of the project did. Pure.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::history::{Forecast, PastRun};
use crate::terminal::{counted, in_words};

/// How many of the newest stories are looked at: what was long ago says little.
const NEWEST: usize = 30;

/// How the journal calls an attempt that was not left to end; one whose loop was killed has no word.
const INTERRUPTED: &str = "interrupted";
const NOT_ENDED: &str = "";

/// All attempts at one story, whichever runs they were made in.
#[derive(Debug, Clone, Copy, Default)]
struct Effort {
    seconds: f64,
    cost_usd: Option<f64>,
    /// Whether one of them ended by itself.
    has_ended: bool,
}

/// For one story, from what was.
pub(crate) fn from(runs: &[PastRun]) -> Forecast {
    let mut efforts: BTreeMap<&str, Effort> = BTreeMap::new();
    let mut order = Vec::new();
    for attempt in runs.iter().flat_map(|run| &run.attempts) {
        let effort = efforts.entry(&attempt.story).or_default();
        effort.seconds += attempt.duration_s;
        if let Some(cost) = attempt.cost_usd {
            effort.cost_usd = Some(effort.cost_usd.unwrap_or(0.0) + cost);
        }
        if !effort.has_ended && ![NOT_ENDED, INTERRUPTED].contains(&attempt.outcome.as_str()) {
            effort.has_ended = true;
            order.push(attempt.story.as_str());
        }
    }
    let newest = order.iter().rev().take(NEWEST);
    let past: Vec<&Effort> = newest.filter_map(|story| efforts.get(story)).collect();
    let mean = |values: Vec<f64>| {
        let count = values.len();
        (count > 0).then(|| values.iter().sum::<f64>() / count as f64)
    };
    Forecast {
        stories: 1,
        based_on: past.len(),
        seconds: mean(past.iter().map(|effort| effort.seconds).collect()),
        cost_usd: mean(past.iter().filter_map(|effort| effort.cost_usd).collect()),
    }
}

/// The same for so many stories.
pub(crate) fn of_stories(stories: usize, one: &Forecast) -> Forecast {
    let times = |value: f64| value * stories as f64;
    let (seconds, cost_usd) = (one.seconds.map(times), one.cost_usd.map(times));
    Forecast { stories, based_on: one.based_on, seconds, cost_usd }
}

/// In one line, with the limit of the run where there is one.
pub(crate) fn told(forecast: &Forecast, max_cost_usd: f64) -> String {
    let stories = counted(forecast.stories, "story", "stories");
    let limit = match max_cost_usd {
        most if most > 0.0 => format!("; the run stops at ${most:.2}"),
        _ => String::new(),
    };
    let Some(seconds) = forecast.seconds else {
        return format!("forecast: {stories}; no earlier story here to estimate from{limit}");
    };
    let time = in_words(Duration::try_from_secs_f64(seconds).unwrap_or_default());
    let cost = match forecast.cost_usd {
        Some(cost) => format!(" and ${cost:.2}"),
        None => ", cost unknown".to_owned(),
    };
    let base = counted(forecast.based_on, "earlier story", "earlier stories");
    format!("forecast: {stories}, about {time}{cost}, going by {base} here{limit}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::PastAttempt;

    fn attempt(story: &str, outcome: &str, duration_s: f64, cost_usd: Option<f64>) -> PastAttempt {
        let (story, outcome) = (story.to_owned(), outcome.to_owned());
        PastAttempt { story, outcome, duration_s, cost_usd, ..PastAttempt::default() }
    }

    #[test]
    fn failed_attempts_and_blocked_stories_count_too() {
        let attempts = vec![
            attempt("A", "failed", 100.0, Some(0.5)),
            attempt("A", "success", 200.0, Some(0.5)),
            attempt("B", "success", 100.0, None),
            attempt("C", "failed", 200.0, Some(3.0)),
            attempt("D", "interrupted", 0.0, None),
            attempt("E", "", 0.0, None),
        ];
        let runs = [PastRun { attempts, ..PastRun::default() }];
        let forecast = of_stories(6, &from(&runs));
        assert_eq!((forecast.based_on, forecast.seconds), (3, Some(1200.0)));
        assert_eq!(forecast.cost_usd, Some(12.0));
        assert_eq!(
            told(&forecast, 5.0),
            "forecast: 6 stories, about 20 m and $12.00, going by 3 earlier stories here; the run \
             stops at $5.00"
        );
    }

    #[test]
    fn without_a_past_nothing_is_made_up() {
        assert_eq!(
            told(&from(&[]), 0.0),
            "forecast: 1 story; no earlier story here to estimate from"
        );
    }
}
