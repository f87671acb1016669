//! Uncommitted work of the user, and changes that the user makes during a run: not one byte of them
//! is changed.

use test_support::TestRepo;

use crate::stage::{ONE, PLAN, Ran, Stage, TWO};

const STATUS: [&str; 4] = ["status", "--porcelain", "--", ":!.ralph"];

/// Runs the loop; during the agent's first attempt, the user runs `acts` in the project.
fn with_person(stage: &Stage, acts: &str) -> Ran {
    let agent = format!(
        "cat >/dev/null; story=$(cat \"$RALPH_ROOT/.ralph/current-story\"); echo done >$story.txt; \
         [ -e \"$AGENT_NOTES/acted\" ] || (touch \"$AGENT_NOTES/acted\"; cd \"$RALPH_ROOT\" && {{ {acts}; }})"
    );
    stage.run(&["--agent", &agent])
}

#[test]
fn uncommitted_work_is_reported_and_neither_copied_nor_committed() {
    let stage = Stage::new("works", ONE);
    stage.repo.write("gone.txt", "g\n");
    stage.repo.commit_all("files");
    stage.repo.write("a.txt", "staged\n");
    stage.repo.git(["add", "a.txt"]);
    stage.repo.write("a.txt", "and more\n");
    stage.repo.write("secret.txt", "untracked\n");
    stage.repo.chmod("secret.txt", 0o600);
    stage.repo.symlink("link", "/no/such/place");
    stage.repo.remove("src/lib.rs");
    stage.repo.git(["rm", "-q", "--cached", "gone.txt"]);
    stage.repo.write("meant.txt", "later\n");
    stage.repo.git(["add", "-N", "meant.txt"]);
    let (before, files) = (stage.repo.git(STATUS), stage.repo.files());
    let agent = "cat >/dev/null; ls >\"$AGENT_NOTES/seen\"; cat a.txt src/lib.rs && echo x >x.txt";
    let ran = stage.run(&["--agent", agent]);
    ran.ended(0).says("uncommitted, so not in the agent's copy: ").says("a.txt");
    assert!(!stage.note("seen").contains("secret.txt"), "{}", stage.note("seen"));
    assert_eq!(
        stage.repo.git(["show", "--format=", "--name-only", "HEAD~1"]),
        format!("{PLAN}\nx.txt\n")
    );
    assert_eq!(stage.repo.git(STATUS), before);
    assert_eq!(stage.repo.git(["show", ":a.txt"]), "staged\n");
    let after = stage.repo.files();
    for (path, file) in files.iter().filter(|(path, _)| !path.starts_with(".ralph")) {
        assert_eq!(after.get(path), Some(file), "{}", path.display());
    }
}

#[test]
fn user_edits_staged_changes_and_stashes_are_kept() {
    for (acts, status, stashed) in [
        ("echo mine >a.txt", " M a.txt\n", 0),
        ("echo mine >a.txt; git add a.txt; echo more >>a.txt", "MM a.txt\n", 0),
        ("echo mine >new.txt; git add -N new.txt", " A new.txt\n", 0),
        ("git rm -q a.txt", "D  a.txt\n", 0),
        ("git mv a.txt b.txt", "R  a.txt -> b.txt\n", 0),
        ("echo mine >a.txt; git stash -q", "", 1),
        ("git config user.name Person; git remote add origin /nowhere; git tag mine", "", 0),
    ] {
        let stage = Stage::new("works", TWO);
        with_person(&stage, acts).ended(0).says("2 stories landed");
        let subjects = ["feat(US-002): Second", "feat(US-001): First", "first"];
        assert_eq!(stage.subjects(), subjects, "{acts}");
        assert_eq!(stage.repo.git(STATUS), status, "{acts}");
        assert_eq!(stage.repo.git(["stash", "list"]).lines().count(), stashed, "{acts}");
        assert!(stage.exists("US-001.txt") && stage.exists("US-002.txt"), "{acts}");
        assert_eq!(stage.plan(), TWO.replace("[ ]", "[x]"));
    }
}

#[test]
fn work_lands_on_its_target_if_the_user_switches_branches() {
    for acts in [
        "git checkout -q -b other; echo mine >a.txt",
        "git checkout -q --detach; echo mine >a.txt",
        "git checkout -q --orphan fresh; echo mine >a.txt",
    ] {
        let stage = Stage::new("works", TWO);
        with_person(&stage, acts).ended(0).says("2 stories landed");
        let landed = stage.repo.git(["log", "--format=%s", "main"]);
        assert_eq!(landed, "feat(US-002): Second\nfeat(US-001): First\nfirst\n", "{acts}");
        assert_eq!(stage.read("a.txt"), "mine\n", "{acts}");
        assert!(!stage.exists("US-001.txt"), "the files of another branch do not follow: {acts}");
        assert_eq!(stage.plan(), TWO.replace("[ ]", "[x]"), "{acts}");
    }
}

#[test]
fn a_story_removed_by_the_user_is_not_restored() {
    let stage = Stage::new("works", TWO);
    with_person(&stage, &format!("sed -i /US-002/d {PLAN}")).ended(0);
    assert_eq!(stage.plan(), "- [x] US-001: First\n");
}

/// The copy would be empty without the uncommitted files.
#[test]
fn uncommitted_work_in_a_repository_without_commits_is_refused() {
    let stage = Stage::with(TestRepo::empty(), "works", ONE);
    stage.repo.write("staged.txt", "staged\n");
    stage.repo.git(["add", "staged.txt"]);
    stage.repo.write("new.txt", "new\n");
    let before = stage.repo.git(STATUS);
    stage.run(&[]).ended(1).says("nothing is committed yet, so commit first");
    assert_eq!(stage.repo.git(STATUS), before);
}

#[test]
fn unresolved_conflicts_of_the_user_are_not_touched() {
    let stage = Stage::new("works", ONE);
    stage.repo.write("a.txt", "stashed\n");
    stage.repo.git(["stash", "-q"]);
    stage.repo.write("a.txt", "committed\n");
    stage.repo.git(["commit", "-qam", "changed"]);
    let root = stage.repo.root().as_std_path();
    assert!(!stage.repo.try_git(root, ["stash", "pop"]).status.success());
    let state = || (stage.read("a.txt"), stage.repo.git(["stash", "list"]), stage.repo.git(STATUS));
    let before = state();
    assert_eq!(before.2, "UU a.txt\n");
    stage.run(&[]).ended(8).says("US-001 done");
    assert_eq!(state(), before);
}

#[test]
fn links_in_the_project_are_not_written_through() {
    let stage = Stage::new("works", ONE);
    let outside = stage.repo.scratch().file("outside.txt", "not ours\n");
    stage.repo.symlink("leads-out", &outside);
    stage.repo.commit_all("a link");
    let agent = "cat >/dev/null; rm leads-out; echo plain >leads-out; echo x >x.txt";
    stage.run(&["--agent", agent]).ended(0);
    assert_eq!(fs_err::read_to_string(outside).unwrap(), "not ours\n");
    assert_eq!(stage.read("leads-out"), "plain\n");
}

#[test]
fn a_plan_that_is_a_symlink_is_refused_before_any_agent_runs() {
    let stage = Stage::new("works", ONE);
    let real = stage.repo.scratch().file("real.md", ONE);
    stage.repo.remove(PLAN);
    stage.repo.symlink(PLAN, &real);
    stage.repo.commit_all("a link");
    stage.run(&[]).ended(2).says("symlink").says("--plan");
    assert_eq!(fs_err::read_to_string(real).unwrap(), ONE);
}
