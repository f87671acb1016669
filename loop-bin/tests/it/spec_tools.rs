//! Plans of other tools are found, worked through and ticked.

use crate::stage::Stage;

const TASKS: &str = "specs/001-login/tasks.md";

#[test]
fn a_spec_kit_plan_is_found_worked_through_and_ticked() {
    let stage = Stage::new("works", "");
    stage.repo.remove(".ralph/PRD-1/plan.md");
    let plan = "# Tasks: Login\r\n\r\n## Phase 1: Setup\r\n- [ ] T001 Start\r\n\
                ## Phase 2: User Story 1\r\n- [ ] T002 [P] [US1] One\r\n- [ ] T003 [P] [US1] Two\r\n\
                - [ ] T004 [US1] Last\r\n";
    stage.repo.write(TASKS, plan);
    stage.repo.write("specs/001-login/spec.md", "# What a login is\n");
    let agent = "cat >\"$AGENT_NOTES/$(cat $RALPH_STORY_FILE)\"; cat specs/001-login/spec.md && \
                 echo x >\"$(cat $RALPH_STORY_FILE).txt\"";
    stage.run(&["--workers", "3", "--agent", agent]).ended(0).says("4 stories landed");
    assert_eq!(stage.read(TASKS), plan.replace("[ ]", "[x]"));
    let prompt = stage.note("T002");
    assert!(prompt.contains("/specs/001-login/spec.md."), "{prompt}");
    let order = stage.subjects();
    let place = |id: &str| order.iter().position(|subject| subject.contains(id)).unwrap();
    assert!(place("T004") < place("T002").min(place("T003")), "{order:?}");
    assert!(place("T001") > place("T002").max(place("T003")), "{order:?}");
}

#[test]
fn a_run_stays_with_its_tag_of_task_master() {
    let stage = Stage::new("works", "");
    stage.repo.remove(".ralph/PRD-1/plan.md");
    let path = ".taskmaster/tasks/tasks.json";
    let task = |id: u32| {
        format!(r#"{{"id": {id}, "title": "Do {id}", "status": "pending", "dependencies": []}}"#)
    };
    let (one, two) = (task(1), task(2));
    stage
        .repo
        .write(path, format!(r#"{{"a": {{"tasks": [{one}, {two}]}}, "b": {{"tasks": [{one}]}}}}"#));
    let state = ".taskmaster/state.json";
    stage.repo.write(state, r#"{"currentTag": "a"}"#);
    let switch = format!(
        "cat >/dev/null; printf '%s' '{{\"currentTag\": \"b\"}}' >{}/{state}; echo x >>x.txt",
        stage.repo.root()
    );
    stage.run(&["--sandbox", "off", "--agent", &switch]).ended(0).says("2 stories landed");
    let ticked = stage.read(path);
    let others = "\"pending\", \"dependencies\": []}]}}";
    assert!(ticked.matches("done").count() == 2 && ticked.ends_with(others), "{ticked}");
    // After a crash, only the user can choose the tag.
    let hang = "cat >/dev/null; echo y >>y.txt; : >\"$AGENT_NOTES/began\"; sleep 60";
    let began = || stage.note_path("began").exists();
    stage.killed_when(&["--sandbox", "off", "--agent", hang], "the agent works", began);
    stage.repo.write(state, r#"{"currentTag": "a"}"#);
    let refused = stage.run(&[]);
    refused.ended(1).says("task 1 of the tag `b` was interrupted").says("task-master use-tag b");
    stage.repo.write(state, r#"{"currentTag": "b"}"#);
    stage.run(&[]).ended(0).says("1 story landed");
}

#[test]
fn the_plan_of_the_last_run_is_used_while_it_has_open_stories() {
    let stage = Stage::new("works", "");
    stage.repo.remove(".ralph/PRD-1/plan.md");
    stage.repo.write(TASKS, "- [ ] T001 Start\n- [ ] T002 More\n- [ ] T003 End\n");
    stage.repo.write(".kiro/specs/x/tasks.md", "- [ ] 1. Other\n");
    stage.run(&["status"]).ended(0).says("choose one with --plan");
    let listed = format!("{TASKS}, .kiro/specs/x/tasks.md; choose one with --plan");
    stage.run(&[]).ended(1).says(&listed);
    let agent = "cat >/dev/null; [ $(cat $RALPH_STORY_FILE) = T002 ] || echo x >>x.txt";
    let args = ["--plan", TASKS, "--max-iterations", "2", "--attempts", "1", "--agent", agent];
    stage.run(&args).ended(0).says("T002");
    stage.run(&["status"]).ended(0).says(TASKS).says("1 done, 1 open, 1 blocked");
    stage.run(&["stories"]).ended(0).says("T003");
    stage.run(&["report", "--markdown"]).ended(0).says("T003");
    stage.run(&["attempts", "T003"]).ended(0).says("nothing has been tried yet");
    stage.run(&["retry", "T002"]).ended(0).says("T002 is open again");
    // Another plan is used once it is done, or if it is given.
    stage.run(&["stories", "--plan", ".kiro/specs/x/tasks.md"]).ended(0).says("Other");
    stage.run(&["--plan", TASKS]).ended(0);
    stage.run(&["stories"]).ended(0).says("Other");
}
