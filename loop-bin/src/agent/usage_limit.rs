//! A usage limit in the words of the agent's client. Its wording changes with every release, so it
//! is recognised by how such messages begin, and only as the last line of what was said: test output
//! and code speak of rate limits as well. Of an agent that says it ended well, it has to be all that
//! was said.

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

/// What may follow on `limit` or `limit reached` where a message does not end with it.
const CONTINUATIONS: [&str; 5] = ["for", "resets", "until", "try", "please"];

/// Commands of the client's that it advises in a line below its message.
const HINTS: [&str; 2] = ["/upgrade", "/extra-usage"];

/// Longer than this no client's message is.
const LONGEST_MESSAGE: usize = 240;

/// Whether the last line of a text is a client's message about a usage limit; with the time of its
/// reset in Unix seconds, if it can be read.
pub(super) fn detect(text: &str, now: Timestamp) -> Option<Option<i64>> {
    let line = plain(said(text).next_back()?);
    is_limit(&line)
        .then(|| epoch(&line).or_else(|| after(&line, now)).or_else(|| clock(&line, now)))
}

/// The same of a text that is such a message and nothing else. An answer that is about such messages
/// says more than one line, quotes them or goes on with its sentence.
pub(super) fn detect_alone(text: &str, now: Timestamp) -> Option<Option<i64>> {
    let mut lines = said(text);
    let line = lines.next()?;
    let is_alone = lines.next().is_none() && line.len() <= LONGEST_MESSAGE;
    let is_quoted =
        line.contains('`') || line.starts_with(['"', '\'', '>', '\u{201c}', '\u{2018}', '\u{ab}']);
    detect(text, now).filter(|_| is_alone && !is_quoted && !goes_on(&plain(line)))
}

/// The lines that say anything, their blanks cut off.
fn said(text: &str) -> impl DoubleEndedIterator<Item = &str> {
    let is_hint = |line: &str| HINTS.iter().any(|hint| line.starts_with(hint));
    text.lines().map(str::trim).filter(move |line| !line.is_empty() && !is_hint(line))
}

/// In lower case, with plain apostrophes and without a bullet or a warning sign before it.
fn plain(line: &str) -> String {
    let line = line.to_lowercase().replace('\u{2019}', "'");
    line.trim_start_matches(|c: char| !c.is_ascii_alphanumeric()).to_owned()
}

/// `You've reached your usage limit page shows the reset now`
fn goes_on(line: &str) -> bool {
    let Some((_, rest)) = line.split_once("limit").filter(|_| !line.starts_with("api error"))
    else {
        return false;
    };
    let rest = rest.strip_prefix(" reached").unwrap_or(rest);
    let next = rest.trim_start().split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    // `limits` and `limit's` are other words.
    let is_cut = rest.starts_with(|c: char| c.is_alphanumeric() || c == '\'');
    is_cut || !next.is_empty() && !CONTINUATIONS.contains(&next)
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
        check(
            "Claude usage limit reached. Your limit will reset at 3pm (UTC).",
            Some(Some("2026-11-15T15:00:00Z")),
        );
    }

    #[test]
    fn of_an_agent_that_ended_well_the_message_is_all_that_was_said() {
        let now: Timestamp = "2026-11-15T12:00:00Z".parse().unwrap();
        for (text, is_limit) in [
            ("Claude AI usage limit reached|1794830400", true),
            ("Claude usage limit reached. Your limit will reset at 3pm (UTC).\n", true),
            ("\n\u{26a0} You've hit your limit \u{b7} resets 3pm (UTC)\n", true),
            ("You've hit your Opus limit. Try again in 5 minutes.", true),
            ("You've reached your usage limit for this week.", true),
            ("You're out of extra usage \u{b7} resets 3pm", true),
            ("5-hour limit reached \u{2219} resets 3pm", true),
            ("API Error: Request rejected (429) \u{b7} This would exceed your rate limit.", true),
            ("API Error: 429 {\"error\":{\"type\":\"rate_limit_error\"}}", true),
            ("5-hour limit reached \u{2219} resets 3pm\n  /upgrade to increase your limit", true),
            ("The banner is there.\nClaude AI usage limit reached|1794830400", false),
            ("Claude AI usage limit reached|1794830400\nis what the banner says now.", false),
            ("\"Claude AI usage limit reached\" is the new text", false),
            ("`usage limit reached` is shown now", false),
            ("Usage limit reached is now shown in banner.py.", false),
            ("Usage limit reached: the banner says so now.\n\nUsage limit reached", false),
            ("You've reached your usage limit page shows the reset time now.", false),
            ("You have reached your limit's page; it works.", false),
            ("All done.", false),
        ] {
            assert_eq!(detect_alone(text, now).is_some(), is_limit, "{text}");
        }
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
