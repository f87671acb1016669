//! Markdown plans: puts headings, boxes and notes together into stories.
//!
//! Heading stories are `heading.rs`, list stories and flat lists are `list.rs`. A plan may hold
//! both: boxes inside a heading story are its parts unless they name another one (`other_story.rs`), and
//! boxes outside are looked at as a list.

use super::blocks::{self, Block, TaskItem};
use super::depends::{self, Wanted};
use super::outline::{Position, SectionKinds};
use super::parse::{Draft, Problem, Reading};
use super::story::{Format, Options, State, Warning};
use super::{checkbox, heading, list, other_story};
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
        checkbox::state(self.0.get(mark.clone()).unwrap_or_default())
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
    pub(super) optional: bool,
    /// Whether it stands in a section whose boxes are details.
    pub(super) in_checklist: bool,
    /// Whether it follows a list story below the heading of another story.
    pub(super) listed: bool,
}

/// Reads a Markdown plan.
pub(super) fn read(bytes: &[u8], options: &Options) -> Result<Reading, (usize, Problem)> {
    let text = Text(bytes);
    let blocks = blocks::scan(bytes)?;
    let kinds = SectionKinds::new(options, text, &blocks);
    let mut sections = heading::sections(text, &blocks, &kinds);
    let loose = loose_tasks(text, &blocks, &sections, &kinds);
    let mut warnings = other_story::set_apart(text, &mut sections, &loose);
    warnings.extend(heading::warnings(&sections));
    let lookalikes = lookalike_warning(&blocks);
    let boxes_exist = blocks.iter().any(|block| matches!(block, Block::Task(_)));
    let hint = match (boxes_exist, warnings.is_empty()) {
        _ if lookalikes.is_some() => "this looks like a box and is none; write `- [ ] …`",
        (false, false) => "its headings have ids but no checkbox; add `- [ ] …` lines below them",
        (false, true) => "write stories as `- [ ] US-001: title` or `### US-001: title` with boxes",
        (true, _) => "its boxes are all outside of stories; give the headings or the boxes ids",
    };
    let hint_line = lookalikes.as_ref().map(|warning| warning.line);
    warnings.extend(lookalikes);
    let loose = loose_tasks(text, &blocks, &sections, &kinds);
    let mut drafts = heading::drafts(text, sections);
    let listed = list::drafts(text, loose, &drafts, &kinds, &mut warnings);
    drafts.extend(listed);
    drafts.sort_by_key(|draft| draft.span.start);
    attach_dependencies(text, &blocks, &mut drafts);
    if drafts.is_empty() {
        warnings.clear();
    }
    warnings.extend(optional_warning(&drafts));
    Ok(Reading { format: Format::Markdown, drafts, warnings, hint, hint_line })
}

fn loose_tasks(
    text: Text<'_>,
    blocks: &[Block],
    sections: &[heading::Section],
    kinds: &SectionKinds,
) -> Vec<LooseTask> {
    let mut taken = sections.iter().filter(|section| section.is_story()).peekable();
    let mut lists = sections.iter().filter_map(|section| section.listed_from).peekable();
    let mut list_section = None;
    let mut position = Position::default();
    let mut loose = Vec::new();
    for block in blocks {
        match block {
            Block::Heading(heading) => position.enter(text, heading, kinds),
            Block::Task(task) if !task.nested => {
                while taken.next_if(|section| section.end <= task.start).is_some() {}
                let inside = taken.peek().is_some_and(|story| story.heading.start <= task.start);
                let section = position.section();
                if lists.next_if_eq(&task.start).is_some() {
                    list_section = Some(section);
                }
                if !inside {
                    loose.push(LooseTask {
                        task: task.clone(),
                        section,
                        optional: position.is_optional(),
                        in_checklist: position.is_checklist(),
                        listed: list_section == Some(section),
                    });
                }
            }
            Block::Task(_) | Block::Depends { .. } | Block::Lookalike { .. } => {}
        }
    }
    loose
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

/// The warning about lines that look like boxes and are none.
fn lookalike_warning(blocks: &[Block]) -> Option<Warning> {
    let lines = blocks.iter().filter_map(|block| match block {
        Block::Lookalike { line } => Some(*line),
        _ => None,
    });
    let lines: Vec<usize> = lines.collect();
    let (line, others) = lines.split_first()?;
    let named: Vec<String> = others.iter().take(9).map(usize::to_string).collect();
    let also = match others.len() {
        0 => String::new(),
        count if count > named.len() => format!(" (also lines {}, …)", named.join(", ")),
        _ => format!(" (also lines {})", named.join(", ")),
    };
    let message = format!(
        "this looks like a box, but is not read as one{also}; write `- [ ] …` if it is a story or a task"
    );
    Some(Warning { line: *line, message })
}

/// The warning about a plan in which nothing would be worked on.
fn optional_warning(drafts: &[Draft]) -> Option<Warning> {
    let first = drafts.first().filter(|_| drafts.iter().all(|draft| draft.optional))?;
    let message = "all stories are in optional sections, so none is worked on; rename the section, \
                   or change `optional_sections` under `[plan]` in the configuration";
    Some(Warning { line: first.line, message: message.to_owned() })
}
