//! A usage limit in the words of the agent's client. Its wording changes with every release, so it
//! is recognised by how such messages begin, and only as the last line of what was said: test output
//! and code speak of rate limits as well.

use jiff::civil::Time;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, Zoned};

/// How a message of a client's about a limit begins, in lower case.
const OPENINGS: [&str; 9] = [
    "claude ai usage limit reached",
    "claude usage limit reached",
    "usage limit reached",
    "you've hit your ",
    "you have hit your ",
    "you've reached your ",
    "you have reached your ",
    "you're out of extra usage",
    "you are out of extra usage",
];

/// What may stand before `limit reached`: a length of time, or what is limited.
const PERIODS: [&str; 11] = [
    "claude", "opus", "sonnet", "haiku", "session", "hourly", "daily", "weekly", "5-hour", "7-day",
    "usage",
];

/// What an error of the service speaks of when it is a limit.
const CAUSES: [&str; 5] = ["429", "rate limit", "rate_limit", "usage limit", "quota"];

/// Whether the last line of a text is a client's message about a usage limit; with the time of its
/// reset in Unix seconds, if it can be read.
pub(super) fn detect(text: &str, now: Timestamp) -> Option<Option<i64>> {
    let line = text.lines().rev().find(|line| !line.trim().is_empty())?;
    let line = line.to_lowercase().replace('\u{2019}', "'");
    // Marks such as a bullet or a warning sign may stand before the first word.
    let line = line.trim_start_matches(|c: char| !c.is_ascii_alphanumeric());
    is_limit(line).then(|| epoch(line).or_else(|| after(line, now)).or_else(|| clock(line, now)))
}

fn is_limit(line: &str) -> bool {
    if line.starts_with("api error") {
        return CAUSES.iter().any(|cause| line.contains(cause));
    }
    let spoken_to = OPENINGS.iter().any(|opening| line.starts_with(opening));
    // `You've hit your stride` is none.
    (spoken_to && (line.contains("limit") || line.contains("usage"))) || names_a_period(line)
}

/// `5-hour limit reached ∙ resets 3pm`, `Opus weekly limit reached, resets at 12am`
fn names_a_period(line: &str) -> bool {
    let Some((before, after)) = line.split_once(" limit reached") else { return false };
    let mut words = before.split_whitespace();
    !before.is_empty() && after.contains("reset") && words.all(|word| PERIODS.contains(&word))
}

/// `…limit reached|1790000000`
fn epoch(text: &str) -> Option<i64> {
    text.split(|c: char| !c.is_ascii_digit()).find(|part| part.len() == 10)?.parse().ok()
}

/// `try again in 5 minutes`
fn after(text: &str, now: Timestamp) -> Option<i64> {
    let (_, rest) = text.split_once(" in ")?;
    let mut words = rest.split_whitespace();
    let count: i64 = words.next()?.parse().ok()?;
    let unit = match words.next()?.trim_end_matches(|c: char| !c.is_alphabetic()) {
        "second" | "seconds" | "s" => 1,
        "minute" | "minutes" | "min" | "m" => 60,
        "hour" | "hours" | "h" => 3600,
        _ => return None,
    };
    now.as_second().checked_add(count.checked_mul(unit)?)
}

/// `resets 3pm (Europe/Berlin)`, `resets at 10:30pm`
fn clock(text: &str, now: Timestamp) -> Option<i64> {
    let (_, rest) = text.split_once("resets")?;
    let rest = rest.trim_start().trim_start_matches("at ").trim_start();
    let end =
        rest.find(|c: char| !(c.is_ascii_digit() || c == ':' || c == ' ' || "apm".contains(c)));
    let (time, rest) = rest.split_at_checked(end.unwrap_or(rest.len()))?;
    let time = time_of_day(time.trim())?;
    let zone = match rest.split_once('(').and_then(|(_, rest)| rest.split_once(')')) {
        Some((name, _)) => TimeZone::get(name).ok()?,
        None => TimeZone::system(),
    };
    let today = now.to_zoned(zone);
    let at = |day: &Zoned| day.with().time(time).build().ok().map(|at| at.timestamp());
    match at(&today)? {
        at if at > now => Some(at.as_second()),
        passed => Some(passed.checked_add(SignedDuration::from_hours(24)).ok()?.as_second()),
    }
}

fn time_of_day(text: &str) -> Option<Time> {
    let (digits, half) = match text {
        text if text.ends_with("am") => (text.strip_suffix("am")?, Some(0)),
        text if text.ends_with("pm") => (text.strip_suffix("pm")?, Some(12)),
        text => (text, None),
    };
    let (hour, minute) = digits.trim().split_once(':').unwrap_or((digits.trim(), "0"));
    let (hour, minute): (i8, i8) = (hour.parse().ok()?, minute.parse().ok()?);
    let hour = match half {
        Some(half) => hour % 12 + half,
        None => hour,
    };
    Time::new(hour, minute, 0, 0).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Option<Option<&str>>) {
        let now: Timestamp = "2026-11-15T12:00:00Z".parse().unwrap();
        let found = detect(text, now);
        let expected = expected
            .map(|reset| reset.map(|reset| reset.parse::<Timestamp>().unwrap().as_second()));
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn wordings_of_several_years_are_understood() {
        check("Claude AI usage limit reached|1794830400", Some(Some("2026-11-16T12:00:00Z")));
        check("You've hit your limit · resets 3pm (UTC)", Some(Some("2026-11-15T15:00:00Z")));
        check(
            "You've hit your session limit · resets 10:30am (UTC)",
            Some(Some("2026-11-16T10:30:00Z")),
        );
        check("weekly limit reached, resets at 12am (UTC)", Some(Some("2026-11-16T00:00:00Z")));
        check("5-hour limit reached \u{2219} resets 3pm (UTC)", Some(Some("2026-11-15T15:00:00Z")));
        check(
            "You\u{2019}ve hit your usage limit. Try again in 5 minutes.",
            Some(Some("2026-11-15T12:05:00Z")),
        );
        check("I ran the tests.\n\nClaude usage limit reached.\n\n", Some(None));
        check("[API Error: You have exhausted your daily quota]", Some(None));
        check(
            "API Error: Request rejected (429) · This request would exceed your account's rate limit.",
            Some(None),
        );
        check("usage limit reached; resets soon", Some(None));
    }

    #[test]
    fn other_failures_are_none() {
        for text in [
            "",
            "error: limit must be positive",
            "tests failed",
            "no such file",
            "API Error: Connection refused",
            "You've hit your stride",
        ] {
            check(text, None);
        }
    }

    #[test]
    fn nor_is_test_output_that_speaks_of_limits() {
        for text in [
            "test_throttle - AssertionError: rate limit exceeded",
            "rate limit exceeded",
            "E   Exception: usage limit reached",
            "assert 'Claude AI usage limit reached' in banner",
            "expected: weekly limit reached, resets at 12am",
            "Claude AI usage limit reached|1794830400\nFAILED test_banner.py::test_text",
            "FAILED tests/test_api.py::test_429 - quota exceeded",
            "disk quota exceeded",
        ] {
            check(text, None);
        }
    }
}
