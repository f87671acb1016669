//! Markdown plans: assembles stories from headings, boxes and notes.
//!
//! Heading stories are in `heading.rs`, list stories and flat lists in `list.rs`. A plan may hold
//! both: boxes inside a heading story are its parts, and other boxes are read as a list.

use super::blocks::{self, Block};
use super::heading::{Section, Task};
use super::ids::{self, Rank};
use super::outline::Outline;
use super::spec_tools::{self, Tool};
use super::story::{Draft, Reading};
use super::text::Text;
use super::{Error, Format, Options, Warning, depends, list};
use std::collections::{HashMap, HashSet};

/// Reads a Markdown plan.
pub(super) fn read(bytes: &[u8], options: &Options, tool: Tool) -> Result<Reading, Error> {
    let text = Text(bytes);
    let blocks = blocks::scan(bytes)?;
    let (sections, mut loose) = sections(text, &blocks, options, tool);
    let (stories, others): (Vec<Section>, Vec<Section>) =
        sections.into_iter().partition(|section| section.is_story(text));
    let mut warnings: Vec<Warning> = others.iter().filter_map(Section::warning).collect();
    loose.extend(others.into_iter().flat_map(|section| section.tasks));
    loose.sort_unstable_by_key(|task| task.item.start);
    let (parts, loose): (Vec<Task>, Vec<Task>) =
        loose.into_iter().partition(|task| task.item.nested);
    let mut drafts: Vec<Draft> = stories.into_iter().map(|story| story.draft(text)).collect();
    let listed = list::drafts(text, loose, &drafts, &mut warnings);
    drafts.extend(listed);
    let lookalikes = lookalike_warning(&blocks);
    if drafts.is_empty() {
        let line = lookalikes.map(|warning| warning.line);
        let hint = match line {
            Some(_) => "this looks like a checkbox but is not one; write `- [ ] …`",
            None => {
                "write stories as `- [ ] US-001: title`, or `### US-001: title` with boxes below"
            }
        };
        return Err(Error::no_story(line, hint));
    }
    drafts.sort_unstable_by_key(|draft| draft.story.span.start);
    if tool != Tool::Other {
        spec_tools::add_parts(text, &parts, &mut drafts);
    }
    if tool == Tool::Kiro {
        drafts = spec_tools::join_parts(text, drafts);
    }
    attach_dependencies(text, &blocks, &mut drafts);
    match tool {
        Tool::SpecKit => spec_tools::order_phases(text, &blocks, &mut drafts),
        Tool::Kiro | Tool::OpenSpec => spec_tools::order_steps(&mut drafts),
        Tool::Other => {}
    }
    warnings.extend(lookalikes);
    warnings.extend(optional_warning(&drafts));
    Ok(Reading { format: Format::Markdown, drafts, warnings })
}

/// Returns the headings that could be stories, with their boxes, and the boxes outside of them.
///
/// A section ends at the next heading of the same or a higher level, or at the next story heading.
fn sections(
    text: Text<'_>,
    blocks: &[Block],
    options: &Options,
    tool: Tool,
) -> (Vec<Section>, Vec<Task>) {
    let mut outline = Outline::new(options, tool != Tool::OpenSpec);
    let (mut found, mut loose): (Vec<Section>, Vec<Task>) = (Vec::new(), Vec::new());
    let mut is_inside = false;
    let mut enclosing: Vec<(usize, Rank)> = Vec::new();
    let counting = counting(text, blocks);
    for block in blocks {
        let last = if is_inside { found.last_mut() } else { None };
        match block {
            Block::Heading(heading) => {
                outline.enter(text, heading);
                enclosing.retain(|(level, _)| *level < heading.level);
                let outer = enclosing.last().map(|(_, rank)| *rank);
                let section =
                    Section::begun_by(heading, text, &outline, counting.contains(&heading.start))
                        .filter(|section| {
                            let is_part = section.own_box.is_none() && outer > Some(section.rank);
                            // OpenSpec numbers the groups of its tasks.
                            let is_group = tool == Tool::OpenSpec && section.rank == Rank::Number;
                            !is_part && !is_group && !outline.is_checklist()
                        });
                if let Some(last) = last
                    && (section.is_some() || heading.level <= last.heading.level)
                {
                    last.end = heading.start;
                    last.divided = last.heading.level < heading.level;
                    is_inside = false;
                }
                if let Some(section) = section {
                    if !heading.is_title {
                        enclosing.push((heading.level, section.rank));
                    }
                    found.push(section);
                    is_inside = true;
                }
            }
            Block::Task(item) => {
                let is_task = tool == Tool::SpecKit && spec_tools::is_task(text, item);
                // spec-kit's template explains its marks: `- [P] tasks = different files`.
                if tool == Tool::SpecKit && !is_task && text.at(item.mark.clone()) == "P" {
                    continue;
                }
                let task = Task {
                    item: item.clone(),
                    section: outline.section,
                    optional: outline.is_optional(),
                    in_checklist: outline.is_checklist() && !is_task,
                };
                last.map_or(&mut loose, |section| &mut section.tasks).push(task);
            }
            Block::Depends(..) | Block::Lookalike(_) => {}
        }
    }
    (found, loose)
}

/// Returns the offsets of sibling headings that count upwards from one, at least two of them.
fn counting(text: Text<'_>, blocks: &[Block]) -> HashSet<usize> {
    let mut rows: HashMap<(usize, String), Vec<usize>> = HashMap::new();
    for block in blocks {
        let Block::Heading(heading) = block else { continue };
        let title = text.at(heading.text.clone());
        let Some((name, number, _)) = ids::counted(&title) else { continue };
        let row = rows.entry((heading.level, name.to_lowercase())).or_default();
        if number == row.len() + 1 {
            row.push(heading.start);
        }
    }
    rows.into_values().filter(|row| row.len() > 1).flatten().collect()
}

/// Attaches each dependency note to the story that contains it.
fn attach_dependencies(text: Text<'_>, blocks: &[Block], drafts: &mut [Draft]) {
    let mut drafts = drafts.iter_mut().peekable();
    for block in blocks {
        let Block::Depends(line, range) = block else { continue };
        while drafts.next_if(|draft| draft.story.span.end <= range.start).is_some() {}
        let around = drafts.peek_mut().filter(|draft| draft.story.span.start <= range.start);
        if let Some(draft) = around {
            draft.wanted.extend(depends::in_line(*line, &text.at(range.clone())));
        }
    }
}

/// Returns a warning about lines that look like boxes but are not.
fn lookalike_warning(blocks: &[Block]) -> Option<Warning> {
    let lines = blocks.iter().filter_map(|block| match block {
        Block::Lookalike(line) => Some(*line),
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
        "this looks like a checkbox but is not read as one{also}; write `- [ ] …` if it is a story \
         or a task"
    );
    Some(Warning { line: *line, message })
}

/// Returns a warning about a plan in which all stories are optional.
fn optional_warning(drafts: &[Draft]) -> Option<Warning> {
    let first = drafts.first().filter(|_| drafts.iter().all(|draft| draft.story.optional))?;
    let message = "all stories are in optional sections, so none will be worked on; rename the \
                   section, or change `optional_sections` under `[plan]` in the configuration";
    Some(Warning { line: first.story.line, message: message.to_owned() })
}
