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
