//! Failed attempts are kept: they can be listed, shown, taken, tried again and removed.

use crate::stage::{ONE, PLAN, Stage, THREE, TWO, executable, until};

/// A story that is blocked after one failed attempt.
fn blocked() -> Stage {
    let stage = Stage::committed("works", ONE);
    let agent = "cat >/dev/null; echo tried >a.txt; echo new >new.txt; rm src/lib.rs; \
                 git -c user.name=A -c user.email=a@localhost commit -qam half; echo oops >&2; exit 3";
    stage.run(&["--agent", agent, "--attempts", "1"]).ended(8);
    assert_eq!(stage.plan(), "- [!] US-001: First\n");
    stage.is_clean();
    stage
}

#[test]
fn attempts_are_listed_and_shown_with_reason_and_diff() {
    let stage = blocked();
    let listed = stage.run(&["attempts"]);
    listed.ended(0).says("US-001/1").says("failed").says("exited with code 3");
    listed.says("ralph-loop attempts take US-001/1");
    listed.says("ralph-loop retry US-001 --from US-001/1");
    stage.run(&["attempts", "US-001"]).ended(0).says("US-001/1");
    let shown = stage.run(&["attempts", "US-001/1"]);
    shown.ended(0).says("oops").says("-a\n+tried").says("+new").says("src/lib.rs");
    stage.run(&["attempts", "US-001/7"]).ended(1).says("list them with `ralph-loop attempts`");
    assert_eq!(stage.repo.git(["status", "--porcelain"]), "");
}

#[test]
fn an_attempt_that_could_not_be_saved_is_saved_by_the_next_start() {
    let stage = Stage::new("works", ONE);
    let bin = stage.note_path("bin");
    fs_err::create_dir(&bin).unwrap();
    let git = "#!/bin/sh\ncase \"$*\" in *'update-index --add --remove'*) [ -e \"$AGENT_NOTES/armed\" ] && \
               kill -KILL $$;; esac\nPATH=${PATH#*:}\nexec git \"$@\"\n";
    executable(&bin.join("git"), git);
    let act = "cat >/dev/null; echo half >half.txt; touch \"$AGENT_NOTES/armed\"; exit 3";
    let path = std::env::var("PATH").unwrap();
    stage.run_env(&[("PATH", &format!("{bin}:{path}"))], &["--agent", act]).ended(1);
    assert_eq!(stage.repo.git(["for-each-ref", "refs/ralph/attempts"]), "");
    stage.run(&["--agent", "cat >/dev/null; echo done >done.txt"]).ended(0);
    stage.run(&["attempts", "US-001/1"]).ended(0).says("half.txt");
}

#[test]
fn attempts_reports_a_story_without_saved_attempts() {
    let stage = Stage::new("works", ONE);
    let listed = stage.run(&["attempts", "US-001"]);
    listed.ended(0).says("There are no saved attempts at US-001");
    stage.run(&["attempts", "XX"]).ended(1).says("plan.md has no story XX");
    let ran = stage.run(&["--agent", "cat >/dev/null", "--attempts", "1"]);
    ran.ended(8).says("reopen it with `ralph-loop retry US-001 --hint");
    let ran = stage.run(&["status"]);
    ran.ended(0)
        .says("US-001 is blocked: First (gave up after 1 failed attempt; last failure: the agent")
        .says("changed nothing); see what was tried with `ralph-loop logs US-001`; tick it if it is done, or reopen it");
    let ran = stage.run(&["attempts", "US-001"]);
    ran.ended(0).says("US-001/1 did not land: the agent changed nothing");
    stage.run(&["attempts", "US-001/1"]).ended(0).says("ralph-loop logs US-001/1");
}

#[test]
fn taking_an_attempt_overwrites_no_user_changes() {
    let stage = blocked();
    stage.repo.write("mine.txt", "mine\n");
    let (take, before) = (["attempts", "take", "US-001/1", "--branch", "look"], stage.repo.files());
    stage.run(&take).ended(0).says("created look from");
    assert_eq!(stage.repo.git(["show", "look:new.txt"]), "new\n");
    assert_eq!(stage.repo.files(), before);
    stage.run(&take).ended(1).says("already exists");
    stage.run(&["take", "US-001/1"]).ended(0).says("are in your tree, uncommitted");
    let status = stage.repo.git(["status", "--porcelain"]);
    assert_eq!(status, " M a.txt\n D src/lib.rs\n?? mine.txt\n?? new.txt\n");
    for file in ["a.txt", "new.txt"] {
        let stage = blocked();
        stage.repo.write(file, "mine\n");
        let before = stage.repo.fingerprint();
        stage.run(&["attempts", "take", "US-001/1"]).ended(1).says(file);
        assert_eq!(stage.repo.fingerprint(), before, "{file}");
    }
}

#[test]
fn a_retry_can_start_from_an_attempt_with_a_hint() {
    let stage = blocked();
    stage.run(&["status"]).ended(0).says("US-001 is blocked: First (");
    stage.run(&["retry", "US-001", "--from", "US-001/1", "--hint", "mind the gap"]).ended(0);
    let shown = stage.run(&["status"]);
    shown.ended(0).says("1 open, 0 blocked");
    assert!(!shown.out.contains("is blocked"), "{}", shown.out);
    let agent = "cat >\"$AGENT_NOTES/prompt\"; cat a.txt new.txt >\"$AGENT_NOTES/found\"; \
                 ls src >>\"$AGENT_NOTES/found\"; echo done >done.txt";
    let ran = stage.run(&["--agent", agent]);
    ran.ended(0).says("continuing from attempt").says("US-001 done");
    assert_eq!(stage.note("found"), "tried\nnew\n");
    let prompt = stage.note("prompt");
    assert!(prompt.contains("mind the gap") && prompt.contains("oops"), "{prompt}");
    assert!(prompt.contains("already in your working tree; continue with it."), "{prompt}");
    assert!(prompt.contains("# Lessons from earlier attempts\n\n- PRD-1/US-001"), "{prompt}");
    assert_eq!(stage.plan(), "- [x] US-001: First\n");
    stage.has(&[("new.txt", "new\n"), ("done.txt", "done\n")]);
    stage.is_clean();
}

#[test]
fn the_hint_of_a_retry_reaches_every_attempt_until_the_story_lands() {
    let stage = blocked();
    stage.run(&["retry", "US-001", "--hint", "mind the gap"]).ended(0);
    let prompts = || -> Vec<bool> {
        let all = stage.note("prompts");
        all.split("=== prompt").skip(1).map(|one| one.contains("mind the gap")).collect()
    };
    let agent = |end: &str| format!("(echo '=== prompt'; cat) >>\"$AGENT_NOTES/prompts\"; {end}");
    let check = ["--verify", "test ! -e bad.txt", "--attempts", "3"];
    stage.run(&[&["--agent", &agent("echo x >bad.txt")], &check[..]].concat()).ended(8);
    assert_eq!(prompts(), [true, true, true]);
    stage.run(&["retry", "US-001", "--hint", "mind the gap"]).ended(0);
    stage.run(&["--agent", &agent("echo x >x.txt")]).ended(0).says("US-001 done");
    stage.run(&["retry", "US-001"]).ended(0);
    stage.run(&["--agent", &agent("echo y >y.txt")]).ended(0).says("US-001 done");
    assert_eq!(prompts(), [true, true, true, true, false]);
}

#[test]
fn a_retry_starts_from_scratch_unless_an_attempt_is_named() {
    let stage = blocked();
    stage.run(&["retry", "us-001", "--hint", "slow"]).ended(0).says("US-001 is open");
    assert_eq!(stage.plan(), ONE);
    let agent = "cat >\"$AGENT_NOTES/prompt\"; cat a.txt >\"$AGENT_NOTES/found\"; echo x >x.txt";
    stage.run(&["--agent", agent]).ended(0).says("US-001 done");
    assert_eq!(stage.note("found"), "a\n");
    let prompt = stage.note("prompt");
    for part in ["slow", "exited with code 3: oops\noops"] {
        assert!(prompt.contains(part), "{prompt}");
    }
    let stage = blocked();
    stage.run(&["retry", "US-009"]).ended(1).says("has no story US-009");
    let ran = stage.run(&["retry", "US-001/1"]);
    ran.ended(1).says("run `ralph-loop retry US-001 --from US-001/1`");
    stage.run(&["retry", "US-001", "--from", "US-001/9"]).ended(1);
    stage.run(&["retry", "US-001"]).ended(0);
    stage.run(&["retry", "US-001"]).ended(1).says("US-001 is already open");
}

#[test]
fn several_stories_can_be_reopened_at_once() {
    for branch in [&[][..], &["--branch", "feat"]] {
        let stage = Stage::committed("works", THREE);
        let idle = [branch, &["--agent", "cat >/dev/null", "--attempts", "1"]].concat();
        stage.run(&idle).ended(4);
        stage.run(&["retry", "US-001", "US-009"]).ended(1).says("has no story US-009");
        stage.run(&["stories"]).ended(0).says("[!] US-001").says("[!] US-002");
        let ran = stage.run(&["retry", "us-001", "US-002", "--hint", "look twice"]);
        ran.ended(0).says("US-001 is open again").says("US-002 is open again");
        assert!(!stage.plan().contains("[!] US-001") && !stage.plan().contains("[!] US-002"));
        stage.run(&["attempts"]).ended(0).says("There are no saved attempts;");
        let agent = "cat >>\"$AGENT_NOTES/prompts\"; date +%N >>x.txt; sleep 0.01";
        stage.run(&[branch, &["--agent", agent]].concat()).ended(8).says("2 of 3 stories done");
        assert_eq!(stage.note("prompts").matches("look twice").count(), 2);
        let report = stage.run(&["report", "--markdown"]).out;
        assert!(!report.contains("requested by a person"), "{report}");
    }
}

#[test]
fn clean_removes_the_copy_but_no_attempt_that_may_be_needed() {
    let stage = blocked();
    let copy = stage.copy().unwrap();
    stage.run(&["clean", "--dry-run"]).ended(0).says("would remove the copy");
    assert!(copy.exists());
    stage.run(&["clean"]).ended(0).says("removed the copy");
    assert!(!copy.exists());
    stage.run(&["clean"]).ended(0).says("There is no copy to remove.");
    stage.run(&["attempts", "take", "US-001/1"]).ended(0);
    stage.repo.git(["checkout", "-q", "."]);
    stage.repo.remove("new.txt");
    stage.run(&["retry", "US-001"]).ended(0);
    stage.run(&[]).ended(0).says("the agent works in a copy").says("US-001 done");
}

#[test]
fn saved_attempts_of_finished_stories_are_limited() {
    let stage = Stage::new("works", "- [ ] US-001: A\n- [ ] US-002: B\n- [!] US-003: C\n");
    let fails = "cat >/dev/null; story=$(cat $RALPH_ROOT/.ralph/current-story); echo x >$story; mkdir \"$AGENT_NOTES/$story\" && exit 1; true";
    stage.run(&["--agent", fails]).ended(8);
    stage.run(&["retry", "US-003"]).ended(0);
    stage.run(&["--agent", "echo x >y; exit 1", "--attempts", "1"]).ended(8);
    let kept =
        || stage.repo.git(["for-each-ref", "--format=%(refname:lstrip=4)", "refs/ralph/attempts"]);
    assert_eq!(kept(), "US-001/1\nUS-001/2\nUS-002/1\nUS-002/2\nUS-003/1\nUS-003/2\n");
    let first = stage.repo.git(["for-each-ref", "--format=%(refname)", "refs/ralph/attempts"]);
    let first = first.lines().next().unwrap();
    for number in 3..102 {
        let another = first.replace("US-001/1", &format!("US-001/{number}"));
        stage.repo.git(["update-ref", &another, first]);
    }
    stage.run(&["clean", "--dry-run"]).ended(0).says("would remove 3 attempts at finished stories");
    stage.run(&["clean"]).ended(0).says("removed 3 attempts");
    assert!(kept().ends_with("US-003/1\nUS-003/2\n"), "{}", kept());
    assert_eq!(kept().lines().count(), 102, "{}", kept());
    assert_eq!(stage.read(PLAN).matches("[x]").count(), 2);
}

#[test]
fn a_retry_request_is_used_once() {
    let stage = Stage::committed("works", ONE);
    let agent = "cat >/dev/null; echo . >>\"$AGENT_NOTES/started\"";
    let idle = ["--agent", agent, "--attempts", "1"];
    stage.run(&idle).ended(8);
    stage.run(&["retry", "US-001"]).ended(0);
    stage.run(&idle).ended(8);
    assert_eq!(stage.note("started").lines().count(), 2);
    stage.run(&idle).ended(8);
    assert_eq!(stage.note("started").lines().count(), 2, "nobody asked for a third");
}

/// A check that fails with long output until the agent has seen this output.
const LONG: &str = "[ -e shown.txt ] || { seq 1 80; echo 'assert 1 == 2'; exit 1; }";

#[test]
fn the_failing_output_is_shown_and_kept_until_its_story_is_done() {
    let stage = Stage::new("works", ONE);
    let log = || stage.read(".ralph/failure-context.log");
    // Enough output of another story for the log to be truncated.
    let old = "=== Test Failure 2026-01-01T00:00:00Z ===\nStory: US-009\n".to_owned()
        + &format!("{}\n", "y".repeat(300)).repeat(98);
    stage.repo.write(".ralph/failure-context.log", old.repeat(6));
    let agent = "cat >\"$AGENT_NOTES/prompt\"; date +%N >x.txt; \
                 if grep -q '^80$' \"$AGENT_NOTES/prompt\"; then touch shown.txt; fi";
    let run = |most: &str| stage.run(&["--agent", agent, "--verify", LONG, "--attempts", most]);
    run("1").ended(8);
    assert!(log().ends_with("\n79\n80\nassert 1 == 2\n"), "{}", log());
    assert!(log().contains("Story: PRD-1/US-001\n") && log().lines().count() == 500);
    stage.run(&["retry", "US-001"]).ended(0);
    run("1").ended(0).says("US-001 done");
    assert!(stage.note("prompt").contains("\n79\n80\nassert 1 == 2\n"));
    assert!(!log().contains("US-001") && log().contains("yyy"), "{}", log());
}

#[test]
fn attempts_of_two_plans_with_the_same_ids_are_kept_apart() {
    let stage = Stage::new("works", ONE);
    stage.repo.write(".ralph/PRD-2/plan.md", ONE);
    let agent = "cat >/dev/null; echo \"$RALPH_PLAN_FILE\" >x.txt; exit 3";
    stage.run(&["--agent", agent, "--attempts", "1"]).ended(8);
    stage.run(&["--agent", agent, "--attempts", "1", "--prd", "2"]).ended(8);
    let refs = ["for-each-ref", "--format=%(refname:lstrip=3)", "refs/ralph/attempts"];
    assert_eq!(stage.repo.git(refs), "PRD-1/US-001/1\nPRD-2/US-001/1\n");
    // An attempt of an older version, which did not name the plan.
    stage.repo.git([
        "update-ref",
        "refs/ralph/attempts/US-001/7",
        "refs/ralph/attempts/PRD-1/US-001/1",
    ]);
    stage.run(&["attempts", "US-001/7"]).ended(0).says("x.txt");
    stage.repo.git(["update-ref", "-d", "refs/ralph/attempts/US-001/7"]);
    let listed = stage.run(&["attempts", "US-001"]);
    listed.ended(0).says("PRD-1/US-001/1").says("PRD-2/US-001/1");
    let which = stage.run(&["attempts", "take", "US-001/1"]);
    which.ended(1).says("is ambiguous; specify one of").says("`PRD-2/US-001/1`");
    which.says("`PRD-1/US-001/1`");
    stage.run(&["attempts", "PRD-2/US-001/1"]).ended(0).says("x.txt");
    stage.run(&["logs", "PRD-1/US-001"]).ended(0).says("-001-US-001.log");
    stage.run(&["logs", "PRD-2/US-001"]).ended(0).says("-US-001.log");
    let which = stage.run(&["retry", "US-001"]);
    which.ended(1).says("blocked in several plans; name one of `PRD-1/US-001`, `PRD-2/US-001`");
    stage.run(&["retry", "PRD-2/US-001", "--from", "PRD-2/US-001/1"]).ended(0);
    assert!(stage.read(".ralph/PRD-2/plan.md").contains("[ ] US-001"));
    let needs = stage.run(&["status", "--prd", "1"]);
    needs
        .ended(0)
        .says("US-001 is blocked: First")
        .says("PRD-2 has 1 open story")
        .says("2 things need you");
}

#[test]
fn retry_reaches_a_running_loop() {
    let stage = Stage::new("works", TWO);
    let agent = "cat >/dev/null; s=$(cat \"$RALPH_STORY_FILE\"); echo x >>\"$AGENT_NOTES/$s\"; \
                 if [ $s = US-002 ]; then while [ ! -e \"$AGENT_NOTES/go\" ]; do sleep 0.1; done; fi; \
                 [ -e \"$AGENT_NOTES/go\" ] && touch $s.txt; true";
    let mut child = stage.start(&["--agent", agent, "--attempts", "1", "--prove", "off"]);
    until("the second story is under way", || !stage.note("US-002").is_empty());
    stage.run(&["retry", "US-001"]).ended(0).says("the current run will work on it");
    fs_err::write(stage.note_path("go"), "").unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_eq!(stage.note("US-001").lines().count(), 2);
}

#[test]
fn work_that_is_only_on_other_branches_tags_or_stashes_is_kept() {
    let commit = "git add -A; git -c user.name=A -c user.email=a@localhost";
    for act in [
        format!(
            "git checkout -q -b side; echo w >work.txt; {commit} commit -qm w; git checkout -q -"
        ),
        format!(
            "git checkout -q --detach; echo w >work.txt; {commit} commit -qm w; git checkout -q -"
        ),
        format!("echo w >work.txt; {commit} stash -q -u"),
        format!("echo w >work.txt; {commit} commit -qm w; git tag mine; git reset -q --hard HEAD~"),
    ] {
        let stage = Stage::committed("works", ONE);
        let agent = format!("cat >/dev/null; {act}");
        let ran = stage.run(&["--agent", &agent, "--attempts", "1"]);
        ran.ended(8).says("the agent left all of its work on other branches, tags or stashes");
        let log = ["log", "-p", "--format=%s", "-m", "--glob=refs/ralph/attempts"];
        let kept = stage.repo.git(log);
        assert!(kept.contains("+w\n"), "{act}: {kept}");
    }
}
