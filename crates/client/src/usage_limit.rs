//! When a usage limit is reset, in the words of the agent's client. Whether a text is a message about
//! one at all is asked in the core.

use jiff::civil::Time;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, Zoned};
use ralph_project::usage_limit;

/// A reset that passed so lately is not tomorrow's: the message is older than the limit's end.
const JUST_NOW: SignedDuration = SignedDuration::from_mins(10);

/// Whether the last line of a text is a client's message about a usage limit; with the time of its
/// reset in Unix seconds, if it can be read.
pub(super) fn detect(text: &str, now: Timestamp) -> Option<Option<i64>> {
    usage_limit::message_at_the_end(text).map(|message| reset(&message, now))
}

/// The same of a text that is such a message and nothing else.
pub(super) fn detect_alone(text: &str, now: Timestamp) -> Option<Option<i64>> {
    usage_limit::message_alone(text).map(|message| reset(&message, now))
}

fn reset(message: &str, now: Timestamp) -> Option<i64> {
    epoch(message).or_else(|| after(message, now)).or_else(|| clock(message, now))
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

/// `resets 3pm (Europe/Berlin)`, `resets at 10:30pm`, `your limit will reset at 3pm`
fn clock(text: &str, now: Timestamp) -> Option<i64> {
    let (_, rest) = text.split_once("reset")?;
    let rest =
        rest.strip_prefix('s').unwrap_or(rest).trim_start().trim_start_matches("at ").trim_start();
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
        at if at > now - JUST_NOW => Some(at.as_second()),
        passed => Some(passed.checked_add(SignedDuration::from_hours(24)).ok()?.as_second()),
    }
}

fn time_of_day(text: &str) -> Option<Time> {
    let digits = text.trim_end_matches(['a', 'p', 'm', ' ']);
    let (hour, minute) = digits.split_once(':').unwrap_or((digits, "0"));
    let (hour, minute): (i8, i8) = (hour.parse().ok()?, minute.parse().ok()?);
    let hour = match text.get(digits.len()..)?.trim() {
        "am" => hour % 12,
        "pm" => hour % 12 + 12,
        _ => hour,
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
        check(
            "5-hour limit reached \u{2219} resets 11:55am (UTC)",
            Some(Some("2026-11-15T11:55:00Z")),
        );
        check("I ran the tests.\n\nClaude usage limit reached.\n\n", Some(None));
        check("[API Error: You have exhausted your daily quota]", Some(None));
        check(
            "API Error: Request rejected (429) · This request would exceed your account's rate limit.",
            Some(None),
        );
        check("usage limit reached; resets soon", Some(None));
        check(
            "Claude usage limit reached. Your limit will reset at 3pm (UTC).",
            Some(Some("2026-11-15T15:00:00Z")),
        );
    }

    #[test]
    fn a_message_that_is_all_that_was_said_has_its_reset_as_well() {
        let now: Timestamp = "2026-11-15T12:00:00Z".parse().unwrap();
        let found = detect_alone("Claude AI usage limit reached|1794830400\n", now);
        assert_eq!(found, Some(Some(1_794_830_400)));
        assert_eq!(detect_alone("All done.", now), None);
    }
}
