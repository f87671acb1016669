//! How long an agent itself waits for its service: some obey a usage limit silently, which looks like a
//! hang.

use std::time::{Duration, Instant};

use jiff::Timestamp;
use serde_json::Value;

/// How long a wait is believed whose end is not announced: longer than the usual limit of five hours.
const LONGEST_SILENT: Duration = Duration::from_secs(6 * 3600);

/// The longest announced wait that is believed, and how much later than announced it may end.
const LONGEST: Duration = Duration::from_secs(8 * 24 * 3600);
const SLACK: Duration = Duration::from_secs(60);

/// The waits of an agent.
#[derive(Debug, Clone, Default)]
pub struct Waits {
    /// The sum of those that have ended.
    ended: Duration,
    /// The beginning of the current one, and how long it may last.
    current: Option<(Instant, Duration)>,
}

impl Waits {
    /// Takes a line of the agent's output. Whatever it prints next ends a wait, except its own account of
    /// the failed request.
    pub(super) fn take(&mut self, kind: &str, event: &Value) {
        let number = |name: &str| event.get(name).and_then(Value::as_u64);
        let length = match kind {
            "turn.step.retrying" => number("delay_ms").map(Duration::from_millis),
            "system" => number("retry_delay_ms").map(Duration::from_millis),
            // Printed by our plugin for opencode, in milliseconds since 1970.
            "ralph.waiting" => number("until").map(|until| {
                let now = u64::try_from(Timestamp::now().as_millisecond()).unwrap_or(0);
                Duration::from_millis(until.saturating_sub(now))
            }),
            "model.call_failure" => {
                let status = event.pointer("/data/statusCode").and_then(Value::as_u64);
                matches!(status, Some(402 | 429)).then_some(LONGEST_SILENT)
            }
            "model.call_finished" => return,
            _ => None,
        };
        if let Some((since, most)) = self.current.take() {
            self.ended += since.elapsed().min(most);
        }
        self.current = length.map(|length| (Instant::now(), length.min(LONGEST) + SLACK));
    }

    /// Returns whether the agent is waiting.
    pub fn is_waiting(&self) -> bool {
        self.current.is_some_and(|(since, most)| since.elapsed() < most)
    }

    /// Returns how long it has waited so far.
    pub fn so_far(&self) -> Duration {
        let current = self.current.map(|(since, most)| since.elapsed().min(most));
        self.ended + current.unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_wait_lasts_from_the_refusal_to_the_next_sign_of_life() {
        let soon = Timestamp::now().as_millisecond() + 75_000;
        for (kind, line, next) in [
            ("turn.step.retrying", json!({"delay_ms": 75_000, "status_code": 429}), "assistant"),
            ("model.call_failure", json!({"data": {"statusCode": 429}}), "model.call_start"),
            ("model.call_failure", json!({"data": {"statusCode": 402}}), "assistant.turn_retry"),
            ("ralph.waiting", json!({"until": soon}), "assistant"),
            ("system", json!({"subtype": "api_retry", "retry_delay_ms": 2000}), "assistant"),
        ] {
            let mut waits = Waits::default();
            waits.take("assistant", &json!({}));
            assert!(!waits.is_waiting(), "{kind}");
            waits.take(kind, &line);
            waits.take("model.call_finished", &json!({"data": {"outcome": "error"}}));
            std::thread::sleep(Duration::from_millis(5));
            assert!(waits.is_waiting() && waits.so_far() >= Duration::from_millis(5), "{kind}");
            waits.take(next, &json!({}));
            let so_far = waits.so_far();
            assert!(!waits.is_waiting() && so_far >= Duration::from_millis(5), "{kind}");
            std::thread::sleep(Duration::from_millis(2));
            assert_eq!(waits.so_far(), so_far, "{kind}");
        }
        let mut waits = Waits::default();
        waits.take("model.call_failure", &json!({"data": {"statusCode": 400}}));
        assert!(!waits.is_waiting());
    }
}
