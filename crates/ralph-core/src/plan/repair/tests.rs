//! What an agent may and may not do to a plan, case by case.

use crate::plan::*;
use camino::Utf8Path;

fn plan(name: &str, text: &str) -> Plan {
    Plan::parse(Utf8Path::new(name), text.as_bytes().to_vec(), &Options::default()).unwrap()
}

/// The agent works on US-001, leaves `after`, and finds `expected` with `findings`.
fn check(before: &str, after: &str, expected: &str, findings: &[&str]) -> Repaired {
    let name = if before.starts_with('{') { "prd.json" } else { "plan.md" };
    let repaired = repair(&plan(name, before), Some(after.as_bytes()), Some("US-001"));
    assert_eq!(String::from_utf8_lossy(&repaired.bytes), expected);
    let found: Vec<_> = repaired.findings.iter().map(ToString::to_string).collect();
    assert_eq!(found, findings);
    repaired
}

const HEADINGS: &str = "\
# Plan\n\n### US-001: One\n- [ ] a\n- [ ] b\n\n### US-002: Two\n- [ ] c\n\n## Notes\ntext\n";
const LIST: &str = "- [ ] US-001: One\n- [ ] US-002: Two\n- [x] US-003: Three\n";
const JSON: &str = "{\"userStories\": [\n  {\"id\": \"US-001\", \"title\": \"One\"},\n  \
    {\"id\": \"US-002\", \"title\": \"Two\", \"passes\": false}\n]}\n";

#[test]
fn an_untouched_plan_stays_as_it_is() {
    for before in [HEADINGS, LIST, JSON] {
        let repaired = check(before, before, before, &[]);
        assert_eq!(repaired.claimed, None);
    }
}

#[test]
fn a_tick_of_the_own_story_is_only_a_claim() {
    let after = HEADINGS.replace("[ ] a", "[x] a").replace("[ ] b", "[X] b");
    assert!(check(HEADINGS, &after, HEADINGS, &[]).claimed_done());
    let after = HEADINGS.replace("[ ] a", "[x] a");
    assert!(!check(HEADINGS, &after, HEADINGS, &[]).claimed_done());
    assert!(check(LIST, &LIST.replacen("[ ]", "[x]", 1), LIST, &[]).claimed_done());
    let blocked = check(LIST, &LIST.replacen("[ ]", "[!]", 1), LIST, &[]);
    assert_eq!(blocked.claimed, Some(State::Blocked));
    let after = JSON.replacen("\"One\"", "\"One\", \"passes\": true", 1);
    let reset = JSON.replacen("\"One\"", "\"One\", \"passes\": false", 1);
    assert!(check(JSON, &after, &reset, &[]).claimed_done());
}

#[test]
fn marks_of_other_stories_are_undone() {
    let ticked = "ticked US-002, which was not its story; undone";
    check(HEADINGS, &HEADINGS.replace("[ ] c", "[x] c"), HEADINGS, &[ticked]);
    check(LIST, &LIST.replace("[ ] US-002", "[x] US-002"), LIST, &[ticked]);
    check(JSON, &JSON.replace("\"passes\": false", "\"passes\": true"), JSON, &[ticked]);
    let reopened = "reopened US-003; undone";
    check(LIST, &LIST.replace("[x]", "[ ]"), LIST, &[reopened]);
}

#[test]
fn edits_and_removals_of_other_stories_are_undone() {
    let edited = "edited US-002, which was not its story; undone";
    check(HEADINGS, &HEADINGS.replace("[ ] c", "[ ] less"), HEADINGS, &[edited]);
    let renamed = "renamed US-002 to `Nothing`, which was not its story; undone";
    check(LIST, &LIST.replace("Two", "Nothing"), LIST, &[renamed]);
    check(JSON, &JSON.replace("Two", "Nothing"), JSON, &[renamed]);
    let noted = JSON.replace("\"Two\"", "\"Two\", \"notes\": \"x\"");
    check(JSON, &noted, JSON, &[edited]);
    let removed = "removed US-002; put back";
    check(LIST, "- [ ] US-001: One\n- [x] US-003: Three\n", LIST, &[removed]);
    check(HEADINGS, "# Plan\n\n### US-001: One\n- [ ] a\n- [ ] b\n", HEADINGS, &[removed]);
    let swapped = "- [ ] US-002: Two\n- [ ] US-001: One\n- [x] US-003: Three\n";
    check(LIST, swapped, LIST, &["changed the order of the stories; undone"]);
    let hidden = HEADINGS.replace("### US-002", "## Optional\n### US-002");
    check(HEADINGS, &hidden, HEADINGS, &[edited]);
}

#[test]
fn everything_that_happened_to_a_story_is_told() {
    let ticked = "ticked US-002, which was not its story; undone";
    let renamed = "renamed US-002 to `Less`, which was not its story; undone";
    let edited = "edited US-002, which was not its story; undone";
    let both = HEADINGS.replace("US-002: Two\n- [ ] c", "US-002: Less\n- [x] c");
    check(HEADINGS, &both, HEADINGS, &[ticked, renamed]);
    let all = HEADINGS.replace("US-002: Two\n- [ ] c", "US-002: Less\n- [x] d");
    check(HEADINGS, &all, HEADINGS, &[ticked, renamed, edited]);
    let both = LIST.replace("[ ] US-002: Two", "[x] US-002: Less");
    check(LIST, &both, LIST, &[ticked, renamed]);
    let both = JSON.replace("\"Two\", \"passes\": false", "\"Less\", \"passes\": true");
    check(JSON, &both, JSON, &[ticked, renamed]);
}

#[test]
fn notes_in_the_own_section_and_around_are_kept() {
    let noted = HEADINGS.replace("- [ ] b\n", "- [ ] b\n  - learned: x\n- [ ] more\n");
    check(HEADINGS, &noted, &noted, &[]);
    let ticked = noted.replace("[ ] more", "[x] more").replace("[ ] a", "[x] a");
    check(HEADINGS, &ticked, &noted, &[]);
    let around = HEADINGS.replace("text\n", "text and more\n");
    check(HEADINGS, &around, &around, &[]);
    let noted = LIST.replace("One\n", "One\n  - learned: x\n");
    check(LIST, &noted, &noted, &[]);
    let noted = JSON.replace("\"One\"", "\"One\", \"notes\": \"x\"");
    check(JSON, &noted, &noted, &[]);
}

#[test]
fn the_own_story_keeps_its_title_boxes_and_dependencies() {
    check(LIST, &LIST.replace("One", "Something easier"), LIST, &[]);
    let emptied = HEADINGS.replace("- [ ] a\n- [ ] b\n", "- [x] a\n");
    check(HEADINGS, &emptied, HEADINGS, &["changed what US-001 is about or waits for; undone"]);
    let waiting = HEADINGS.replace("[ ] b\n", "[ ] b\nDepends on: US-002\n");
    check(HEADINGS, &waiting, HEADINGS, &["changed what US-001 is about or waits for; undone"]);
    let gone = HEADINGS.replace("- [ ] a\n- [ ] b\n", "done\n");
    check(HEADINGS, &gone, HEADINGS, &["removed US-001; put back"]);
}

#[test]
fn new_stories_are_kept_at_the_end_and_open() {
    let added = "added US-004 (Four) at the end; kept";
    let wanted = format!("{LIST}- [ ] US-004: Four\n");
    check(LIST, &wanted, &wanted, &[added]);
    check(LIST, &wanted.replace("[ ] US-004", "[x] US-004"), &wanted, &[added]);
    let with_removal = "- [ ] US-001: One\n- [x] US-003: Three\n- [x] US-004: Four\n";
    check(LIST, with_removal, &wanted, &["removed US-002; put back", added]);
    let json = |passes: &str| {
        JSON.replace(
            "false}\n]",
            &format!(
                "false}},\n  {{\"id\": \"US-004\", \"title\": \"Four\", \"passes\": {passes}}}\n]"
            ),
        )
    };
    check(JSON, &json("true"), &json("false"), &[added]);
    let changed = json("true").replace("\"id\": \"US-002\"", "\"id\": \"US-009\"");
    let found = repair(&plan("prd.json", JSON), Some(changed.as_bytes()), Some("US-001"));
    let after = plan("prd.json", &String::from_utf8(found.bytes).unwrap());
    assert!(["US-002", "US-004", "US-009"].iter().all(|id| after.story(id).is_some()));
}

#[test]
fn a_ticked_detail_does_not_become_a_ticked_story() {
    let own_reset = "changed what US-001 is about or waits for; undone";
    let after = "- [ ] US-001: One\n  - [x] US-002: detail\n";
    check("  - [ ] US-001: One\n", after, "  - [ ] US-001: One\n", &[own_reset]);
}

#[test]
fn new_stories_before_others_are_taken_out() {
    let after = LIST.replace("- [ ] US-002", "- [ ] US-004: Four\n- [ ] US-002");
    check(LIST, &after, LIST, &["added US-004 (Four), but not at the end; taken out"]);
}

#[test]
fn a_new_story_in_the_own_section_takes_no_box_of_it_along() {
    let taken_out = "added US-009 (Nine), but not at the end; taken out";
    let own_reset = "changed what US-001 is about or waits for; undone";
    let between = HEADINGS.replace("- [ ] b\n", "- [ ] US-009: Nine\n- [ ] b\n");
    check(HEADINGS, &between, HEADINGS, &[taken_out, own_reset]);
    let behind = HEADINGS.replace("- [ ] b\n", "- [ ] b\n  - learned: x\n- [ ] US-009: Nine\n");
    let noted = HEADINGS.replace("- [ ] b\n", "- [ ] b\n  - learned: x\n");
    check(HEADINGS, &behind, &noted, &[taken_out]);
}

#[test]
fn nor_does_one_in_the_middle_of_a_list_story_take_its_lines_along() {
    let before = LIST.replace("One\n", "One\n  - [ ] a\n  - [ ] b\n  - Acceptance: b\n");
    let after = before.replace("] a\n", "] a\n- [ ] US-009: Nine\n");
    let own_reset = "changed what US-001 is about or waits for; undone";
    let taken_out = "added US-009 (Nine), but not at the end; taken out";
    check(&before, &after, &before, &[taken_out, own_reset]);
}

#[test]
fn boxes_of_the_own_story_that_are_removed_or_reworded_come_back() {
    let own_reset = "changed what US-001 is about or waits for; undone";
    check(HEADINGS, &HEADINGS.replace("- [ ] b\n", ""), HEADINGS, &[own_reset]);
    check(HEADINGS, &HEADINGS.replace("] b\n", "] nothing\n"), HEADINGS, &[own_reset]);
}

#[test]
fn a_plan_that_is_gone_or_broken_comes_back() {
    let before = plan("plan.md", LIST);
    let gone = repair(&before, None, Some("US-001"));
    assert_eq!((gone.bytes.as_slice(), gone.findings), (LIST.as_bytes(), vec![Finding::Vanished]));
    check(
        LIST,
        "",
        LIST,
        &["left a plan that cannot be read (plan.md: the plan is empty; write at least one story \
           such as `- [ ] US-001: title`); the old one was put back"],
    );
    let json = "{\"features\": [{\"id\": 1}]}";
    check(
        LIST,
        json,
        LIST,
        &["left a plan that cannot be read (another format); the old one was put back"],
    );
}

#[test]
fn other_line_endings_are_no_edit() {
    let after = LIST.replace('\n', "\r\n");
    check(LIST, &after, &after, &[]);
}
