//! Ticking and blocking: byte edits that leave everything else in the file as it is.
//!
//! Returns the new bytes; writing them to disk is the caller's.

use super::story::{Marks, Plan, State, Story};
use super::{checkbox, json};
use std::ops::Range;

/// No story of the plan has this id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{path} has no story {id}; its stories begin with {}", .known.join(", "))]
pub struct UnknownStory {
    /// The plan.
    pub path: camino::Utf8PathBuf,
    /// The id as it was asked for.
    pub id: String,
    /// The first ids that it does have.
    pub known: Vec<String>,
}

impl Plan {
    /// The plan's bytes with story `id` done: one character for each of its boxes.
    pub fn tick(&self, id: &str) -> Result<Vec<u8>, UnknownStory> {
        self.marked(id, State::Done)
    }

    /// The plan's bytes with story `id` blocked: `!` in those of its boxes that are open. A story
    /// that is done stays done.
    pub fn block(&self, id: &str) -> Result<Vec<u8>, UnknownStory> {
        self.marked(id, State::Blocked)
    }

    fn marked(&self, id: &str, state: State) -> Result<Vec<u8>, UnknownStory> {
        match self.story(id) {
            Some(story) => Ok(apply(&self.bytes, self.marking(story, state))),
            None => Err(UnknownStory {
                path: self.path.clone(),
                id: id.to_owned(),
                known: self.stories.iter().take(5).map(|story| story.id.clone()).collect(),
            }),
        }
    }

    /// The edits that give a story a state.
    pub(super) fn marking(&self, story: &Story, state: State) -> Vec<Edit> {
        match &story.marks {
            Marks::Boxes(boxes) => {
                boxes.iter().filter_map(|mark| self.box_edit(mark, state)).collect()
            }
            Marks::Object if state == story.state || story.state == State::Done => Vec::new(),
            Marks::Object => {
                let key = if state == State::Blocked { "blocked" } else { "passes" };
                object_edit(self.section(story), story.span.start, key, "true")
                    .into_iter()
                    .collect()
            }
        }
    }

    fn box_edit(&self, mark: &Range<usize>, state: State) -> Option<Edit> {
        let current = self.bytes.get(mark.clone())?;
        let before = mark.start.checked_sub(1).and_then(|at| self.bytes.get(at));
        // A box of one character has no brackets for the mark to stand in.
        let is_bracketed = before == Some(&b'[') || !checkbox::is_ballot(current);
        let text = match (state, checkbox::state(current)) {
            (State::Done, State::Open | State::Blocked) if is_bracketed => "x",
            (State::Done, State::Open | State::Blocked) => checkbox::BALLOT_DONE,
            (State::Blocked, State::Open) if is_bracketed => "!",
            (State::Blocked, State::Open) => "[!]",
            _ => return None,
        };
        Some(Edit { range: mark.clone(), text: text.as_bytes().to_vec() })
    }
}

/// Bytes to put in the place of others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Edit {
    pub(super) range: Range<usize>,
    pub(super) text: Vec<u8>,
}

/// The edit that sets one member of the JSON object `section`, which begins at `offset`.
pub(super) fn object_edit(section: &[u8], offset: usize, key: &str, value: &str) -> Option<Edit> {
    let (range, text) = json::set_member(std::str::from_utf8(section).ok()?, key, value)?;
    Some(Edit { range: offset + range.start..offset + range.end, text: text.into_bytes() })
}

/// `bytes` with the edits made; they must not overlap.
pub(super) fn apply(bytes: &[u8], mut edits: Vec<Edit>) -> Vec<u8> {
    edits.sort_by_key(|edit| edit.range.start);
    let mut result = Vec::with_capacity(bytes.len() + edits.len());
    let mut done = 0;
    for edit in edits {
        result.extend_from_slice(bytes.get(done..edit.range.start).unwrap_or_default());
        result.extend_from_slice(&edit.text);
        done = edit.range.end;
    }
    result.extend_from_slice(bytes.get(done..).unwrap_or_default());
    result
}
