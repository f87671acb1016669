//! Changes that an agent may and may not make to a plan.

use crate::plan::story::AgentStories;
use crate::plan::*;
use camino::Utf8Path;

fn plan(name: &str, text: &str) -> Plan {
    read(name, text, AgentStories::Run)
}

fn read(name: &str, text: &str, agent_stories: AgentStories) -> Plan {
    let options = Options { agent_stories, ..Options::default() };
    Plan::parse(Utf8Path::new(name), text.as_bytes().to_vec(), &options).unwrap()
}

fn named(text: &str) -> &'static str {
    if text.starts_with('{') { "prd.json" } else { "plan.md" }
}

/// The agent works on US-001 and leaves `left`; `expected` is the plan with the added stories.
#[track_caller]
fn check_added(given: &str, left: &str, expected: &str, findings: &[&str]) -> AgentsPlan {
    let given = plan(named(given), given);
    let agents = agents_plan(&given, Some(left.as_bytes()), "US-001");
    assert_eq!(agents.findings, findings);
    assert_eq!(String::from_utf8(given.with_added(&agents)).unwrap(), expected);
    agents
}

/// Like `check_added`, but no story is added.
#[track_caller]
fn check(given: &str, left: &str, findings: &[&str]) -> AgentsPlan {
    check_added(given, left, given, findings)
}

const HEADINGS: &str = "\
# Plan\n\n### US-001: One\n- [ ] a\n- [ ] b\n\n### US-002: Two\n- [ ] c\n\n## Notes\ntext\n";
const LIST: &str = "- [ ] US-001: One\n- [ ] US-002: Two\n- [x] US-003: Three\n";
const FLAT: &str = "## Now\n- [ ] One\n- [ ] Two\n- [x] Three\n\n## Optional\n- [ ] Later\n";
const JSON: &str = "{\"userStories\": [\n  {\"id\": \"US-001\", \"title\": \"One\"},\n  \
    {\"id\": \"US-002\", \"title\": \"Two\", \"passes\": false}\n]}\n";

const TICKED: &str = "ticked US-002, which is not its story; ignored";
const EDITED: &str = "edited US-002, which is not its story; ignored";
const AROUND: &str = "changed text around the stories; ignored";

#[test]
fn a_mark_on_its_own_story_counts_as_a_claim() {
    let claimed = |given: &str, left: &str| check(given, left, &[]).claimed;
    let ticked = HEADINGS.replace("[ ] a", "[x] a").replace("[ ] b", "[X] b");
    assert_eq!(claimed(HEADINGS, &ticked), Some(State::Done));
    assert_eq!(claimed(HEADINGS, &HEADINGS.replace("[ ] a", "[x] a")), None);
    assert_eq!(claimed(LIST, &LIST.replacen("[ ]", "[✓]", 1)), Some(State::Done));
    assert_eq!(claimed(LIST, &LIST.replacen("[ ]", "[!]", 1)), Some(State::Blocked));
    let passes = JSON.replacen("\"One\"", "\"One\", \"passes\": true", 1);
    assert_eq!(claimed(JSON, &passes), Some(State::Done));
}

#[test]
fn a_tick_with_a_remark_counts_when_ids_come_from_titles() {
    let given = plan("plan.md", FLAT);
    let left = FLAT.replace("[ ] One", "[x] One (see src/one.rs)");
    let agents = agents_plan(&given, Some(left.as_bytes()), "one");
    assert_eq!(agents.claimed, Some(State::Done));
    assert_eq!(agents.findings, ["edited its own story one; ignored"]);
    assert_eq!(given.with_added(&agents), FLAT.as_bytes());
}

#[test]
fn marks_on_other_stories_are_ignored() {
    check(HEADINGS, &HEADINGS.replace("[ ] c", "[x] c"), &[TICKED]);
    check(LIST, &LIST.replace("[ ] US-002", "[x] US-002"), &[TICKED]);
    check(JSON, &JSON.replace("\"passes\": false", "\"passes\": true"), &[TICKED]);
    let blocked = "blocked US-002, which is not its story; ignored";
    check(LIST, &LIST.replace("[ ] US-002", "[!] US-002"), &[blocked]);
    let reopened = "reopened US-003, which is not its story; ignored";
    check(LIST, &LIST.replace("[x]", "[ ]"), &[reopened]);
    let two = HEADINGS.replace("[ ] c", "[ ] c\n- [ ] d");
    check(&two, &two.replace("[ ] d", "[x] d"), &[EDITED]);
}

#[test]
fn edits_and_removals_of_other_stories_are_ignored() {
    check(HEADINGS, &HEADINGS.replace("[ ] c", "[ ] less"), &[EDITED]);
    check(LIST, &LIST.replace("Two", "Nothing"), &[EDITED]);
    check(JSON, &JSON.replace("Two", "Nothing"), &[EDITED]);
    check(JSON, &JSON.replace("\"Two\"", "\"Two\", \"notes\": \"x\""), &[EDITED]);
    let removed = "removed US-002; ignored";
    check(LIST, "- [ ] US-001: One\n- [x] US-003: Three\n", &[removed]);
    check(HEADINGS, "# Plan\n\n### US-001: One\n- [ ] a\n- [ ] b\n", &[removed, AROUND]);
    let swapped = "- [ ] US-002: Two\n- [ ] US-001: One\n- [x] US-003: Three\n";
    check(LIST, swapped, &["changed the order of the stories; ignored"]);
    let hidden = HEADINGS.replace("### US-002", "## Optional\n### US-002");
    check(HEADINGS, &hidden, &[EDITED, AROUND]);
    let moved = FLAT.replace("- [x] Three\n\n## Optional\n", "\n## Optional\n- [x] Three\n");
    check(FLAT, &moved, &["edited three, which is not its story; ignored"]);
    // A changed id or title does not make a new story.
    check(LIST, &LIST.replace("US-002", "US-020"), &[EDITED]);
    check(JSON, &JSON.replace("US-002", "US-020"), &[EDITED]);
    let reworded = FLAT.replace("Two", "Two, but better").replace("Three", "The third");
    let edited = ["two", "three"].map(|id| format!("edited {id}, which is not its story; ignored"));
    check(FLAT, &reworded, &[&edited[0], &edited[1]]);
    // A mark and an edit are both reported.
    let both = HEADINGS.replace("US-002: Two\n- [ ] c", "US-002: Less\n- [x] c");
    check(HEADINGS, &both, &[TICKED, EDITED]);
    let both = JSON.replace("\"Two\", \"passes\": false", "\"Less\", \"passes\": true");
    check(JSON, &both, &[TICKED, EDITED]);
}

#[test]
fn edits_of_its_own_story_and_of_other_text_are_ignored() {
    let edited = "edited its own story US-001; ignored";
    check(HEADINGS, &HEADINGS.replace("- [ ] b\n", "- [ ] b\n  - learned: x\n"), &[edited]);
    check(HEADINGS, &HEADINGS.replace("- [ ] b\n", ""), &[edited]);
    check(LIST, &LIST.replace("One", "Something easier"), &[edited]);
    check(JSON, &JSON.replace("\"One\"", "\"One\", \"notes\": \"x\""), &[edited]);
    let gone = HEADINGS.replace("- [ ] a\n- [ ] b\n", "done\n");
    check(HEADINGS, &gone, &["removed US-001; ignored", AROUND]);
    check(HEADINGS, &HEADINGS.replace("text\n", "text and more\n"), &[AROUND]);
    check(JSON, &JSON.replace("]}", "], \"x\": 1}"), &[AROUND]);
}

#[test]
fn an_agents_stories_wait_for_a_person_unless_the_settings_say_otherwise() {
    let left = format!("{LIST}- [x] US-004: Four\n");
    let added = |given: &str, left: &str, policy| {
        let given = read(named(given), given, policy);
        let agents = agents_plan(&given, Some(left.as_bytes()), "US-001");
        (String::from_utf8(given.with_added(&agents)).unwrap(), agents.findings.concat())
    };
    let (held, said) = added(LIST, &left, AgentStories::Hold);
    assert_eq!(held, format!("{LIST}- [?] US-004: Four (added by the agent)\n"));
    assert_eq!(said, "added US-004 (Four); kept at the end, held until a person accepts it");
    let plan = read("plan.md", &held, AgentStories::Hold);
    let story = plan.story("US-004").unwrap();
    assert_eq!((story.held, story.optional, story.state), (true, true, State::Blocked));
    let ticked = plan.tick("US-001").unwrap();
    let plan = Plan::parse(plan.path(), ticked, &Options::default()).unwrap();
    let plan = Plan::parse(plan.path(), plan.tick("US-002").unwrap(), &Options::default()).unwrap();
    assert_eq!(plan.next_story(&Default::default()), Next::Complete);
    let open = String::from_utf8(plan.reopen("US-004").unwrap()).unwrap();
    assert!(open.contains("- [ ] US-004: Four (added by the agent)"), "{open}");
    assert_eq!(added(LIST, &left, AgentStories::Refuse).0, LIST);
    let json = JSON.replace("false}\n]", "false},\n  {\"id\": \"US-004\", \"title\": \"Four\"}\n]");
    let (held, _) = added(JSON, &json, AgentStories::Hold);
    assert!(held.contains("\"held\": true"), "{held}");
    // What a person wrote is theirs.
    let given = read("plan.md", LIST, AgentStories::Hold);
    let own = agents_plan(&given, Some(left.as_bytes()), "");
    assert_eq!(given.with_added(&own), left.replace("[x] US-004", "[ ] US-004").as_bytes());
}

#[test]
fn new_stories_that_fit_are_appended_as_open() {
    let added = "added US-004 (Four); kept at the end";
    let wanted = format!("{LIST}- [ ] US-004: Four\n");
    for mark in [" ", "x", "!", "✓"] {
        let left = wanted.replace("[ ] US-004", &format!("[{mark}] US-004"));
        check_added(LIST, &left, &wanted, &[added]);
    }
    let among = LIST.replace("- [ ] US-002", "- [ ] US-004: Four\n- [ ] US-002");
    check_added(LIST, &among, &wanted, &[added]);
    let instead = "- [ ] US-001: One\n- [x] US-003: Three\n- [x] US-004: Four\n";
    check_added(LIST, instead, &wanted, &["removed US-002; ignored", added]);
    let heading = HEADINGS.replace("## Notes", "### US-004: Four\n\n- [x] d\n\n## Notes");
    check_added(HEADINGS, &heading, &heading.replace("[x] d", "[ ] d"), &[added]);
    let flat = FLAT.replace("- [x] Three", "- [x] Three\n- [ ] Four");
    check_added(FLAT, &flat, &flat, &["added four (Four); kept at the end"]);
    let json = |passes: &str| {
        let new = format!("{{\"id\": \"US-004\", \"title\": \"Four\", \"passes\": {passes}}}");
        JSON.replace("false}\n]", &format!("false}},\n  {new}\n]"))
    };
    check_added(JSON, &json("true"), &json("false"), &[added]);
    // They may depend on each other, and stay optional or not.
    let left = format!("{LIST}- [ ] US-004: Four (depends: US-005)\n- [ ] US-005: Five\n");
    check_added(LIST, &left, &left, &[added, "added US-005 (Five); kept at the end"]);
    let left = FLAT.replace("Later\n", "Later\n- [ ] Much later\n");
    check_added(FLAT, &left, &left, &["added much-later (Much later); kept at the end"]);
    let left = FLAT.replace("## Now\n", "## Now\n- [ ] Four\n");
    check_added(FLAT, &left, &flat, &["added four (Four); kept at the end"]);
    let given = "### US-001: One\n- [ ] a\n";
    let refused = "added FIX-004 (Four), which cannot be appended to the plan; ignored";
    check(given, &format!("{given}\n## More\n- [ ] FIX-004: Four\n"), &[AROUND, refused]);
}

#[test]
fn a_deleted_or_unreadable_plan_is_ignored() {
    let given = plan("plan.md", LIST);
    let agents = agents_plan(&given, None, "US-001");
    assert_eq!(agents.findings[0], "deleted the plan; ignored");
    assert_eq!(given.with_added(&agents), LIST.as_bytes());
    let unclosed = "left an unreadable plan (plan.md:2: this code fence is never closed, so \
                    everything below it is hidden; close it); ignored";
    check(LIST, "- [ ] US-001: One\n```\n", &[unclosed]);
    let json = "{\"features\": [{\"id\": 1}]}";
    check(LIST, json, &["left a plan in another format; ignored"]);
}

#[test]
fn changes_of_line_endings_and_layout_are_not_edits() {
    check(LIST, &LIST.replace('\n', "\r\n"), &[]);
    check(HEADINGS, &HEADINGS.replace("\n\n", "\n").replace("b\n", "b  \n\n"), &[]);
    check(JSON, &JSON.replace(",\n  ", ", "), &[]);
}

/// Adds the agent's new stories to `later`, the plan that the user has edited meanwhile.
#[track_caller]
fn check_later(given: &str, left: &str, later: &str, expected: &str) {
    let agents = agents_plan(&plan(named(given), given), Some(left.as_bytes()), "US-001");
    let bytes = plan(named(later), later).with_added(&agents);
    assert_eq!(String::from_utf8(bytes).unwrap(), expected);
}

#[test]
fn the_user_may_edit_the_plan_while_the_agent_works() {
    let left = format!("{LIST}- [x] US-004: Four\n  - a note\n");
    // Reworded, shortened, with other line endings, and without a final newline.
    let later = "# Plan\r\n* [ ] US-001: The first\r\n\r\nNotes";
    let expected =
        "# Plan\r\n* [ ] US-001: The first\r\n- [ ] US-004: Four\r\n  - a note\r\n\r\nNotes";
    check_later(LIST, &left, later, expected);
    // The id is already used.
    let taken = "- [ ] US-004: Another one\n";
    check_later(LIST, &left, taken, taken);
    // The plan has another format.
    check_later(LIST, &left, JSON, JSON);
    // Only optional stories are left.
    let optional = "## Optional\n- [ ] US-007: Seven";
    check_later(LIST, &left, optional, optional);
    let depends = format!("{LIST}- [ ] US-004: Four (depends: US-003)\n- [ ] US-005: Five\n");
    let later = "- [ ] US-001: One\n";
    check_later(LIST, &depends, later, "- [ ] US-001: One\n- [ ] US-005: Five\n");
}

#[test]
fn text_after_the_last_story_keeps_its_meaning() {
    let given = "### US-001: One\n- [ ] a  \n";
    let new = "### US-004: Four\n- [ ] d";
    let left = format!("{given}\n{new}\n");
    check_later(given, &left, given, &left);
    // As a part of the new story, the text would have another meaning.
    let list = "- [ ] US-001: One  \n\nSome last words.";
    check_later(given, &left, list, &format!("{list}\n\n{new}"));
    let notes = "- [ ] US-001: One  \n\n# Notes\n";
    check_later(given, &left, notes, &format!("- [ ] US-001: One  \n\n{new}\n\n# Notes\n"));
}

#[test]
fn json_elements_are_formatted_like_their_neighbours() {
    let left =
        JSON.replace("false}\n]", "false},\n  {\"id\": \"US-004\",\n   \"title\": \"Four\"}\n]");
    let later = "{\"x\":1,\r\n\"userStories\":[ {\"id\":\"US-001\"} ],\"y\":[2]}";
    let expected = "{\"x\":1,\r\n\"userStories\":[ {\"id\":\"US-001\"}, {\"id\": \"US-004\",\r\n   \
                    \"title\": \"Four\"} ],\"y\":[2]}";
    check_later(JSON, &left, later, expected);
    let list =
        "{\"total_features\": 1, \"features\": [\n\t{\"id\": 1, \"description\": \"One\"}\n]}";
    let left =
        list.replace("}\n]", "},\n\t{\"id\": 2, \"description\": \"Two\", \"passes\": true}\n]");
    check_later(list, &left, list, &left.replace("true", "false"));
}

#[test]
fn a_new_story_with_a_used_id_gets_the_next_free_id() {
    let json = "{\"userStories\": [{\"title\": \"as US-003\", \"id\": \"US-003\"}]}";
    for (given, added, taken, expected) in [
        (
            LIST,
            "- [ ] US-004: New\n- [ ] US-005: Newer\n",
            "- [ ] US-004: Other\n",
            ["- [ ] US-005: New\n", "- [ ] US-006: Newer\n"],
        ),
        (
            "- [ ] Task 1: One\n",
            "- [ ] Task 2: New\n",
            "- [ ] Task 2: Other\n",
            ["- [ ] Task 3: New\n", ""],
        ),
    ] {
        let mut agents =
            agents_plan(&plan("plan.md", given), Some(format!("{given}{added}").as_bytes()), "");
        let now = plan("plan.md", &format!("{given}{taken}"));
        let said = agents.avoid_ids_of(&now);
        assert!(said[0].contains("(New), renamed to "), "{said:?}");
        let wanted = format!("{given}{taken}{}", expected.concat());
        let with_new = plan("plan.md", &String::from_utf8(now.with_added(&agents)).unwrap());
        assert_eq!(String::from_utf8_lossy(with_new.bytes()), wanted);
        // Adding the stories again changes nothing.
        let mut again = agents.clone();
        assert_eq!(again.avoid_ids_of(&with_new), [""; 0]);
        assert_eq!(with_new.with_added(&again), with_new.bytes());
    }
    let given = plan("prd.json", "{\"userStories\": [{\"id\": \"US-002\"}]}");
    let left = json.replacen('[', "[{\"id\": \"US-002\"}, ", 1);
    let mut agents = agents_plan(&given, Some(left.as_bytes()), "");
    let now = plan(
        "prd.json",
        "{\"userStories\": [{\"id\": \"US-002\"}, {\"id\": \"US-003\", \"title\": \"Other\"}]}",
    );
    assert_eq!(agents.avoid_ids_of(&now).len(), 1);
    let text = String::from_utf8(now.with_added(&agents)).unwrap();
    assert!(text.contains("{\"title\": \"as US-003\", \"id\": \"US-004\"}"), "{text}");
}
