//! Ticking, blocking and reopening stories: byte edits that leave the rest of the file unchanged.
//!
//! The functions return the new bytes; the caller writes them to disk.

use super::story::{Format, Marks, Plan, State, Story};
use super::{checkbox, json};
use ralph_base::lines;
use std::collections::HashMap;
use std::ops::Range;

/// The note at a story that an agent added.
const BY_AGENT: &str = " (added by the agent)";

/// An id that no story of the plan has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{path} has no story {id}; its first stories are {}", .known.join(", "))]
pub struct UnknownStory {
    /// The path of the plan.
    pub path: camino::Utf8PathBuf,
    /// The requested id.
    pub id: String,
    /// The first ids in the plan.
    pub known: Vec<String>,
}

impl Plan {
    /// Returns the plan's bytes with story `id` done: one character changes in each unticked box.
    pub fn tick(&self, id: &str) -> Result<Vec<u8>, UnknownStory> {
        Ok(apply(&self.bytes, self.marking(self.known(id)?, State::Done)))
    }

    /// Returns the plan's bytes with story `id` blocked: each of its open boxes gets a `!`. A story
    /// that is done stays done.
    pub fn block(&self, id: &str) -> Result<Vec<u8>, UnknownStory> {
        Ok(apply(&self.bytes, self.marking(self.known(id)?, State::Blocked)))
    }

    /// Returns the plan's bytes with story `id` open again: blocked boxes are opened, and done
    /// boxes too if the whole story was done.
    pub fn reopen(&self, id: &str) -> Result<Vec<u8>, UnknownStory> {
        Ok(apply(&self.bytes, self.marking(self.known(id)?, State::Open)))
    }

    fn known(&self, id: &str) -> Result<&Story, UnknownStory> {
        self.story(id).ok_or_else(|| UnknownStory {
            path: self.path.clone(),
            id: id.to_owned(),
            known: self.stories.iter().take(5).map(|story| story.id.clone()).collect(),
        })
    }

    /// Returns the edits that give a story this state. Its done boxes stay done, unless the whole
    /// story is done and is to be reopened.
    pub(super) fn marking(&self, story: &Story, to: State) -> Vec<Edit> {
        let opens_done = story.state == State::Done && to == State::Open;
        let Marks::Boxes(boxes) = &story.marks else { return self.member_edits(story, to) };
        let changes = |mark: &&Range<usize>| {
            let state = self.box_state(mark);
            state != to && (state != State::Done || opens_done)
        };
        boxes.iter().filter(changes).map(|mark| self.box_edit(mark, to)).collect()
    }

    /// Does the same as `marking` for a JSON story.
    fn member_edits(&self, story: &Story, to: State) -> Vec<Edit> {
        let section = std::str::from_utf8(self.section(story)).unwrap_or_default();
        let set: HashMap<String, serde_json::Value> =
            serde_json::from_str(section).unwrap_or_default();
        let is_set = |key: &&str| set.get(*key) == Some(&true.into());
        let unset = |keys: &[&'static str]| -> Vec<(&str, &str)> {
            keys.iter().copied().filter(is_set).map(|key| (key, "false")).collect()
        };
        let status = |to: State| match to {
            State::Done => "\"done\"",
            State::Blocked => "\"blocked\"",
            State::Open => "\"pending\"",
        };
        let members = match to {
            _ if self.format == Format::TaskMaster => {
                let changes =
                    to != story.state && (to, story.state) != (State::Blocked, State::Done);
                let status = if changes { vec![("status", status(to))] } else { Vec::new() };
                [status, unset(if to == State::Blocked { &[] } else { &["held"] })].concat()
            }
            State::Done if story.state != State::Done => {
                [vec![("passes", "true")], unset(&["blocked", "held"])].concat()
            }
            State::Blocked if story.state == State::Open => vec![("blocked", "true")],
            State::Open => unset(&["passes", "blocked", "held"]),
            _ => Vec::new(),
        };
        let edit = |start: usize, object: &str, (key, value): (&str, &str)| {
            let (range, text) = json::set_member(object, key, value)?;
            let start = story.span.start + start;
            Some(Edit { range: start + range.start..start + range.end, text: text.into() })
        };
        let is_done = self.format == Format::TaskMaster && to == State::Done;
        // Task Master also marks the subtasks as done.
        let parts = if is_done { json::open_parts(section) } else { Vec::new() };
        let parts =
            parts.into_iter().filter_map(|(at, part)| edit(at, part, ("status", status(to))));
        members.into_iter().filter_map(|member| edit(0, section, member)).chain(parts).collect()
    }

    /// Returns the edits that make a story one that waits until a person accepts it, with a note of who
    /// added it.
    pub(super) fn holding(&self, story: &Story) -> Vec<Edit> {
        if let Marks::Boxes(boxes) = &story.marks {
            let first = lines::lines(self.section(story))
                .next()
                .map_or(0, |line| line.text.trim_ascii_end().len());
            let note = Edit::insert(story.span.start + first, BY_AGENT.as_bytes().to_vec());
            let mark = |mark: &Range<usize>| {
                let edit = self.box_edit(mark, State::Blocked);
                let text = String::from_utf8_lossy(&edit.text).replace('!', checkbox::HELD);
                Edit { text: text.into_bytes(), ..edit }
            };
            return boxes.iter().map(mark).chain([note]).collect();
        }
        let section = std::str::from_utf8(self.section(story)).unwrap_or_default();
        let status = (self.format == Format::TaskMaster).then_some(("status", "\"review\""));
        let passes =
            (story.state == State::Done && status.is_none()).then_some(("passes", "false"));
        let members = [("held", "true")].into_iter().chain(status).chain(passes);
        let edit = |(key, value)| {
            let (range, text) = json::set_member(section, key, value)?;
            let start = story.span.start;
            Some(Edit { range: start + range.start..start + range.end, text: text.into() })
        };
        members.filter_map(edit).collect()
    }

    /// Returns the boxes that determine the state of a story.
    pub(super) fn marks<'a>(&self, story: &'a Story) -> &'a [Range<usize>] {
        match &story.marks {
            Marks::Boxes(marks) => marks,
            Marks::Object => &[],
        }
    }

    /// Returns the bytes outside all stories, without white space and commas.
    pub(super) fn around(&self) -> Vec<u8> {
        let cut = |story: &Story| Edit { range: story.span.clone(), text: Vec::new() };
        let around = apply(&self.bytes, self.stories.iter().map(cut).collect());
        without_white_space(around).into_iter().filter(|byte| *byte != b',').collect()
    }

    pub(super) fn box_state(&self, mark: &Range<usize>) -> State {
        checkbox::state(self.bytes.get(mark.clone()).unwrap_or_default())
    }

    fn box_edit(&self, mark: &Range<usize>, state: State) -> Edit {
        let before = mark.start.checked_sub(1).and_then(|at| self.bytes.get(at));
        let current = self.bytes.get(mark.clone()).unwrap_or_default();
        // A single-character box has no brackets to put the mark between.
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
}

/// A replacement of a byte range.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Edit {
    pub(super) range: Range<usize>,
    pub(super) text: Vec<u8>,
}

impl Edit {
    pub(super) fn insert(at: usize, text: Vec<u8>) -> Self {
        Self { range: at..at, text }
    }
}

pub(super) fn without_white_space(bytes: Vec<u8>) -> Vec<u8> {
    bytes.into_iter().filter(|byte| !byte.is_ascii_whitespace()).collect()
}

/// Returns `bytes` with the edits applied; the edits must not overlap.
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
