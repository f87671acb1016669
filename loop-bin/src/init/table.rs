//! The table of kinds, as `kinds.toml` has it.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::exit::Failure;

/// Everything that is known about kinds of projects.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct KindTable {
    pub(super) kind: Vec<ProjectKind>,
    pub(super) watcher: Vec<Watcher>,
    pub(super) neighbour: Vec<Neighbour>,
    pub(super) skip: String,
    pub(super) needs_more: String,
    pub(super) harmless: String,
    pub(super) idle: String,
}

/// One kind of project.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ProjectKind {
    pub(super) name: String,
    pub(super) marks: Vec<String>,
    pub(super) programs: String,
    #[serde(default)]
    pub(super) words: Vec<Words>,
    #[serde(default)]
    pub(super) packages: Vec<Row>,
    #[serde(default)]
    pub(super) setup: Vec<Row>,
    pub(super) test: Vec<Row>,
    #[serde(default)]
    pub(super) lint: Vec<Row>,
    #[serde(default)]
    pub(super) own: BTreeMap<String, String>,
    #[serde(default)]
    pub(super) apart: bool,
    #[serde(default)]
    pub(super) whole: bool,
    #[serde(default)]
    pub(super) fallback: bool,
}

/// A command and when it is right.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Row {
    #[serde(default)]
    pub(super) when: Vec<String>,
    pub(super) run: String,
    #[serde(default)]
    pub(super) alone: bool,
}

/// Texts for placeholders.
#[derive(Debug, Deserialize)]
pub(super) struct Words {
    #[serde(default)]
    pub(super) when: Vec<String>,
    #[serde(flatten)]
    pub(super) texts: BTreeMap<String, String>,
}

/// A test that waits for changes, and what ends instead; nothing if that is not known.
#[derive(Debug, Deserialize)]
pub(super) struct Watcher {
    pub(super) has: String,
    pub(super) instead: String,
}

/// What another loop left.
#[derive(Debug, Deserialize)]
pub(super) struct Neighbour {
    pub(super) path: String,
    pub(super) says: String,
}

impl KindTable {
    pub(super) fn load() -> Result<Self, Failure> {
        Ok(toml::from_str(include_str!("kinds.toml"))?)
    }

    /// Whether a word of the text asks for more than the project.
    pub(super) fn asks_for_more(&self, text: &str) -> bool {
        let mut words = text.split(|c: char| !c.is_ascii_alphanumeric());
        words.any(|word| listed(&self.needs_more, word))
    }
}

/// Whether a word is in a list of words.
pub(super) fn listed(list: &str, word: &str) -> bool {
    list.split_ascii_whitespace().any(|one| one == word)
}
