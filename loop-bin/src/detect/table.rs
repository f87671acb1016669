//! The table of project kinds, `kinds.toml`.

use std::collections::BTreeMap;

use serde::Deserialize;

/// All known kinds of projects.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct KindTable {
    pub(super) kind: Vec<ProjectKind>,
    /// Signs of a test command that watches for changes, and its replacement, if known.
    pub(super) watchers: Vec<(String, String)>,
    /// Parts of the names of CI actions, and the commands that they run.
    pub(super) actions: Vec<(String, String)>,
    /// Programs that only read the code; a second word is needed where they can do more.
    pub(super) linters: Vec<String>,
    pub(super) skip: String,
    pub(super) needs_more: String,
    pub(super) harmless: String,
    pub(super) idle: String,
    pub(super) builds: String,
}

/// One kind of project.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct ProjectKind {
    pub(super) name: String,
    pub(super) marks: Vec<String>,
    pub(super) programs: String,
    pub(super) words: Vec<Row>,
    pub(super) packages: Vec<Row>,
    pub(super) setup: Vec<Row>,
    pub(super) test: Vec<Row>,
    pub(super) lint: Vec<Row>,
    pub(super) own: BTreeMap<String, String>,
    pub(super) apart: bool,
    pub(super) whole: bool,
    pub(super) fallback: bool,
}

/// A command and its conditions.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Row {
    pub(super) when: Vec<String>,
    pub(super) run: String,
    pub(super) alone: bool,
    /// Values for placeholders.
    #[serde(flatten)]
    pub(super) texts: BTreeMap<String, String>,
}

impl KindTable {
    /// Whether a folder with this name is not part of the project itself.
    pub(super) fn skips(&self, name: &str) -> bool {
        let mut words = name.split(['_', '-']).map(|word| word.trim_end_matches('s')).chain([name]);
        let is_odd = name.starts_with(['.', '_']) || !is_plain_path(name);
        is_odd || words.any(|word| listed(&self.skip, word))
    }

    /// Whether a word of the text requires more than the project.
    pub(super) fn asks_for_more(&self, text: &str) -> bool {
        let mut words = text.split(|c: char| !c.is_ascii_alphanumeric());
        words.any(|word| listed(&self.needs_more, word))
    }
}

/// Whether a path needs no quoting in a shell and does not lead upwards.
pub(super) fn is_plain_path(path: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@".contains(c);
    path.chars().all(is_plain) && !path.contains("..") && !path.starts_with('/')
}

/// Whether a list of words contains a word.
pub(super) fn listed(list: &str, word: &str) -> bool {
    list.split_ascii_whitespace().any(|one| one == word)
}
