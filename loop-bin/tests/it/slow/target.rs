//! The target branch: given by name, created, moved by others, or checked out elsewhere.

use crate::stage::{ONE, PLAN, Stage, TWO};

fn subjects_of(stage: &Stage, branch: &str) -> String {
    stage.repo.git(["log", "--format=%s", branch, "--not", "main", "--"])
}

#[test]
fn a_given_branch_is_created_and_the_checkout_is_untouched() {
    let stage = Stage::committed("works", TWO);
    let head = stage.repo.head();
    stage.run(&["--branch", "ralph/{plan}"]).ended(0).says("landing on ralph/prd-1");
    let status = stage.repo.git(["status", "--porcelain"]);
    assert_eq!((stage.repo.head(), status), (head, String::new()));
    let landed = subjects_of(&stage, "ralph/prd-1");
    assert!(landed.ends_with("feat(US-002): Second\nfeat(US-001): First\n"), "{landed}");
    let plan = stage.repo.git(["show", &format!("ralph/prd-1:{PLAN}")]);
    assert_eq!((plan, stage.plan()), (TWO.replace("[ ]", "[x]"), TWO.to_owned()));
    stage.run(&["--branch", "ralph/{plan}"]).ended(0).says("finished (complete): 0 stories");
}

#[test]
fn the_branch_name_in_a_plan_is_the_target() {
    let stage = Stage::new("works", TWO);
    stage.repo.remove(".ralph");
    let plan = r#"{"branchName":"feature/x","userStories":[{"id":"US-001","title":"First","priority":1}]}"#;
    stage.repo.write("prd.json", plan);
    stage.repo.commit_all("the plan");
    let ran = stage.run(&["init"]);
    ran.ended(0).says("Work will land on feature/x, the `branchName` of the plan.");
    stage.run(&[]).ended(0).says("landing on feature/x");
    assert!(subjects_of(&stage, "feature/x").contains("feat(US-001): First"));
    assert_eq!((stage.read("prd.json").as_str(), stage.exists("US-001.txt")), (plan, false));
}

#[test]
fn work_is_checked_again_on_a_target_that_moved() {
    let stage = Stage::committed("works", ONE);
    let commit = "cd $RALPH_ROOT && echo theirs >theirs.txt && git add theirs.txt && \
                  git commit -qm theirs";
    let agent = format!("cat >/dev/null; echo x >x.txt; {commit}");
    let check = "ls >>\"$AGENT_NOTES/checked\"; echo -- >>\"$AGENT_NOTES/checked\"";
    let ran = stage.run(&["--agent", &agent, "--verify", check]);
    ran.ended(0).says("US-001: the target moved; checking the work again");
    assert_eq!(stage.subjects()[1..], ["feat(US-001): First", "theirs", "the plan", "first"]);
    let checked = stage.note("checked");
    assert!(checked.ends_with("theirs.txt\nx.txt\n--\n"), "{checked}");
    assert_eq!(stage.repo.git(["status", "--porcelain"]), "");
    stage.has(&[("x.txt", "x\n"), ("theirs.txt", "theirs\n")]);
}

#[test]
fn a_conflict_with_a_moved_target_is_in_the_next_prompt() {
    let stage = Stage::committed("works", ONE);
    let commit = "mkdir \"$AGENT_NOTES/once\" && cd $RALPH_ROOT && echo theirs >a.txt && \
                  git commit -qam theirs";
    let agent = format!("cat >>\"$AGENT_NOTES/prompts\"; echo mine >>a.txt; ({commit}); true");
    let ran = stage.run(&["--agent", &agent]);
    ran.ended(0).says("the work conflicts with work that has landed since");
    assert_eq!(stage.read("a.txt"), "theirs\nmine\n");
    assert!(stage.note("prompts").contains("the work conflicts with work that has landed since"));
    assert!(stage.note("prompts").contains("both changed a.txt"));
    assert_eq!(stage.discarded(), 1);
    let kept = stage.repo.git(["show", "refs/ralph/attempts/PRD-1/US-001/1:a.txt"]);
    assert_eq!(kept, "a\nmine\n", "the attempt itself, and not what the person did");
    assert_eq!(stage.repo.git(["status", "--porcelain"]), "");
}

#[test]
fn the_commit_message_follows_the_settings() {
    let stage = Stage::committed("works", "- [ ] US-001: Say `hello` to everybody.\n");
    stage.repo.write(
        ".ralph/config.toml",
        "[commit]\ntype = \"fix\"\nmessage = \"{type}: {title} [{id}]\"\n",
    );
    let done = "\"$RALPH_LOOP\" complete US-001 --status success --summary 'It greets.'";
    let agent = format!("cat >/dev/null; echo x >x.txt; {done}");
    stage.run(&["--agent", &agent, "--verify", "true"]).ended(0);
    let message = stage.repo.git(["log", "-1", "--format=%B", "--grep=US-001"]);
    for part in ["It greets.", "Ralph-Story: US-001", "Ralph-Checks: true", "Ralph-Attempt: 1"] {
        assert!(message.contains(part), "no {part} in {message}");
    }
    let subject = message.lines().next().unwrap();
    assert!(subject.starts_with("fix: ") && subject.ends_with("[US-001]"), "{subject}");
}

#[test]
fn ignored_files_added_by_force_land() {
    let stage = Stage::committed("works", ONE);
    stage.repo.write(".gitignore", "lib/\n");
    stage.repo.commit_all("ignore lib");
    let agent = "cat >/dev/null; mkdir lib; echo x >lib/a.txt; git add -f lib/a.txt; \
                 git commit -qm mine; echo y >lib/b.txt";
    stage.run(&["--agent", agent]).ended(0).says("US-001 done");
    assert_eq!(stage.repo.git(["show", "HEAD~:lib/a.txt"]), "x\n");
    assert!(!stage.exists("lib/b.txt"));
}

#[test]
fn work_waits_if_the_target_moves_during_every_check() {
    let stage = Stage::committed("works", TWO);
    let check = "cd $(dirname \"$AGENT_NOTES\") && cd \"$PROJECT\" && echo x >>theirs.txt && \
                 git add theirs.txt && git commit -qm theirs";
    let ran = stage.run_env(&[("PROJECT", stage.repo.root().as_str())], &["--verify", check]);
    ran.ended(8).says("2 stories landed").says("the work waits on ralph/main");
    assert!(ran.out.contains("main has moved on; run `ralph-loop`"), "{}", ran.out);
    let rechecks = ran.out.matches("the target moved; checking the work again").count();
    assert!((5..20).contains(&rechecks), "{rechecks}");
    // The work lands once the target no longer moves.
    stage.run(&["--verify", "true"]).ended(0);
    assert!(stage.exists("US-001.txt") && stage.exists("US-002.txt"));
    assert_eq!(stage.plan(), TWO.replace("[ ]", "[x]"));
}
