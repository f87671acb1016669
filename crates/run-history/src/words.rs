//! Texts of agents, plans and tests, as a page may hold them: no colour codes, nothing that turns the
//! direction of what follows, and not without end.

use std::time::Duration;

use console::strip_ansi_codes;
use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::terminal::in_words;

/// More of one text nobody reads on a page.
const LONGEST: usize = 4_000;
const LONGEST_LINE: usize = 400;

/// One line of it.
pub(super) fn line(text: &str) -> String {
    let text = block(text);
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.collect::<Vec<_>>().join("; ")
}

/// Several lines of it.
pub(super) fn block(text: &str) -> String {
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

/// Control characters do nothing good, and marks of direction rearrange what is around them.
fn is_shown(c: char) -> bool {
    !c.is_control()
        && !matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Seconds since the epoch.
pub(super) fn epoch(at: &str) -> Option<f64> {
    at.parse::<Timestamp>().ok().map(|time| time.as_millisecond() as f64 / 1e3)
}

/// A time of the day where people read it: `13:45`.
pub(super) fn hour(at: f64) -> String {
    let time = Timestamp::from_second(at as i64).map(|time| time.to_zoned(TimeZone::system()));
    time.map(|time| time.strftime("%H:%M").to_string()).unwrap_or_default()
}

/// A time that something took.
pub(super) fn time(seconds: f64) -> String {
    in_words(Duration::try_from_secs_f64(seconds).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hostile_text_is_harmless() {
        assert_eq!(line("a\u{1b}[31mred\u{1b}[0m\u{202e}evil\u{7}\nb"), "aredevil; b");
        let long = line(&"x".repeat(1 << 20));
        assert!(long.chars().count() == LONGEST_LINE + 1 && long.ends_with('…'));
        assert!(block(&"line\n".repeat(100_000)).len() < 2 * LONGEST);
    }
}
