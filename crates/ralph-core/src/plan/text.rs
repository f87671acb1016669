//! The text of a Markdown plan, read by range.

use super::story::{State, without_settings};
use super::{checkbox, depends};
use std::ops::Range;

/// The file's text, read by range; bytes that are not UTF-8 are replaced with `�` when read.
#[derive(Clone, Copy)]
pub(super) struct Text<'a>(pub(super) &'a [u8]);

impl Text<'_> {
    pub(super) fn at(&self, range: Range<usize>) -> String {
        String::from_utf8_lossy(self.0.get(range).unwrap_or_default()).into_owned()
    }

    /// Returns the state that a box shows.
    pub(super) fn state(&self, mark: &Range<usize>) -> State {
        checkbox::state(self.0.get(mark.clone()).unwrap_or_default())
    }

    /// Returns whether one of these boxes shows that nobody has accepted the story.
    pub(super) fn is_held(&self, boxes: &[Range<usize>]) -> bool {
        boxes.iter().any(|mark| self.0.get(mark.clone()) == Some(checkbox::HELD.as_bytes()))
    }

    /// Returns the text of `range` without surrounding blank lines; keeps the first line's indent.
    pub(super) fn body(&self, range: Range<usize>) -> String {
        let text = self.at(range);
        let lead = text.len() - text.trim_start().len();
        let start =
            text.get(..lead).and_then(|lead| lead.rfind(['\n', '\r'])).map_or(0, |at| at + 1);
        text.get(start..).unwrap_or_default().trim_end().to_owned()
    }
}

/// Removes emphasis markers from a title, including ones whose partner was cut off with the id.
pub(super) fn clean_title(title: &str) -> String {
    let mut title = without_settings(&depends::strip(title));
    for mark in ["**", "__", "~~"] {
        if title.matches(mark).count() % 2 == 1 {
            let stripped = title.strip_suffix(mark).or_else(|| title.strip_prefix(mark));
            title = stripped.map_or(title.clone(), |rest| rest.trim().to_owned());
        } else if let Some(inner) =
            title.strip_prefix(mark).and_then(|rest| rest.strip_suffix(mark))
            && !inner.contains(mark)
        {
            title = inner.trim().to_owned();
        }
    }
    title
}
