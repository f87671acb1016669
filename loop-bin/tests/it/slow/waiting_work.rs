//! Work that waits because it cannot be put into the user's files: reported with its cause and a
//! remedy during the run, at its end, by `status` and by `--dry-run`, and landed by the next run.

use crate::stage::{ONE, PLAN, Stage, THREE, TWO};

/// Changes a.txt and adds a new file.
const AGENT: &str = "cat >/dev/null; echo theirs >a.txt; echo x >new.txt";

/// `status` and `--dry-run` print these words.
#[track_caller]
fn is_shown(stage: &Stage, words: &str) {
    stage.run(&["status"]).ended(0).says(words);
    stage.run(&["--dry-run"]).ended(0).says(words);
}

#[test]
fn work_blocked_by_a_user_file_is_reported_with_a_remedy() {
    for file in ["a.txt", "new.txt"] {
        let cause = format!("landing would overwrite your uncommitted {file}; stash or move it");
        let stage = Stage::committed("works", ONE);
        stage.repo.write(file, "mine\n");
        let ran = stage.run(&["--agent", AGENT]);
        ran.ended(8).says("1 of them not on your branch but on ralph/main");
        ran.says(&format!(
            "US-001: the work waits on ralph/main and your checkout is unchanged: {cause}"
        ));
        let waits = format!("2 commits wait on ralph/main: {cause}, then run `git merge --ff-only");
        ran.says(&waits);
        is_shown(&stage, &waits);
        stage.repo.remove(file);
        if file == "a.txt" {
            stage.repo.git(["checkout", "-q", "a.txt"]);
        }
        is_shown(&stage, "2 commits wait on ralph/main: nothing is in the way now");
        stage.repo.git(["merge", "-q", "--ff-only", "ralph/main"]);
        let shown = stage.run(&["status"]).out;
        assert!(!shown.contains("ralph/main"), "{shown}");
    }
}

#[test]
fn commands_show_the_plan_of_the_branch_with_the_work() {
    for branch in [&[][..], &["--branch", "feat"]] {
        let stage = Stage::committed("works", THREE);
        stage.repo.write("US-001.txt", "mine\n");
        let code = if branch.is_empty() { 8 } else { 0 };
        let ran = stage.run(&[branch, &["--max-iterations", "2"]].concat());
        ran.ended(code).says("2 of 3 stories");
        assert_eq!(stage.plan(), THREE);
        stage.repo.write(PLAN, format!("{THREE}- [ ] US-004: Fourth\n"));
        stage.run(&["status"]).ended(0).says("2 done, 2 open, 0 blocked");
        let stories = stage.run(&["stories"]);
        stories.ended(0).says("[x] US-002  Second").says("[ ] US-004  Fourth");
        let report = stage.run(&["report", "--markdown"]);
        report.ended(0).says("2 unchecked, 2 open").says("US-004: Fourth");
        let shown = stage.run(&[branch, &["--dry-run"]].concat());
        shown.ended(0).says("2 open, 2 done, 0 blocked, 0 optional; next: US-003 Third");
        shown.says(if branch.is_empty() { "lands on main\n" } else { "lands on feat\n" });
    }
}

#[test]
fn an_uncommitted_story_is_ticked_on_the_waiting_branch() {
    let stage = Stage::committed("works", TWO);
    stage.repo.write("a.txt", "mine\n");
    let edited = "- [ ] US-000: New\n- [ ] US-001: First\n- [ ] US-002: Second\n";
    stage.repo.write(PLAN, edited);
    let agent = "cat >/dev/null; echo theirs >>a.txt";
    let ran = stage.run(&["--agent", agent]);
    ran.ended(8).says("US-000 done").says("US-002 done").says("your uncommitted");
    assert_eq!(ran.out.matches("US-000 New").count(), 1, "{}", ran.out);
    assert_eq!(stage.plan(), edited);
    let landed = stage.repo.git(["show", &format!("ralph/main:{PLAN}")]);
    assert_eq!(landed, "- [x] US-001: First\n- [x] US-002: Second\n- [x] US-000: New\n");
    stage.run(&["--agent", agent]).ended(8).says("complete");
    assert_eq!(stage.repo.git(["rev-list", "--count", "--grep=US-000", "ralph/main"]).trim(), "1");
}

#[test]
fn a_run_on_another_branch_reports_where_earlier_work_is() {
    let stage = Stage::committed("works", TWO);
    stage.run(&["--branch", "feat", "--max-iterations", "1"]).ended(0);
    let where_it_is = "on feat; run `git merge feat` to bring the work into your branch, or start \
                       with `--branch feat` to continue there; this run begins on main, without that work";
    stage.run(&["--dry-run"]).ended(0).says(where_it_is);
    stage.run(&["--max-iterations", "1"]).ended(0).says(where_it_is);
    let again = stage.run(&["--branch", "feat", "--max-iterations", "1"]);
    assert!(!again.out.contains("this run begins on"), "{}", again.out);
}

#[test]
fn during_a_run_the_plan_of_its_branch_is_shown() {
    let plan = r#"{"branchName":"feature/x","userStories":[
{"id":"US-001","title":"First","priority":1},{"id":"US-002","title":"Second","priority":2}]}"#;
    let stage = Stage::new("works", ONE);
    stage.repo.remove(".ralph");
    stage.repo.write("prd.json", plan);
    stage.repo.commit_all("the plan");
    let agent = "cat >/dev/null; date >>x.txt; [ ! -e $AGENT_NOTES/one ] || \
                 { $RALPH_LOOP stories; $RALPH_LOOP status; $RALPH_LOOP report --markdown; } \
                 >$AGENT_NOTES/seen 2>&1; touch $AGENT_NOTES/one";
    stage.run(&["--agent", agent]).ended(0).says("2 of 2 stories done");
    let seen = stage.note("seen");
    for words in ["[x] US-001  First", "[ ] US-002  Second", "1 done, 1 open", "1 story done"] {
        assert!(seen.contains(words), "no `{words}` in {seen}");
    }
}

#[test]
fn during_a_run_its_blocked_stories_are_shown() {
    let stage = Stage::committed("works", TWO);
    let agent = "cat >/dev/null; grep -q 2 $RALPH_ROOT/.ralph/current-story || exit 0; \
                 { $RALPH_LOOP stories; $RALPH_LOOP status; } >$AGENT_NOTES/seen 2>&1; date >x.txt";
    stage.run(&["--agent", agent, "--attempts", "1"]).ended(8);
    let seen = stage.note("seen");
    for words in ["[!] US-001  First", "0 done, 1 open, 1 blocked", "the agent changed nothing)"] {
        assert!(seen.contains(words), "no `{words}` in {seen}");
    }
}

#[test]
fn a_lock_on_the_index_is_reported() {
    let stage = Stage::committed("works", ONE);
    let agent = format!("{AGENT}; touch -d @1 $RALPH_ROOT/.git/index.lock");
    let cause = "index.lock; wait for it, or delete the file if git is not running";
    stage.run(&["--agent", &agent]).ended(8).says("your checkout is unchanged").says(cause);
    is_shown(&stage, cause);
    stage.repo.remove(".git/index.lock");
    stage.run(&[]).ended(0).says("the waiting work is now on main");
    assert_eq!(stage.repo.git(["status", "--porcelain"]), "");
}

#[test]
fn waiting_work_is_rebased_and_checked_again_if_its_branch_moved() {
    for is_tracked in [true, false] {
        let stage = Stage::new("works", TWO);
        if is_tracked {
            stage.repo.commit_all("the plan");
        }
        stage.repo.write("US-001.txt", "mine\n");
        stage.run(&["--max-iterations", "1"]).ended(8).says("stash or move it");
        stage.repo.remove("US-001.txt");
        stage.repo.write("mine.txt", "mine\n");
        if is_tracked {
            stage.repo.write(PLAN, "- [ ] US-001: First, reworded\n- [ ] US-002: Second\n");
            stage.repo.git(["add", PLAN]);
        }
        stage.repo.git(["add", "mine.txt"]);
        stage.repo.git(["commit", "-qm", "mine"]);
        is_shown(&stage, "on ralph/main: main has moved on; run `ralph-loop` to rebase");
        // The copy can be removed at any time.
        stage.run(&["clean"]).ended(0);
        let check = "ls | tr '\\n' ' ' >>\"$AGENT_NOTES/checked\"; echo >>\"$AGENT_NOTES/checked\"";
        let ran = stage.run(&["--verify", check]);
        ran.ended(0).says("the waiting work is now on main").says("US-002 done");
        assert!(stage.note("checked").starts_with("US-001.txt a.txt mine.txt src "));
        let mut subjects = stage.subjects();
        subjects.retain(|subject| !subject.starts_with("chore"));
        let expected = ["feat(US-002): Second", "feat(US-001): First", "mine"];
        assert_eq!(subjects[..3], expected, "tracked: {is_tracked}");
        assert_eq!(stage.plan().matches("[x]").count(), 2, "{}", stage.plan());
        assert_eq!(stage.repo.git(["branch", "--list", "ralph/*"]), "");
        let message = stage.repo.git(["log", "-1", "--format=%B", "--grep=US-001"]);
        assert!(message.contains("Ralph-Story: US-001"), "{message}");
        stage.is_clean();
        if is_tracked {
            let plan = stage.plan();
            assert!(plan.starts_with("- [x] US-001: First, reworded\n"), "{plan}");
            assert!(stage.progress().contains("US-001"), "{}", stage.progress());
            assert_eq!(stage.repo.git(["status", "--porcelain"]), "");
        }
    }
}

#[test]
fn waiting_work_that_cannot_be_rebased_stays_on_its_branch() {
    let stage = Stage::committed("works", ONE);
    stage.repo.write("a.txt", "mine\n");
    stage.run(&["--agent", AGENT]).ended(8).says("or commit it, then run `ralph-loop`");
    stage.repo.git(["commit", "-qam", "mine"]);
    let before = stage.repo.git(["rev-parse", "ralph/main", "main"]);
    let ran = stage.run(&[]);
    ran.ended(8).says(
        "cannot be rebased onto main: the work conflicts with work that has landed since: both \
         changed",
    );
    let waits = "2 commits wait on ralph/main: it cannot be rebased onto main (the work conflicts";
    ran.says(waits).says("a.txt); merge it by hand with `git merge ralph/main`");
    is_shown(&stage, waits);
    assert_eq!(stage.repo.git(["rev-parse", "ralph/main", "main"]), before);
    // Work that fails its checks on the moved branch does not land either.
    let stage = Stage::committed("works", ONE);
    stage.repo.write("a.txt", "mine\n");
    stage.run(&["--agent", AGENT]).ended(8);
    stage.repo.git(["stash", "-q"]);
    stage.repo.write("other.txt", "x\n");
    stage.repo.commit_all("other");
    let ran = stage.run(&["--verify", "! [ -e other.txt ]"]);
    ran.ended(8).says("cannot be rebased onto main: `! [ -e other.txt ]` failed");
    assert_eq!(stage.read("a.txt"), "a\n");
}

#[test]
fn a_deleted_or_renamed_target_ends_the_run_with_advice() {
    for (acts, head) in [
        ("git checkout -q -b other && git branch -D main", "other"),
        ("git branch -m trunk", "trunk"),
    ] {
        let stage = Stage::committed("works", TWO);
        let agent = format!("{AGENT}; cd $RALPH_ROOT && {acts}");
        let ran = stage.run(&["--agent", &agent]);
        ran.ended(1).says("ralph-loop: main no longer exists (deleted or renamed)\n");
        let waits = "wait on ralph/main: main no longer exists (deleted or renamed); run `git \
                     branch main ralph/main` to create it again, or `git merge ralph/main`";
        ran.says(waits).says("fix the problem, ");
        assert!(!ran.out.contains("git switch main"), "{}", ran.out);
        let shown = stage.run(&["status"]);
        shown.ended(0).says("ended: error: main no longer exists").says(waits);
        stage.run(&["--dry-run"]).ended(0).says(waits);
        stage.repo.git(["merge", "-q", "ralph/main"]);
        assert_eq!(stage.repo.git(["branch", "--show-current"]), format!("{head}\n"));
        assert!(!stage.run(&["status"]).out.contains("ralph/main"));
    }
}

#[test]
fn work_on_a_given_branch_is_reported_until_it_is_merged() {
    let stage = Stage::committed("works", ONE);
    let waits =
        "2 commits are on feature/x; run `git merge feature/x` to bring the work into your branch";
    stage.run(&["--branch", "feature/x"]).ended(0).says(waits);
    stage.run(&["status"]).ended(0).says(waits);
    let shown = stage.run(&["--dry-run", "--branch", "feature/x"]);
    shown.ended(0).says(&format!("ok       {waits}"));
    stage.repo.git(["merge", "-q", "feature/x"]);
    let shown = stage.run(&["status"]).out;
    assert!(!shown.contains("feature/x"), "{shown}");
}

#[test]
fn work_merged_by_the_user_during_the_run_lets_landings_resume() {
    let stage = Stage::committed("works", TWO);
    let agent = "cat >/dev/null; story=$(cat $RALPH_ROOT/.ralph/current-story); echo x >$story.txt; \
                 cd $RALPH_ROOT; [ $story = US-002 ] || { echo mine >US-001.txt; exit; }; \
                 rm US-001.txt; git merge -q --ff-only ralph/main; git branch -D ralph/main";
    stage.run(&["--agent", agent]).ended(0).says("2 stories landed");
    assert_eq!(stage.repo.git(["branch", "--list", "ralph/*"]), "");
    assert!(stage.exists("US-001.txt") && stage.exists("US-002.txt"));
    assert_eq!(stage.read(PLAN).matches("[x]").count(), 2);
    assert_eq!(stage.repo.git(["status", "--porcelain"]), "");
}

#[test]
fn a_user_branch_with_the_name_of_ours_is_left_alone() {
    for acts in [false, true] {
        let stage = Stage::committed("works", ONE);
        stage.repo.git(["checkout", "-qb", "ralph/main"]);
        stage.repo.write("own.txt", "x\n");
        stage.repo.commit_all("An experiment");
        stage.repo.git(["checkout", "-q", "main"]);
        if acts {
            stage.repo.git(["commit", "-q", "--allow-empty", "-m", "moved"]);
        }
        let before = stage.repo.git(["for-each-ref", "refs/heads"]);
        let ran = stage.run(&["--agent", AGENT]);
        ran.ended(1).says("it has a commit of yours: ").says("An experiment; merge that branch");
        assert_eq!(stage.repo.git(["for-each-ref", "refs/heads"]), before);
        stage.repo.git(["branch", "-m", "ralph/main", "mine"]);
        stage.run(&["--agent", AGENT]).ended(0).says("1 story landed");
    }
}

#[test]
fn in_place_is_refused_while_work_waits() {
    let stage = Stage::committed("works", TWO);
    stage.repo.write("a.txt", "mine\n");
    stage.run(&["--agent", AGENT, "--max-iterations", "1"]).ended(8);
    stage.repo.git(["stash", "-q"]);
    let ran = stage.run(&["--in-place", "--agent", AGENT]);
    ran.ended(1).says("run `git merge --ff-only ralph/main`").says("start without --in-place");
    assert_eq!(stage.repo.git(["branch", "--show-current"]), "main\n");
    stage.repo.git(["merge", "-q", "--ff-only", "ralph/main"]);
    stage.run(&["--in-place", "--agent", "echo y >more.txt"]).ended(0);
    assert_eq!(stage.repo.git(["branch", "--show-current"]), "main\n");
}

#[test]
fn a_commit_amended_by_the_user_does_not_block_waiting_work() {
    let stage = Stage::committed("works", ONE);
    stage.repo.write("a.txt", "mine\n");
    stage.run(&["--agent", AGENT]).ended(8).says("the work waits on ralph/main");
    stage.repo.git(["checkout", "-q", "a.txt"]);
    stage.repo.git(["commit", "-q", "--amend", "-m", "the plan, amended"]);
    stage.run(&[]).ended(0).says("the waiting work is now on main");
    let mut subjects = stage.subjects();
    subjects.retain(|subject| !subject.starts_with("chore"));
    assert_eq!(subjects[..2], ["feat(US-001): First", "the plan, amended"]);
}
