//! Puts parts of two versions of a plan together, for `repair.rs`.

use super::edit::{self, Edit, object_edit};
use super::lines;
use super::repair::Change;
use super::story::{Marks, Plan, State, Story};
use std::collections::HashMap;

/// The stories that were not there before, with their place in the new plan.
pub(super) fn new_stories<'a>(
    change: &'a Change<'a>,
) -> impl Iterator<Item = (usize, &'a Story)> + 'a {
    let stories = change.after.stories.iter().enumerate();
    stories.filter(|(_, story)| change.before.story(&story.id).is_none())
}

/// The edits that open a new story which the agent added as done: nothing has checked that.
pub(super) fn reopened(plan: &Plan, story: &Story) -> Vec<Edit> {
    match &story.marks {
        _ if story.state != State::Done => Vec::new(),
        Marks::Boxes(boxes) => {
            boxes.iter().map(|mark| Edit { range: mark.clone(), text: b" ".to_vec() }).collect()
        }
        Marks::Object => object_edit(plan.section(story), story.span.start, "passes", "false")
            .into_iter()
            .collect(),
    }
}

/// The agent's own section: its text, but the old first line and the old state.
pub(super) fn own_section(change: &Change<'_>, old: &Story, new: &Story) -> Vec<u8> {
    let (before, after) = (change.before.section(old), change.after.section(new));
    let start = new.span.start;
    let mut edits = match &new.marks {
        Marks::Boxes(_) => {
            let (old_head, new_head) = (first_line(before), first_line(after));
            let mut edits = box_edits(change, old, new);
            edits.retain(|edit| edit.range.start >= start + new_head.len());
            edits.push(Edit { range: start..start + new_head.len(), text: old_head.to_vec() });
            edits
        }
        Marks::Object => ["passes", "blocked"]
            .into_iter()
            .filter_map(|key| flag_edit(before, after, start, key))
            .collect(),
    };
    for edit in &mut edits {
        edit.range = edit.range.start - start..edit.range.end - start;
    }
    edit::apply(after, edits)
}

fn first_line(section: &[u8]) -> &[u8] {
    let end = section.iter().position(|b| matches!(b, b'\n' | b'\r')).unwrap_or(section.len());
    section.get(..end).unwrap_or_default()
}

/// Gives every box of a section the mark that the box with the same text had, or an open one.
pub(super) fn box_edits(change: &Change<'_>, old: &Story, new: &Story) -> Vec<Edit> {
    let mut marks: HashMap<&[u8], Vec<&[u8]>> = HashMap::new();
    for (mark, text) in boxes(change.before, old).into_iter().rev() {
        marks.entry(text).or_default().push(mark);
    }
    let Marks::Boxes(ranges) = &new.marks else { return Vec::new() };
    let edits = ranges.iter().zip(boxes(change.after, new)).filter_map(|(range, (mark, text))| {
        let old_mark = marks.get_mut(text).and_then(Vec::pop).unwrap_or(b" ");
        (mark != old_mark).then(|| Edit { range: range.clone(), text: old_mark.to_vec() })
    });
    edits.collect()
}

/// Mark and text of each box that makes the state of a story.
pub(super) fn boxes<'a>(plan: &'a Plan, story: &Story) -> Vec<(&'a [u8], &'a [u8])> {
    let Marks::Boxes(ranges) = &story.marks else { return Vec::new() };
    let slice = |range: &std::ops::Range<usize>| {
        let text = first_line(plan.bytes.get(range.end..).unwrap_or_default());
        (plan.bytes.get(range.clone()).unwrap_or_default(), text.trim_ascii_end())
    };
    ranges.iter().map(slice).collect()
}

/// Sets a flag back to what it was; one that was not there becomes false.
fn flag_edit(before: &[u8], after: &[u8], start: usize, key: &str) -> Option<Edit> {
    let value = |section: &[u8]| {
        let object: serde_json::Map<_, _> = serde_json::from_slice(section).ok()?;
        object.get(key).cloned()
    };
    let (old, new) = (value(before), value(after));
    if old == new || (old.is_none() && new == Some(serde_json::Value::Bool(false))) {
        return None;
    }
    let old = old.unwrap_or(serde_json::Value::Bool(false)).to_string();
    object_edit(after, start, key, &old)
}

/// The old plan with the agent's own section (if `keep_own`) and its new stories at the end.
pub(super) fn rebuilt(change: &Change<'_>, keep_own: bool) -> Vec<u8> {
    let mut edits = Vec::new();
    if let Some(own) = change.own.filter(|_| keep_own)
        && let (Some(old), Some(new)) = (change.before.story(own), change.after.story(own))
    {
        edits.push(Edit { range: old.span.clone(), text: own_section(change, old, new) });
    }
    let known_end = change.known_end();
    let added: Vec<Vec<u8>> = new_stories(change)
        .filter(|(at, _)| *at > known_end)
        .map(|(_, story)| {
            let mut edits = reopened(change.after, story);
            let start = story.span.start;
            for edit in &mut edits {
                edit.range = edit.range.start - start..edit.range.end - start;
            }
            edit::apply(change.after.section(story), edits)
        })
        .collect();
    edits.extend(append(change.before, added));
    edit::apply(&change.before.bytes, edits)
}

/// Puts new stories behind everything else: at the end of the file, or of the JSON array.
pub(super) fn append(before: &Plan, added: Vec<Vec<u8>>) -> Option<Edit> {
    let last = before.stories.last().filter(|_| !added.is_empty())?;
    let mut text = Vec::new();
    if last.marks == Marks::Object {
        let head = before.bytes.get(..last.span.start)?;
        let gap = head.get(head.trim_ascii_end().len()..)?;
        for story in added {
            text.push(b',');
            text.extend_from_slice(gap);
            text.extend_from_slice(&story);
        }
        return Some(Edit { range: last.span.end..last.span.end, text });
    }
    let ending = lines::ending(&before.bytes).as_bytes();
    if !before.bytes.ends_with(b"\n") {
        text.extend_from_slice(ending);
    }
    for story in added {
        if story.trim_ascii_start().starts_with(b"#") {
            text.extend_from_slice(ending);
        }
        text.extend_from_slice(&story);
        text.extend_from_slice(ending);
    }
    let end = before.bytes.len();
    Some(Edit { range: end..end, text })
}
