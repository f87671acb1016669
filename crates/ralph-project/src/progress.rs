//! `progress.md`: one entry per iteration, appended; what others wrote there is kept.
//!
//! The functions return the bytes to append, so that the caller can write them in a single append.

use jiff::Timestamp;
use ralph_base::lines;
use ralph_base::listing::{first_few, one_line};
use ralph_base::state::Scale;
use std::collections::{HashMap, HashSet};
use std::time::Duration;

use crate::verification::Finding;

/// How an iteration ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProgressStatus {
    /// The checks passed and the story was ticked.
    Success,
    /// The agent or a check failed.
    Failed,
    /// The agent ran out of time.
    Timeout,
    /// The user stopped it.
    Interrupted,
    /// The story waits for a person.
    Blocked,
}

impl ProgressStatus {
    /// Returns the word that is used in the file.
    fn word(self) -> String {
        format!("{self:?}").to_uppercase()
    }
}

/// The entry of one iteration; empty or `None` parts get no line.
#[derive(Debug, Clone, PartialEq)]
pub struct ProgressEntry {
    /// Number of the iteration.
    pub iteration: u64,
    /// Id of the story.
    pub story: String,
    /// How it ended.
    pub status: ProgressStatus,
    /// Short id of the commit, if there is one.
    pub commit: Option<String>,
    /// When it ended.
    pub time: Timestamp,
    /// Why the story was set aside or blocked, in one line.
    pub reason: Option<String>,
    /// How long the agent ran.
    pub duration: Option<Duration>,
    /// Tokens that it used.
    pub tokens: Option<u64>,
    /// What it cost.
    pub cost_usd: Option<f64>,
    /// What was found out about the work.
    pub findings: Vec<Finding>,
    /// What is known about the work, if it landed.
    pub scale: Option<Scale>,
    /// The files that the commit changed.
    pub files_changed: Vec<String>,
    /// The agent's summary of its work.
    pub summary: Option<String>,
}

/// The title of a new file.
const TITLE: &str = "# Progress Log";
/// More file names than this are only counted.
const NAMED_FILES: usize = 10;

impl ProgressEntry {
    /// Returns the bytes to append to a file that contains `existing`.
    pub fn appended_to(&self, existing: &[u8]) -> Vec<u8> {
        section_for(existing, &self.render())
    }

    fn render(&self) -> String {
        let commit = self.commit.as_deref().unwrap_or("none");
        let commands = self.findings.iter().flat_map(|finding| &finding.commands);
        let verified = commands.map(|check| ("Verify", Some(format!("`{}` passed", check.name()))));
        let mut lines = vec![
            ("Status", Some(self.status.word())),
            ("Commit", Some(one_line(commit))),
            ("Time", Some(format!("{:.0}", self.time))),
            ("Reason", self.reason.as_deref().map(one_line)),
            ("Duration", self.duration.map(spoken)),
            ("Tokens", self.tokens.map(|tokens| tokens.to_string())),
            ("Cost", self.cost_usd.map(|cost| format!("${cost:.4}"))),
        ];
        lines.extend(verified);
        lines.push((
            "Verify",
            self.scale.filter(|it| *it == Scale::Unchecked).map(|it| it.to_string()),
        ));
        lines.push(("Files changed", named(&self.files_changed)));
        let found: Vec<_> = self.findings.iter().flat_map(Finding::progress).collect();
        lines.extend(found.iter().map(|(name, text)| (name.as_str(), Some(one_line(text)))));
        lines.push(("Summary", self.summary.as_deref().map(indented)));
        let mut text = format!("## Iteration {} - {}\n", self.iteration, one_line(&self.story));
        for (name, value) in lines.into_iter().filter_map(|(name, value)| Some((name, value?))) {
            text.push_str(&format!("- {name}: {value}\n"));
        }
        text
    }
}

/// Returns the bytes that append a section with its heading: after one blank line, and with
/// the line endings of the file.
pub fn section_for(existing: &[u8], section: &str) -> Vec<u8> {
    let lead = match existing {
        [] => format!("{TITLE}\n\n"),
        [.., b'\n'] => "\n".to_owned(),
        _ => "\n\n".to_owned(),
    };
    (lead + section).replace('\n', lines::ending(existing)).into_bytes()
}

/// Whether a character is a line break of any kind; some readers split at the rarer ones too.
fn is_break(c: char) -> bool {
    c.is_control() && c != '\t' || matches!(c, '\u{2028}' | '\u{2029}')
}

/// Formats lines as the continuation of a list item. A line that would be a heading there is
/// escaped, so that no text can pass for an entry.
fn indented(text: &str) -> String {
    let kept = text.split(is_break).map(str::trim_end).filter(|line| !line.trim().is_empty());
    let safe = kept.map(|line| {
        let text = line.trim_start();
        if text.starts_with('#') { format!("\\{text}") } else { line.to_owned() }
    });
    safe.collect::<Vec<_>>().join("\n  ").trim_start().to_owned()
}

fn spoken(duration: Duration) -> String {
    match duration.as_secs() {
        seconds @ 0..60 => format!("{seconds}s"),
        seconds @ 60..3600 => format!("{}m {}s", seconds / 60, seconds % 60),
        seconds => format!("{}h {}m", seconds / 3600, seconds % 3600 / 60),
    }
}

fn named(files: &[String]) -> Option<String> {
    let names = first_few(files.iter().map(|file| one_line(file)), NAMED_FILES);
    (!files.is_empty()).then(|| format!("{} ({names})", files.len()))
}

/// Returns whether a progress file has this entry, written no earlier than `since`: a time
/// in the format of entries.
pub fn progress_has(bytes: &[u8], entry: &ProgressEntry, since: &str) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let heading = format!("{} - {}", entry.iteration, entry.story);
    let status = format!("- Status: {}", entry.status.word());
    // Other workers may have written since.
    text.split("\n## Iteration ").skip(1).any(|section| {
        let mut lines = section.lines();
        lines.next() == Some(heading.as_str())
            && lines.clone().any(|line| line == status)
            && lines.any(|line| line.strip_prefix("- Time: ").is_some_and(|at| at >= since))
    })
}

/// The most bytes of a prompt about the work done so far.
pub const LONGEST_PROGRESS: usize = 1800;

/// How many entries a prompt holds whole, if they fit.
const LAST_ENTRIES: usize = 3;

/// The most characters of a title in the line of a done story.
const LONGEST_TITLE: usize = 80;

/// Returns what a prompt says about the work done so far, in at most [`LONGEST_PROGRESS`] bytes:
/// the patterns, one line for each story in `done` (id and title), the last entries, and the
/// `path` of the file for the rest.
pub fn progress_excerpt(bytes: &[u8], done: &[(&str, &str)], path: &str) -> String {
    let text = String::from_utf8_lossy(bytes);
    let all = sections(&text).into_iter().filter(|section| *section != TITLE);
    let (patterns, entries): (Vec<&str>, Vec<&str>) =
        all.partition(|section| is_about_patterns(section.lines().next().unwrap_or_default()));
    let is_empty = patterns.is_empty() && entries.is_empty();
    let rest = if is_empty { String::new() } else { format!("The whole log is in {path}.") };
    let mut left = LONGEST_PROGRESS.saturating_sub(rest.len() + 4 * GAP.len());
    let last = last_entries(&entries, left / 8 * 5);
    left = left.saturating_sub(last.len());
    let patterns = beginning(patterns.join(GAP), left / 2);
    left = left.saturating_sub(patterns.len());
    let mut parts = vec![patterns, done_lines(done, &commits(&entries), left), last, rest];
    parts.retain(|part| !part.is_empty());
    parts.join(GAP)
}

/// Returns the last entries that fit; of the very last one, at least the beginning.
fn last_entries(entries: &[&str], limit: usize) -> String {
    let (mut left, mut parts) = (limit, Vec::new());
    for entry in entries.iter().rev().take(LAST_ENTRIES) {
        let Some(rest) = left.checked_sub(entry.len() + GAP.len()) else { break };
        left = rest;
        parts.push(*entry);
    }
    match entries.last() {
        Some(last) if parts.is_empty() => beginning((*last).to_owned(), limit),
        _ => parts.into_iter().rev().collect::<Vec<_>>().join(GAP),
    }
}

/// Returns the commits that entries name, by story; the last one of a story counts.
fn commits<'a>(entries: &[&'a str]) -> HashMap<&'a str, &'a str> {
    let named = entries.iter().filter_map(|entry| {
        let (_, story) = entry.lines().next()?.strip_prefix("## Iteration ")?.split_once(" - ")?;
        let commit = entry.lines().find_map(|line| line.strip_prefix("- Commit: "))?;
        (commit != "none").then_some((story, commit))
    });
    named.collect()
}

/// Returns a line for each of the last done stories that fit; earlier ones are counted.
fn done_lines(done: &[(&str, &str)], commits: &HashMap<&str, &str>, limit: usize) -> String {
    const TITLE: &str = "Done:";
    let count = |number: usize| format!("- and {number} before these");
    let mut left = limit.saturating_sub(TITLE.len() + count(done.len()).len() + 1);
    let mut lines = Vec::new();
    for (id, title) in done.iter().rev() {
        let title: String = one_line(title).chars().take(LONGEST_TITLE).collect();
        let commit = commits.get(id).map(|commit| format!(" ({commit})")).unwrap_or_default();
        let line = format!("- {id}: {title}{commit}");
        let Some(rest) = left.checked_sub(line.len() + 1) else { break };
        left = rest;
        lines.push(line);
    }
    if lines.is_empty() {
        return String::new();
    }
    let earlier = done.len() - lines.len();
    lines.extend((earlier > 0).then(|| count(earlier)));
    lines.push(TITLE.to_owned());
    lines.reverse();
    lines.join("\n")
}

/// Returns whether a line is the heading of lessons about the code, which apply to all stories.
pub fn is_about_patterns(line: &str) -> bool {
    let line = line.to_ascii_lowercase();
    line.starts_with('#')
        && ["pattern", "lesson", "learning"].iter().any(|word| line.contains(word))
}

/// The separator between the parts of a file.
const GAP: &str = "\n\n";

/// Returns the parts of a file, each with its heading of the first or second level.
fn sections(text: &str) -> Vec<&str> {
    let mut parts = vec![text];
    for (at, _) in text.match_indices('\n') {
        let rest = text.get(at + 1..).unwrap_or_default();
        if rest.starts_with("# ") || rest.starts_with("## ") {
            let begun = parts.pop().unwrap_or_default();
            parts.extend([begun.get(..begun.len() - rest.len()).unwrap_or_default(), rest]);
        }
    }
    parts.into_iter().map(str::trim).filter(|part| !part.is_empty()).collect()
}

/// Returns the first lines of a text that fit.
fn beginning(text: String, limit: usize) -> String {
    if text.len() <= limit {
        return text;
    }
    let mut length = 0;
    let fits = |line: &&str| {
        length += line.len();
        length + "…".len() <= limit
    };
    text.split_inclusive('\n').take_while(fits).chain(["…"]).collect()
}

/// Returns the lines that an agent added to its progress file; patterns include their heading.
pub fn agents_lines(given: &[u8], left: &[u8]) -> Vec<u8> {
    let known: HashSet<&[u8]> = given.split(|byte| *byte == b'\n').collect();
    let (mut new, mut heading) = (Vec::new(), None);
    for line in left.split(|byte| *byte == b'\n') {
        if line.starts_with(b"#") {
            let is_kept = is_about_patterns(&String::from_utf8_lossy(line));
            heading = if is_kept { Some(line) } else { None };
        }
        if line.trim_ascii().is_empty() || known.contains(line) {
            continue;
        }
        if let Some(above) = heading.take().filter(|above| *above != line) {
            new.extend([b"\n", above, b"\n"].concat());
        }
        new.extend([line, b"\n"].concat());
    }
    new
}

#[cfg(test)]
mod tests;
