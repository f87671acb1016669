//! Markdown plans: puts headings, boxes and notes together into stories.
//!
//! Heading stories are `heading.rs`, list stories and flat lists are `list.rs`. A plan may hold
//! both: boxes inside a heading story are its parts unless they name another one (`other_story.rs`), and
//! boxes outside are looked at as a list.

use super::blocks::{self, Block, Heading, TaskItem};
use super::depends::{self, Wanted};
use super::heading::OptionalNames;
use super::parse::{Draft, Problem, Reading};
use super::story::{Format, Options, State, Warning};
use super::{heading, list, other_story};
use std::ops::Range;

/// The file's text, read by range; bytes of another encoding show as `�`, in what is read only.
#[derive(Clone, Copy)]
pub(super) struct Text<'a>(pub(super) &'a [u8]);

impl Text<'_> {
    pub(super) fn at(&self, range: Range<usize>) -> String {
        String::from_utf8_lossy(self.0.get(range).unwrap_or_default()).into_owned()
    }

    /// The state that one box shows.
    pub(super) fn state(&self, mark: &Range<usize>) -> State {
        match self.0.get(mark.clone()) {
            Some(b"x" | b"X") => State::Done,
            Some(b"!") => State::Blocked,
            _ => State::Open,
        }
    }

    /// `range` without blank lines around it; the indent of the first line stays.
    pub(super) fn body(&self, range: Range<usize>) -> String {
        let text = self.at(range);
        let lead = text.len() - text.trim_start().len();
        let start =
            text.get(..lead).and_then(|lead| lead.rfind(['\n', '\r'])).map_or(0, |at| at + 1);
        text.get(start..).unwrap_or_default().trim_end().to_owned()
    }
}

/// A box outside of all heading stories, with what surrounds it.
pub(super) struct LooseTask {
    pub(super) task: TaskItem,
    /// Number of the heading that it stands below, so that boxes of one section can be compared.
    pub(super) section: usize,
    pub(super) section_title: String,
    pub(super) optional: bool,
    /// Whether it follows a list story below the heading of another story.
    pub(super) listed: bool,
}

/// Reads a Markdown plan.
pub(super) fn read(bytes: &[u8], options: &Options) -> Result<Reading, (usize, Problem)> {
    let text = Text(bytes);
    let blocks = blocks::scan(bytes)?;
    let optional = OptionalNames::new(options);
    let mut sections = heading::sections(text, &blocks, &optional);
    let loose = loose_tasks(text, &blocks, &sections, &optional);
    let mut warnings = other_story::set_apart(text, &mut sections, &loose);
    warnings.extend(heading::warnings(&sections));
    let boxes_exist = blocks.iter().any(|block| matches!(block, Block::Task(_)));
    let hint = match (boxes_exist, warnings.is_empty()) {
        (false, false) => "its headings have ids but no checkbox; add `- [ ] …` lines below them",
        (false, true) => "write stories as `- [ ] US-001: title` or `### US-001: title` with boxes",
        (true, _) => "its boxes are all outside of stories; give the headings or the boxes ids",
    };
    let loose = loose_tasks(text, &blocks, &sections, &optional);
    let mut drafts = heading::drafts(text, sections);
    let listed = list::drafts(text, loose, &drafts, &mut warnings);
    drafts.extend(listed);
    drafts.sort_by_key(|draft| draft.span.start);
    attach_dependencies(text, &blocks, &mut drafts);
    if drafts.is_empty() {
        warnings.clear();
    }
    Ok(Reading { format: Format::Markdown, drafts, warnings, hint })
}

fn loose_tasks(
    text: Text<'_>,
    blocks: &[Block],
    sections: &[heading::Section],
    optional: &OptionalNames,
) -> Vec<LooseTask> {
    let mut taken = sections.iter().filter(|section| section.is_story()).peekable();
    let mut lists = sections.iter().filter_map(|section| section.listed_from).peekable();
    let mut list_section = None;
    let mut place = Place::default();
    let mut loose = Vec::new();
    for block in blocks {
        match block {
            Block::Heading(heading) => place.enter(text, heading, optional),
            Block::Task(task) if !task.nested => {
                while taken.next_if(|section| section.end <= task.start).is_some() {}
                let inside = taken.peek().is_some_and(|story| story.heading.start <= task.start);
                if lists.next_if_eq(&task.start).is_some() {
                    list_section = Some(place.section());
                }
                if !inside {
                    let listed = list_section == Some(place.section());
                    loose.push(LooseTask { listed, ..place.hold(task) });
                }
            }
            Block::Task(_) | Block::Depends { .. } => {}
        }
    }
    loose
}

/// Where in the outline of the file a line stands.
#[derive(Default)]
pub(super) struct Place {
    section: usize,
    title: String,
    optional_level: Option<usize>,
}

impl Place {
    pub(super) fn enter(&mut self, text: Text<'_>, heading: &Heading, optional: &OptionalNames) {
        self.section += 1;
        self.title = text.at(heading.text.clone());
        if self.optional_level.is_none_or(|level| heading.level <= level) {
            self.optional_level = optional.contain(&self.title).then_some(heading.level);
        }
    }

    /// Number of the heading that was entered last, counted from one.
    pub(super) fn section(&self) -> usize {
        self.section
    }

    pub(super) fn is_optional(&self) -> bool {
        self.optional_level.is_some()
    }

    fn hold(&self, task: &TaskItem) -> LooseTask {
        LooseTask {
            task: task.clone(),
            section: self.section,
            section_title: self.title.clone(),
            optional: self.is_optional(),
            listed: false,
        }
    }
}

/// Gives each dependency note to the story in whose text it stands.
fn attach_dependencies(text: Text<'_>, blocks: &[Block], drafts: &mut [Draft]) {
    let mut drafts = drafts.iter_mut().peekable();
    for block in blocks {
        let Block::Depends { line, text: range } = block else { continue };
        while drafts.next_if(|draft| draft.span.end <= range.start).is_some() {}
        if let Some(draft) = drafts.peek_mut().filter(|draft| draft.span.start <= range.start) {
            let wanted: Vec<Wanted> = depends::in_line(*line, &text.at(range.clone()));
            draft.wanted.extend(wanted);
        }
    }
}

/// A title without the emphasis that an id in front of it has torn apart.
pub(super) fn clean_title(title: &str) -> String {
    let mut title = depends::strip(title);
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

/// The warning about boxes that belong to no story.
pub(super) fn outside_warning(lines: &[usize]) -> Option<Warning> {
    let line = *lines.first()?;
    let message = format!(
        "{} outside of all stories and not worked on, the first on this line; \
         give it an id (`- [ ] US-001: …`) if it is a story",
        if lines.len() == 1 { "1 box is".to_owned() } else { format!("{} boxes are", lines.len()) }
    );
    Some(Warning { line, message })
}
