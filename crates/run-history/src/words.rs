//! Formats numbers, times and text for people.

use std::time::Duration;

use console::strip_ansi_codes;
use jiff::Timestamp;
use jiff::tz::TimeZone;
pub use ralph_base::listing::counted;
use ralph_base::secrets::mask;

/// The maximum length of a text, and of one of its lines, on a page.
const LONGEST: usize = 4_000;
const LONGEST_LINE: usize = 400;

/// Returns how many things need a person, in words; if nothing does, how many landed stories to review.
pub fn needed(count: usize, to_review: usize) -> String {
    match (count, to_review) {
        (0, 0) => "nothing needs you".to_owned(),
        (0, 1) => "review 1 story".to_owned(),
        (0, stories) => format!("review {stories} stories"),
        (1, _) => "1 thing needs you".to_owned(),
        (more, _) => format!("{more} things need you"),
    }
}

/// Formats a number of whole seconds.
pub fn seconds(duration: Duration) -> String {
    counted(duration.as_secs() as usize, "second", "seconds")
}

/// Puts text on one line, and removes secrets, escape sequences, control characters and marks of
/// direction: it may come from an agent or a test.
pub fn printable(text: &str) -> String {
    let text = mask(&strip_ansi_codes(text).replace('\t', " "));
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    lines.join("; ").chars().filter(|c| is_shown(*c)).collect()
}

/// Makes each non-empty line of a text printable.
pub fn printable_lines(text: &str) -> Vec<String> {
    mask(text).lines().map(printable).filter(|line| !line.trim().is_empty()).collect()
}

/// Returns text in one line of bounded length, for a page.
pub(crate) fn line(text: &str) -> String {
    let text = block(text);
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.collect::<Vec<_>>().join("; ")
}

/// Returns text in several lines of bounded length, for a page.
pub(crate) fn block(text: &str) -> String {
    let text = mask(text);
    let end = text.floor_char_boundary(LONGEST * 4);
    let short = text.get(..end).unwrap_or_default();
    let plain = strip_ansi_codes(short).replace('\t', "    ");
    let mut kept = String::new();
    for line in plain.lines() {
        let line: String = line.chars().filter(|c| is_shown(*c)).take(LONGEST_LINE + 1).collect();
        let cut: String = line.chars().take(LONGEST_LINE).collect();
        kept.push_str(cut.trim_end());
        kept.push_str(if cut.len() < line.len() { "…\n" } else { "\n" });
        if kept.len() > LONGEST {
            kept.push_str("…\n");
            break;
        }
    }
    kept.trim_end().to_owned()
}

/// Whether a character is neither a control character nor a mark that changes the text direction.
fn is_shown(c: char) -> bool {
    !c.is_control()
        && !matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Formats a duration like a clock: `1:02:05`.
pub fn clock(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match seconds {
        0..3600 => format!("{}:{:02}", seconds / 60, seconds % 60),
        _ => format!("{}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60),
    }
}

/// Formats a long duration: `45 s`, `20 m`, `1 h 5 m`.
pub fn in_words(duration: Duration) -> String {
    let seconds = duration.as_secs();
    let minutes = (seconds + 30) / 60;
    match (seconds, minutes) {
        (0..60, _) => format!("{seconds} s"),
        (_, 0..60) => format!("{minutes} m"),
        (_, _) if minutes.is_multiple_of(60) => format!("{} h", minutes / 60),
        _ => format!("{} h {} m", minutes / 60, minutes % 60),
    }
}

/// Formats a number of seconds like `in_words`.
pub(crate) fn time(seconds: f64) -> String {
    in_words(Duration::try_from_secs_f64(seconds).unwrap_or_default())
}

/// Parses a time into seconds since the epoch.
pub(crate) fn epoch(at: &str) -> Option<f64> {
    at.parse::<Timestamp>().ok().map(|time| time.as_millisecond() as f64 / 1e3)
}

/// Formats a time of day in local time: `13:45`.
pub(crate) fn hour(at: f64) -> String {
    let time = Timestamp::from_second(at as i64).map(|time| time.to_zoned(TimeZone::system()));
    time.map(|time| time.strftime("%H:%M").to_string()).unwrap_or_default()
}

/// Formats a time of the journal in local time: `Mon 16 Nov, 13:45`.
pub fn local_time(at: &str) -> String {
    let zoned = at.parse::<Timestamp>().map(|time| time.to_zoned(TimeZone::system()));
    zoned.map(|zoned| zoned.strftime("%a %-d %b, %H:%M").to_string()).unwrap_or_default()
}

/// Formats a large number: `330k`.
pub fn thousands(count: u64) -> String {
    match count {
        0..10_000 => count.to_string(),
        10_000..1_000_000 => format!("{}k", count / 1000),
        _ => format!("{:.1}M", count as f64 / 1e6),
    }
}

/// Formats an amount of money, with cents.
pub fn dollars(cost: f64) -> String {
    if cost > 0.0 && cost < 0.005 { "<$0.01".to_owned() } else { format!("${cost:.2}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_sequences_are_removed_and_long_texts_cut() {
        assert_eq!(printable("a\u{1b}[31;1mred\u{1b}[0m\u{7}\tb\r"), "ared b");
        assert_eq!(printable("grün \u{1b}"), "grün ");
        assert_eq!(printable("a\u{202e}b PASSWORD=hunter2hunter2"), "ab PASSWORD=[masked]");
        assert_eq!(printable("git refused\r\n\nmain is frozen\n"), "git refused; main is frozen");
        assert_eq!(line("a\u{1b}[31mred\u{1b}[0m\u{202e}evil\u{7}\nb"), "aredevil; b");
        let long = line(&"x".repeat(1 << 20));
        assert!(long.chars().count() == LONGEST_LINE + 1 && long.ends_with('…'));
        assert!(block(&"line\n".repeat(100_000)).len() < 2 * LONGEST);
    }

    #[test]
    fn durations_and_numbers_are_short() {
        assert_eq!(clock(Duration::from_secs(65)), "1:05");
        assert_eq!(clock(Duration::from_secs(3_725)), "1:02:05");
        assert_eq!(counted(1, "file", "files"), "1 file");
        for (seconds, words) in [
            (0, "0 s"),
            (59, "59 s"),
            (60, "1 m"),
            (1_200, "20 m"),
            (3_590, "1 h"),
            (3_900, "1 h 5 m"),
        ] {
            assert_eq!(in_words(Duration::from_secs(seconds)), words);
        }
        assert_eq!([999, 330_499, 1_250_000].map(thousands), ["999", "330k", "1.2M"]);
        assert_eq!([0.0, 0.0021, 2.125].map(dollars), ["$0.00", "<$0.01", "$2.12"]);
    }
}
