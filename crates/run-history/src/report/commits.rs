//! Reads the messages and sizes of a run's commits.

use std::collections::BTreeMap;

use camino::{Utf8Path, Utf8PathBuf};
use ralph_core::git::{Git, GitError};

use crate::words::{block, counted, line};

/// A commit that landed.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Landed {
    pub(crate) subject: String,
    body: String,
    /// Whether it has a receipt.
    pub(crate) has_receipt: bool,
    /// `2 files changed, +10 −0`
    pub(crate) stat: String,
}

impl Landed {
    /// Returns the agent's own summary.
    pub(crate) fn claim(&self) -> String {
        let is_claim = |text: &&str| !text.starts_with("Ralph-");
        block(&self.body.lines().take_while(is_claim).collect::<Vec<_>>().join("\n"))
    }

    /// Returns the value of a trailer; a long one continues on lines that begin with a space.
    pub(crate) fn trailer(&self, key: &str) -> String {
        let mut rest = self.body.lines().skip_while(|text| !text.starts_with(key));
        let first = rest.next().and_then(|text| text.strip_prefix(key)).unwrap_or_default();
        let more = rest.take_while(|text| text.starts_with(' ')).map(str::trim);
        let parts: Vec<&str> = [first.trim()].into_iter().chain(more).collect();
        line(&parts.join(" "))
    }
}

/// Returns the newest commit on any branch whose message has these words.
pub(crate) fn found(git: &Git, words: &str) -> Option<String> {
    let grep = format!("--grep={words}");
    let found = git.line(&["rev-list", "-1", "--fixed-strings", &grep, "--branches"]).ok()?;
    (!found.is_empty()).then_some(found)
}

/// Reads commits in one call: their messages, and how much they change apart from our own files.
/// Commits that git no longer has are left out.
pub(crate) fn landed(
    git: &Git,
    commits: &[&str],
    own: &[Utf8PathBuf],
) -> Result<BTreeMap<String, Landed>, GitError> {
    if commits.is_empty() {
        return Ok(BTreeMap::new());
    }
    let args = ["log", "--no-walk=unsorted", "--ignore-missing", "--numstat", "--no-renames"];
    let format = "--format=%x01%H%x02%s%x02%b%x02%N%x02";
    let args = [&args[..], &["--no-color", "--notes=ralph", format, "--stdin"]].concat();
    let output = git.feed(&args, commits.join("\n").as_bytes())?;
    let text = String::from_utf8_lossy(&output).into_owned();
    let mut found = BTreeMap::new();
    for one in text.split('\u{1}') {
        let parts: Vec<&str> = one.splitn(5, '\u{2}').collect();
        let [id, subject, body, note, numbers] = parts.as_slice() else { continue };
        let [subject, body] = [subject, body].map(|text| text.trim().to_owned());
        let stat = stat(numbers, own);
        found.insert(
            (*id).to_owned(),
            Landed { subject, body, has_receipt: !note.trim().is_empty(), stat },
        );
    }
    Ok(found)
}

/// Returns how much a commit changes, from git's table of numbers and paths.
fn stat(numbers: &str, own: &[Utf8PathBuf]) -> String {
    let (mut files, mut added, mut deleted) = (0, 0, 0);
    for row in numbers.lines() {
        let parts: Vec<&str> = row.splitn(3, '\t').collect();
        let [more, less, path] = parts.as_slice() else { continue };
        if own.iter().any(|own| Utf8Path::new(path).starts_with(own)) {
            continue;
        }
        files += 1;
        // A binary file has no lines.
        added += more.parse::<u64>().unwrap_or(0);
        deleted += less.parse::<u64>().unwrap_or(0);
    }
    format!("{} changed, +{added} −{deleted}", counted(files, "file", "files"))
}
