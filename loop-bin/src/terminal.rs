//! Everything that is printed.

use std::cell::RefCell;
use std::error::Error;
use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use console::{Term, strip_ansi_codes, style};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use ralph_base::env::Env;
use ralph_core::plan::Plan;

use crate::agent::Seen;

/// A line for the user. A closed pipe is no reason to complain.
pub(crate) fn say(line: impl AsRef<str>) {
    let _ = writeln!(io::stdout().lock(), "{}", line.as_ref());
}

/// Text that has its own line ends.
pub(crate) fn say_as_it_is(text: &str) {
    let _ = io::stdout().lock().write_all(text.as_bytes());
}

/// An error and its causes.
pub(crate) fn complain(error: &dyn Error) {
    let mut text = format!("ralph-loop: {error}");
    let mut cause = error.source();
    while let Some(inner) = cause {
        let inner_text = inner.to_string();
        // Many errors repeat their cause in their own text.
        if !text.contains(&inner_text) {
            text = format!("{text}: {inner_text}");
        }
        cause = inner.source();
    }
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// The least time between two lines about what the agent does.
const GLIMPSE_PAUSE: Duration = Duration::from_millis(200);

/// On a terminal with fewer columns there is no room for the bar and for figures.
const WIDE: u16 = 80;

/// How a run is shown.
#[derive(Debug)]
pub(crate) enum View {
    /// Lines with a time in front.
    Plain { last: RefCell<(String, Option<Instant>)> },
    /// Lines, and below them what goes on now.
    Live { bar: ProgressBar },
    /// Nothing but the journal's lines, which the journal echoes.
    Json,
}

impl View {
    /// The view that fits where the output goes.
    pub(crate) fn new(env: &Env, json: bool) -> Self {
        if json {
            return Self::Json;
        }
        let dumb = env.get("TERM").is_none_or(|term| term == "dumb");
        if !io::stdout().is_terminal() || dumb {
            return Self::Plain { last: RefCell::default() };
        }
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stdout());
        dress(&bar);
        Self::Live { bar }
    }

    /// Something happened that is worth a line.
    pub(crate) fn line(&self, text: impl AsRef<str>) {
        printable_lines(text.as_ref()).iter().for_each(|line| self.print(line));
    }

    fn print(&self, text: &str) {
        let now = Zoned::now().strftime("%H:%M:%S");
        match self {
            Self::Plain { .. } => say(format!("{now} {text}")),
            Self::Live { bar } => bar.println(format!("{now} {text}")),
            Self::Json => {}
        }
    }

    /// Something that the user should see to.
    pub(crate) fn warn(&self, text: impl AsRef<str>) {
        let mut mark = "warning: ";
        for line in printable_lines(text.as_ref()) {
            let line = format!("{mark}{line}");
            match self {
                // Without colour where the user or the terminal wants none.
                Self::Live { .. } => self.print(&style(line).yellow().to_string()),
                // Standard output belongs to the events.
                Self::Json => drop(writeln!(io::stderr().lock(), "{line}")),
                _ => self.print(&line),
            }
            mark = "  ";
        }
    }

    /// Where the plan stands, before the next iteration.
    pub(crate) fn position(&self, plan: &Plan) {
        match self {
            Self::Live { bar } => {
                let counts = plan.counts();
                dress(bar);
                bar.set_message("");
                bar.set_length((counts.open + counts.done + counts.blocked) as u64);
                bar.set_position(counts.done as u64);
                bar.enable_steady_tick(Duration::from_millis(120));
            }
            Self::Plain { last } => drop(last.take()),
            Self::Json => {}
        }
    }

    /// What the agent does now for a story.
    pub(crate) fn glimpse(&self, story: &str, iteration: u64, elapsed: Duration, seen: &Seen) {
        match self {
            Self::Plain { last } if !seen.doing.is_empty() => {
                let (shown, at) = last.borrow().clone();
                // An agent that prints without end must not fill the log of whoever started us.
                if shown == seen.doing || at.is_some_and(|at| at.elapsed() < GLIMPSE_PAUSE) {
                    return;
                }
                last.replace((seen.doing.clone(), Some(Instant::now())));
                self.line(format!("{story} | {}", seen.doing));
            }
            Self::Live { bar } => {
                bar.set_message(glimpse_line(story, iteration, elapsed, seen));
            }
            _ => {}
        }
    }

    /// What is waited for.
    pub(crate) fn waiting(&self, text: &str) {
        if let Self::Live { bar } = self {
            bar.set_message(text.to_owned());
        }
    }

    /// Nothing moves any more.
    pub(crate) fn close(&self) {
        if let Self::Live { bar } = self {
            bar.finish_and_clear();
        }
    }
}

/// Whether there is no room for everything. A person may have made the terminal smaller since the
/// last look, and one that does not tell is as wide as most.
fn is_narrow() -> bool {
    Term::stdout().size_checked().is_some_and(|(_, columns)| columns < WIDE)
}

/// Gives the bar what the terminal has room for.
fn dress(bar: &ProgressBar) {
    let template = if is_narrow() {
        "{spinner:.cyan} {pos}/{len}  {wide_msg}"
    } else {
        "{spinner:.cyan} [{bar:20.green/dim}] {pos}/{len}  {wide_msg}"
    };
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style.progress_chars("=> "));
    }
}

/// What goes on now, in one line. It is cut at the edge of the terminal, so that on a narrow one
/// what the agent does comes before what can wait.
fn glimpse_line(story: &str, iteration: u64, elapsed: Duration, seen: &Seen) -> String {
    let doing = printable(&seen.doing);
    if is_narrow() {
        return [story, &clock(elapsed), &doing].join("  ");
    }
    let name = format!("{story} (iteration {iteration})");
    let mut parts = vec![name, clock(elapsed)];
    if seen.tokens > 0 {
        parts.push(format!("{}k tokens", seen.tokens / 1000));
    }
    if let Some(window) = seen.window().filter(|window| *window > 0) {
        parts.push(format!("context {}%", seen.context * 100 / window));
    }
    if let Some(cost) = seen.cost_usd {
        parts.push(format!("${cost:.2}"));
    }
    parts.push(doing);
    parts.join("  ")
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
