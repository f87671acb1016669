//! Recognises, in the words of any agent, that the service refused: a usage limit, an outage, an
//! invalid key, or a full context.
//!
//! Wordings change with every release. In plain text a message is recognised by its beginning, and
//! only in the last line: test output and code mention rate limits as well. In a message that an
//! agent reports as an error, the cause may be anywhere.

use jiff::civil::{Date, Time};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, Zoned};

/// A reset time that passed this recently is not tomorrow's: the message is just old.
const JUST_NOW: SignedDuration = SignedDuration::from_mins(10);

/// How a message about a usage limit begins, in lower case.
const LIMITS: &str = "\
    claude ai usage limit reached|claude usage limit reached|usage limit reached|you've hit your |\
    you have hit your |you've reached your |you have reached your |you're out of extra usage|\
    you are out of extra usage|you have exceeded your |you've exceeded your ";

/// How other messages of the service begin, after `error: `.
const OPENINGS: &str = "\
    api error|exceeded retry limit|unexpected status|quota exceeded.|rate limit exceeded:|rate limit reached for|\
    ran into this error: |you have exhausted your|invalid api key|incorrect api key|authentication failed|\
    not logged in|unable to connect to api|failed to get response from the ai model|failed to run prompt: |codex ran out of room|prompt is too long|401 |403 |\
    429 |500 |502 |503 |529 ";

/// The words that may precede `limit reached`: a period, or what is limited.
const PERIODS: &str = "claude opus sonnet haiku session hourly daily weekly 5-hour 7-day usage";

/// What a message mentions if the context is full, if a limit is reached, if the key is wrong, and
/// if the service has a temporary outage.
const FULL: &str =
    "context window|context_length|context length|prompt is too long|maximum context";
const LIMITED: &str =
    "429|rate limit|rate_limit|usage limit|quota|too many requests|request allowance";
const UNKNOWN_KEY: &str = "\
    401|403|unauthorized|api key|invalid_api_key|authentication|not logged in";
const OUT_OF_ORDER: &str = "\
    overloaded|500|502|503|504|529|connection|fetch failed|timed out|server error|stream disconnected";

/// What a program says that does not reach its service, or is not given a process by the system.
const UNREACHABLE: &str = "\
    enotfound|eai_again|name resolution|could not resolve|econnrefused|connection refused|connectionrefused|\
    failedtoopensocket|enetunreach|ehostunreach|network is unreachable|no route to host|\
    unable to connect to api|eagain|resource temporarily unavailable";

/// Advice that agents print in a line below their message.
const HINTS: &str =
    "/upgrade|/extra-usage|Please retry if you think|Please wait and try again|See log: ";

/// The maximum length of a message.
const LONGEST_MESSAGE: usize = 240;

/// Why the service did not answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// A usage limit; with the time of its reset in Unix seconds, if it is known.
    Later(Option<i64>),
    /// The service has an outage.
    Down,
    /// The agent does not reach the service.
    Unreachable,
    /// The service does not accept the key, or nobody is logged in.
    Key,
    /// The context is too large.
    Full,
}

impl Refusal {
    /// Returns the refusal in the last line of a text.
    pub(super) fn at_the_end(text: &str, now: Timestamp) -> Option<Self> {
        let line = plain(said(text).next_back()?);
        if is_limit(&line) {
            return Some(Self::Later(reset(&line, now)));
        }
        if begins(&line, OPENINGS) { Self::in_error(&line, None, now) } else { None }
    }

    /// Returns the refusal that makes up a whole text: some agents exit successfully with the
    /// message as their answer. An answer about such messages has several lines, or quotes them.
    pub(super) fn alone(text: &str, now: Timestamp) -> Option<Self> {
        let mut lines = said(text);
        let line = lines.next()?;
        let is_alone = lines.next().is_none() && line.len() <= LONGEST_MESSAGE;
        let is_quoted = line.contains('`')
            || line.starts_with(['"', '\'', '>', '\u{201c}', '\u{2018}', '\u{ab}']);
        if is_alone && !is_quoted { Self::at_the_end(text, now) } else { None }
    }

    /// Returns the refusal in an error that an agent reports, with the HTTP status if it is known.
    pub(super) fn in_error(message: &str, status: Option<u16>, now: Timestamp) -> Option<Self> {
        let text = message.to_lowercase().replace('\u{2019}', "'");
        let is_about = |causes: &str| causes.split('|').any(|cause| names(&text, cause));
        if is_about(FULL) {
            return Some(Self::Full);
        }
        if status == Some(429) || is_limit(&plain(&text)) || is_about(LIMITED) {
            return Some(Self::Later(reset(&text, now)));
        }
        if matches!(status, Some(401 | 403)) || is_about(UNKNOWN_KEY) {
            return Some(Self::Key);
        }
        if Self::is_unreachable(&text) {
            return Some(Self::Unreachable);
        }
        let is_out = matches!(status, Some(500..=599)) || is_about(OUT_OF_ORDER);
        is_out.then_some(Self::Down)
    }

    /// Returns whether these are the words of a program that does not reach its service. They may be
    /// about anything if the program has done anything.
    pub fn is_unreachable(text: &str) -> bool {
        let text = text.to_lowercase();
        UNREACHABLE.split('|').any(|cause| text.contains(cause))
    }

    /// Returns the refusal for an HTTP status that some agents use as exit code: 429 becomes 173.
    pub(super) fn of_exit_code(code: i32) -> Option<Self> {
        let status =
            [401, 403, 429, 500, 502, 503].into_iter().find(|status| status % 256 == code)?;
        Self::in_error("", Some(status as u16), Timestamp::UNIX_EPOCH)
    }
}

/// Returns the lines that are neither empty nor hints, trimmed.
pub fn said(text: &str) -> impl DoubleEndedIterator<Item = &str> {
    text.lines().map(str::trim).filter(|line| !line.is_empty() && !begins(line, HINTS))
}

/// Normalises a line: lower case, plain apostrophes, no leading bullet, warning sign or `error:`.
fn plain(line: &str) -> String {
    let line = line.to_lowercase().replace('\u{2019}', "'");
    let line = line.trim_start_matches(|c: char| !c.is_ascii_alphanumeric());
    line.strip_prefix("error:").unwrap_or(line).trim_start().to_owned()
}

fn begins(line: &str, openings: &str) -> bool {
    openings.split('|').any(|opening| line.starts_with(opening))
}

/// Whether a text contains a cause; a number must not be part of a longer number.
fn names(text: &str, cause: &str) -> bool {
    let is_digit = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_digit);
    text.match_indices(cause).any(|(at, _)| {
        let before = at.checked_sub(1).and_then(|before| text.as_bytes().get(before));
        let after = text.as_bytes().get(at + cause.len());
        !cause.starts_with(|c: char| c.is_ascii_digit()) || !(is_digit(before) || is_digit(after))
    })
}

fn is_limit(line: &str) -> bool {
    // `You've hit your stride` is not a limit.
    let is_about = |word: &&str| line.contains(*word);
    let is_spoken_to = begins(line, LIMITS) && ["limit", "usage", "allowance"].iter().any(is_about);
    is_spoken_to || names_a_period(line)
}

/// Matches `5-hour limit reached ∙ resets 3pm`, `Opus weekly limit reached, resets at 12am`.
fn names_a_period(line: &str) -> bool {
    let Some((before, after)) = line.split_once(" limit reached") else { return false };
    let mut words = before.split_whitespace();
    let is_period = |word: &str| PERIODS.split(' ').any(|period| period == word);
    !before.is_empty() && after.contains("reset") && words.all(is_period)
}

fn reset(message: &str, now: Timestamp) -> Option<i64> {
    epoch(message).or_else(|| after(message, now)).or_else(|| clock(message, now))
}

/// Parses `…limit reached|1790000000`.
fn epoch(text: &str) -> Option<i64> {
    text.split(|c: char| !c.is_ascii_digit()).find(|part| part.len() == 10)?.parse().ok()
}

/// Parses `try again in 5 minutes`, `try again in 7s`.
fn after(text: &str, now: Timestamp) -> Option<i64> {
    let (_, rest) = text.split_once(" in ")?;
    let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let (count, rest) = rest.split_at_checked(digits)?;
    let unit = rest.split_whitespace().next()?;
    let unit = match unit.trim_end_matches(|c: char| !c.is_alphabetic()) {
        "second" | "seconds" | "s" => 1,
        "minute" | "minutes" | "min" | "m" => 60,
        "hour" | "hours" | "h" => 3600,
        "day" | "days" | "d" => 86_400,
        _ => return None,
    };
    now.as_second().checked_add(count.parse::<i64>().ok()?.checked_mul(unit)?)
}

/// Parses `resets 3pm (Europe/Berlin)`, `will reset at 10:30pm`, `try again at 2:30 pm`, and with a
/// date, `try again at nov 19th, 2026 2:53 pm`.
fn clock(text: &str, now: Timestamp) -> Option<i64> {
    let (_, rest) = text.split_once("reset").or_else(|| text.split_once("try again at"))?;
    let rest = rest.replace(".m.", "m");
    let rest = rest.strip_prefix('s').unwrap_or(&rest).trim_start();
    let rest = rest.trim_start_matches("at ").trim_start();
    let (date, rest) = day(rest).map_or((None, rest), |(date, rest)| (Some(date), rest));
    let end =
        rest.find(|c: char| !(c.is_ascii_digit() || c == ':' || c == ' ' || "apm".contains(c)));
    let (time, rest) = rest.split_at_checked(end.unwrap_or(rest.len()))?;
    let time = time_of_day(time.trim())?;
    let zone = match rest.split_once('(').and_then(|(_, rest)| rest.split_once(')')) {
        Some((name, _)) => TimeZone::get(name).ok()?,
        None => TimeZone::system(),
    };
    if let Some(date) = date {
        return Some(date.to_datetime(time).to_zoned(zone).ok()?.timestamp().as_second());
    }
    let today = now.to_zoned(zone);
    let at = |day: &Zoned| day.with().time(time).build().ok().map(|at| at.timestamp());
    match at(&today)? {
        at if at > now - JUST_NOW => Some(at.as_second()),
        passed => Some(passed.checked_add(SignedDuration::from_hours(24)).ok()?.as_second()),
    }
}

/// Parses `nov 19th, 2026 `; returns the date and the rest.
fn day(text: &str) -> Option<(Date, &str)> {
    let (month, rest) = text.split_once(' ')?;
    let names = "jan feb mar apr may jun jul aug sep oct nov dec";
    let month = names.split(' ').position(|name| month.starts_with(name))?;
    let (day, rest) = rest.split_once(", ")?;
    let (year, rest) = rest.split_once(' ')?;
    let day = day.trim_end_matches(char::is_alphabetic).parse().ok()?;
    let month = i8::try_from(month).ok()? + 1;
    Some((Date::new(year.parse().ok()?, month, day).ok()?, rest))
}

fn time_of_day(text: &str) -> Option<Time> {
    let digits = text.trim_end_matches(['a', 'p', 'm', ' ']);
    let (hour, minute) = digits.split_once(':').unwrap_or((digits, "0"));
    let (hour, minute): (i8, i8) = (hour.parse().ok()?, minute.parse().ok()?);
    let hour = match text.get(digits.len()..)?.trim() {
        "am" => hour % 12,
        "pm" => hour % 12 + 12,
        "" => hour,
        _ => return None,
    };
    Time::new(hour, minute, 0, 0).ok()
}

#[cfg(test)]
#[path = "refusal_tests.rs"]
mod tests;
