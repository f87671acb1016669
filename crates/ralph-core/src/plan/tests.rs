//! Properties that must hold for any bytes and for any plan.

use super::*;
use camino::Utf8Path;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

fn parse_named(name: &str, bytes: &[u8]) -> Result<Plan, Error> {
    Plan::parse(Utf8Path::new(name), bytes.to_vec(), &Options::default())
}

fn parse(text: &str) -> Plan {
    parse_named("plan.md", text.as_bytes()).unwrap()
}

/// Ticks and blocks `id`: no other story changes, and a repetition changes nothing.
pub(super) fn check_marking(plan: &Plan, id: &str) {
    for (bytes, wanted) in
        [(plan.tick(id).unwrap(), State::Done), (plan.block(id).unwrap(), State::Blocked)]
    {
        let after = Plan::parse(plan.path(), bytes.clone(), &Options::default()).unwrap();
        assert_eq!(after.stories().len(), plan.stories().len());
        for (old, new) in plan.stories().iter().zip(after.stories()) {
            if old.id != id {
                assert_eq!((old.state, &old.details), (new.state, &new.details));
            }
            assert_eq!((&old.id, &old.title, &old.depends), (&new.id, &new.title, &new.depends));
        }
        let old_state = plan.story(id).unwrap().state;
        let expected = if old_state == State::Done { State::Done } else { wanted };
        assert_eq!(after.story(id).unwrap().state, expected);
        let again = match wanted {
            State::Done => after.tick(id).unwrap(),
            _ => after.block(id).unwrap(),
        };
        assert_eq!(again, bytes);
    }
}

/// Generates plans from typical lines, including harmful ones.
fn markdown() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        "(|  |    |\t)[-*+] (\\[[ xX!~✓]?\\]|☐|☑) (US-00[1-4]: |Task [12]: |[12]\\. |)[a-c]",
        "(-|•|• |)(\\[ {0,2}x?\\]|\\( \\)|☒) (US-00[1-4]: |)[a-c]",
        "(|  |    )[12][.)] \\[[ x]\\] [a-c]{1,2}",
        "#{1,4} (\\[[ x]\\] |)(US-00[5-9]: |Task [3-6] |[3-6]\\. |)[a-c]( \\(depends: US-00[1-9]\\))?",
        "(# Backlog|## Optional|## Definition of done|### Acceptance Criteria|## Notes|---|===|> - \\[ \\] q|- item|text|Depends on: US-001|Blocked by: US-002|Requires US-003)",
        "(```|~~~|````|<!--|-->|<!-- c -->|  ```|- ```|`<!--`)",
        "",
    ];
    let ending = prop_oneof![4 => Just("\n"), 1 => Just("\r\n"), 1 => Just("\r")];
    prop::collection::vec((line, ending), 0..20)
        .prop_map(|lines| lines.into_iter().map(|(line, end)| line + end).collect())
}

fn json() -> impl Strategy<Value = String> {
    let story = "\\{(\"id\": ?(\"US-00[1-5]\"|[1-5]),? ?)?(\"passes\": (true|false|null|1),? )?\
        (\"title\": \"[ab]\",?\n ?)?(\"dependsOn\": \\[?\"?[1-3]\"?\\]?)?\\}";
    prop::collection::vec(story, 0..4)
        .prop_map(|stories| format!("{{\"userStories\": [{}]}}", stories.join(",\n ")))
}

proptest! {
    #[test]
    fn parsing_never_panics(bytes: Vec<u8>, text in "\\PC{0,60}", plan in markdown(), json in json()) {
        for bytes in [&bytes, text.as_bytes(), plan.as_bytes(), json.as_bytes()] {
            for name in ["plan.md", "prd.json", "plan"] {
                if let Ok(plan) = parse_named(name, bytes) {
                    prop_assert!(!plan.stories().is_empty());
                    prop_assert!(plan.stories().iter().all(|story| ralph_base::state::Id::parse(&story.id).is_ok()));
                    prop_assert_eq!(plan.bytes(), bytes);
                }
            }
        }
    }

    #[test]
    fn marking_a_story_changes_only_that_story_and_is_reverted_by_reopening(
        text in prop_oneof![markdown(), json()],
    ) {
        if let Ok(plan) = parse_named("plan", text.as_bytes()) {
            plan.stories().iter().for_each(|story| check_marking(&plan, &story.id));
            check_opening(&plan);
        }
    }

    #[test]
    fn ticking_changes_one_character_per_box(text in markdown()) {
        if let Ok(plan) = parse_named("plan.md", text.replace("[]", "[ ]").as_bytes()) {
            for story in plan.stories() {
                let after = String::from_utf8(plan.tick(&story.id).unwrap()).unwrap();
                let before = String::from_utf8_lossy(plan.bytes());
                let changed: Vec<_> =
                    before.chars().zip(after.chars()).filter(|(old, new)| old != new).collect();
                prop_assert_eq!(after.chars().count(), before.chars().count());
                prop_assert!(changed.iter().all(|(_, new)| matches!(new, 'x' | '☑')));
                prop_assert_eq!(changed.is_empty(), story.state == State::Done);
            }
        }
    }

    #[test]
    fn ids_made_from_titles_do_not_depend_on_other_lines(
        titles in prop::collection::vec("[a-cA-C!? ä]{0,6}x", 1..6),
    ) {
        // Titles that differ only in case and spaces are equal and get numbers.
        let normal = |title: &String| title.to_lowercase().split_whitespace().collect::<Vec<_>>().join(" ");
        let titles: BTreeMap<_, _> = titles.into_iter().map(|title| (normal(&title), title)).collect();
        let titles: Vec<_> = titles.into_values().collect();
        let list = |titles: &mut dyn Iterator<Item = &String>| -> String {
            titles.map(|title| format!("- [ ] {title}\n")).collect()
        };
        let all = parse(&list(&mut titles.iter()));
        for title in &titles {
            let alone = parse(&list(&mut std::iter::once(title)));
            prop_assert!(all.stories().iter().any(|story| story.id == alone.stories()[0].id));
        }
        prop_assert_eq!(all.stories().len(), titles.len());
    }

    #[test]
    fn adding_stories_keeps_the_existing_stories(
        given in markdown(), left in markdown(), later in markdown(),
        cut in any::<prop::sample::Index>(), own in any::<prop::sample::Index>(),
    ) {
        if let Ok(given) = parse_named("plan.md", given.as_bytes()) {
            let own = &given.stories()[own.index(given.stories().len())].id;
            // An agent often leaves the old plan with changes or additions.
            let text = String::from_utf8_lossy(given.bytes()).into_owned();
            let at = (0..=cut.index(text.len() + 1)).rfind(|at| text.is_char_boundary(*at)).unwrap();
            let mixed = format!("{}{left}{}", &text[..at], &text[at..]);
            for left in [&left, &mixed, &text.replace("[ ]", "[x]"), &text.replace("a", "c")] {
                let agents = agents_plan(&given, Some(left.as_bytes()), own);
                check_added(&given, &agents);
                let with_added = parse_named("plan.md", &given.with_added(&agents)).unwrap();
                prop_assert!(agents.added.iter().all(|new| with_added.story(&new.id).is_some()));
                if let Ok(later) = parse_named("plan.md", later.as_bytes()) {
                    check_added(&later, &agents);
                }
            }
        }
    }

    #[test]
    fn adding_stories_to_a_json_plan_keeps_the_existing_ones(given in json(), left in json(), later in json()) {
        if let Ok(given) = parse_named("prd.json", given.as_bytes()) {
            let agents = agents_plan(&given, Some(left.as_bytes()), &given.stories()[0].id);
            for plan in [Ok(given), parse_named("prd.json", later.as_bytes())].iter().flatten() {
                check_added(plan, &agents);
            }
        }
    }
}

/// The old stories and all other bytes stay, new stories are open, and a repetition changes
/// nothing.
fn check_added(plan: &Plan, agents: &AgentsPlan) {
    let bytes = plan.with_added(agents);
    let after = Plan::parse(plan.path(), bytes.clone(), &Options::default()).unwrap();
    let is_old = |story: &&Story| plan.story(&story.id).is_some();
    let (old, new): (Vec<&Story>, Vec<&Story>) = after.stories().iter().partition(is_old);
    let shown = |story: &Story| {
        let section = plan.story(&story.id).map(|_| story.details.clone());
        (story.id.clone(), story.title.clone(), story.state, story.depends.clone(), section)
    };
    let before: Vec<_> = plan.stories().iter().map(shown).collect();
    assert_eq!(old.into_iter().map(shown).collect::<Vec<_>>(), before);
    assert!(new.iter().all(|story| story.held || story.state == State::Open), "{new:?}");
    assert_eq!(after.with_added(agents), bytes);
    // New bytes are inserted between old ones.
    let kept = plan.bytes().iter().zip(&bytes).take_while(|(old, new)| old == new).count();
    let rest = &plan.bytes()[kept..];
    let behind = bytes.len().saturating_sub(rest.len());
    assert!(new.len() > 1 || bytes[behind..] == *rest, "{}", String::from_utf8_lossy(&bytes));
}

/// An untouched plan has no findings and no changes, and a ticked or blocked story can be reopened.
pub(super) fn check_opening(plan: &Plan) {
    let untouched = agents_plan(plan, Some(plan.bytes()), &plan.stories()[0].id);
    assert_eq!(untouched, AgentsPlan::default());
    assert_eq!(plan.with_added(&untouched), plan.bytes());
    for story in plan.stories() {
        // Other marks of open boxes are not restored.
        let is_plain = |open: &[&str]| {
            let mark = |mark: &std::ops::Range<usize>| str::from_utf8(&plan.bytes()[mark.clone()]);
            plan.marks(story).iter().all(|range| mark(range).is_ok_and(|mark| open.contains(&mark)))
        };
        let section = String::from_utf8_lossy(plan.section(story));
        let was_false = story.state == State::Open && section.contains("\"passes\": false");
        let is_box = !plan.marks(story).is_empty();
        for (marked, is_plain) in [
            (plan.tick(&story.id), is_plain(&[" ", "☐"]) && (is_box || was_false)),
            (plan.block(&story.id), is_plain(&[" "]) && is_box),
        ] {
            let marked = Plan::parse(plan.path(), marked.unwrap(), &Options::default()).unwrap();
            let opened = marked.reopen(&story.id).unwrap();
            let after = Plan::parse(plan.path(), opened.clone(), &Options::default()).unwrap();
            assert_eq!(after.story(&story.id).unwrap().state, State::Open);
            if is_plain {
                assert_eq!(opened, plan.bytes());
            }
        }
    }
}

#[test]
fn ids_match_regardless_of_case_and_separators() {
    // A written id does not affect ids from titles.
    let plan = parse("- [ ] ADD-02: A\n- [ ] Add\n- [ ] add\n- [ ] Add\n");
    let ids: Vec<&str> = plan.stories().iter().map(|story| story.id.as_str()).collect();
    assert_eq!(ids, ["ADD-02", "add", "add-2", "add-3"]);
    let plan = parse("## Task 1: One\n- [ ] a\n## US-002: Two\n- [ ] b\n");
    for typed in ["Task 1", "Task-1", "task-1", "TASK  1"] {
        assert_eq!(plan.story(typed).map(|story| story.id.as_str()), Some("Task-1"), "{typed}");
    }
    assert!(plan.story("us-002").is_some() && plan.story("US-003").is_none());
    let error = plan.tick("US-003").unwrap_err().to_string();
    assert_eq!(error, "plan.md has no story US-003; its first stories are Task-1, US-002");
}

#[test]
fn stories_that_are_set_aside_are_skipped() {
    let plan = parse("- [ ] US-001: A\n- [ ] US-002: B (depends: US-001)\n- [ ] US-003: C\n");
    let check = |aside: &[&str], expected: &str| {
        let aside = aside.iter().map(|id| (*id).to_owned()).collect();
        let found = match plan.next_story(&aside) {
            Next::Story(story) => story.id.clone(),
            Next::Complete => "complete".to_owned(),
            Next::Stuck { waiting, blocked } => {
                format!("stuck {} {}", waiting.len(), blocked.len())
            }
        };
        assert_eq!(found, expected);
    };
    check(&[], "US-001");
    check(&["US-001"], "US-003");
    check(&["US-001", "US-003"], "stuck 1 2");
}

#[test]
fn a_file_that_is_too_large_is_refused() {
    let error = parse_named("plan.md", &vec![b'a'; MAX_PLAN_BYTES + 1]).unwrap_err();
    assert_eq!(error.message, "the plan is larger than 16 MiB; is this the right file?");
}

#[test]
fn a_plan_with_many_stories_and_a_long_chain_is_read() {
    let heading = |n: usize| format!("### S-{n}: t (depends: S-{})\n- [ ] same text\n", n + 1);
    let mut text: String = (1..20_000).map(heading).collect();
    text.push_str("### S-20000: t\n- [ ] same text\n");
    let plan = parse(&text);
    assert_eq!(plan.stories().len(), 20_000);
    let Next::Story(story) = plan.next_story(&BTreeSet::new()) else { panic!("nothing is ready") };
    assert_eq!(story.id, "S-20000");
    let flat: String = (0..20_000).map(|_| "- [ ] the same title\n").collect();
    assert_eq!(parse(&flat).stories()[19_999].id, "the-same-title-20000");
}

#[test]
fn marking_empty_brackets_changes_nothing_else() {
    let bytes = b"\xef\xbb\xbf- [] US-001: Gr\xf6\xdfe \t\r\n  - [] detail\r\n* [] US-002: B\r";
    let plan = parse_named("plan.md", bytes).unwrap();
    let with = |mark: &str| String::from_utf8_lossy(bytes).replacen("[]", mark, 1);
    let shown = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    assert_eq!(shown(plan.tick("US-001").unwrap()), with("[x]"));
    let blocked = plan.block("US-001").unwrap();
    assert_eq!(shown(blocked.clone()), with("[!]"));
    assert_eq!(parse_named("plan.md", &blocked).unwrap().stories()[0].state, State::Blocked);
    // The user reopens the story, with or without a space between the brackets.
    for reopened in ["[]", "[ ]"] {
        let bytes = with("[!]").replacen("[!]", reopened, 1);
        assert_eq!(parse(&bytes).stories()[0].state, State::Open, "{reopened}");
    }
}

#[test]
fn numbered_headings_are_stories_in_any_language() {
    let ids = |text: &str| -> Vec<String> {
        let shown = |story: &Story| format!("{}: {}", story.id, story.title);
        parse(text).stories().iter().map(shown).collect()
    };
    let boxes = "\n- [ ] a\n- [ ] b\n\n";
    let german = ["## Aufgabe 1: Eins", "## Aufgabe 2: Zwei"].join(boxes) + boxes;
    assert_eq!(ids(&german), ["Aufgabe-1: Eins", "Aufgabe-2: Zwei"]);
    let chinese = ["## 任务一：甲", "## 任务二：乙"].join(boxes) + boxes;
    let titles = ids(&chinese);
    assert!(titles.len() == 2 && titles[1].ends_with(": 乙"), "{titles:?}");
    // A single heading, headings with a gap in the numbers, and weeks are not stories.
    for text in
        ["## Aufgabe 1: Eins", "## Aufgabe 7: x\n## Aufgabe 9: y", "## Week 1: x\n## Week 2: y"]
    {
        assert_eq!(ids(&(text.to_owned() + boxes)).len(), 2, "{text}");
    }
}
