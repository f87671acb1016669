//! Edits of the plan by agents and the user while the loop works.

use crate::stage::{ONE, PLAN, Stage, THREE, TWO};

/// A project with a tracked plan, and one with an untracked plan.
fn both(plan: &str) -> [Stage; 2] {
    [Stage::committed("works", plan), Stage::new("works", plan)]
}

#[test]
fn ticks_made_outside_the_run_are_reported() {
    for stage in both(THREE) {
        let agent = format!(
            "cat >/dev/null; cat \"$RALPH_ROOT/.ralph/current-story\" >>x.txt; cd \"$RALPH_ROOT\"; \
             sed -i 's/\\[ \\] US-003/[x] US-003/' {PLAN}"
        );
        let ran = stage.run(&["--agent", &agent, "--verify", "true"]);
        let ticked = "US-003: ticked by another process during the run; not verified";
        ran.ended(0).says(&format!("warning: {ticked}"));
        assert!(ran.out.contains("3 of 3 stories done; nothing needs you\n"), "{}", ran.out);
        assert_eq!(ran.out.matches(ticked).count(), 2, "{}", ran.out);
        stage.run(&["status"]).ended(0).says(&format!("Review    {ticked}"));
        let report = stage.run(&["report", "--markdown"]);
        report.ended(0).says("ticked by another process during the run; not verified");
        report.says("US-003");
        let again = stage.run(&[]);
        assert!(!again.out.contains("another process"), "{}", again.out);
    }
}

#[test]
fn plan_edits_by_the_user_during_an_attempt_are_kept_and_worked_on() {
    for stage in both(THREE) {
        let edit = format!(
            "sed -i -e '1i # My plan' -e 's/Second/Second, but better/' -e '$a- [ ] US-009: Mine' \
             $RALPH_ROOT/{PLAN}"
        );
        let agent = format!(
            "story=$(cat $RALPH_ROOT/.ralph/current-story); echo x >$story.txt; \
             [ $story != US-001 ] || {edit}"
        );
        stage.run(&["--agent", &agent]).ended(0).says("4 stories landed");
        let expected = "# My plan\n- [x] US-001: First\n- [x] US-002: Second, but better\n\
                        - [x] US-003: Third\n- [x] US-009: Mine\n";
        assert_eq!(stage.plan(), expected);
        let subjects = stage.repo.git(["log", "--format=%s"]);
        assert!(subjects.contains("feat(US-002): Second, but better\n"), "{subjects}");
    }
}

#[test]
fn plan_edits_by_the_user_after_a_kill_are_kept() {
    for mut stage in both(THREE) {
        stage.agent("hangs");
        stage.killed_when(&[], "the agent works", || stage.in_copy("half.txt"));
        stage.agent("works");
        let mine = "- [ ] US-001: First\n- [ ] US-002: Second, but better\n\
                    - [ ] US-009: Between\n- [x] US-003: Third\n";
        stage.repo.write(PLAN, mine);
        let ran = stage.run(&["--max-iterations", "1"]);
        ran.ended(0).says("US-001: continuing from attempt US-001/1").says("US-001 done");
        assert!(!ran.out.contains("plan: the agent"), "{}", ran.out);
        assert_eq!(stage.plan(), mine.replacen("[ ]", "[x]", 1));
    }
}

#[test]
fn a_plan_or_progress_file_replaced_by_the_agent_is_restored() {
    for obstacle in ["ln -s /etc/hostname", "mkdir"] {
        for file in [PLAN, ".ralph/PRD-1/progress.md"] {
            let stage = Stage::new("works", ONE);
            let agent = format!("cat >/dev/null; echo x >x.txt; rm -f {file}; {obstacle} {file}");
            stage.run(&["--agent", &agent]).ended(0).says("US-001 done");
            assert!(stage.progress().starts_with("# Progress Log"), "{obstacle}");
            assert_eq!(stage.plan(), "- [x] US-001: First\n", "{obstacle} {file}");
        }
    }
}

#[test]
fn an_added_story_whose_id_was_taken_gets_the_next_free_one() {
    for stage in both(ONE) {
        let agent = format!(
            "cat >/dev/null; echo x >>x.txt; [ $(cat $RALPH_STORY_FILE) = US-001 ] || exit 0; \
             echo '- [ ] US-002: From the agent' >>\"$PLAN_PATH\"; \
             echo '- [ ] US-002: By hand' >>\"$RALPH_ROOT/{PLAN}\""
        );
        let ran = stage.run(&["--agent", &agent, "--agent-stories", "run"]);
        let shown = "added US-002 (From the agent), renamed to US-003: the id was taken";
        ran.ended(0).says(shown).says("3 stories landed");
        assert_eq!(ran.out.matches(shown).count(), 1, "{}", ran.out);
        let plan = "- [x] US-001: First\n- [x] US-002: By hand\n- [x] US-003: From the agent\n";
        assert_eq!(stage.plan(), plan);
        assert!(stage.events().contains(&"plan_repaired".to_owned()));
    }
}

#[test]
fn saving_an_outdated_plan_does_not_reopen_a_landed_story() {
    for stage in both(THREE) {
        stage.script("post_iteration", &format!("printf '%s' '{THREE}Mine.\n' >{PLAN}"));
        let ran = stage.run(&[]);
        ran.ended(0).says("US-001: reopened by another process, but its work has landed; ticked");
        ran.says("3 stories landed in 3 iterations");
        assert_eq!(stage.plan(), format!("{}Mine.\n", THREE.replace("[ ]", "[x]")));
    }
}

#[test]
fn a_landed_story_is_ticked_again_if_the_agent_finds_nothing_to_do() {
    let idle = ["--agent", "cat >/dev/null; echo done already", "--attempts", "1"];
    for stage in both(ONE) {
        stage.run(&[]).ended(0).says("1 story landed");
        stage.repo.write(PLAN, ONE);
        let ran = stage.run(&idle);
        ran.ended(0).says("US-001: there was nothing left to do").says("ticked again");
        let said = format!("{}{}", ran.out, ran.err);
        assert!(!said.contains("not verified"), "{said}");
        assert_eq!(stage.progress().matches("Status: SUCCESS").count(), 1);
        assert_eq!(stage.plan(), "- [x] US-001: First\n");
        assert_eq!(stage.repo.git(["status", "--porcelain", "--untracked-files=no"]), "");
        // `retry` asks for more work, so an idle attempt fails.
        stage.run(&["retry", "US-001"]).ended(0);
        stage.run(&idle).ended(8).says("US-001 is blocked");
    }
}

#[test]
fn a_new_story_with_the_id_of_a_landed_one_is_not_ticked() {
    for stage in both(ONE) {
        stage.run(&[]).ended(0).says("1 story landed");
        stage.repo.write(PLAN, "- [ ] US-001: Another one\n");
        let idle = ["--agent", "cat >/dev/null", "--attempts", "1"];
        stage.run(&idle).ended(8).says("US-001 is blocked");
    }
}

#[test]
fn a_reverted_story_is_done_again() {
    let stage = Stage::committed("works", ONE);
    let revert = "mkdir \"$AGENT_NOTES/once\" && git revert --no-edit HEAD >/dev/null; true";
    stage.script("post_iteration", revert);
    stage.run(&[]).ended(0).says("1 story landed in 2 iterations");
    assert_eq!(stage.plan(), "- [x] US-001: First\n");
}

#[test]
fn a_stashed_plan_is_ticked_once_it_is_restored() {
    let stage = Stage::new("works", ONE);
    stage.run(&["--agent", "cat >/dev/null; echo y >y.txt; exit 1", "--attempts", "1"]).ended(8);
    stage.repo.write(PLAN, THREE);
    let agent = "cat >/dev/null; echo x >x.txt; git -C \"$RALPH_ROOT\" stash -q -u";
    let ran = stage.run(&["--agent", agent, "--max-iterations", "1"]);
    ran.ended(1).says("plan.md is gone; restore the plan");
    stage.repo.git(["stash", "pop", "-q"]);
    assert_eq!(stage.plan(), THREE);
    let ran = stage.run(&[]);
    ran.ended(0).says("US-001 had landed as").says("3 stories landed in 2 iterations");
    assert_eq!(stage.plan(), THREE.replace("[ ]", "[x]"));
    assert_eq!(stage.progress().matches("US-001\n- Status: SUCCESS").count(), 1);
}

#[test]
fn a_blocked_story_of_a_json_plan_is_unblocked_when_done() {
    let stage = Stage::new("works", THREE);
    stage.repo.remove(".ralph");
    stage.repo.write("prd.json", r#"{"userStories":[{"id":"US-001","title":"First"}]}"#);
    stage.repo.commit_all("the plan");
    stage.run(&["--agent", "cat >/dev/null; echo y >y.txt; exit 1", "--attempts", "1"]).ended(8);
    assert!(stage.read("prd.json").contains("\"blocked\":true"), "{}", stage.read("prd.json"));
    stage.run(&["retry", "US-001"]).ended(0);
    stage.run(&[]).ended(0).says("1 story landed");
    let done = "{\"userStories\":[{\"id\":\"US-001\",\"title\":\"First\",\"blocked\":false,\"passes\":true}]}";
    assert_eq!(stage.read("prd.json"), done);
    assert_eq!(stage.repo.git(["show", "HEAD:prd.json"]), done);
}

#[test]
fn a_story_that_landed_just_before_a_kill_is_not_reopened() {
    let stage = Stage::new("works", TWO);
    let plan = stage.plan();
    stage.repo.commit_all("the plan");
    stage.run_env(&[(super::FAULT, "attempt.forgotten:1")], &[]);
    assert_eq!(stage.plan(), plan.replacen("[ ]", "[x]", 1));
    stage.repo.write(PLAN, &plan);
    stage.run(&[]).ended(0).says("US-001: reopened by another process").says("2 stories landed");
    assert_eq!(stage.plan(), plan.replace("[ ]", "[x]"));
}
