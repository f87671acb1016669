//! A plan that was written after its run was last alive: what is in it is somebody's own text, but
//! no tick in it was ever checked.
//!
//! What an agent does while its run is alive is `repair.rs`.

use super::edit;
use super::merge::{box_edits, reopened};
use super::repair::{Change, Finding, Repaired, repair};
use super::story::{Marks, Plan, State};

/// Takes back the ticks of stories that were not done `before`, and keeps everything else. That of
/// `own_story` is not told of: the run may have been ended while it made the tick.
///
/// A plan that is gone or cannot be read is put back as it was.
pub fn keep_text(before: &Plan, after: Option<&[u8]>, own_story: &str) -> Repaired {
    let parse = |bytes: &[u8]| Plan::parse(&before.path, bytes.to_vec(), &before.options).ok();
    let Some(after) = after.and_then(parse).filter(|plan| plan.format == before.format) else {
        return repair(before, after, Some(own_story));
    };
    let own = before.story(own_story).map(|story| story.id.as_str());
    let change = Change { before, after: &after, own };
    let (mut edits, mut findings) = (Vec::new(), Vec::new());
    for new in after.stories.iter().filter(|story| story.state == State::Done) {
        let old = before.story(&new.id);
        if old.is_some_and(|old| old.state == State::Done) {
            continue;
        }
        if own != Some(new.id.as_str()) {
            findings.push(Finding::Unchecked { story: new.id.clone() });
        }
        edits.extend(match (old, &new.marks) {
            (Some(old), Marks::Boxes(_)) => box_edits(&change, old, new),
            _ => reopened(&after, new),
        });
    }
    let bytes = edit::apply(&after.bytes, edits);
    if bytes != before.bytes {
        findings.push(Finding::TextKept);
    }
    Repaired { bytes, claimed: None, findings }
}

#[cfg(test)]
mod tests {
    use camino::Utf8Path;

    use super::*;
    use crate::plan::Options;

    fn check(name: &str, [before, after, expected]: [&str; 3], findings: &[&str]) {
        let path = Utf8Path::new(name);
        let before = Plan::parse(path, before.into(), &Options::default()).unwrap();
        let kept = keep_text(&before, Some(after.as_bytes()), "US-001");
        assert_eq!(String::from_utf8(kept.bytes).unwrap(), expected);
        let found: Vec<String> = kept.findings.iter().map(ToString::to_string).collect();
        assert_eq!(found, findings);
    }

    const KEPT: &str = "edited the plan since the run was last alive; kept";

    #[test]
    fn text_is_kept_and_ticks_are_taken_back() {
        let before = "- [ ] US-001: First\n- [ ] US-002: Second\n- [x] US-003: Third\n";
        let ticked = "- [x] US-001: First\n- [x] US-002: Second\n- [x] US-003: Third\n";
        let unchecked = "ticked US-002, which no check has passed; undone";
        check("plan.md", [before, before, before], &[]);
        check("plan.md", [before, ticked, before], &[unchecked]);
        let edited = "- [ ] US-001: First\n- [x] US-009: New\n- [x] US-002: Better\n  - a note\n";
        let expected = "- [ ] US-001: First\n- [ ] US-009: New\n- [ ] US-002: Better\n  - a note\n";
        let new = "ticked US-009, which no check has passed; undone";
        check("plan.md", [before, edited, expected], &[new, unchecked, KEPT]);
        let reopened = "- [ ] US-001: First\n- [ ] US-002: Second\n- [ ] US-003: Third\n";
        check("plan.md", [before, reopened, reopened], &[KEPT]);
    }

    #[test]
    fn boxes_that_were_ticked_before_stay_so() {
        let before = "### US-001: First\n- [x] one\n- [ ] two\n";
        let after = "### US-001: First, reworded\n- [x] one\n- [x] two\n";
        let expected = "### US-001: First, reworded\n- [x] one\n- [ ] two\n";
        check("plan.md", [before, after, expected], &[KEPT]);
    }

    #[test]
    fn json_plans_are_treated_alike() {
        let plan = |title: &str, passes: bool| {
            format!(
                r#"{{"userStories":[{{"id":"US-002","title":"{title}","passes":{passes}}}],"x":1}}"#
            )
        };
        let findings = ["ticked US-002, which no check has passed; undone", KEPT];
        let texts = [plan("Old", false), plan("New", true), plan("New", false)];
        check("prd.json", texts.each_ref().map(String::as_str), &findings);
    }

    #[test]
    fn a_plan_that_is_gone_is_put_back() {
        let before = b"- [ ] US-001: First\n".to_vec();
        let plan = Plan::parse(Utf8Path::new("p.md"), before.clone(), &Options::default()).unwrap();
        let kept = keep_text(&plan, None, "US-001");
        assert_eq!((kept.bytes, kept.findings), (before, vec![Finding::Vanished]));
    }
}
