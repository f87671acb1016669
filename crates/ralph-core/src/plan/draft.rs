//! What a format makes of a file, before ids and dependencies are settled.

use super::depends::Wanted;
use super::story::{Format, Marks, State, Warning};
use std::ops::Range;

/// A story as a format reads it.
pub(super) struct Draft {
    /// The id as it is written, if one is.
    pub(super) written_id: Option<String>,
    pub(super) title: String,
    pub(super) state: State,
    pub(super) details: String,
    pub(super) wanted: Vec<Wanted>,
    pub(super) priority: Option<i64>,
    pub(super) optional: bool,
    pub(super) line: usize,
    pub(super) span: Range<usize>,
    pub(super) marks: Marks,
}

/// What a format makes of a file.
pub(super) struct Reading {
    pub(super) format: Format,
    pub(super) drafts: Vec<Draft>,
    pub(super) warnings: Vec<Warning>,
    /// What to write when there is no story at all.
    pub(super) hint: &'static str,
    /// The line that the hint is about, if it is about one.
    pub(super) hint_line: Option<usize>,
}
