//! What planning may leave: any stories in any words, but none that is done without having been, and
//! all that were done before.
//!
//! After an attempt the old plan wins (`agents_plan.rs`); here it is what the agent is to write.

use super::added::Added;
use super::agents_plan::new_boxes;
use super::edit::{self, Edit};
use super::story::{Marks, Plan, State, Story};
use std::collections::HashSet;

/// A plan as planning may leave it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Planned {
    /// The bytes that belong on disk.
    pub bytes: Vec<u8>,
    /// The stories that the agent had ticked.
    pub unticked: Vec<String>,
    /// The done stories that it had opened, and that are done again.
    pub ticked_again: Vec<String>,
    /// The done stories that hold new work now, and are open for that.
    pub grown: Vec<String>,
    /// The done stories that it had removed, and that are there again.
    pub put_back: Vec<String>,
    /// The done stories that it had removed, where they fit nowhere any more.
    pub lost: Vec<String>,
    /// The stories that it removed before they were done, which it may.
    pub removed: Vec<String>,
}

/// Opens the stories of `after` that are done there and were not done in `before`, because a story
/// becomes done by what the loop checks and never by what a plan says; ticks what was done and says
/// the same still; and puts those back that were done, because they tell what is built already.
pub fn planned(before: Option<&Plan>, after: &Plan) -> Planned {
    let was_done = |id: &str| {
        let old = before.and_then(|plan| Some((plan, plan.story(id)?)));
        old.filter(|(_, story)| story.state == State::Done)
    };
    let is_new = |story: &&Story| story.state == State::Done && was_done(&story.id).is_none();
    let ticked: Vec<&Story> = after.stories.iter().filter(is_new).collect();
    let mut edits: Vec<Edit> = ticked.iter().flat_map(|story| after.opening(story, true)).collect();
    let (mut ticked_again, mut grown) = (Vec::new(), Vec::new());
    for story in after.stories.iter().filter(|story| story.state != State::Done) {
        let Some((before, old)) = was_done(&story.id) else { continue };
        let again = done_again((before, old), (after, story));
        let is_whole = again.len() == after.marking(story, State::Done).len();
        if is_whole { &mut ticked_again } else { &mut grown }.push(story.id.clone());
        edits.extend(again);
    }
    let ids = |stories: &[&Story]| stories.iter().map(|story| story.id.clone()).collect();
    let before_stories = before.iter().flat_map(|plan| &plan.stories);
    let missing = before_stories.filter(|story| after.story(&story.id).is_none());
    let (done, open): (Vec<&Story>, Vec<&Story>) =
        missing.partition(|story| story.state == State::Done);
    let bytes = edit::apply(&after.bytes, edits.clone());
    let settled = Settled { after, edits, done: &ticked_again };
    let back = before.and_then(|before| settled.with(before, &done));
    let (put_back, lost): (&[&Story], &[&Story]) =
        if back.is_some() { (&done, &[]) } else { (&[], &done) };
    Planned {
        unticked: ids(&ticked),
        put_back: ids(put_back),
        lost: ids(lost),
        removed: ids(&open),
        bytes: back.unwrap_or(bytes),
        ticked_again,
        grown,
    }
}

/// The edits that tick what was done and says the same still; new words are new work.
fn done_again(old: (&Plan, &Story), new: (&Plan, &Story)) -> Vec<Edit> {
    let ticking = new.0.marking(new.1, State::Done);
    if new.1.marks == Marks::Object {
        let is_same = (&old.1.title, &old.1.details) == (&new.1.title, &new.1.details);
        return if is_same { ticking } else { Vec::new() };
    }
    let new_words: HashSet<usize> =
        new_boxes(old, new).into_iter().map(|(mark, _)| mark.start).collect();
    ticking.into_iter().filter(|edit| !new_words.contains(&edit.range.start)).collect()
}

/// The agent's plan with the edits that are due in any case.
struct Settled<'a> {
    after: &'a Plan,
    edits: Vec<Edit>,
    /// The stories that the edits tick.
    done: &'a [String],
}

impl Settled<'_> {
    /// The plan with the stories that were removed: where they were among the others, else at its
    /// end or, if they would read differently there, at its beginning; none if nothing will do.
    fn with(&self, before: &Plan, gone: &[&Story]) -> Option<Vec<u8>> {
        let after = self.after;
        if gone.is_empty() || before.format != after.format {
            return None;
        }
        let added: Vec<Added> =
            gone.iter().map(|story| Added::new(before, story, Vec::new())).collect();
        let first = after.stories.first()?;
        let in_place: Option<Vec<Edit>> = gone
            .iter()
            .zip(&added)
            .map(|(story, new)| beside_a_neighbour(before, after, story, new))
            .collect();
        let at_end = Some(added.iter().map(|new| after.at_end(new)).collect());
        let at_start = Some(added.iter().map(|new| before_story(after, first, new)).collect());
        [in_place, at_end, at_start].into_iter().flatten().find_map(|more| {
            let bytes = edit::apply(&after.bytes, [self.edits.clone(), more].concat());
            self.reads_well(before, gone, &bytes).then_some(bytes)
        })
    }

    /// Whether all stories are there: those that were restored as done, the others as they may be.
    fn reads_well(&self, before: &Plan, gone: &[&Story], bytes: &[u8]) -> bool {
        let after = self.after;
        let Ok(plan) = Plan::parse(&after.path, bytes.to_vec(), &after.options) else {
            return false;
        };
        let state_of = |id: &str| plan.story(id).map(|story| story.state);
        let may_be = |story: &Story| match story.state {
            State::Done => before.story(&story.id).is_some_and(|old| old.state == State::Done),
            _ => self.done.contains(&story.id),
        };
        let is_kept = |story: &Story| {
            let is_done = state_of(&story.id).map(|state| state == State::Done);
            is_done == Some(may_be(story))
        };
        plan.stories.len() == after.stories.len() + gone.len()
            && gone.iter().all(|story| state_of(&story.id) == Some(State::Done))
            && after.stories.iter().all(is_kept)
    }
}

/// Puts a story behind the nearest one before it that is still there, else before the nearest one
/// behind it.
fn beside_a_neighbour(before: &Plan, after: &Plan, story: &Story, new: &Added) -> Option<Edit> {
    let at = before.stories.iter().position(|other| other.id == story.id)?;
    let (earlier, later) = before.stories.split_at(at);
    let still = |other: &Story| after.story(&other.id);
    if let Some(previous) = earlier.iter().rev().find_map(still) {
        return Some(after.behind(previous, new));
    }
    later.iter().find_map(still).map(|next| before_story(after, next, new))
}

fn before_story(after: &Plan, next: &Story, new: &Added) -> Edit {
    let start = next.span.start;
    Edit { range: start..start, text: [new.text_for(after), after.gap(next, new)].concat() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Options;

    fn check(name: &str, before: Option<&str>, after: &str, expected: (&str, &[&str])) {
        let parse =
            |text: &str| Plan::parse(name.into(), text.into(), &Options::default()).unwrap();
        let found = planned(before.map(parse).as_ref(), &parse(after));
        assert_eq!(String::from_utf8(found.bytes).unwrap(), expected.0);
        assert_eq!(found.unticked, expected.1);
        assert_eq!(found.lost, Vec::<String>::new());
    }

    #[test]
    fn only_what_was_done_before_stays_done() {
        let before = "- [x] US-001: One\n- [ ] US-002: Two\n- [!] US-003: Three\n";
        check(
            "plan.md",
            Some(before),
            "- [x] US-004: New\n- [X] US-003: Three\n- [x] US-001: One\n- [x] US-002: Second\n",
            (
                "- [ ] US-004: New\n- [ ] US-003: Three\n- [x] US-001: One\n- [ ] US-002: Second\n",
                &["US-004", "US-003", "US-002"],
            ),
        );
        check("plan.md", Some(before), before, (before, &[]));
        check(
            "plan.md",
            None,
            "## US-001: One\n\n- [x] a\n- [x] b\n",
            ("## US-001: One\n\n- [ ] a\n- [ ] b\n", &["US-001"]),
        );
    }

    #[test]
    fn the_same_goes_for_json() {
        check(
            "prd.json",
            None,
            r#"{"userStories":[{"id":"A-1","title":"One","passes":true}]}"#,
            (r#"{"userStories":[{"id":"A-1","title":"One","passes":false}]}"#, &["A-1"]),
        );
    }

    #[test]
    fn done_stories_stay_and_open_ones_may_go() {
        for (name, before, after, expected) in [
            (
                "plan.md",
                "- [x] US-001: One\n  - [x] detail\n- [ ] US-002: Two\n- [ ] US-003: Three\n",
                "- [ ] US-003: Three\n",
                "- [x] US-001: One\n  - [x] detail\n- [ ] US-003: Three\n",
            ),
            (
                "plan.md",
                "## US-001: One\n\n- [x] a\n\n## US-002: Two\n\n- [ ] b\n",
                "## US-003: New\n\n- [ ] c\n",
                "## US-003: New\n\n- [ ] c\n\n## US-001: One\n\n- [x] a\n",
            ),
            // At the end it would be a part of the story with a heading.
            (
                "plan.md",
                "- [x] US-001: One\n- [ ] US-002: Two\n",
                "## Task 3: New\n\n- [ ] c\n",
                "- [x] US-001: One\n\n## Task 3: New\n\n- [ ] c\n",
            ),
            (
                "prd.json",
                r#"{"userStories":[{"id":"US-001","title":"1","passes":true},{"id":"US-002","title":"2"}]}"#,
                r#"{"userStories":[{"id":"US-003","title":"3"}]}"#,
                r#"{"userStories":[{"id":"US-003","title":"3"},{"id":"US-001","title":"1","passes":true}]}"#,
            ),
        ] {
            let parse =
                |text: &str| Plan::parse(name.into(), text.into(), &Options::default()).unwrap();
            let found = planned(Some(&parse(before)), &parse(after));
            assert_eq!(String::from_utf8(found.bytes).unwrap().trim_end(), expected.trim_end());
            let named = (found.put_back, found.removed, found.lost);
            assert_eq!(named, (vec!["US-001".to_owned()], vec!["US-002".to_owned()], vec![]));
        }
    }

    #[test]
    fn what_was_done_stays_done_while_it_says_the_same() {
        let check = |name: &str, before: &str, after: &str, expected: (&str, &[&str], &[&str])| {
            let parse =
                |text: &str| Plan::parse(name.into(), text.into(), &Options::default()).unwrap();
            let found = planned(Some(&parse(before)), &parse(after));
            assert_eq!(String::from_utf8(found.bytes).unwrap(), expected.0);
            assert_eq!(found.ticked_again, expected.1);
            assert_eq!(found.grown, expected.2);
        };
        let list = "- [x] US-001: One\n- [X] US-002: Two\n- [ ] US-003: Three\n";
        check(
            "plan.md",
            list,
            "- [ ] US-001: One\n- [!] US-002: Two\n- [ ] US-003: Three\n",
            (
                "- [x] US-001: One\n- [x] US-002: Two\n- [ ] US-003: Three\n",
                &["US-001", "US-002"],
                &[],
            ),
        );
        let other = "- [ ] US-001: Something else\n- [X] US-002: Two\n- [ ] US-003: Three\n";
        check("plan.md", list, other, (other, &[], &["US-001"]));
        check(
            "plan.md",
            "## US-001: One\n- [x] a\n- [x] b\n",
            "## US-001: One\n- [ ] a\n- [x] b\n- [ ] new\n",
            ("## US-001: One\n- [x] a\n- [x] b\n- [ ] new\n", &[], &["US-001"]),
        );
        check(
            "prd.json",
            r#"{"userStories":[{"id":"A-1","title":"One","passes":true}]}"#,
            r#"{"userStories":[{"id":"A-1","title":"One","passes":false}]}"#,
            (r#"{"userStories":[{"id":"A-1","title":"One","passes":true}]}"#, &["A-1"], &[]),
        );
    }

    #[test]
    fn a_done_story_comes_back_to_its_place() {
        let check = |name: &str, before: &str, after: &str, expected: &str| {
            let parse =
                |text: &str| Plan::parse(name.into(), text.into(), &Options::default()).unwrap();
            let found = planned(Some(&parse(before)), &parse(after));
            assert_eq!(String::from_utf8(found.bytes).unwrap(), expected);
        };
        check(
            "plan.md",
            "- [x] US-001: a\r\n- [x] US-002: b\r\n- [x] US-003: c\r\n- [ ] US-004: d\r\n",
            "- [ ] US-001: a\r\n- [ ] US-004: d\r\n- [ ] US-005: e\r\n",
            "- [x] US-001: a\r\n- [x] US-002: b\r\n- [x] US-003: c\r\n- [ ] US-004: d\r\n\
             - [ ] US-005: e\r\n",
        );
        check(
            "plan.md",
            "# P\n\n## US-001: a\n\n- [x] a\n\n## US-002: b\n\n- [ ] b\n",
            "# P\n\n## US-002: b\n\n- [ ] b\n\n## US-003: c\n\n- [ ] c\n",
            "# P\n\n## US-001: a\n\n- [x] a\n\n## US-002: b\n\n- [ ] b\n\n## US-003: c\n\n- [ ] c\n",
        );
        check(
            "prd.json",
            "{\"userStories\": [\n {\"id\":\"1\",\"passes\":true},\n {\"id\":\"2\",\"passes\":true},\n {\"id\":\"3\"}\n]}",
            "{\"userStories\": [\n {\"id\":\"1\",\"passes\":true},\n {\"id\":\"3\"}\n]}",
            "{\"userStories\": [\n {\"id\":\"1\",\"passes\":true},\n {\"id\":\"2\",\"passes\":true},\n {\"id\":\"3\"}\n]}",
        );
    }
}
