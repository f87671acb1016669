//! Conventions in plans of other tools that go beyond headings and boxes.

use super::blocks::{Block, Heading, TaskItem};
use super::heading::Task;
use super::ids;
use super::list::optional_mark;
use super::story::{Draft, Marks, State, Story, Wanted};
use super::text::Text;
use camino::Utf8Path;
use std::collections::HashMap;

/// The tool that wrote a Markdown plan, recognised by the plan's path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tool {
    Kiro,
    OpenSpec,
    SpecKit,
    Other,
}

impl Tool {
    pub(super) fn of(path: &Utf8Path) -> Self {
        let is_in = |name: &str| path.components().any(|part| part.as_str() == name);
        if path.file_name() != Some("tasks.md") {
            Self::Other
        } else if is_in(".kiro") {
            Self::Kiro
        } else if is_in("openspec") {
            Self::OpenSpec
        } else if is_in("specs") {
            Self::SpecKit
        } else {
            Self::Other
        }
    }
}

/// Returns whether a box has an id such as `T001`: spec-kit numbers tasks, also in `Verification`.
pub(super) fn is_task(text: Text<'_>, item: &TaskItem) -> bool {
    ids::leading(&text.at(item.text.clone())).is_some_and(|id| id.names_story())
}

/// Adds the boxes nested below a task to it, except optional ones: they are ticked with the task.
pub(super) fn add_parts(text: Text<'_>, parts: &[Task], drafts: &mut [Draft]) {
    for Draft { story, .. } in drafts {
        let Marks::Boxes(boxes) = &mut story.marks else { continue };
        let inside = parts.iter().map(|part| &part.item).filter(|item| {
            story.span.contains(&item.start) && optional_mark(&text.at(item.text.clone())).is_none()
        });
        boxes.extend(inside.map(|item| item.mark.clone()));
    }
}

/// Merges Kiro's `2.1` into `2`, even if it is not indented. Optional parts are not ticked with it.
pub(super) fn join_parts(text: Text<'_>, drafts: Vec<Draft>) -> Vec<Draft> {
    let mut joined: Vec<Draft> = Vec::new();
    for draft in drafts {
        let part = &draft.story;
        let is_part_of = |whole: &&mut Draft| {
            let whole = &whole.story.id;
            !whole.is_empty()
                && part.id.strip_prefix(whole.as_str()).is_some_and(|rest| rest.starts_with('.'))
        };
        let Some(whole) = joined.last_mut().filter(is_part_of) else {
            joined.push(draft);
            continue;
        };
        let whole = &mut whole.story;
        whole.details = format!("{}\n{}", whole.details, text.at(part.span.clone()));
        whole.span.end = part.span.end;
        if let (Marks::Boxes(boxes), Marks::Boxes(more), false) =
            (&mut whole.marks, &part.marks, part.optional)
        {
            boxes.extend(more.iter().cloned());
            whole.state = if part.state == State::Done { whole.state } else { part.state };
        }
    }
    joined
}

/// Orders the phases of spec-kit; user story phases wait only for the phases before the first of
/// them. Within a phase, only tasks marked `[P]` may run at the same time.
pub(super) fn order_phases(text: Text<'_>, blocks: &[Block], drafts: &mut [Draft]) {
    let title = |heading: &Heading| text.at(heading.text.clone()).to_lowercase();
    let headings = blocks.iter().filter_map(|block| match block {
        Block::Heading(heading) if title(heading).starts_with("phase ") => Some(heading),
        _ => None,
    });
    let headings: Vec<&Heading> = headings.collect();
    if headings.is_empty() || waits_for_later(drafts) {
        return;
    }
    // The tasks that the next phase waits for, and the last tasks of user story phases since then.
    let (mut before, mut ends): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
    let mut rest = drafts;
    for at in 0..=headings.len() {
        let end = headings.get(at).map_or(usize::MAX, |next| next.start);
        let count = rest.iter().take_while(|draft| draft.story.span.start < end).count();
        let (phase, later) = rest.split_at_mut(count);
        rest = later;
        if phase.is_empty() {
            continue;
        }
        let name = at.checked_sub(1).and_then(|at| headings.get(at)).map(|heading| title(heading));
        let is_story = name.is_some_and(|name| name.contains("user story"))
            || phase.iter().all(|draft| draft.story.title.contains("[US"));
        let mut start = before.clone();
        if !is_story {
            start.append(&mut ends);
        }
        let last = order_tasks(phase.iter_mut(), start, true);
        if is_story { ends.extend(last) } else { before = last }
    }
}

/// Orders the steps of Kiro and OpenSpec: each open step waits for the one before it, unless the
/// step names its own dependencies.
pub(super) fn order_steps(drafts: &mut [Draft]) {
    if !waits_for_later(drafts) {
        let is_step = |story: &Story| story.state != State::Done && !story.optional;
        let steps = drafts.iter_mut().filter(|task| is_step(&task.story));
        order_tasks(steps, Vec::new(), false);
    }
}

/// Orders tasks after those of `start`; returns the tasks that the next ones must wait for. A task
/// that names its dependencies waits for nothing else, unless `all` is set.
fn order_tasks<'a>(
    tasks: impl Iterator<Item = &'a mut Draft>,
    start: Vec<String>,
    all: bool,
) -> Vec<String> {
    let (mut barrier, mut together) = (start, Vec::new());
    for Draft { story, wanted } in tasks.filter(|task| !task.story.id.is_empty()) {
        let is_parallel = story.title.contains("[P]");
        let behind = if is_parallel || together.is_empty() { &barrier } else { &together };
        let line = story.line;
        if all || wanted.is_empty() {
            wanted.extend(behind.iter().map(|id| Wanted { text: id.clone(), line, strict: true }));
        }
        if is_parallel {
            together.push(story.id.clone());
        } else {
            (barrier, together) = (vec![story.id.clone()], Vec::new());
        }
    }
    if together.is_empty() { barrier } else { together }
}

/// Returns whether a task depends on a later one: then the file order means nothing.
fn waits_for_later(drafts: &[Draft]) -> bool {
    let ids = drafts.iter().map(|draft| ids::lookup_key(&draft.story.id));
    let places: HashMap<String, usize> = ids.zip(0..).collect();
    drafts.iter().enumerate().any(|(at, draft)| {
        let place = |wanted: &Wanted| places.get(&ids::lookup_key(&wanted.text)).copied();
        draft.wanted.iter().filter_map(place).any(|other| other > at)
    })
}

#[cfg(test)]
mod tests {
    use super::super::story::{Options, Plan};
    use super::*;

    fn plan(path: &str, text: &str) -> Plan {
        Plan::parse(path.into(), text.as_bytes().to_vec(), &Options::default()).unwrap()
    }

    /// Returns `id<-depends` of each story.
    fn order(path: &str, text: &str) -> Vec<String> {
        let plan = plan(path, text);
        plan.stories().iter().map(|one| format!("{}<-{}", one.id, one.depends.join(","))).collect()
    }

    #[test]
    fn phases_of_spec_kit_determine_the_order() {
        let text = "# Tasks\n\n## Phase 1: Setup\n- [ ] T001 A\n- [ ] T002 [P] B\n- [ ] T003 [P] C\n\
                    ## Phase 2: Foundational\n- [ ] T004 D\n\
                    ## Phase 3: User Story 1\n### Tests\n- [ ] T005 [P] [US1] E\n\
                    ### Implementation\n- [ ] T006 [P] [US1] F\n- [ ] T007 [US1] G\n\
                    ## Phase 4: User Story 2\n- [ ] T008 [US2] H\n\
                    ## Phase 5: Polish\n- [ ] T099 [P] I\n- [ ] T100 J\n";
        let expected = [
            "T001<-",
            "T002<-T001",
            "T003<-T001",
            "T004<-T002,T003",
            "T005<-T004",
            "T006<-T004",
            "T007<-T005,T006",
            "T008<-T004",
            "T099<-T004,T007,T008",
            "T100<-T099",
        ];
        assert_eq!(order("specs/001-x/tasks.md", text), expected);
        // If a task depends on a later one, only written dependencies count.
        let odd = "## Phase 1: Setup\n- [ ] T001 A (depends: T002)\n- [ ] T002 B\n";
        assert_eq!(order("specs/001-x/tasks.md", odd), ["T001<-T002", "T002<-"]);
        assert_eq!(order("plan.md", text)[1], "T002<-");
        // Tasks for final checks and inserted tasks count as well.
        let more = "- [ ] T001 A\n- [ ] T001a B\n- [ ] T002 C\n## Verification\n- [ ] Fine?\n\
                    - [ ] T003 D (depends on T001-T002)\n## Notes\n- [P] tasks = different files\n";
        let expected = ["T001<-", "T001a<-", "T002<-", "T003<-T001,T001a,T002"];
        assert_eq!(order("specs/001-x/tasks.md", more), expected);
        let warnings = plan("specs/001-x/tasks.md", more).warnings().to_vec();
        assert!(matches!(warnings.as_slice(), [fine] if fine.line == 5), "{warnings:?}");
    }

    #[test]
    fn required_kiro_sub_tasks_are_ticked_with_their_task() {
        let beside = "- [ ] 1. A\n- [x] 1.1 Part\n- [ ] 1.2 Part\n- [ ]* 1.3 More\n- [ ]* 2. B\n";
        let nested =
            "- [ ] 1. A\n  - [x] 1.1 Part\n  - [ ] 1.2 Part\n  - [ ]* 1.3 More\n- [ ]\\* 2. B\n";
        for text in [beside, nested] {
            let kiro = plan(".kiro/specs/x/tasks.md", text);
            let found: Vec<_> = kiro.stories().iter().map(|one| (&*one.id, one.optional)).collect();
            assert_eq!(found, [("1", false), ("2", true)]);
            assert!(kiro.stories()[0].details.contains("1.2 Part"));
            let ticked = String::from_utf8(kiro.tick("1").unwrap()).unwrap();
            assert_eq!(ticked, text.replace("[ ] 1", "[x] 1"));
        }
        let ours = String::from_utf8(plan("plan.md", nested).tick("1").unwrap()).unwrap();
        assert_eq!(ours, nested.replacen("[ ]", "[x]", 1));
    }

    #[test]
    fn numbered_sections_of_openspec_contain_the_tasks() {
        let text = "## 1. Model\n- [x] 1.1 A\n- [ ] 1.2 B\n## 2. Verification\n- [ ] 2.1 C\n";
        assert_eq!(order("openspec/changes/x/tasks.md", text), ["1.1<-", "1.2<-", "2.1<-1.2"]);
    }

    #[test]
    fn steps_depend_on_the_previous_open_step_by_default() {
        let text = "- [ ] 1. A\n- [x] 2. B\n- [ ]* 3. Extra\n- [ ] 4. C\n- [ ] 5. D (depends: 1)\n\
                    - [ ] 6. [P] E\n- [ ] 7. [P] F\n- [ ] 8. G\n";
        let expected = ["1<-", "2<-", "3<-", "4<-1", "5<-1", "6<-5", "7<-5", "8<-6,7"];
        assert_eq!(order(".kiro/specs/x/tasks.md", text), expected);
        let back = "- [ ] 1.1 A (depends: 1.2)\n- [ ] 1.2 B\n- [ ] 1.3 C\n";
        assert_eq!(order("openspec/changes/x/tasks.md", back), ["1.1<-1.2", "1.2<-", "1.3<-"]);
    }

    #[test]
    fn task_master_status_and_tag_are_read_and_written() {
        let text = r#"{"other":{"tasks":[]},"master":{"tasks":[
            {"id":1,"title":"A","status":"done","dependencies":[]},
            {"id":2,"title":"B","status":"in-progress","dependencies":["1.2",9],
             "details":"how","testStrategy":"run","subtasks":[{"id":1,"title":"P","status":"done"},{"id":2,"title":"Q","status":"pending"}]},
            {"id":3,"title":"C","status":"deferred","dependencies":[2]}]}}"#;
        let tagged = Options { tag: "other".into(), ..Options::default() };
        let read = |tag: &str| {
            let options = Options { tag: tag.into(), ..Options::default() };
            Plan::parse("tasks.json".into(), text.as_bytes().to_vec(), &options)
        };
        let unknown = read("gone").unwrap_err().to_string();
        assert!(unknown.contains("tag `gone` is not in this file"), "{unknown}");
        assert!(unknown.ends_with(": other, master"), "{unknown}");
        assert!(read("other").unwrap_err().is_without_stories, "it is empty");
        let other = text.replace("{\"tasks\":[]}", "{\"tasks\":[{\"id\":7,\"title\":\"Z\"}]}");
        let other = Plan::parse("tasks.json".into(), other.into_bytes(), &tagged).unwrap();
        assert_eq!(other.stories()[0].id, "7");
        let plan = plan(".taskmaster/tasks/tasks.json", text);
        let [first, second, third] = plan.stories() else { panic!("{:?}", plan.stories()) };
        assert_eq!((first.state, second.state, third.optional), (State::Done, State::Open, true));
        assert_eq!(second.depends, ["1"]);
        assert_eq!(second.details, "how\n\nSub-tasks:\n- P (done): \n- Q: \n\nTest strategy: run");
        let changed = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        let status = |word: &str| text.replace("in-progress", word);
        assert_eq!(changed(plan.tick("2").unwrap()), status("done").replace("pending", "done"));
        assert_eq!(changed(plan.block("2").unwrap()), status("blocked"));
        assert_eq!(changed(plan.reopen("1").unwrap()), text.replacen("\"done\"", "\"pending\"", 1));
    }

    #[test]
    fn deferred_and_cancelled_task_master_sub_tasks_stay_unchanged() {
        let part =
            |title: &str, status: &str| format!(r#"{{"title":"{title}","status":"{status}"}}"#);
        let parts =
            ["cancelled", "deferred", "completed", "review"].map(|it| part(it, it)).join(",");
        let open = part("open", "pending");
        let text = format!(
            r#"{{"tasks":[{{"id":1,"title":"T","status":"pending","subtasks":[{parts},{open}]}}]}}"#
        );
        let plan = plan(".taskmaster/tasks/tasks.json", &text);
        assert_eq!(
            plan.stories()[0].details,
            "Sub-tasks:\n- completed (done): \n- review: \n- open: "
        );
        let done = [r#""status":"pending""#, r#""status":"review""#];
        let ticked = done.iter().fold(text, |text, word| text.replace(word, r#""status":"done""#));
        assert_eq!(String::from_utf8(plan.tick("1").unwrap()).unwrap(), ticked);
    }

    #[test]
    fn task_master_tasks_cancelled_or_in_review_are_not_ready() {
        let task = |id: u32, status: &str, depends: &str| {
            format!(r#"{{"id":{id},"title":"T","status":"{status}","dependencies":[{depends}]}}"#)
        };
        let (cancelled, review) = (task(1, "cancelled", ""), task(2, "review", ""));
        let (free, waits) = (task(3, "pending", "1"), task(4, "pending", "2"));
        let text = format!(r#"{{"tasks":[{cancelled},{review},{free},{waits}]}}"#);
        let plan = plan(".taskmaster/tasks/tasks.json", &text);
        let ready: Vec<&str> =
            plan.ready_stories(&Default::default()).iter().map(|story| &*story.id).collect();
        assert_eq!(ready, ["3"]);
        assert_eq!((plan.counts().open, plan.counts().blocked, plan.counts().done), (2, 1, 0));
    }
}
