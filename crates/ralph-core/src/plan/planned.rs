//! What planning may leave: any stories in any words, but none that is done without having been.
//!
//! Pure, as the repair of a plan after an attempt is; that one keeps other stories as they were,
//! while here they are what the agent is to write.

use super::edit;
use super::merge::reopened;
use super::story::{Plan, State};

/// A plan as planning may leave it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Planned {
    /// The bytes that belong on disk.
    pub bytes: Vec<u8>,
    /// The stories that the agent had ticked.
    pub unticked: Vec<String>,
}

/// Opens the stories of `after` that are done there and were not done in `before`: a story becomes
/// done by what the loop checks, never by what a plan says.
pub fn untick_new(before: Option<&Plan>, after: &Plan) -> Planned {
    let was_done = |id: &str| {
        before.and_then(|plan| plan.story(id)).is_some_and(|story| story.state == State::Done)
    };
    let is_new = |story: &&super::Story| story.state == State::Done && !was_done(&story.id);
    let ticked: Vec<&super::Story> = after.stories.iter().filter(is_new).collect();
    let edits = ticked.iter().flat_map(|story| reopened(after, story)).collect();
    Planned {
        bytes: edit::apply(&after.bytes, edits),
        unticked: ticked.iter().map(|story| story.id.clone()).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Options;

    fn check(name: &str, before: Option<&str>, after: &str, expected: (&str, &[&str])) {
        let parse =
            |text: &str| Plan::parse(name.into(), text.into(), &Options::default()).unwrap();
        let found = untick_new(before.map(parse).as_ref(), &parse(after));
        assert_eq!(String::from_utf8(found.bytes).unwrap(), expected.0);
        assert_eq!(found.unticked, expected.1);
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
}
