//! Everything that is printed.

mod lines;
mod scene;
mod screen;
mod view;
mod width;

use std::error::Error;
use std::io::{self, Write};
use std::time::Duration;

use console::strip_ansi_codes;
use jiff::Timestamp;
use jiff::tz::TimeZone;

pub(crate) use lines::Tone;
pub(crate) use scene::{Glimpse, Scene, Totals, Worker};
pub(crate) use screen::columns;
pub(crate) use view::View;
pub(crate) use width::cut;

/// A line for the user. A closed pipe is no reason to complain.
pub(crate) fn say(line: impl AsRef<str>) {
    let _ = writeln!(io::stdout().lock(), "{}", line.as_ref());
}

/// Text that has its own line ends.
pub(crate) fn say_as_it_is(text: &str) {
    let _ = io::stdout().lock().write_all(text.as_bytes());
}

/// What went wrong, for the user.
pub(crate) fn complain(text: &str) {
    let _ = writeln!(io::stderr().lock(), "ralph-loop: {text}");
}

/// An error and its causes.
pub(crate) fn told_with_causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        let inner_text = inner.to_string();
        // Many errors repeat their cause in their own text.
        if !text.contains(&inner_text) {
            text = format!("{text}: {inner_text}");
        }
        cause = inner.source();
    }
    text
}

/// A number of things.
pub(crate) fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// A number of whole seconds.
pub(crate) fn seconds(duration: Duration) -> String {
    counted(duration.as_secs() as usize, "second", "seconds")
}

/// In one line, without what would move the cursor or change colours: the text may be an agent's or
/// a test's.
pub(crate) fn printable(text: &str) -> String {
    let text = strip_ansi_codes(text).replace('\t', " ");
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    lines.join("; ").chars().filter(|c| !c.is_control()).collect()
}

/// The same of each line that says something.
pub(crate) fn printable_lines(text: &str) -> Vec<String> {
    text.lines().map(printable).filter(|line| !line.trim().is_empty()).collect()
}

/// A duration as people read it.
pub(crate) fn clock(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match seconds {
        0..3600 => format!("{}:{:02}", seconds / 60, seconds % 60),
        _ => format!("{}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60),
    }
}

/// A long duration as people write it: `45 s`, `20 m`, `1 h 5 m`.
pub(crate) fn in_words(duration: Duration) -> String {
    let seconds = duration.as_secs();
    let minutes = (seconds + 30) / 60;
    match (seconds, minutes) {
        (0..60, _) => format!("{seconds} s"),
        (_, 0..60) => format!("{minutes} m"),
        (_, _) if minutes.is_multiple_of(60) => format!("{} h", minutes / 60),
        _ => format!("{} h {} m", minutes / 60, minutes % 60),
    }
}

/// A time of the journal where people read it: `Mon 16 Nov, 13:45`.
pub(crate) fn local_time(at: &str) -> String {
    let zoned = at.parse::<Timestamp>().map(|time| time.to_zoned(TimeZone::system()));
    zoned.map(|zoned| zoned.strftime("%a %-d %b, %H:%M").to_string()).unwrap_or_default()
}

/// A large number as people write it: `330k`.
pub(crate) fn thousands(count: u64) -> String {
    match count {
        0..10_000 => count.to_string(),
        10_000..1_000_000 => format!("{}k", count / 1000),
        _ => format!("{:.1}M", count as f64 / 1e6),
    }
}

/// Money; of little, more digits.
pub(crate) fn dollars(cost: f64) -> String {
    if cost > 0.0 && cost < 0.1 { format!("${cost:.4}") } else { format!("${cost:.2}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_text_cannot_draw() {
        assert_eq!(printable("a\u{1b}[31;1mred\u{1b}[0m\u{7}\tb\r"), "ared b");
        assert_eq!(printable("grün \u{1b}"), "grün ");
        assert_eq!(printable("git refused\r\n\nmain is frozen\n"), "git refused; main is frozen");
    }

    #[test]
    fn durations_are_short() {
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
        assert_eq!([0.0, 0.0021, 2.125].map(dollars), ["$0.00", "$0.0021", "$2.12"]);
    }
}
