//! Markdown plans: puts headings, boxes and notes together into stories.
//!
//! Heading stories are `heading.rs`, list stories and flat lists are `list.rs`. A plan may hold
//! both: boxes inside a heading story are its parts unless they name another one (`other_story.rs`), and
//! boxes outside are looked at as a list.

use super::blocks::{self, Block};
use super::depends::{self, Wanted};
use super::draft::{Draft, Reading};
use super::error::Problem;
use super::list::LooseTask;
use super::outline::{Position, SectionKinds};
use super::story::{Format, Options, Warning};
use super::text::Text;
use super::{heading, list, other_story};

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
