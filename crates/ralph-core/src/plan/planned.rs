//! What planning may leave: any stories in any words, but none that is done without having been, and
//! all that were done before.
//!
//! Pure, as the repair of a plan after an attempt is; that one keeps other stories as they were,
//! while here they are what the agent is to write.

use super::edit::{self, Edit};
use super::merge::{append, reopened};
use super::story::{Plan, State, Story};

/// A plan as planning may leave it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Planned {
    /// The bytes that belong on disk.
    pub bytes: Vec<u8>,
    /// The stories that the agent had ticked.
    pub unticked: Vec<String>,
    /// The done stories that it had removed, and that are there again.
    pub put_back: Vec<String>,
    /// The done stories that it had removed, where they fit nowhere any more.
    pub lost: Vec<String>,
    /// The stories that it removed before they were done, which it may.
    pub removed: Vec<String>,
}

/// Opens the stories of `after` that are done there and were not done in `before`, because a story
/// becomes done by what the loop checks and never by what a plan says; and puts those back that were
/// done, because they tell what is built already.
pub fn planned(before: Option<&Plan>, after: &Plan) -> Planned {
    let was_done = |id: &str| {
        before.and_then(|plan| plan.story(id)).is_some_and(|story| story.state == State::Done)
    };
    let is_new = |story: &&Story| story.state == State::Done && !was_done(&story.id);
    let ticked: Vec<&Story> = after.stories.iter().filter(is_new).collect();
    let edits: Vec<Edit> = ticked.iter().flat_map(|story| reopened(after, story)).collect();
    let ids = |stories: &[&Story]| stories.iter().map(|story| story.id.clone()).collect();
    let before_stories = before.iter().flat_map(|plan| &plan.stories);
    let missing = before_stories.filter(|story| after.story(&story.id).is_none());
    let (done, open): (Vec<&Story>, Vec<&Story>) =
        missing.partition(|story| story.state == State::Done);
    let unticked = edit::apply(&after.bytes, edits.clone());
    let back = before.and_then(|before| put_back(before, after, &done, &edits));
    let (put_back, lost): (&[&Story], &[&Story]) =
        if back.is_some() { (&done, &[]) } else { (&[], &done) };
    Planned {
        unticked: ids(&ticked),
        put_back: ids(put_back),
        lost: ids(lost),
        removed: ids(&open),
        bytes: back.unwrap_or(unticked),
    }
}

/// The plan with the stories that were removed at its end or, if they would read differently there,
/// at its beginning; none if neither will do.
fn put_back(before: &Plan, after: &Plan, gone: &[&Story], edits: &[Edit]) -> Option<Vec<u8>> {
    if gone.is_empty() || before.format != after.format {
        return None;
    }
    let sections = || gone.iter().map(|story| before.section(story).to_vec());
    let start = after.stories.first()?.span.start;
    let mut text: Vec<u8> = Vec::new();
    for section in sections() {
        text.extend_from_slice(section.trim_ascii_end());
        text.extend_from_slice(b"\n\n");
    }
    let at_start = Edit { range: start..start, text };
    [append(after, sections().collect()), Some(at_start)].into_iter().flatten().find_map(|more| {
        let bytes = edit::apply(&after.bytes, [edits, &[more]].concat());
        reads_well(before, after, gone, &bytes).then_some(bytes)
    })
}

/// Whether all stories are there: those that were put back as done, the others as they may be.
fn reads_well(before: &Plan, after: &Plan, gone: &[&Story], bytes: &[u8]) -> bool {
    let Ok(plan) = Plan::parse(&after.path, bytes.to_vec(), &after.options) else { return false };
    let state_of = |id: &str| plan.story(id).map(|story| story.state);
    let may_be = |story: &Story| match story.state {
        State::Done => before.story(&story.id).is_some_and(|old| old.state == State::Done),
        _ => false,
    };
    let is_kept = |story: &Story| {
        let is_done = state_of(&story.id).map(|state| state == State::Done);
        is_done == Some(may_be(story))
    };
    plan.stories.len() == after.stories.len() + gone.len()
        && gone.iter().all(|story| state_of(&story.id) == Some(State::Done))
        && after.stories.iter().all(is_kept)
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
                "- [ ] US-003: Three\n- [x] US-001: One\n  - [x] detail\n",
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
}
