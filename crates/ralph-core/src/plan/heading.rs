//! Heading stories: `### US-001: Title` with boxes below it, and `### [ ] US-001: Title`.

use super::blocks::{Heading, TaskItem};
use super::checkbox;
use super::ids::{self, Leading, Rank};
use super::outline::Outline;
use super::story::{Draft, Marks, State, Story, Warning};
use super::text::{Text, clean_title};
use std::ops::Range;

/// A checkbox and its context.
pub(super) struct Task {
    pub(super) item: TaskItem,
    /// Number of the heading above it, to find out which boxes share a section.
    pub(super) section: usize,
    pub(super) optional: bool,
    /// Whether it is in a section whose boxes are only details.
    pub(super) in_checklist: bool,
}

/// A heading that could be a story, and the part of the file that belongs to it.
pub(super) struct Section {
    pub(super) heading: Heading,
    pub(super) end: usize,
    pub(super) rank: Rank,
    /// The checkboxes in the section.
    pub(super) tasks: Vec<Task>,
    /// Whether another story begins inside the section.
    pub(super) divided: bool,
    pub(super) own_box: Option<Range<usize>>,
    pub(super) id: Option<String>,
    title: String,
    optional: bool,
}

impl Section {
    /// Starts a section at a heading that has its own box or an id; its content is added later.
    pub(super) fn begun_by(
        heading: &Heading,
        text: Text<'_>,
        outline: &Outline,
        is_counted: bool,
    ) -> Option<Self> {
        let bytes = text.0.get(heading.text.clone())?;
        let own = checkbox::checkbox(bytes);
        let title_at = own.as_ref().map_or(0, |own| own.text.start);
        let title = text.at(heading.text.start + title_at..heading.text.end);
        let counted = || ids::counted(&title).filter(|_| is_counted).map(|(.., id)| id);
        let id = ids::leading(&title).or_else(counted);
        let id = id.filter(|id| own.is_some() || id.rank > Rank::Container);
        if outline.names_optional(&title) || (own.is_none() && id.is_none()) {
            return None;
        }
        let start = heading.text.start;
        Some(Self {
            heading: heading.clone(),
            end: text.0.len(),
            title: clean_title(id.as_ref().map_or(title.as_str(), |id| id.rest)),
            rank: id.as_ref().map_or(Rank::Key, |id| id.rank),
            id: id.map(|id| id.id.to_owned()),
            own_box: own.map(|own| start + own.mark.start..start + own.mark.end),
            tasks: Vec::new(),
            optional: outline.is_optional(),
            divided: false,
        })
    }

    /// Returns whether the section is a story. A heading with an id but without boxes is not: it
    /// could never be ticked, and is usually an introduction or a container. Neither is a numbered
    /// heading around boxes that have ids of their own.
    pub(super) fn is_story(&self, text: Text<'_>) -> bool {
        let is_keyed = |task: &Task| {
            let title = text.at(task.item.text.clone());
            let id = ids::leading(&title).filter(Leading::names_story);
            !task.item.nested && id.is_some_and(|id| id.rank == Rank::Key)
        };
        let outranked = || self.rank == Rank::Number && self.tasks.iter().any(is_keyed);
        self.own_box.is_some() || !(self.tasks.is_empty() || outranked())
    }

    /// Returns a warning about a heading that looks like a story but is not one.
    pub(super) fn warning(&self) -> Option<Warning> {
        if self.divided || !self.tasks.is_empty() || self.rank <= Rank::Number {
            return None;
        }
        let message = format!(
            "{} has no checkbox, so it is skipped; add `- [ ] …` below it if it is a story",
            self.id.as_deref().unwrap_or(&self.title)
        );
        Some(Warning { line: self.heading.line, message })
    }

    pub(super) fn draft(self, text: Text<'_>) -> Draft {
        let below = || self.tasks.iter().map(|task| task.item.mark.clone()).collect();
        let boxes: Vec<_> = self.own_box.map_or_else(below, |own| vec![own]);
        let body = text.0.get(self.heading.end..self.end).unwrap_or_default();
        let end = self.heading.end + body.trim_ascii_end().len();
        let state = state(text, &boxes);
        let held = state == State::Blocked && text.is_held(&boxes);
        let story = Story {
            state,
            held,
            details: text.body(self.heading.end..end),
            id: self.id.unwrap_or_default(),
            title: self.title,
            depends: Vec::new(),
            priority: None,
            optional: self.optional || held,
            line: self.heading.line,
            span: self.heading.start..end,
            marks: Marks::Boxes(boxes),
        };
        Draft { story, wanted: Vec::new() }
    }
}

/// Returns the combined state of the boxes: open if any is open, else blocked if any is blocked.
fn state(text: Text<'_>, boxes: &[Range<usize>]) -> State {
    let has = |state| boxes.iter().any(|mark| text.state(mark) == state);
    let mut unfinished = [State::Open, State::Blocked].into_iter();
    unfinished.find(|state| has(*state)).unwrap_or(State::Done)
}
