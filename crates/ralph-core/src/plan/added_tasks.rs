//! Boxes that an agent added to its own story: with an open one it says that the story is not done.
//!
//! Boxes that are details of a story with a box of its own do not count: they are never ticked.

use std::collections::HashMap;

use super::merge::boxes;
use super::story::{Plan, Story};

/// The texts of such boxes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AddedTasks {
    /// Those that are open, or blocked.
    pub open: Vec<String>,
    /// Those that the agent ticked.
    pub ticked: Vec<String>,
}

/// What an agent added to a story. Another wording of a box that was there is no addition.
pub fn added_tasks(before: &Plan, after: &Plan, story: &str) -> AddedTasks {
    let mut added = AddedTasks::default();
    let (Some(old), Some(new)) = (before.story(story), after.story(story)) else { return added };
    let (old, new) = (tasks(before, old), tasks(after, new));
    if new.len() <= old.len() {
        return added;
    }
    let mut known: HashMap<&str, usize> = HashMap::new();
    old.iter().for_each(|(_, text)| *known.entry(text).or_default() += 1);
    for (is_ticked, text) in new {
        match known.get_mut(text.as_str()) {
            Some(count) if *count > 0 => *count -= 1,
            _ if is_ticked => added.ticked.push(text),
            _ => added.open.push(text),
        }
    }
    added
}

/// Whether each box of a story is ticked, and its text.
fn tasks(plan: &Plan, story: &Story) -> Vec<(bool, String)> {
    let task = |(mark, text): (&[u8], &[u8])| {
        let text = String::from_utf8_lossy(text.strip_prefix(b"]").unwrap_or(text));
        (matches!(mark, b"x" | b"X"), text.trim().to_owned())
    };
    boxes(plan, story).into_iter().map(task).collect()
}

#[cfg(test)]
mod tests {
    use camino::Utf8Path;

    use super::*;
    use crate::plan::Options;

    #[track_caller]
    fn check(before: &str, after: &str, open: &[&str], ticked: &[&str]) {
        let plan = |text: &str| {
            Plan::parse(Utf8Path::new("plan.md"), text.as_bytes().to_vec(), &Options::default())
                .unwrap()
        };
        let added = added_tasks(&plan(before), &plan(after), "US-001");
        assert_eq!(added.open, open, "{after}");
        assert_eq!(added.ticked, ticked, "{after}");
    }

    #[test]
    fn boxes_that_were_not_there_are_found_by_their_text() {
        let one = "### US-001: One\n- [ ] a\n- [x] b\n\n### US-002: Two\n- [ ] c\n";
        check(one, one, &[], &[]);
        check(one, &one.replace("[ ] a", "[x] a"), &[], &[]);
        check(one, &one.replace("] a", "] a\n- [ ] more\n- [X] done"), &["more"], &["done"]);
        check(one, &one.replace("] a", "] a\n- [ ] a"), &["a"], &[]);
        check(one, &one.replace("] c", "] c\n- [ ] more"), &[], &[]);
        check(one, &one.replace("] a", "] a, in other words"), &[], &[]);
        check(one, &one.replace("] a", "] a\n  - [!] asked"), &["asked"], &[]);
        check("- [ ] US-001: One\n", "- [ ] US-001: One\n  - [ ] detail\n", &[], &[]);
    }
}
