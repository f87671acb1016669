//! Heading stories: `### US-001: Title` with boxes below, and `### [ ] US-001: Title`.

use super::blocks::{Block, Heading, TaskItem};
use super::checkbox;
use super::draft::Draft;
use super::ids::{self, Rank};
use super::outline::{Position, SectionKinds};
use super::story::{Marks, State, Warning};
use super::text::{Text, clean_title};
use std::ops::Range;

/// A heading that could be a story, with the part of the file that belongs to it.
pub(super) struct Section {
    pub(super) heading: Heading,
    /// Offset behind its last line that is not blank.
    pub(super) end: usize,
    pub(super) id: Option<String>,
    pub(super) title: String,
    pub(super) rank: Rank,
    pub(super) own_box: Option<Range<usize>>,
    pub(super) boxes: Vec<TaskItem>,
    /// Where, below the heading, the first box begins that is a story by itself.
    pub(super) listed_from: Option<usize>,
    optional: bool,
    /// Whether it is a story even in a section whose boxes are details.
    counts_in_checklist: bool,
    /// Whether its boxes have ids of their own that say more than its number does.
    outranked: bool,
    /// Whether another story begins inside.
    divided: bool,
}

impl Section {
    /// A heading with an id but without any box is not a story: there would be nothing to tick, so
    /// it could never be done, and most such headings are introductions or containers.
    pub(super) fn is_story(&self) -> bool {
        self.own_box.is_some() || !(self.boxes.is_empty() || self.outranked)
    }

    /// Ends the section before `end`, and before the blank lines in front of that.
    pub(super) fn end_at(&mut self, text: Text<'_>, end: usize) {
        let all = text.0.get(self.heading.end..end).unwrap_or_default();
        self.end = self.heading.end + all.trim_ascii_end().len();
    }
}

/// Finds the headings that could be stories and what belongs to each.
///
/// A section ends at the next heading of the same or a higher level, or at the next story heading.
pub(super) fn sections(text: Text<'_>, blocks: &[Block], kinds: &SectionKinds) -> Vec<Section> {
    let mut position = Position::default();
    let mut found: Vec<Section> = Vec::new();
    let mut current = false;
    let mut enclosing: Vec<(usize, Rank)> = Vec::new();
    for block in blocks {
        match block {
            Block::Heading(heading) => {
                position.enter(text, heading, kinds);
                enclosing.truncate(enclosing.partition_point(|(level, _)| *level < heading.level));
                let outer = enclosing.last().map(|(_, rank)| *rank);
                let candidate = candidate(text, heading, kinds).filter(|candidate| {
                    (candidate.counts_in_checklist || !position.is_checklist())
                        && (candidate.own_box.is_some()
                            || outer.is_none_or(|outer| outer <= candidate.rank))
                });
                let last = found.last_mut().filter(|_| current);
                if let Some(mut candidate) = candidate {
                    if let Some(last) = last {
                        last.end = heading.start;
                        last.divided = last.heading.level < heading.level;
                    }
                    candidate.optional = position.is_optional();
                    if !heading.is_title {
                        enclosing.push((heading.level, candidate.rank));
                    }
                    found.push(candidate);
                    current = true;
                } else if let Some(last) = last.filter(|last| heading.level <= last.heading.level) {
                    last.end = heading.start;
                    current = false;
                }
            }
            Block::Task(task) => {
                if let Some(last) = found.last_mut().filter(|_| current) {
                    last.boxes.push(task.clone());
                    last.outranked |= last.rank == Rank::Number && !task.nested && {
                        let title = text.at(task.text.clone());
                        ids::leading(&title)
                            .is_some_and(|id| id.rank == Rank::Key && id.names_story())
                    };
                }
            }
            Block::Depends { .. } | Block::Lookalike { .. } => {}
        }
    }
    for section in &mut found {
        section.end_at(text, section.end);
    }
    found
}

/// A heading with a box of its own, or with an id; its extent is found later.
fn candidate(text: Text<'_>, heading: &Heading, kinds: &SectionKinds) -> Option<Section> {
    let bytes = text.0.get(heading.text.clone())?;
    let shift = |range: Range<usize>, by: usize| range.start + by..range.end + by;
    let own = checkbox::checkbox(bytes);
    let title_at = match &own {
        Some(own) => shift(own.text.clone(), heading.text.start),
        None => heading.text.clone(),
    };
    let title = text.at(title_at.clone());
    if kinds.is_optional(&title) {
        return None;
    }
    let id = ids::leading(&title).filter(|id| own.is_some() || id.rank > Rank::Container);
    if own.is_none() && id.is_none() {
        return None;
    }
    let mut rest = id.as_ref().map_or(title.as_str(), |id| id.rest);
    let mut own_box = own.map(|own| shift(own.mark, heading.text.start));
    // `### US-001: [ ] Title`: the box may stand behind the id.
    if let Some(behind) = checkbox::checkbox(rest.as_bytes()).filter(|_| own_box.is_none()) {
        let at = title_at.end.checked_sub(rest.len())?;
        let mark = shift(behind.mark.clone(), at);
        // Text of another encoding has another length once decoded; then the place is not certain.
        let with_brackets = |bytes: &'_ [u8], mark: &Range<usize>| {
            bytes.get(mark.start.checked_sub(1)?..mark.end + 1).map(<[u8]>::to_vec)
        };
        if with_brackets(text.0, &mark) == with_brackets(rest.as_bytes(), &behind.mark) {
            own_box = Some(mark);
            rest = rest.get(behind.text)?;
        }
    }
    Some(Section {
        heading: heading.clone(),
        end: text.0.len(),
        title: clean_title(rest),
        rank: id.as_ref().map_or(Rank::Key, |id| id.rank),
        counts_in_checklist: id.as_ref().is_some_and(|id| kinds.is_story_in_checklist(id)),
        id: id.map(|id| id.id.to_owned()),
        own_box,
        boxes: Vec::new(),
        listed_from: None,
        optional: false,
        outranked: false,
        divided: false,
    })
}

/// What to tell about headings that look like stories and are none.
pub(super) fn warnings(sections: &[Section]) -> Vec<Warning> {
    let silent = |section: &&Section| {
        section.own_box.is_none()
            && section.boxes.is_empty()
            && !section.divided
            && section.rank > Rank::Number
    };
    let warning = |section: &Section| Warning {
        line: section.heading.line,
        message: format!(
            "{} has no checkbox, so it is not worked on; add `- [ ] …` below it if it is a story",
            section.id.as_deref().unwrap_or(&section.title)
        ),
    };
    sections.iter().filter(silent).map(warning).collect()
}

/// The stories among `sections`.
pub(super) fn drafts(text: Text<'_>, sections: Vec<Section>) -> Vec<Draft> {
    let story = |section: Section| {
        let below = || section.boxes.iter().map(|task| task.mark.clone()).collect();
        let boxes = section.own_box.map_or_else(below, |own| vec![own]);
        Draft {
            state: state(text, &boxes),
            details: text.body(section.heading.end..section.end),
            written_id: section.id,
            title: section.title,
            wanted: Vec::new(),
            priority: None,
            optional: section.optional,
            line: section.heading.line,
            span: section.heading.start..section.end,
            marks: Marks::Boxes(boxes),
        }
    };
    sections.into_iter().filter(Section::is_story).map(story).collect()
}

/// Open while any box is open; blocked when what remains is blocked.
fn state(text: Text<'_>, boxes: &[Range<usize>]) -> State {
    let has = |state| boxes.iter().any(|mark| text.state(mark) == state);
    if has(State::Open) {
        State::Open
    } else if has(State::Blocked) {
        State::Blocked
    } else {
        State::Done
    }
}
