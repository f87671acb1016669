//! What attempts cost, as far as that is known.

use std::fmt;

use crate::run::{Attempt, Run};
use crate::words::{counted, dollars, thousands, time};

/// What some attempts cost.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CostSum {
    /// As far as it is known; none if nothing is.
    pub cost_usd: Option<f64>,
    /// All tokens.
    pub tokens: u64,
    /// The agents' time.
    pub(crate) seconds: f64,
    /// Attempts of unknown cost.
    unknown: usize,
}

impl CostSum {
    /// Of attempts in a history in which a token cost so much. One that was killed before it reported
    /// its cost is priced by its tokens.
    pub(crate) fn of<'a>(
        attempts: impl IntoIterator<Item = &'a Attempt>,
        price: Option<f64>,
    ) -> Self {
        let mut sum = Self::default();
        for attempt in attempts {
            let tokens = attempt.tokens.unwrap_or(0);
            let priced = || price.filter(|_| tokens > 0).map(|price| price * tokens as f64);
            match attempt.cost_usd.or_else(priced) {
                Some(cost) => *sum.cost_usd.get_or_insert_default() += cost,
                None => sum.unknown += usize::from(!attempt.outcome.is_empty()),
            }
            sum.tokens += tokens;
            sum.seconds += attempt.duration_s;
        }
        sum
    }

    /// Tokens, if any were reported, and cost.
    pub fn with_tokens(&self) -> String {
        match self.tokens {
            0 => self.to_string(),
            tokens => format!("{} tokens, {self}", thousands(tokens)),
        }
    }

    /// The cost in few letters; at least so much, if some of it is unknown.
    pub(crate) fn short(&self) -> String {
        match (self.cost_usd, self.unknown) {
            (None, 1..) => "unknown".to_owned(),
            (cost, 0) => dollars(cost.unwrap_or(0.0)),
            (Some(cost), _) => format!("≥ {}", dollars(cost)),
        }
    }

    /// Time, tokens and cost.
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

/// The price of a token, by the attempts that reported their cost.
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
    fn what_is_not_known_is_priced_by_its_tokens_or_called_unknown() {
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
            // The second one goes on.
            vec![known, ("", None, None)],
        ];
        let all: String = cases.iter().map(|attempts| shown(attempts)).collect();
        insta::assert_snapshot!(all, @r"
        0 s agent time, $0.00
        0 s agent time, cost unknown
        0 s agent time, 10 tokens, cost unknown
        0 s agent time, 3000 tokens, $1.50
        0 s agent time, 1000 tokens, $0.50 and 1 attempt of unknown cost
        0 s agent time, 1000 tokens, $0.50
        ");
    }
}
