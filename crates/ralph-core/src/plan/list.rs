//! List stories (`- [ ] US-001: Title`) and flat lists without ids.

use super::blocks::TaskItem;
use super::draft::Draft;
use super::ids;
use super::outline::SectionKinds;
use super::story::{Marks, Warning};
use super::text::{Text, clean_title};
use std::collections::{HashMap, HashSet};

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

/// The stories among the boxes outside of heading stories.
pub(super) fn drafts(
    text: Text<'_>,
    loose: Vec<LooseTask>,
    headings: &[Draft],
    kinds: &SectionKinds,
    warnings: &mut Vec<Warning>,
) -> Vec<Draft> {
    let taken: HashMap<String, &str> = headings
        .iter()
        .filter_map(|draft| Some((ids::lookup_key(draft.written_id.as_deref()?), &*draft.title)))
        .collect();
    let nothing_else = headings.is_empty() && loose.iter().all(|task| task.in_checklist);
    let titled = loose.into_iter().map(|task| {
        let words = text.at(task.task.text.clone());
        let counts = ids::leading(&words).is_some_and(|id| kinds.is_story_in_checklist(&id));
        let is_detail = task.in_checklist && !counts && !nothing_else;
        (task, Title::read(&words), is_detail)
    });
    let titled: Vec<(LooseTask, Title, bool)> = titled.collect();
    let keyed = titled.iter().filter(|(_, title, is_detail)| title.keyed && !is_detail);
    let keyed: HashSet<usize> = keyed.map(|(task, ..)| task.section).collect();
    let mut outside = Vec::new();
    let mut drafts = Vec::new();
    for (task, title, is_detail) in titled {
        // An overview that repeats the headings is no second set of stories. With other words it is
        // another story, and the id is one too many.
        let heading = title.id.as_deref().and_then(|id| taken.get(&ids::lookup_key(id)));
        if heading.is_some_and(|heading| !title.keyed || repeats(&title.title, heading)) {
            continue;
        }
        let counts = match (headings.is_empty(), keyed.is_empty()) {
            _ if is_detail => false,
            (false, _) => title.keyed || task.listed,
            (true, false) => keyed.contains(&task.section) || task.optional,
            (true, true) => true,
        };
        if counts {
            drafts.push(draft(text, task, title));
        } else if !task.optional {
            outside.push(task.task.line);
        }
    }
    warnings.extend(outside_warning(&outside));
    drafts
}

/// The warning about boxes that belong to no story.
fn outside_warning(lines: &[usize]) -> Option<Warning> {
    let line = *lines.first()?;
    let message = format!(
        "{} outside of all stories and not worked on, the first on this line; \
         give it an id (`- [ ] US-001: …`) if it is a story",
        if lines.len() == 1 { "1 box is".to_owned() } else { format!("{} boxes are", lines.len()) }
    );
    Some(Warning { line, message })
}

/// Whether two titles say the same, one of them perhaps in fewer words.
fn repeats(one: &str, other: &str) -> bool {
    let plain = |title: &str| -> String {
        // Where a link leads to is not what it says.
        let title = title.split("](").next().unwrap_or_default();
        title.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
    };
    let (one, other) = (plain(one), plain(other));
    one.starts_with(&other) || other.starts_with(&one)
}

struct Title {
    id: Option<String>,
    title: String,
    /// Whether the id is one that only stories have, such as `US-001`.
    keyed: bool,
}

impl Title {
    fn read(text: &str) -> Self {
        let leading = ids::leading(text).filter(|leading| leading.firm);
        let rest = leading.as_ref().map_or(text, |leading| leading.rest);
        Self {
            title: clean_title(rest),
            keyed: leading.as_ref().is_some_and(ids::Leading::names_story),
            id: leading.map(|leading| leading.id.to_owned()),
        }
    }
}

fn draft(text: Text<'_>, loose: LooseTask, title: Title) -> Draft {
    let task = loose.task;
    Draft {
        written_id: title.id,
        title: title.title,
        state: text.state(&task.mark),
        details: text.body(task.text.end..task.end),
        wanted: Vec::new(),
        priority: None,
        optional: loose.optional,
        line: task.line,
        span: task.start..task.end,
        marks: Marks::Boxes(vec![task.mark]),
    }
}
