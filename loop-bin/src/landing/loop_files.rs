//! Files that the loop itself writes and git knows: the plan gets its tick, the progress its entries.
//! The same change is made to the committed text and to the user's own, which may differ.

use std::path::PathBuf;

use camino::Utf8PathBuf;
use ralph_core::plan::{AgentsPlan, Options, Plan};

/// What becomes of a story's box.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Mark {
    Done(String),
    Blocked(String),
}

/// A change that can be made to any text of a file.
#[derive(Debug, Clone)]
pub(crate) enum Change {
    /// Marks in the plan, and stories that the agent added.
    Plan { path: Utf8PathBuf, options: Options, marks: Vec<Mark>, added: Option<AgentsPlan> },
    /// Text at the end; a new file begins with `title`.
    Append { title: &'static str, text: Vec<u8> },
    /// What is on disk is what is committed.
    AsOnDisk,
}

impl Change {
    /// The text with the change in it. A plan that cannot be read, or has no such story, stays.
    pub(crate) fn apply(&self, text: &[u8]) -> Vec<u8> {
        match self {
            Self::AsOnDisk => text.to_vec(),
            Self::Append { title, text: more } => {
                let mut whole = if text.is_empty() { title.as_bytes() } else { text }.to_vec();
                if !whole.ends_with(b"\n") {
                    whole.push(b'\n');
                }
                whole.extend_from_slice(more);
                whole
            }
            Self::Plan { path, options, marks, added } => {
                let parse = |text: Vec<u8>| Plan::parse(path, text, options).ok();
                let Some(plan) = parse(text.to_vec()) else { return text.to_vec() };
                let mut text =
                    added.as_ref().map_or_else(|| text.to_vec(), |added| plan.with_added(added));
                for mark in marks {
                    let Some(plan) = parse(text.clone()) else { break };
                    let marked = match mark {
                        Mark::Done(story) => plan.tick(story),
                        Mark::Blocked(story) => plan.block(story),
                    };
                    text = marked.unwrap_or(text);
                }
                text
            }
        }
    }
}

/// A file of the loop's, from the top of the repository.
#[derive(Debug, Clone)]
pub(crate) struct LoopFile {
    pub(crate) path: PathBuf,
    /// Its text on the target; none if it is new there.
    pub(crate) before: Option<Vec<u8>>,
    /// Its text in the commit.
    pub(crate) after: Vec<u8>,
    pub(crate) change: Change,
}

impl LoopFile {
    /// The change of a file; none if it changes nothing.
    pub(crate) fn new(path: PathBuf, before: Option<Vec<u8>>, change: Change) -> Option<Self> {
        let after = change.apply(before.as_deref().unwrap_or_default());
        let is_new = before.as_deref() != Some(after.as_slice());
        is_new.then_some(Self { path, before, after, change })
    }

    /// What becomes of the user's own text of the file.
    pub(crate) fn in_users_text(&self, text: &[u8]) -> Vec<u8> {
        if self.before.as_deref() == Some(text) {
            return self.after.clone();
        }
        self.change.apply(text)
    }
}
