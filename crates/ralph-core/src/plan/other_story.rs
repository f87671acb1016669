//! Boxes below the heading of one story that are stories of their own.
//!
//! To tick a heading story is to tick its boxes, and another story must not be ticked with it
//! unseen. A box is one if its id is of the same kind and stands nowhere else: `- [ ] US-002: …`
//! below `### US-001`. Ids of other kinds number the parts of a story, and an id that another story
//! has only speaks of it.

use super::blocks::TaskItem;
use super::heading::Section;
use super::ids::{self, Leading};
use super::list::LooseTask;
use super::story::Warning;
use super::text::Text;
use std::collections::HashSet;

/// Ends each section at the first of its boxes that is a story of its own, and tells of it.
pub(super) fn set_apart(
    text: Text<'_>,
    sections: &mut [Section],
    loose: &[LooseTask],
) -> Vec<Warning> {
    let stories = sections.iter().filter(|section| section.is_story());
    let mut known: HashSet<String> =
        stories.filter_map(|section| Some(ids::lookup_key(section.id.as_deref()?))).collect();
    let listed = loose.iter().map(|loose| text.at(loose.task.text.clone()));
    known.extend(listed.filter_map(|title| story_key(&title)));
    let divided = sections.iter_mut().filter(|s| s.is_story() && s.own_box.is_none());
    divided.filter_map(|section| divide(text, section, &mut known)).collect()
}

fn divide(text: Text<'_>, section: &mut Section, known: &mut HashSet<String>) -> Option<Warning> {
    let own = section.id.clone()?;
    let family = ids::leading(&own)?.family();
    let is_story = |task: &TaskItem| {
        let title = text.at(task.text.clone());
        let Some(id) = ids::leading(&title).filter(Leading::names_story) else { return false };
        let key = ids::lookup_key(id.id);
        !task.nested
            && id.family() == family
            && !is_part_of(&key, &ids::lookup_key(&own))
            && !known.contains(&key)
    };
    let at = section.boxes.iter().position(is_story)?;
    let (line, start) = section.boxes.get(at).map(|task| (task.line, task.start))?;
    let apart = section.boxes.split_off(at).into_iter().filter(|task| !task.nested);
    known.extend(apart.filter_map(|task| story_key(&text.at(task.text))));
    section.listed_from = Some(start);
    section.end_at(text, start);
    let message = format!(
        "this box stands in the section of {own} and has an id like it, so it is a story of its \
         own, and so are the boxes that follow it there; indent it below another box if it is a \
         part of {own}"
    );
    Some(Warning { line, message })
}

fn story_key(title: &str) -> Option<String> {
    ids::leading(title).filter(Leading::names_story).map(|id| ids::lookup_key(id.id))
}

/// `US-001`, `US-001.2`, `US-001-a` and `US-001b` are all parts of `US-001`.
fn is_part_of(key: &str, own: &str) -> bool {
    key.strip_prefix(own).is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::super::{Options, Plan};

    fn check_tick(plan: &str, id: &str, expected: &str) {
        let plan = Plan::parse("plan.md".into(), plan.into(), &Options::default()).unwrap();
        assert_eq!(String::from_utf8(plan.tick(id).unwrap()).unwrap(), expected);
    }

    #[test]
    fn a_box_with_the_id_of_another_story_is_not_ticked_with_the_heading() {
        let plan = "### US-001: First\n- [ ] a\n- [ ] US-002: Second\n- [ ] b\n";
        check_tick(plan, "US-001", &plan.replace("[ ] a", "[x] a"));
        check_tick(plan, "US-002", &plan.replace("[ ] US", "[x] US"));
    }

    #[test]
    fn numbered_parts_and_what_only_speaks_of_others_are_ticked_with_the_heading() {
        for part in [
            "US-001: tests",
            "US-001.2: more",
            "US-001b: more",
            "US-009: which has a heading",
            "T-1: step",
            "Task 2: step",
            "AC-1: it runs",
            "use US-002",
        ] {
            let plan =
                format!("## US-009: Other\n- [x] a\n### US-001: First\n- [ ] a\n- [ ] {part}\n");
            check_tick(&plan, "US-001", &plan.replace("[ ]", "[x]"));
        }
        let nested = "### US-001: First\n- [ ] a\n  - [ ] US-002: Second\n";
        check_tick(nested, "US-001", &nested.replace("[ ]", "[x]"));
    }
}
