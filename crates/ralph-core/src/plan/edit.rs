//! Ticking, blocking and opening: byte edits that leave everything else in the file as it is.
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

    /// The plan's bytes with story `id` open again: what was blocked is open, and if the story was
    /// done, all of it.
    pub fn reopen(&self, id: &str) -> Result<Vec<u8>, UnknownStory> {
        let story = self.known(id)?;
        Ok(apply(&self.bytes, self.opening(story, story.state == State::Done)))
    }

    fn marked(&self, id: &str, state: State) -> Result<Vec<u8>, UnknownStory> {
        Ok(apply(&self.bytes, self.marking(self.known(id)?, state)))
    }

    fn known(&self, id: &str) -> Result<&Story, UnknownStory> {
        self.story(id).ok_or_else(|| UnknownStory {
            path: self.path.clone(),
            id: id.to_owned(),
            known: self.stories.iter().take(5).map(|story| story.id.clone()).collect(),
        })
    }

    /// The edits that make a story done, or what is open of it blocked.
    pub(super) fn marking(&self, story: &Story, state: State) -> Vec<Edit> {
        match &story.marks {
            Marks::Boxes(boxes) => {
                let differs = |mark: &&Range<usize>| match self.box_state(mark) {
                    State::Done => false,
                    current => current != state,
                };
                boxes.iter().filter(differs).map(|mark| self.box_edit(mark, state)).collect()
            }
            Marks::Object if state == story.state || story.state == State::Done => Vec::new(),
            Marks::Object => {
                let key = if state == State::Blocked { "blocked" } else { "passes" };
                self.member_edit(story, key, "true").into_iter().collect()
            }
        }
    }

    /// The edits that open what is blocked of a story and, if `done_too`, what is done.
    pub(super) fn opening(&self, story: &Story, done_too: bool) -> Vec<Edit> {
        match &story.marks {
            Marks::Boxes(boxes) => {
                let opens = |mark: &&Range<usize>| match self.box_state(mark) {
                    State::Done => done_too,
                    state => state == State::Blocked,
                };
                boxes.iter().filter(opens).map(|mark| self.box_edit(mark, State::Open)).collect()
            }
            Marks::Object => {
                let object: serde_json::Value =
                    serde_json::from_slice(self.section(story)).unwrap_or_default();
                let keys = if done_too { &["passes", "blocked"][..] } else { &["blocked"] };
                let set = keys.iter().filter(|key| object.get(**key) == Some(&true.into()));
                set.filter_map(|key| self.member_edit(story, key, "false")).collect()
            }
        }
    }

    /// Mark and text of each box that makes the state of a story.
    pub(super) fn boxes<'a>(
        &'a self,
        story: &'a Story,
    ) -> impl Iterator<Item = (&'a Range<usize>, &'a [u8])> {
        let marks: &[Range<usize>] = match &story.marks {
            Marks::Boxes(marks) => marks,
            Marks::Object => &[],
        };
        marks.iter().map(|mark| {
            let behind = self.bytes.get(mark.end..).unwrap_or_default();
            let line = behind.split(|b| matches!(b, b'\n' | b'\r')).next().unwrap_or_default();
            let inside = line.trim_ascii_start();
            (mark, inside.strip_prefix(b"]").unwrap_or(inside).trim_ascii())
        })
    }

    pub(super) fn box_state(&self, mark: &Range<usize>) -> State {
        checkbox::state(self.bytes.get(mark.clone()).unwrap_or_default())
    }

    fn box_edit(&self, mark: &Range<usize>, state: State) -> Edit {
        let before = mark.start.checked_sub(1).and_then(|at| self.bytes.get(at));
        let current = self.bytes.get(mark.clone()).unwrap_or_default();
        // A box of one character has no brackets for the mark to stand in.
        let is_bracketed = before == Some(&b'[') || !checkbox::is_ballot(current);
        let (open, done, blocked) = if is_bracketed {
            (" ", "x", "!")
        } else {
            (checkbox::BALLOT_OPEN, checkbox::BALLOT_DONE, "[!]")
        };
        let text = match state {
            State::Open => open,
            State::Done => done,
            State::Blocked => blocked,
        };
        Edit { range: mark.clone(), text: text.as_bytes().to_vec() }
    }

    /// The edit that sets one member of the JSON object that a story is.
    fn member_edit(&self, story: &Story, key: &str, value: &str) -> Option<Edit> {
        let offset = story.span.start;
        let section = std::str::from_utf8(self.section(story)).ok()?;
        let (range, text) = json::set_member(section, key, value)?;
        Some(Edit { range: offset + range.start..offset + range.end, text: text.into_bytes() })
    }
}

/// Bytes to put in the place of others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Edit {
    pub(super) range: Range<usize>,
    pub(super) text: Vec<u8>,
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
