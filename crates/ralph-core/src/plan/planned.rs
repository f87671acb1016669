//! The changes that a planning run may make: any stories in any words, but no story may become
//! done, and stories that were done must stay.
//!
//! After an attempt the old plan wins (`agents_plan.rs`); here the agent's new plan does.

use super::added::Added;
use super::agents_plan::words;
use super::edit;
use super::story::{Plan, State};

/// A plan after a planning run, corrected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Planned {
    /// The bytes to write to disk.
    pub bytes: Vec<u8>,
    /// The agent's changes to existing stories and how each was handled, one sentence each.
    pub findings: Vec<String>,
}

/// Checks a plan written by a planning run. Reopens stories that are done only in `after`, because
/// only the loop's checks make a story done; ticks done stories that were reopened but not changed;
/// and restores removed stories that were done. The error names a story that cannot be restored.
pub fn planned(before: Option<&Plan>, after: &Plan) -> Result<Planned, String> {
    let was_done = |id: &str| {
        let old = before.and_then(|plan| Some((plan, plan.story(id)?)));
        old.filter(|(_, story)| story.state == State::Done)
    };
    let (mut edits, mut findings) = (Vec::new(), Vec::new());
    for story in &after.stories {
        let id = &story.id;
        match (story.state, was_done(id)) {
            (State::Done, None) => {
                edits.extend(after.marking(story, State::Open));
                findings.push(format!("ticked {id} while planning, without any checks; ignored"));
            }
            (State::Done, Some(_)) | (_, None) => {}
            (_, Some(old)) if words(old) == words((after, story)) => {
                edits.extend(after.marking(story, State::Done));
                findings
                    .push(format!("reopened {id}, which was done and is unchanged; ticked again"));
            }
            (_, Some(_)) => findings.push(format!("changed {id}, which was done; reopened")),
        }
    }
    let bytes = edit::apply(&after.bytes, edits);
    let mut plan =
        Plan::parse(&after.path, bytes, &after.options).map_err(|error| error.to_string())?;
    let mut gone = Vec::new();
    for (before, story) in
        before.iter().flat_map(|plan| plan.stories.iter().map(move |s| (plan, s)))
    {
        let id = &story.id;
        if after.story(id).is_some() {
            continue;
        }
        if story.state == State::Done {
            findings.push(format!("removed {id}, which was done; restored"));
            gone.push(Added::new(before, story, State::Done));
        } else {
            findings.push(format!("removed {id}, which was not done; accepted"));
        }
    }
    plan = plan.extended(&gone);
    if let Some(lost) = gone.iter().find(|story| plan.story(&story.id).is_none()) {
        return Err(format!("it removed {}, which was done and cannot be restored", lost.id));
    }
    Ok(Planned { bytes: plan.bytes, findings })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Options;

    fn parse(text: &str) -> Plan {
        let name = if text.starts_with('{') { "prd.json" } else { "plan.md" };
        Plan::parse(name.into(), text.into(), &Options::default()).unwrap()
    }

    #[track_caller]
    fn check(before: Option<&str>, after: &str, expected: &str, findings: &[&str]) {
        let found = planned(before.map(parse).as_ref(), &parse(after)).unwrap();
        assert_eq!(String::from_utf8(found.bytes).unwrap(), expected);
        assert_eq!(found.findings, findings);
    }

    const TICKED: &str = "while planning, without any checks; ignored";

    #[test]
    fn only_stories_that_were_done_before_stay_done() {
        let before = "- [x] US-001: One\n- [ ] US-002: Two\n- [!] US-003: Three\n";
        check(
            Some(before),
            "- [x] US-004: New\n- [X] US-003: Three\n- [x] US-001: One\n- [x] US-002: Second\n",
            "- [ ] US-004: New\n- [ ] US-003: Three\n- [x] US-001: One\n- [ ] US-002: Second\n",
            &["US-004", "US-003", "US-002"].map(|id| &*format!("ticked {id} {TICKED}").leak()),
        );
        check(Some(before), before, before, &[]);
        let heading = "## US-001: One\n\n- [x] a\n- [x] b\n";
        let json = r#"{"userStories":[{"id":"US-001","title":"One","passes":true}]}"#;
        for (text, done, open) in [(heading, "[x]", "[ ]"), (json, "true", "false")] {
            check(None, text, &text.replace(done, open), &[&format!("ticked US-001 {TICKED}")]);
        }
    }

    #[test]
    fn done_stories_are_restored_and_open_ones_may_be_removed() {
        let json = |stories: &str| format!("{{\"userStories\":[{stories}]}}");
        let (one, two) = (r#"{"id":"US-001","title":"1","passes":true}"#, r#"{"id":"US-002"}"#);
        let three = r#"{"id":"US-003"}"#;
        for (before, after, expected) in [
            (
                "- [x] US-001: One\r\n  - [x] detail\r\n- [ ] US-002: Two\r\n".to_owned(),
                "- [ ] US-003: Three\n".to_owned(),
                "- [ ] US-003: Three\n- [x] US-001: One\n  - [x] detail\n".to_owned(),
            ),
            (
                "## US-001: One\n\n- [x] a\n\n## US-002: Two\n\n- [ ] b\n".to_owned(),
                "## US-003: New\n\n- [ ] c\n".to_owned(),
                "## US-003: New\n\n- [ ] c\n\n## US-001: One\n\n- [x] a\n".to_owned(),
            ),
            (json(&format!("{one},{two}")), json(three), json(&format!("{three},{one}"))),
        ] {
            let findings = [
                "removed US-001, which was done; restored",
                "removed US-002, which was not done; accepted",
            ];
            check(Some(&before), &after, &expected, &findings);
        }
    }

    #[test]
    fn a_plan_that_cannot_contain_a_done_story_is_refused() {
        let before = parse("- [x] US-001: One\n- [ ] US-002: Two\n");
        let refused = planned(Some(&before), &parse(r#"{"userStories":[{"id":"US-002"}]}"#));
        let why = "it removed US-001, which was done and cannot be restored";
        assert_eq!(refused, Err(why.to_owned()));
    }

    #[test]
    fn an_unchanged_done_story_stays_done() {
        let again = "reopened US-001, which was done and is unchanged; ticked again";
        let changed = "changed US-001, which was done; reopened";
        let list = "- [x] US-001: One\n- [ ] US-003: Three\n";
        for mark in ["[ ]", "[!]"] {
            check(Some(list), &list.replace("[x]", mark), list, &[again]);
        }
        let other = list.replace("[x] US-001: One", "[ ] US-001: Something else");
        check(Some(list), &other, &other, &[changed]);
        let heading = "## US-001: One\n- [x] a\n- [x] b\n";
        let more = format!("{heading}- [ ] new\n");
        check(Some(heading), &more, &more, &[changed]);
        let json = r#"{"userStories":[{"id":"US-001","title":"One","passes":true}]}"#;
        check(Some(json), &json.replace("true", "false"), json, &[again]);
    }
}
