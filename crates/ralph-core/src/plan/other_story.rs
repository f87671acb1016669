//! Boxes below the heading of one story that begin with the id of another.
//!
//! To tick a heading story is to tick its boxes, and a box that names another story must not be
//! ticked with it unseen. An id that nobody else has makes a story of the box; one that another
//! story has is a mention of it. Ids of other kinds (`T-1` below `### US-001`) number the parts of
//! a story, and are none of this.

use super::blocks::TaskItem;
use super::heading::Section;
use super::ids::{self, Leading, Rank};
use super::list::repeats;
use super::markdown::{LooseTask, Text};
use super::story::Warning;
use std::collections::{HashMap, HashSet};

/// Takes the boxes that are no parts of their stories out of `sections`, and tells of them.
pub(super) fn set_apart(
    text: Text<'_>,
    sections: &mut [Section],
    loose: &[LooseTask],
) -> Vec<Warning> {
    let mut known = Known::of(text, sections, loose);
    let mut warnings = Vec::new();
    for section in sections.iter_mut().filter(|section| section.is_story()) {
        let Some(own) = section.id.clone() else { continue };
        match section.own_box {
            Some(_) => warnings.extend(details(text, section, &own, &known)),
            None => {
                warnings.extend(divide(text, section, &own, &mut known));
                warnings.extend(leave_mentions(text, section, &own, &known));
            }
        }
    }
    warnings
}

/// The stories of a plan, as far as boxes can name them.
struct Known {
    /// Titles by id.
    titles: HashMap<String, String>,
    /// What story ids begin with in this plan.
    families: HashSet<String>,
}

/// What a box below a heading names.
enum Named {
    /// A story that stands elsewhere.
    Known(String),
    /// The same, in its own words: an overview.
    Repeated,
    /// A story that stands nowhere else.
    New(String),
}

impl Known {
    fn of(text: Text<'_>, sections: &[Section], loose: &[LooseTask]) -> Self {
        let mut known = Self { titles: HashMap::new(), families: HashSet::new() };
        let in_list: Vec<String> =
            loose.iter().map(|loose| text.at(loose.task.text.clone())).collect();
        for id in in_list.iter().filter_map(|title| story_id(title)) {
            known.families.insert(id.family());
            known.titles.insert(ids::lookup_key(id.id), id.rest.to_owned());
        }
        let stories = || sections.iter().filter(|section| section.is_story());
        for family in numbering_parts(text, stories()) {
            known.families.remove(&family);
        }
        for section in stories().filter(|section| section.rank >= Rank::Task) {
            let Some(id) = &section.id else { continue };
            known.families.extend(ids::leading(id).map(|id| id.family()));
            known.titles.insert(ids::lookup_key(id), section.title.clone());
        }
        known
    }

    fn named_by(&self, title: &str, own: &str) -> Option<Named> {
        let id = story_id(title)?;
        let key = ids::lookup_key(id.id);
        if is_part_of(&key, &ids::lookup_key(own)) || !self.families.contains(&id.family()) {
            return None;
        }
        Some(match self.titles.get(&key) {
            Some(title) if repeats(id.rest, title) => Named::Repeated,
            Some(_) => Named::Known(id.id.to_owned()),
            None => Named::New(id.id.to_owned()),
        })
    }
}

fn story_id(title: &str) -> Option<Leading<'_>> {
    ids::leading(title).filter(Leading::names_story)
}

/// `US-001`, `US-001.2`, `US-001-a` and `US-001b` are all parts of `US-001`.
fn is_part_of(key: &str, own: &str) -> bool {
    key.strip_prefix(own).is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_digit()))
}

/// The kinds of ids that begin anew below other headings, as only the numbers of parts do.
fn numbering_parts<'a>(
    text: Text<'_>,
    stories: impl Iterator<Item = &'a Section>,
) -> HashSet<String> {
    let mut seen = HashSet::new();
    let mut again = HashSet::new();
    for task in stories.flat_map(|section| &section.boxes).filter(|task| !task.nested) {
        let title = text.at(task.text.clone());
        if let Some(id) = story_id(&title).filter(|id| !seen.insert(ids::lookup_key(id.id))) {
            again.insert(id.family());
        }
    }
    again
}

/// Ends a section at the first of its boxes that is a story of its own.
fn divide(text: Text<'_>, section: &mut Section, own: &str, known: &mut Known) -> Option<Warning> {
    let mut boxes = section.boxes.iter().enumerate().filter(|(_, task)| !task.nested);
    let (at, line, start, id) =
        boxes.find_map(|(at, task)| match known.named_by(&text.at(task.text.clone()), own)? {
            Named::New(id) => Some((at, task.line, task.start, id)),
            Named::Known(_) | Named::Repeated => None,
        })?;
    for task in section.boxes.drain(at..) {
        let title = text.at(task.text.clone());
        if let Some(id) = story_id(&title).filter(|_| !task.nested) {
            known.titles.entry(ids::lookup_key(id.id)).or_insert(id.rest.to_owned());
        }
    }
    section.listed_from = Some(start);
    section.end_at(text, start);
    let message = format!(
        "{id} stands in the section of {own} and has an id like it, so it is a story of its own, \
         and so are the boxes that follow it there; indent it below another box if it is a part \
         of {own}"
    );
    Some(Warning { line, message })
}

/// Boxes that only mention another story are not ticked, unless there are no others to tick.
fn leave_mentions(text: Text<'_>, section: &mut Section, own: &str, known: &Known) -> Vec<Warning> {
    let names = |task: &TaskItem| {
        let title = (!task.nested).then(|| text.at(task.text.clone()))?;
        known.named_by(&title, own)
    };
    leave(&mut section.boxes, |task| matches!(names(task), Some(Named::Repeated)));
    let mention = |task: &TaskItem| match names(task)? {
        Named::Known(id) => Some((task.line, id)),
        Named::Repeated | Named::New(_) => None,
    };
    let mentions: Vec<(usize, String)> = section.boxes.iter().filter_map(mention).collect();
    let is_all = mentions.len() == section.boxes.iter().filter(|task| !task.nested).count();
    if !is_all {
        leave(&mut section.boxes, |task| mention(task).is_some());
    }
    let became = if is_all { "is ticked with it" } else { "is not ticked with it" };
    let warning = |(line, id): (usize, String)| Warning {
        line,
        message: format!(
            "this box of {own} names {id}, which is another story, and {became}; let it begin \
             with other words if it is a part of {own}, and take it out if it is not"
        ),
    };
    mentions.into_iter().map(warning).collect()
}

/// Takes boxes out, and with each those below it.
fn leave(boxes: &mut Vec<TaskItem>, is_left: impl Fn(&TaskItem) -> bool) {
    let mut passed = 0;
    boxes.retain(|task| {
        if is_left(task) {
            passed = task.end;
        }
        task.start >= passed
    });
}

/// Where the heading has a box, those below it are details, whatever they are called.
fn details(text: Text<'_>, section: &Section, own: &str, known: &Known) -> Option<Warning> {
    let mut boxes = section.boxes.iter().filter(|task| !task.nested);
    boxes.find_map(|task| match known.named_by(&text.at(task.text.clone()), own)? {
        Named::New(id) => Some(Warning {
            line: task.line,
            message: format!(
                "{id} stands below {own}, which has a box of its own, so it is a detail and not \
                 worked on; give it a heading with a box if it is a story"
            ),
        }),
        Named::Known(_) | Named::Repeated => None,
    })
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
        let known = format!("{plan}### US-003: Third\n- [ ] c\n- [ ] US-001: still works\n");
        check_tick(&known, "US-003", &known.replace("[ ] c", "[x] c"));
        let listed = "- [ ] FIX-001: One\n## US-001: Two\n- [ ] a\n- [ ] FIX-002: Three\n";
        check_tick(listed, "US-001", &listed.replace("[ ] a", "[x] a"));
        check_tick(listed, "FIX-002", &listed.replace("[ ] FIX-002", "[x] FIX-002"));
    }

    #[test]
    fn numbered_parts_and_what_only_speaks_of_others_are_ticked_with_the_heading() {
        for part in [
            "US-001: tests",
            "US-001.2: more",
            "US-001b: more",
            "T-1: step",
            "Task 2: step",
            "AC-1: it runs",
            "depends on US-002",
        ] {
            let plan = format!("### US-001: First\n- [ ] a\n- [ ] {part}\n");
            check_tick(&plan, "US-001", &plan.replace("[ ]", "[x]"));
        }
        let nested = "### US-001: First\n- [ ] a\n  - [ ] US-002: Second\n";
        check_tick(nested, "US-001", &nested.replace("[ ]", "[x]"));
        // They begin anew in every section, so that the list at the top is of another kind.
        let restarting = "- [ ] T-9: x\n## US-001: A\n- [ ] T-1: a\n## US-002: B\n- [ ] T-1: b\n";
        check_tick(restarting, "US-001", &restarting.replace("[ ] T-1: a", "[x] T-1: a"));
    }

    #[test]
    fn a_story_whose_boxes_all_name_others_is_worked_on_and_an_overview_is_not() {
        let others = "## US-001: First\n- [ ] a\n## US-002: Second\n- [ ] b\n";
        let joining = format!("{others}## US-003: Join\n- [ ] US-001: joined\n");
        check_tick(&joining, "US-003", &joining.replace("[ ] US", "[x] US"));
        let overview = format!("{others}## M-1: Done when\n- [ ] US-001: First\n- [ ] US-002\n");
        let plan = Plan::parse("plan.md".into(), overview.into(), &Options::default()).unwrap();
        assert_eq!(plan.stories().len(), 2);
    }
}
