//! What a format makes of a file, before ids and dependencies are settled.

use super::story::{Format, Story, Warning};

/// A story as a format reads it: its id is the written one, empty if there is none.
pub(super) struct Draft {
    pub(super) story: Story,
    pub(super) wanted: Vec<Wanted>,
}

/// A dependency as it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Wanted {
    pub(super) text: String,
    pub(super) line: usize,
    /// Whether a name that no story has is an error.
    pub(super) strict: bool,
}

/// What a format makes of a file.
pub(super) struct Reading {
    pub(super) format: Format,
    pub(super) drafts: Vec<Draft>,
    pub(super) warnings: Vec<Warning>,
}
