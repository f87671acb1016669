//! List stories (`- [ ] US-001: Title`) and flat lists without ids.

use super::heading::Task;
use super::ids;
use super::story::{Draft, Marks, Story, Warning};
use super::text::{Text, clean_title};
use std::collections::{HashMap, HashSet};

/// Returns the stories among the boxes outside of heading stories.
pub(super) fn drafts(
    text: Text<'_>,
    loose: Vec<Task>,
    headings: &[Draft],
    warnings: &mut Vec<Warning>,
) -> Vec<Draft> {
    let taken: HashMap<String, &str> = headings
        .iter()
        .map(|draft| (ids::lookup_key(&draft.story.id), draft.story.title.as_str()))
        .collect();
    let titled = loose.into_iter().map(|mut task| {
        let written = text.at(task.item.text.clone());
        let extra = optional_mark(&written);
        task.optional |= extra.is_some();
        let title = Title::read(extra.unwrap_or(&written));
        (task, title)
    });
    let titled: Vec<(Task, Title)> = titled.collect();
    let keyed = titled.iter().filter(|(task, title)| title.keyed && !task.in_checklist);
    let keyed: HashSet<usize> = keyed.map(|(task, _)| task.section).collect();
    let mut outside = Vec::new();
    let mut drafts = Vec::new();
    for (task, title) in titled {
        // An overview that repeats the headings is not a second set of stories. With a different
        // title it is another story, and the duplicate id is reported.
        let heading = taken.get(&ids::lookup_key(&title.id)).filter(|_| !title.id.is_empty());
        if heading.is_some_and(|heading| !title.keyed || repeats(&title.title, heading)) {
            continue;
        }
        let in_force = if !headings.is_empty() {
            title.keyed
        } else {
            keyed.is_empty() || keyed.contains(&task.section) || task.optional
        };
        if in_force && !task.in_checklist {
            drafts.push(draft(text, task, title));
        } else if !task.optional {
            outside.push(task.item.line);
        }
    }
    warnings.extend(outside_warning(&outside));
    drafts
}

/// Strips Kiro's mark for optional tasks, as in `- [ ]* 1.2 Tests`; some formatters escape it.
pub(super) fn optional_mark(text: &str) -> Option<&str> {
    text.strip_prefix('\\').unwrap_or(text).strip_prefix("* ")
}

/// Returns a warning about boxes that belong to no story.
fn outside_warning(lines: &[usize]) -> Option<Warning> {
    let line = *lines.first()?;
    let boxes = if lines.len() == 1 { "checkbox is" } else { "checkboxes are" };
    let message = format!(
        "{} {boxes} outside any story and skipped, starting on this line; add an id \
         (`- [ ] US-001: …`) to make one a story",
        lines.len()
    );
    Some(Warning { line, message })
}

/// Returns whether two titles are the same, or one is the beginning of the other.
fn repeats(one: &str, other: &str) -> bool {
    let plain = |title: &str| -> String {
        // The target of a link is not part of the title.
        let title = title.split("](").next().unwrap_or_default();
        title.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
    };
    let (one, other) = (plain(one), plain(other));
    one.starts_with(&other) || other.starts_with(&one)
}

struct Title {
    /// Empty if the title has no id.
    id: String,
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
            id: leading.map_or_else(String::new, |leading| leading.id.to_owned()),
        }
    }
}

fn draft(text: Text<'_>, task: Task, title: Title) -> Draft {
    let item = task.item;
    let held = text.is_held(std::slice::from_ref(&item.mark));
    let story = Story {
        held,
        id: title.id,
        title: title.title,
        state: text.state(&item.mark),
        details: text.body(item.text.end..item.end),
        depends: Vec::new(),
        priority: None,
        optional: task.optional || held,
        line: item.line,
        span: item.start..item.end,
        marks: Marks::Boxes(vec![item.mark]),
    };
    Draft { story, wanted: Vec::new() }
}
