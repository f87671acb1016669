//! Uncommitted work of the user, and changes that the user makes during a run: not one byte of them
//! is changed.

use test_support::TestRepo;

use crate::stage::{PLAN, Ran, Stage};

const ONE: &str = "- [ ] US-001: First\n";
const TWO: &str = "- [ ] US-001: First\n- [ ] US-002: Second\n";
const STATUS: [&str; 4] = ["status", "--porcelain", "--", ":!.ralph"];

/// Runs the loop; during the agent's first attempt, the user runs `acts` in the project.
fn with_person(stage: &Stage, acts: &str, args: &[&str]) -> Ran {
    let agent = format!(
        "cat >/dev/null; story=$(cat \"$RALPH_ROOT/.ralph/current-story\"); echo done >$story.txt; \
         [ -e \"$AGENT_NOTES/acted\" ] || (touch \"$AGENT_NOTES/acted\"; cd \"$RALPH_ROOT\" && {{ {acts}; }})"
    );
    stage.run(&[&["--agent", &agent][..], args].concat())
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
        with_person(&stage, acts, &[]).ended(0).says("2 stories landed");
        let subjects = ["feat(US-002): Second", "feat(US-001): First", "first"];
        assert_eq!(stage.subjects(), subjects, "{acts}");
        assert_eq!(stage.repo.git(STATUS), status, "{acts}");
        assert_eq!(stage.repo.git(["stash", "list"]).lines().count(), stashed, "{acts}");
        assert!(stage.exists("US-001.txt") && stage.exists("US-002.txt"), "{acts}");
        assert_eq!(stage.plan(), TWO.replace("[ ]", "[x]"));
        if acts.starts_with("echo mine >a.txt; git add") {
            assert_eq!(
                (stage.read("a.txt").as_str(), stage.repo.git(["show", ":a.txt"]).as_str()),
                ("mine\nmore\n", "mine\n")
            );
        }
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
        with_person(&stage, acts, &[]).ended(0).says("2 stories landed");
        let landed = stage.repo.git(["log", "--format=%s", "main"]);
        assert_eq!(landed, "feat(US-002): Second\nfeat(US-001): First\nfirst\n", "{acts}");
        assert_eq!(stage.read("a.txt"), "mine\n", "{acts}");
        assert!(!stage.exists("US-001.txt"), "the files of another branch do not follow: {acts}");
        assert_eq!(stage.plan(), TWO.replace("[ ]", "[x]"), "{acts}");
    }
}

#[test]
fn user_commits_are_kept_and_the_work_is_checked_on_top_of_them() {
    let stage = Stage::new("works", ONE);
    let acts = "echo mine >mine.txt; git add mine.txt; git commit -qm mine";
    let check = "ls >>\"$AGENT_NOTES/checked\"";
    let ran = with_person(&stage, acts, &["--verify", check]);
    ran.ended(0).says("the target moved; checking the work again");
    assert_eq!(stage.subjects(), ["feat(US-001): First", "mine", "first"]);
    assert!(stage.note("checked").contains("mine.txt"), "{}", stage.note("checked"));
    stage.is_clean();
}

#[test]
fn a_conflict_with_a_user_commit_fails_the_attempt() {
    let stage = Stage::new("works", ONE);
    let acts = "echo mine >US-001.txt; git add US-001.txt; git commit -qm mine";
    let ran = with_person(&stage, acts, &[]);
    ran.ended(0).says("the work conflicts with work that has landed since").says("US-001 done");
    assert_eq!(stage.subjects(), ["feat(US-001): First", "mine", "first"]);
    assert_eq!(stage.discarded(), 1);
}

#[test]
fn work_that_would_overwrite_a_user_file_waits_on_a_branch() {
    for acts in ["echo mine >US-001.txt", "mkdir US-001.txt; echo mine >US-001.txt/x"] {
        let stage = Stage::new("works", TWO);
        let ran = with_person(&stage, acts, &[]);
        ran.ended(0).says("your checkout is unchanged").says("the work waits on ralph/main");
        assert_eq!(stage.subjects(), ["first"], "{acts}");
        let waiting = stage.repo.git(["log", "--format=%s", "ralph/main"]);
        assert_eq!(waiting, "feat(US-002): Second\nfeat(US-001): First\nfirst\n", "{acts}");
        let mine = if acts.starts_with("mkdir") { "US-001.txt/x" } else { "US-001.txt" };
        assert_eq!(stage.read(mine), "mine\n");
        stage.repo.remove("US-001.txt");
        stage.repo.git(["merge", "-q", "--ff-only", "ralph/main"]);
        stage.is_clean();
    }
}

#[test]
fn a_plan_edited_during_the_run_keeps_the_edits_and_gets_the_ticks() {
    for is_tracked in [false, true] {
        let stage = Stage::new("works", TWO);
        if is_tracked {
            stage.repo.commit_all("the plan");
        }
        let acts = format!(
            "sed -i '1i # My plan' {PLAN}; sed -i 's/Second/Second, reworded/' {PLAN}; \
             printf -- '- [ ] US-003: Third\\n' >>{PLAN}"
        );
        with_person(&stage, &acts, &[]).ended(0).says("US-003 done").says("3 stories landed");
        let edited =
            "# My plan\n- [x] US-001: First\n- [x] US-002: Second, reworded\n- [x] US-003: Third\n";
        assert_eq!(stage.plan(), edited, "tracked: {is_tracked}");
    }
}

#[test]
fn a_story_removed_by_the_user_is_not_restored() {
    let stage = Stage::new("works", TWO);
    with_person(&stage, &format!("sed -i /US-002/d {PLAN}"), &[]).ended(0);
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
    let before = stage.repo.fingerprint();
    stage.run(&[]).ended(0).says("US-001 done");
    let after = stage.repo.fingerprint();
    assert_eq!(
        (after.stash, stage.read("a.txt")),
        (
            before.stash,
            String::from_utf8_lossy(&before.files[std::path::Path::new("a.txt")].1).into_owned()
        )
    );
    assert!(after.status.contains("UU ") || after.status.contains("u UU"), "{}", after.status);
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
