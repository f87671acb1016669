//! Checks with side effects: they run the agent's code in its copy.

use crate::stage::{ONE, Stage, TWO};

/// Changes one committed file and creates another.
const AGENT: &str = "cat >/dev/null; echo work >>a.txt; echo new >>new.txt";

/// A project with a second branch on which one file differs and another one is added.
fn with_another_branch(plan: &str) -> Stage {
    let stage = Stage::new("works", plan);
    stage.repo.git(["checkout", "-q", "-b", "other"]);
    stage.repo.write("src/lib.rs", "other\n");
    stage.repo.write("theirs.txt", "theirs\n");
    stage.repo.git(["add", "src", "theirs.txt"]);
    stage.repo.git(["commit", "-q", "-m", "on another branch"]);
    stage.repo.git(["checkout", "-q", "main"]);
    stage
}

#[test]
fn git_commands_of_checks_do_not_affect_the_commit() {
    let checks = [
        "git checkout -q -b fresh",
        "git checkout -q --detach",
        "git reset -q --soft origin/other",
        "git update-ref -d HEAD",
        "git config user.name Other; git config core.hooksPath /nowhere",
        "rm -rf .git .ralph",
        "git rm -q --cached a.txt",
        "git stash -q -u; git stash pop -q",
    ];
    let plan: String = (1..=checks.len()).map(|n| format!("- [ ] US-{n:03}: Story\n")).collect();
    let stage = with_another_branch(&plan);
    for (n, check) in (1..).zip(checks) {
        stage.repo.write(format!(".git/checks/US-{n:03}"), check);
    }
    let root = stage.repo.root();
    let check = format!(". {root}/.git/checks/$(cat {root}/.ralph/current-story)");
    let ran = stage.run(&["--agent", AGENT, "--verify", &check]);
    ran.ended(0).says("8 stories landed");
    for (n, check) in (0..).zip(checks.iter().rev()) {
        let commit =
            stage.repo.git(["show", "--format=%an %s", "--name-only", &format!("HEAD~{n}")]);
        let story = checks.len() - n;
        let expected = format!("Test feat(US-{story:03}): Story\n\na.txt\nnew.txt\n");
        assert_eq!(commit, expected, "{check}");
    }
    assert_eq!(stage.subjects().len(), checks.len() + 1);
    assert_eq!(stage.read("src/lib.rs"), "pub fn answer() -> u32 { 42 }\n");
    assert_eq!(stage.plan(), plan.replace("[ ]", "[x]"));
    stage.is_clean();
}

#[test]
fn work_removed_by_checks_is_a_failed_attempt_and_is_kept() {
    for check in ["git stash -q -u", "git reset -q --hard", "git checkout -qf origin/main"] {
        let stage = with_another_branch(ONE);
        let ran = stage.run(&["--agent", AGENT, "--verify", check, "--attempts", "1"]);
        ran.ended(8).says("the checks undid all changes");
        assert_eq!((stage.subjects().len(), stage.discarded()), (1, 1), "{check}");
        let kept = stage.repo.git(["show", "refs/ralph/attempts/PRD-1/US-001/1:new.txt"]);
        assert_eq!(kept, "new\n", "{check}");
    }
}

#[test]
fn files_changed_by_checks_are_checked_again_and_committed() {
    let stage = Stage::new("works", ONE);
    let format = "echo >report.xml; grep -q tidy new.txt || echo tidy >>new.txt; echo >>\"$AGENT_NOTES/checks\"";
    let ran = stage.run(&["--agent", AGENT, "--verify", format]);
    ran.ended(0).says("the checks changed new.txt; checking again");
    assert_eq!(stage.repo.git(["show", "HEAD:new.txt"]), "new\ntidy\n");
    let files = stage.repo.git(["show", "--format=", "--name-only", "HEAD"]);
    assert_eq!(files, "a.txt\nnew.txt\n");
    assert_eq!(stage.note("checks").lines().count(), 2);
    assert!(!stage.exists("report.xml"), "what they make is not the story's");
    stage.is_clean();
    let stage = Stage::new("works", ONE);
    let ran = stage.run(&["--agent", AGENT, "--verify", "echo more >>new.txt"]);
    ran.ended(0).says("the checks change files every time they run: new.txt");
    assert_eq!(stage.repo.git(["show", "HEAD:new.txt"]), "new\nmore\nmore\n");
    stage.is_clean();
}

#[test]
fn checks_find_the_work_staged_in_a_clean_tree() {
    let stage = Stage::new("works", TWO);
    stage.repo.commit_all("the plan");
    let check = "git diff --exit-code && git ls-files --error-unmatch $(cat \"$AGENT_NOTES/new\")";
    let agent = "cat >/dev/null; cp $RALPH_ROOT/.ralph/current-story \"$AGENT_NOTES/new\"; \
                 date +%N >$(cat \"$AGENT_NOTES/new\")";
    stage.run(&["--agent", agent, "--verify", check]).ended(0).says("2 stories landed");
}
