//! The target branch: given by name, created, moved by others, or checked out elsewhere.

use crate::stage::{PLAN, Ran, Stage};

const TWO: &str = "- [ ] US-001: First\n- [ ] US-002: Second\n";

fn committed(plan: &str) -> Stage {
    let stage = Stage::new("works", plan);
    stage.repo.commit_all("the plan");
    stage
}

fn subjects_of(stage: &Stage, branch: &str) -> String {
    stage.repo.git(["log", "--format=%s", branch, "--not", "main", "--"])
}

#[test]
fn a_given_branch_is_created_and_the_checkout_is_untouched() {
    let stage = committed(TWO);
    let before = stage.repo.fingerprint();
    stage.run(&["--branch", "ralph/{plan}"]).ended(0).says("landing on ralph/prd-1");
    let after = stage.repo.fingerprint();
    let own = |files: &std::collections::BTreeMap<std::path::PathBuf, _>| {
        files.keys().filter(|path| !path.starts_with(".ralph")).cloned().collect::<Vec<_>>()
    };
    assert_eq!((own(&after.files), &after.head), (own(&before.files), &before.head));
    assert_eq!(stage.repo.git(["status", "--porcelain"]), "");
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
    stage
        .run(&["init"])
        .ended(0)
        .says("Work will land on feature/x, the `branchName` of the plan.");
    stage.run(&[]).ended(0).says("landing on feature/x");
    assert!(subjects_of(&stage, "feature/x").contains("feat(US-001): First"));
    assert_eq!((stage.read("prd.json").as_str(), stage.exists("US-001.txt")), (plan, false));
}

#[test]
fn invalid_target_branches_are_refused() {
    let stage = committed(TWO);
    stage.run(&["--branch", "a..b"]).ended(2).says("is not a valid branch name");
    let other = stage.repo.scratch().path("other");
    stage.repo.git(["worktree", "add", "-q", "-b", "side", other.as_str()]);
    stage.run(&["--branch", "side"]).ended(1).says("is also checked out in").says("/other");
    stage.repo.git(["checkout", "-q", "--detach"]);
    stage.run(&[]).ended(2).says("HEAD is detached");
    stage.run(&["--branch", "main"]).ended(0).says("2 stories landed");
}

#[test]
fn work_is_checked_again_on_a_target_that_moved() {
    let stage = committed("- [ ] US-001: First\n");
    let commit = "cd $RALPH_ROOT && echo theirs >theirs.txt && git add theirs.txt && \
                  git commit -qm theirs";
    let agent = format!("cat >/dev/null; echo x >x.txt; {commit}");
    let check = "ls >>\"$AGENT_NOTES/checked\"; echo -- >>\"$AGENT_NOTES/checked\"";
    let ran = stage.run(&["--agent", &agent, "--verify", check]);
    ran.ended(0).says("US-001: the target moved; checking the work again");
    assert_eq!(stage.subjects()[1..], ["feat(US-001): First", "theirs", "the plan", "first"]);
    assert!(
        stage.note("checked").ends_with("theirs.txt\nx.txt\n--\n"),
        "{}",
        stage.note("checked")
    );
    assert_eq!(stage.repo.git(["status", "--porcelain"]), "");
    assert_eq!(
        (stage.read("x.txt").as_str(), stage.read("theirs.txt").as_str()),
        ("x\n", "theirs\n")
    );
}

#[test]
fn a_conflict_with_a_moved_target_is_in_the_next_prompt() {
    let stage = committed("- [ ] US-001: First\n");
    let commit = "mkdir \"$AGENT_NOTES/once\" && cd $RALPH_ROOT && echo theirs >a.txt && \
                  git commit -qam theirs";
    let agent = format!("cat >>\"$AGENT_NOTES/prompts\"; echo mine >>a.txt; ({commit}); true");
    stage
        .run(&["--agent", &agent])
        .ended(0)
        .says("the work conflicts with work that has landed since");
    assert_eq!(stage.read("a.txt"), "theirs\nmine\n");
    assert!(stage.note("prompts").contains("the work conflicts with work that has landed since"));
    assert!(stage.note("prompts").contains("both changed a.txt"));
    assert_eq!(stage.discarded(), 1);
    let kept = stage.repo.git(["show", "refs/ralph/attempts/PRD-1/US-001/1:a.txt"]);
    assert_eq!(kept, "a\nmine\n", "the attempt itself, and not what the person did");
    assert_eq!(stage.repo.git(["status", "--porcelain"]), "");
}

#[test]
fn constant_user_commits_lose_no_work() {
    let stage = committed(TWO);
    let stop = stage.note_path("stop");
    let person = format!(
        "n=0; until [ -e {stop} ]; do n=$((n+1)); echo $n >>person.txt; \
         git add person.txt && git commit -qm \"person $n\"; sleep 0.4; done"
    );
    let mut person = test_support::program("sh", &stage.repo.scratch().path("home"))
        .args(["-c", &person])
        .envs(stage.repo.isolation())
        .current_dir(stage.repo.root())
        .spawn()
        .unwrap();
    let ran = stage.run(&[]);
    fs_err::write(&stop, "").unwrap();
    person.wait().unwrap();
    ran.ended(0).says("2 stories landed");
    // On a busy machine the user may commit faster than any check runs: then the work waits.
    let subjects = stage.repo.git(["log", "--branches", "--format=%s"]);
    let subjects: Vec<&str> = subjects.lines().collect();
    for story in ["feat(US-001): First", "feat(US-002): Second"] {
        assert_eq!(subjects.iter().filter(|subject| **subject == story).count(), 1, "{subjects:?}");
    }
    // All of the user's commits that git accepted exist, with one line each.
    let lines = stage.repo.git(["show", "HEAD:person.txt"]).lines().count();
    let commits = subjects.iter().filter(|subject| subject.starts_with("person ")).count();
    assert!(commits > 0 && lines >= commits, "{lines} {commits}");
    stage.repo.git(["fsck", "--strict", "--no-dangling"]);
    assert!(stage.exists("US-001.txt") && stage.exists("US-002.txt"));
}

#[test]
fn work_that_would_overwrite_user_changes_waits_and_lands_later() {
    let stage = committed("- [ ] US-001: A\n- [ ] US-002: B\n- [ ] US-003: C\n");
    stage.repo.write("a.txt", "mine, uncommitted\n");
    let agent = "cat >/dev/null; story=$(cat $RALPH_ROOT/.ralph/current-story); echo x >$story.txt; \
                 [ $story != US-001 ] || echo theirs >a.txt";
    let ran = stage.run(&["--agent", agent, "--max-iterations", "2"]);
    ran.ended(0).says("uncommitted, so not in the agent's copy: a.txt");
    ran.says("your checkout is unchanged: landing would overwrite your uncommitted a.txt");
    ran.says("the work waits on ralph/main").says("git merge --ff-only ralph/main");
    assert_eq!(stage.read("a.txt"), "mine, uncommitted\n");
    assert_eq!(stage.repo.git(["status", "--porcelain"]), " M a.txt\n");
    let waits = stage.repo.git(["log", "--format=%s", "main..ralph/main"]);
    assert!(waits.ends_with("feat(US-002): B\nfeat(US-001): A\n"), "{waits}");
    // The user's change is gone, so everything can land.
    stage.repo.git(["checkout", "-q", "--", "a.txt"]);
    stage.run(&["--agent", agent]).ended(0).says("US-003 done");
    assert_eq!(stage.read("a.txt"), "theirs\n");
    assert_eq!(stage.plan().matches("[x]").count(), 3, "{}", stage.plan());
    assert_eq!(stage.repo.git(["branch", "--list", "ralph/*"]), "");
    assert_eq!(stage.repo.git(["status", "--porcelain"]), "");
}

#[test]
fn uncommitted_changes_in_other_files_survive_landings() {
    let stage = committed("- [ ] US-001: First\n");
    stage.repo.write("a.txt", "mine\n");
    stage.repo.write("staged.txt", "staged\n");
    stage.repo.write("new.txt", "new\n");
    stage.repo.git(["add", "staged.txt"]);
    stage.run(&[]).ended(0).says("US-001 done");
    let status = stage.repo.git(["status", "--porcelain"]);
    assert_eq!(status, " M a.txt\nA  staged.txt\n?? new.txt\n");
    assert!(stage.exists("US-001.txt"));
}

#[test]
fn the_commit_message_follows_the_settings() {
    let stage = committed("- [ ] US-001: Say `hello` to everybody.\n");
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
fn a_repository_without_commits_gets_its_first_commits() {
    let stage = Stage::with(test_support::TestRepo::empty(), "works", TWO);
    stage.run(&["--verify", "true"]).ended(0).says("2 stories landed");
    let subjects = stage.subjects();
    assert!(subjects.contains(&"feat(US-001): First".to_owned()), "{subjects:?}");
    assert!(stage.exists("US-001.txt") && stage.exists("US-002.txt"));
    stage.is_clean();
}

#[test]
fn stories_land_in_a_linked_worktree() {
    let stage = committed(TWO);
    let side = stage.repo.scratch().path("side");
    stage.repo.git(["worktree", "add", "-q", "-b", "side", side.as_str()]);
    let mut command = stage.command(&[]);
    let ran: crate::stage::Ran = command.current_dir(&side).output().unwrap().into();
    ran.ended(0).says("landing on side").says("2 stories landed");
    assert!(side.join("US-002.txt").exists() && !stage.exists("US-002.txt"));
    assert_eq!(stage.repo.git_in(side.as_std_path(), ["status", "--porcelain"]), "");
    assert_eq!(stage.repo.git(["log", "--format=%s", "main"]), "the plan\nfirst\n");
}

#[test]
fn edits_hidden_by_index_flags_are_not_overwritten() {
    for flag in ["--skip-worktree", "--assume-unchanged"] {
        let stage = committed("- [ ] US-001: First\n");
        stage.repo.git(["update-index", flag, "a.txt"]);
        stage.repo.write("a.txt", "mine\n");
        let agent = "cat >/dev/null; echo theirs >a.txt";
        stage.run(&["--agent", agent]).ended(0).says("the work waits on ralph/main");
        assert_eq!(stage.read("a.txt"), "mine\n", "{flag}");
    }
}

#[test]
fn a_worktree_that_checks_out_the_target_during_a_run_is_unchanged() {
    let stage = committed("- [ ] US-001: First\n");
    let tree = stage.repo.scratch().path("tree");
    let agent =
        format!("cat >/dev/null; echo x >x.txt; git -C $RALPH_ROOT worktree add -q {tree} t");
    let ran = stage.run(&["--branch", "t", "--agent", &agent, "--sandbox", "off"]);
    ran.ended(0).says(&format!("t is checked out in {tree}")).says("waits on ralph/t");
    assert_eq!(stage.repo.git(["-C", tree.as_str(), "status", "--porcelain"]), "");
}

#[test]
fn waiting_work_lands_with_the_next_run_even_without_open_stories() {
    let stage = committed("- [ ] US-001: First\n");
    stage.repo.write("a.txt", "mine\n");
    let agent = "cat >/dev/null; echo theirs >a.txt";
    stage.run(&["--agent", agent]).ended(0).says("the work waits on ralph/main");
    stage.repo.git(["checkout", "-q", "--", "a.txt"]);
    stage.run(&["--agent", agent]).ended(0);
    assert_eq!(stage.read("a.txt"), "theirs\n");
    assert_eq!(stage.repo.git(["status", "--porcelain"]), "");
    assert_eq!(stage.repo.git(["branch", "--list", "ralph/*"]), "");
}

#[test]
fn ignored_files_added_by_force_land() {
    let stage = committed("- [ ] US-001: First\n");
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
    let stage = committed(TWO);
    let check = "cd $(dirname \"$AGENT_NOTES\") && cd \"$PROJECT\" && echo x >>theirs.txt && \
                 git add theirs.txt && git commit -qm theirs";
    let mut command = stage.command(&["--verify", check]);
    let ran: Ran = command.env("PROJECT", stage.repo.root()).output().unwrap().into();
    ran.ended(0).says("2 stories landed").says("the work waits on ralph/main");
    assert!(ran.out.contains("main has moved on; run `ralph-loop`"), "{}", ran.out);
    let rechecks = ran.out.matches("the target moved; checking the work again").count();
    assert!((5..20).contains(&rechecks), "{rechecks}");
    // The work lands once the target no longer moves.
    stage.run(&["--verify", "true"]).ended(0);
    assert!(stage.exists("US-001.txt") && stage.exists("US-002.txt"));
    assert_eq!(stage.plan(), TWO.replace("[ ]", "[x]"));
}
