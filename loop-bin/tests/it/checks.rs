//! Checks that do more than to check: they run what the agent wrote, and have its hands.

use crate::stage::{PLAN, Stage};

const ONE: &str = "- [ ] US-001: First\n";

/// Changes one file that is committed, and makes another.
const AGENT: &str = "cat >/dev/null; echo work >>a.txt; echo new >new.txt";

/// A project with a branch beside `main` on which one file differs, and which has another.
fn with_another_branch() -> Stage {
    let stage = Stage::new("works", ONE);
    stage.repo.commit_all("the plan");
    stage.repo.git(["checkout", "-q", "-b", "other"]);
    stage.repo.write("src/lib.rs", "other\n");
    stage.repo.write("theirs.txt", "theirs\n");
    stage.repo.commit_all("on another branch");
    stage.repo.git(["checkout", "-q", "main"]);
    stage
}

#[test]
fn one_that_removes_our_folder_leaves_no_state_to_git_and_takes_nothing_of_the_users() {
    let stage = Stage::new("works", ONE);
    stage.repo.write(".ralph/config.toml", "[limits]\nattempts_per_story = 2\n");
    stage.repo.commit_all("settings");
    let ran = stage.run(&["--agent", AGENT, "--verify", "rm -rf .ralph"]);
    ran.ended(0).says("US-001 done").says("config.toml was removed while a check worked; put back");
    let committed = stage.repo.git(["ls-files", ".ralph"]);
    assert_eq!(committed, ".ralph/PRD-1/plan.md\n.ralph/config.toml\n");
    let status = stage.repo.git(["status", "--porcelain", "--untracked-files=all"]);
    assert_eq!(status, "?? .ralph/PRD-1/progress.md\n");
    assert_eq!(stage.plan(), "- [x] US-001: First\n");
    assert!(stage.exists(".ralph/lock") && stage.exists(".ralph/.gitignore"));
}

#[test]
fn one_that_fails_and_removes_our_folder_is_an_attempt_in_vain_like_others() {
    let stage = Stage::new("works", ONE);
    stage.repo.commit_all("the plan");
    let ran = stage.run(&["--agent", AGENT, "--verify", "rm -rf .ralph; false", "--attempts", "1"]);
    ran.ended(1).says("US-001: rolled back 2 files").says("US-001 is set aside");
    assert_eq!((stage.discarded(), stage.exists("new.txt")), (1, false));
    stage.is_clean();
}

#[test]
fn one_that_switches_the_branch_does_not_get_the_commit_there() {
    for switch in ["checkout -q -b fresh", "checkout -q --detach", "checkout -q other"] {
        let stage = with_another_branch();
        let ran = stage.run(&["--agent", AGENT, "--verify", &format!("git {switch}")]);
        ran.ended(0).says("US-001 done").says("the branch is as it was");
        assert_eq!(stage.repo.git(["symbolic-ref", "HEAD"]), "refs/heads/main\n", "{switch}");
        assert_eq!(stage.subjects(), ["feat(US-001): First", "the plan", "first"]);
        let files = stage.repo.git(["show", "--format=", "--name-only", "HEAD"]);
        assert_eq!(files, format!("{PLAN}\na.txt\nnew.txt\n"), "{switch}");
        let there = stage.repo.git(["log", "-1", "--format=%s", "other"]);
        assert_eq!(there, "on another branch\n");
        stage.is_clean();
    }
}

#[test]
fn one_that_throws_the_work_away_on_its_way_to_another_branch_is_an_attempt_in_vain() {
    for switch in ["git checkout -q -f other", "git reset -q --hard; git checkout -q -b fresh"] {
        let stage = with_another_branch();
        let args = ["--agent", AGENT, "--verify", switch, "--attempts", "1"];
        let ran = stage.run(&args);
        ran.ended(1).says("a check switched to ").says("a check has to leave the branch alone");
        assert_eq!(stage.repo.git(["symbolic-ref", "HEAD"]), "refs/heads/main\n", "{switch}");
        assert_eq!(stage.subjects(), ["the plan", "first"]);
        assert_eq!(stage.plan(), "- [!] US-001: First\n");
        stage.is_clean();
    }
}

#[test]
fn one_that_takes_all_of_the_work_away_is_an_attempt_in_vain_and_one_that_tidies_is_not() {
    let stage = with_another_branch();
    let args = ["--agent", AGENT, "--verify", "git stash -q -u", "--attempts", "1"];
    stage.run(&args).ended(1).says("a check took all of the work away");
    assert_eq!(stage.subjects(), ["the plan", "first"]);
    let tidied = with_another_branch();
    let verify = "rm new.txt; git stash -q; git stash pop -q; echo tidy >>a.txt";
    tidied.run(&["--agent", AGENT, "--verify", verify]).ended(0).says("US-001 done");
    assert_eq!(tidied.repo.git(["show", "HEAD:a.txt"]), "a\nwork\ntidy\n");
}

#[test]
fn one_that_rewrites_the_branch_is_an_attempt_in_vain() {
    let stage = with_another_branch();
    let args = ["--agent", AGENT, "--verify", "git reset -q --soft HEAD~1", "--attempts", "1"];
    stage.run(&args).ended(1).says("a check left or rewrote the history of the branch");
    assert_eq!(stage.subjects(), ["the plan", "first"]);
    stage.is_clean();
}

#[test]
fn what_one_removes_of_the_work_is_told() {
    let stage = Stage::new("works", ONE);
    let ran = stage.run(&["--agent", AGENT, "--verify", "rm -f new.txt"]);
    ran.ended(0).says("took back what was done to new.txt; the commit is without");
    assert_eq!(stage.discarded(), 1);
    let id =
        stage.repo.git(["for-each-ref", "--format=%(refname:lstrip=3)", "refs/ralph/discarded"]);
    stage.run(&["undo", id.trim()]).ended(0);
    assert_eq!(stage.read("new.txt"), "new\n");
}

#[test]
fn what_one_takes_away_altogether_is_kept() {
    let stage = Stage::new("works", ONE);
    stage.repo.commit_all("the plan");
    let args = ["--agent", AGENT, "--verify", "git checkout -q . && git clean -fdq"];
    let ran = stage.run(&[&args[..], &["--attempts", "1"]].concat());
    ran.says("a check took all of the work away; `ralph-loop undo ");
    let id = ran.out.split("`ralph-loop undo ").nth(1).unwrap().split('`').next().unwrap();
    stage.run(&["undo", id]).ended(0);
    assert_eq!((stage.read("new.txt"), stage.read("a.txt")), ("new\n".into(), "a\nwork\n".into()));
}

#[test]
fn what_one_reverts_in_committed_files_is_told_and_kept() {
    let stage = Stage::new("works", ONE);
    stage.repo.commit_all("the plan");
    let ran = stage.run(&["--agent", AGENT, "--verify", "git reset -q --hard"]);
    ran.ended(0).says("took back what was done to a.txt; the commit is without");
    assert_eq!(stage.discarded(), 1);
}

#[test]
fn one_that_removes_nothing_leaves_no_copy() {
    let stage = Stage::new("works", ONE);
    stage.run(&["--agent", AGENT, "--verify", "echo tidy >>new.txt"]).ended(0);
    assert_eq!(stage.discarded(), 0);
}
