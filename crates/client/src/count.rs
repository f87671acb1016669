//! The tokens and the cost of an agent's session, each counted once.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde_json::Value;

/// The usage of a session, summed over all its processes.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Totals {
    /// Its tokens.
    pub tokens: u64,
    /// Its cost, as far as it is known.
    pub cost_usd: f64,
}

/// A session and its usage, recorded as `<id> <tokens> <cost> <agent>`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SessionSoFar {
    /// The id of the session.
    pub id: String,
    /// The session's usage.
    pub totals: Totals,
    /// The agent whose session it is; empty in older records.
    pub agent: String,
}

impl fmt::Display for SessionSoFar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Totals { tokens, cost_usd } = self.totals;
        write!(f, "{} {tokens} {cost_usd:.6} {}", self.id, self.agent)
    }
}

impl FromStr for SessionSoFar {
    type Err = std::convert::Infallible;

    /// Older records hold the id alone.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut words = text.split_whitespace();
        let id = words.next().unwrap_or_default().to_owned();
        let tokens = words.next().and_then(|word| word.parse().ok()).unwrap_or_default();
        let cost_usd = words.next().and_then(|word| word.parse().ok()).unwrap_or_default();
        let agent = words.next().unwrap_or_default().to_owned();
        Ok(Self { id, totals: Totals { tokens, cost_usd }, agent })
    }
}

/// The token counter of a process.
#[derive(Debug, Clone, Default)]
pub struct Count {
    /// The tokens of each message by id: a message is printed once for every part of it.
    messages: BTreeMap<String, u64>,
    /// What the session had used before this process resumed it.
    earlier: Totals,
}

/// The usage of a process, as far as its result reports it.
pub(super) struct Process {
    pub(super) tokens: Option<u64>,
    pub(super) cost_usd: Option<f64>,
    /// The tokens of earlier processes whose cost was not known and is included.
    pub(super) covered: u64,
}

impl Count {
    /// Returns the counter of a process that resumes a session.
    pub(super) fn after(earlier: Totals) -> Self {
        Self { earlier, ..Self::default() }
    }

    /// Returns how many tokens a message adds.
    pub(super) fn message(&mut self, id: &str, tokens: u64) -> u64 {
        let known = if id.is_empty() { None } else { self.messages.insert(id.to_owned(), tokens) };
        tokens.saturating_sub(known.unwrap_or_default())
    }

    /// Returns the usage that a result reports for the process. In a resumed session, newer clients
    /// report the whole session, older ones this process alone.
    pub(super) fn process(&self, result: &Value) -> Process {
        let session = tokens_of_session(result);
        let streamed: u64 = self.messages.values().sum();
        let is_whole = self.earlier.tokens > 0 && session >= self.earlier.tokens + streamed;
        let earlier = if is_whole { self.earlier } else { Totals::default() };
        let cost = result.get("total_cost_usd").and_then(sum);
        let tokens = [session, tokens_of(result)].into_iter().find(|sum| *sum > 0);
        let is_new = cost.is_some() && earlier.cost_usd == 0.0;
        Process {
            covered: if is_new { earlier.tokens } else { 0 },
            tokens: tokens.map(|tokens| tokens - earlier.tokens),
            cost_usd: cost.map(|cost| (cost - earlier.cost_usd).max(0.0)),
        }
    }

    /// Returns the total usage of the session.
    pub(super) fn totals(&self, tokens: u64, cost_usd: Option<f64>) -> Totals {
        let Totals { tokens: earlier, cost_usd: cost } = self.earlier;
        Totals { tokens: earlier + tokens, cost_usd: cost + cost_usd.unwrap_or_default() }
    }
}

/// Returns all tokens of a message or a result.
pub(super) fn tokens_of(value: &Value) -> u64 {
    let kinds =
        ["input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens"];
    kinds.iter().filter_map(|kind| value.get("usage")?.get(kind)?.as_u64()).sum()
}

/// Returns all tokens of a session over all models, including those of subagents and of turns that
/// background tasks triggered, which `usage` leaves out.
fn tokens_of_session(result: &Value) -> u64 {
    let kinds = ["inputTokens", "outputTokens", "cacheReadInputTokens", "cacheCreationInputTokens"];
    let models = result.get("modelUsage").and_then(Value::as_object).into_iter().flatten();
    let counts = models.flat_map(|(_, usage)| kinds.map(|kind| usage.get(kind)?.as_u64()));
    counts.flatten().sum()
}

/// Parses an amount of money; some agents print numbers as strings.
fn sum(value: &Value) -> Option<f64> {
    let number = value.as_f64().or_else(|| value.as_str()?.trim().parse().ok());
    number.filter(|sum: &f64| sum.is_finite() && *sum >= 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::Stream;

    #[test]
    fn a_message_printed_in_parts_is_counted_once() {
        let mut seen = Stream::default();
        for (id, tokens) in [("a", 5), ("a", 9), ("b", 1), ("a", 9)] {
            let usage = format!(r#"{{"id":"{id}","usage":{{"input_tokens":{tokens}}}}}"#);
            seen.line(format!(r#"{{"type":"assistant","message":{usage}}}"#).as_bytes());
        }
        assert_eq!(seen.tokens, 10);
    }

    #[test]
    fn a_resumed_session_counts_only_the_usage_of_this_process() {
        let message = br#"{"type":"assistant","message":{"id":"m","usage":{"input_tokens":1020}}}"#;
        // After `--resume`, a client reports totals of either the session or the process.
        for (tokens, cost) in [(3060, "0.03"), (1020, "0.01")] {
            let earlier = "s 2040 0.02".parse::<SessionSoFar>().unwrap().totals;
            let mut seen = Stream::of_agent_in("/", earlier);
            seen.line(message);
            let usage = format!(r#""modelUsage":{{"m":{{"inputTokens":{tokens}}}}}"#);
            let own = r#""usage":{"input_tokens":1020}"#;
            let sums = format!(r#""total_cost_usd":{cost},{own},{usage}"#);
            seen.line(format!(r#"{{"type":"result",{sums}}}"#).as_bytes());
            assert_eq!((seen.tokens, seen.totals().tokens), (1020, 3060), "{tokens}");
            assert!((seen.cost_usd.unwrap() - 0.01).abs() < 1e-9, "{:?}", seen.cost_usd);
            assert_eq!(seen.covered_tokens, 0);
        }
    }

    /// The first process was killed before it said what it cost.
    #[test]
    fn a_cost_that_was_not_known_comes_with_the_resumed_session() {
        let earlier = "s 2040 0".parse::<SessionSoFar>().unwrap().totals;
        let mut seen = Stream::of_agent_in("/", earlier);
        seen.line(
            br#"{"type":"result","total_cost_usd":0.03,"modelUsage":{"m":{"inputTokens":3060}}}"#,
        );
        assert_eq!((seen.tokens, seen.cost_usd, seen.covered_tokens), (1020, Some(0.03), 2040));
    }

    #[test]
    fn a_session_total_includes_all_turns_and_subagents() {
        let result = |own: u64, all: u64| {
            format!(
                r#"{{"type":"result","usage":{{"input_tokens":{own}}},"modelUsage":{{
                "large":{{"inputTokens":{all},"outputTokens":20}},
                "small":{{"cacheReadInputTokens":3,"contextWindow":200000}}}}}}"#
            )
            .replace('\n', " ")
        };
        let mut seen = Stream::default();
        seen.line(result(1000, 1000).as_bytes());
        assert_eq!(seen.tokens, 1023);
        seen.line(result(1000, 4000).as_bytes());
        assert_eq!(seen.tokens, 4023);
        seen.line(br#"{"type":"result","usage":{"input_tokens":7}}"#);
        assert_eq!(seen.tokens, 7);
    }

    #[test]
    fn a_cost_is_a_number_or_a_numeric_string() {
        for (cost, expected) in [
            ("0.5", Some(0.5)),
            ("\"0.5\"", Some(0.5)),
            ("\" 2 \"", Some(2.0)),
            ("null", None),
            ("\"much\"", None),
            ("\"NaN\"", None),
            ("-1", None),
            ("[1]", None),
        ] {
            let mut seen = Stream::default();
            seen.line(format!("{{\"type\":\"result\",\"total_cost_usd\":{cost}}}").as_bytes());
            assert_eq!((seen.cost_usd, seen.verdict.is_some()), (expected, true), "{cost}");
        }
    }
}
