//! Agents that take the branch or the whole repository away.

use crate::stage::{Ran, Stage};

const ONE: &str = "- [ ] US-001: First\n";

fn run(stage: &Stage, work: &str) -> Ran {
    let agent = format!("cat >/dev/null; echo new >new.txt; {work}");
    let mut command = stage.command(&["--max-iterations", "1"]);
    command.env("RALPH_AGENT", agent).output().unwrap().into()
}

#[test]
fn a_branch_without_commits_is_an_attempt_in_vain() {
    for work in [
        "git update-ref -d HEAD",
        "git checkout -q --orphan zz; git branch -q -D main",
        "git checkout -q --orphan zz; git branch -q -D main; git commit -q -m all",
        "git update-ref -d HEAD; exit 1",
    ] {
        let stage = Stage::new("works", ONE);
        stage.repo.commit_all("the plan");
        let before = stage.repo.head();
        run(&stage, work).ended(0).says("rolled back");
        assert_eq!(stage.repo.head(), before, "{work}");
        assert_eq!(stage.repo.git(["branch", "--show-current"]).trim(), "main", "{work}");
        assert_eq!((stage.plan().as_str(), stage.discarded()), (ONE, 1), "{work}");
        stage.is_clean();
    }
}

#[test]
fn a_repository_that_was_replaced_ends_the_run_and_is_not_touched() {
    for work in [
        "rm -rf .git; git init -q -b main",
        "rm -rf .git; git init -q -b main; git add -A; git -c user.name=A -c user.email=a@localhost commit -q -m all",
        // At once, because the loop may note something in a folder that is only half removed.
        "mv .git gone && rm -rf gone",
    ] {
        let stage = Stage::new("works", ONE);
        stage.repo.commit_all("the plan");
        let ran = run(&stage, work);
        ran.ended(1)
            .says("the agent removed or replaced the repository")
            .says("nothing was touched");
        assert_eq!(stage.read("new.txt"), "new\n");
        assert!(!stage.plan().contains("[x]"));
        assert_eq!(stage.exists(".git"), work.contains("init"), "{work}");
        if work.contains("commit") {
            assert_eq!(stage.subjects(), ["all"]);
        }
    }
}

#[test]
fn settings_of_git_that_are_the_users_are_put_back_before_anything_is_committed() {
    for (work, key) in [
        ("git config core.worktree ../other", "core.worktree"),
        ("git config core.bare true", "core.bare"),
        ("git config user.name Other; git remote add origin ../elsewhere", "user.name"),
    ] {
        let stage = Stage::new("works", ONE);
        fs_err::create_dir(stage.repo.root().join("../other")).unwrap();
        let before = stage.read(".git/config");
        let ran = run(&stage, work);
        ran.ended(0).says("US-001 done").says(key).says("is kept as");
        assert_eq!(stage.read(".git/config"), before, "{work}");
        assert_eq!(stage.repo.git(["show", "HEAD:new.txt"]), "new\n", "{work}");
        assert_eq!(stage.repo.git(["log", "-1", "--format=%an"]), "Test\n", "{work}");
    }
}

#[test]
fn an_agent_cannot_switch_the_users_git_hooks_off() {
    let stage = Stage::new("works", ONE);
    stage.repo.write(".git/hooks/pre-commit", "#!/bin/sh\necho refused; exit 1\n");
    stage.repo.chmod(".git/hooks/pre-commit", 0o755);
    run(&stage, "git config core.hooksPath /dev/null")
        .says("core.hooksPath".to_lowercase().as_str());
    assert_eq!(stage.subjects(), ["first"]);
    assert_eq!(stage.plan(), ONE);
}

#[test]
fn settings_that_do_not_concern_commits_stay() {
    let stage = Stage::new("works", ONE);
    run(&stage, "git remote add origin ../elsewhere").ended(0).says("US-001 done");
    assert!(stage.read(".git/config").contains("elsewhere"));
}

#[test]
fn a_repository_whose_files_are_elsewhere_is_named_at_the_start() {
    let stage = Stage::new("works", ONE);
    fs_err::create_dir(stage.repo.root().join("../other")).unwrap();
    stage.repo.git(["config", "core.worktree", "../../other"]);
    let ran: Ran = stage.command(&[]).output().unwrap().into();
    ran.ended(1).says("git config --unset core.worktree");
}

#[test]
fn a_branch_that_was_renamed_or_removed_is_made_again_and_keeps_its_history() {
    for work in [
        "git branch -m renamed",
        "git add -A; git commit -qm own; git branch -m renamed",
        "git checkout -q -b topic; git branch -q -D main",
    ] {
        let stage = Stage::new("works", ONE);
        stage.repo.commit_all("the plan");
        let before = stage.repo.head();
        let ran = run(&stage, work);
        ran.ended(0).says("US-001 done").says("is checked out instead of main");
        assert_eq!(stage.repo.git(["branch", "--show-current"]).trim(), "main", "{work}");
        assert_eq!(stage.repo.git(["rev-parse", "HEAD~1"]).trim(), before, "{work}");
        assert_eq!(stage.repo.git(["show", "HEAD:new.txt"]), "new\n", "{work}");
    }
}

#[test]
fn commits_that_go_with_a_failed_attempt_are_named() {
    let stage = Stage::new("works", ONE);
    run(&stage, "git add -A; git commit -qm 'by a person'; exit 1")
        .says("these commits went with it")
        .says(" by a person");
    assert_eq!(stage.subjects(), ["first"]);
}
