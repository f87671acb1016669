//! Agents that remove what we keep: our refs, our state, or both, with and without a crash.

use crate::stage::{Ran, Stage, signal, until};

const TWO: &str = "- [ ] US-001: First\n- [ ] US-002: Second\n";

fn refs(stage: &Stage, below: &str) -> Vec<String> {
    let names = stage.repo.git(["for-each-ref", "--format=%(refname)", below]);
    names.lines().map(str::to_owned).collect()
}

/// A loop with work of the user's kept aside, killed once the agent has left `note`.
fn killed_after(stage: &Stage, note: &str) {
    stage.repo.write("a.txt", "mine\n");
    let mut child = stage.command(&["--allow-dirty"]).env("HANG", "1").spawn().unwrap();
    until("the agent removed something", || stage.note_path(note).exists());
    signal("KILL", child.id());
    child.wait().unwrap();
    stage.repo.git(["status"]);
}

/// The next start ends with everything where it belongs.
fn complete(stage: &mut Stage) -> Ran {
    stage.agent("works");
    let ran = stage.run(&[]);
    ran.ended(0).says("going on with the run").says("uncommitted work is back: 1 file");
    assert_eq!(stage.plan(), TWO.replace("[ ]", "[x]"));
    assert_eq!(stage.read("a.txt"), "mine\n");
    assert!(!stage.exists("half.txt"), "the half-done work is taken back");
    assert_eq!(stage.subjects(), ["feat(US-002): Second", "feat(US-001): First", "first"]);
    ran
}

#[test]
fn refs_that_the_agent_removes_are_there_again_when_it_has_ended() {
    for files in ["", "1"] {
        let stage = Stage::new("removes-refs", TWO);
        stage.repo.write("a.txt", "mine\n");
        let mut command = stage.command(&["--allow-dirty"]);
        let ran = Ran::from(command.env("REMOVE_FILES", files).output().unwrap());
        ran.ended(0).says("is there again; the agent removed it");
        assert_eq!((stage.read("a.txt").as_str(), stage.discarded()), ("mine\n", 1), "{files}");
        assert_eq!(stage.plan(), TWO.replace("[ ]", "[x]"));
        let id = refs(&stage, "refs/ralph/discarded")[0].rsplit('/').next().unwrap().to_owned();
        stage.repo.git(["checkout", "a.txt"]);
        stage.run(&["undo", &id]).ended(0);
        assert_eq!(stage.read("half.txt"), "half\n");
    }
}

#[test]
fn refs_that_were_removed_before_a_crash_are_there_again_after_it() {
    let mut stage = Stage::new("removes-refs", TWO);
    killed_after(&stage, "removed");
    assert_eq!(refs(&stage, "refs/ralph"), Vec::<String>::new());
    complete(&mut stage).says("is there again; it was removed");
    assert_eq!(stage.discarded(), 2, "the failed attempt, and the one that was under way");
}

#[test]
fn states_that_are_gone_for_good_are_told_and_keep_nobody_from_working() {
    let mut stage = Stage::new("removes-refs", TWO);
    killed_after(&stage, "removed");
    stage.repo.git(["reflog", "expire", "--expire=now", "--all"]);
    stage.repo.git(["gc", "--quiet", "--prune=now"]);
    stage.agent("works");
    let ran = stage.run(&[]);
    ran.ended(0).says("is lost; it was removed").says("uncommitted work did not come back");
    assert_eq!(stage.plan(), TWO.replace("[ ]", "[x]"));
    // The commit of the checkpoint is that of the branch, so the attempt could be taken back.
    let kept = refs(&stage, "refs/ralph/discarded").pop().unwrap();
    assert_eq!(stage.repo.git(["show", &format!("{kept}:half.txt")]), "half\n");
    let files = stage.repo.git(["log", "--format=", "--name-only"]);
    assert!(!files.contains("half.txt"), "{files}");
}

#[test]
fn refs_that_the_user_removes_stay_removed() {
    let mut stage = Stage::new("fails", TWO);
    stage.run(&["--attempts", "1", "--max-iterations", "1"]).ended(0);
    let name = refs(&stage, "refs/ralph/discarded")[0].clone();
    stage.repo.git(["update-ref", "-d", &name]);
    stage.agent("works");
    stage.run(&[]);
    assert_eq!(stage.discarded(), 0);
}

#[test]
fn a_state_that_was_removed_before_a_crash_is_there_again_after_it() {
    let mut stage = Stage::new("wipes-and-hangs", TWO);
    stage.repo.write(".ralph/config.toml", "[verify]\ncommands = [\"true\"]\n");
    killed_after(&stage, "wiped");
    assert!(!stage.exists(".ralph"));
    complete(&mut stage).says("plan.md was removed while the agent worked; put back");
    assert_eq!(stage.read(".ralph/config.toml"), "[verify]\ncommands = [\"true\"]\n");
    assert_eq!(stage.discarded(), 1);
    assert!(!stage.exists(".git/ralph-kept"));
}

#[test]
fn a_state_that_was_removed_is_there_again_although_a_hook_wrote_since() {
    let stage = Stage::new("works", TWO);
    let agent = "cat >/dev/null; echo half >half.txt; rm -rf .ralph; mkdir .ralph; \
                 echo '{}' >.ralph/events.jsonl; exit 1";
    stage.run(&["--agent", agent, "--attempts", "1", "--max-iterations", "1"]).ended(0);
    assert_eq!((stage.exists("half.txt"), stage.discarded()), (false, 1));
    assert_eq!(stage.plan(), TWO.replacen("[ ]", "[!]", 1));
}

#[test]
fn a_plan_that_somebody_wrote_since_is_not_replaced() {
    let mut stage = Stage::new("wipes-and-hangs", TWO);
    killed_after(&stage, "wiped");
    stage.repo.git(["checkout", "--", "."]);
    stage.repo.remove("half.txt");
    let other = "- [ ] US-009: Another\n";
    stage.repo.write(".ralph/PRD-1/plan.md", other);
    stage.agent("works");
    stage.run(&[]).ended(0).says("uncommitted work is back: 1 file");
    assert_eq!(
        (stage.plan(), stage.read("a.txt").as_str()),
        (other.replace("[ ]", "[x]"), "mine\n")
    );
}

#[test]
fn a_second_loop_does_not_start_where_the_agent_of_the_first_removed_its_lock() {
    let mut stage = Stage::new("wipes-and-hangs", TWO);
    let child = stage.start(&[]);
    until("the agent removed something", || stage.note_path("wiped").exists());
    stage.agent("works");
    stage.run(&[]).ended(5).says("another loop is at work");
    assert!(!stage.exists(".ralph"));
    signal("TERM", child.id());
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(143));
    stage.run(&[]).ended(0);
    stage.is_clean();
}

#[test]
fn work_aside_of_which_no_record_is_left_is_told_with_the_command_for_it() {
    let mut stage = Stage::new("hangs", TWO);
    stage.repo.write("a.txt", "mine\n");
    stage.killed_when(&["--allow-dirty"], "the agent works", || stage.exists("half.txt"));
    for name in [".ralph/run.json", ".git/ralph-kept"] {
        stage.repo.remove(name);
    }
    stage.agent("works");
    let aside = refs(&stage, "refs/ralph/aside")[0].clone();
    let command = format!("git cherry-pick --no-commit -m 1 {aside}");
    stage.run(&[]).ended(0).says(&command);
    assert_eq!(stage.read("a.txt"), "a\n");
    stage.repo.git(["cherry-pick", "--no-commit", "-m", "1", &aside]);
    assert_eq!((stage.read("a.txt").as_str(), stage.exists("US-001.txt")), ("mine\n", true));
}

/// Agents that put something else in the place of the plan, by what it becomes.
const DISPLACED: [&str; 5] = [
    "mv $plan ../kept.md; ln -s ../../../kept.md $plan",
    "rm $plan; ln -s /nowhere $plan",
    "rm $plan; mkdir $plan; echo x >$plan/x",
    "rm $plan; mkfifo $plan",
    "mv .ralph/PRD-1 moved; ln -s ../moved .ralph/PRD-1",
];

#[test]
fn a_plan_that_is_no_file_any_more_is_put_back_and_the_attempt_judged_as_usual() {
    for displace in DISPLACED {
        let stage = Stage::new("works", TWO);
        let agent = format!(
            "cat >/dev/null; plan=.ralph/PRD-1/plan.md; s=$(cat .ralph/current-story); \
             echo x >$s.txt; [ $s = US-002 ] || {{ {displace}; }}"
        );
        stage.run(&["--agent", &agent]).ended(0).says("link or a folder");
        assert_eq!(stage.plan(), TWO.replace("[ ]", "[x]"), "{displace}");
        let kind = fs_err::symlink_metadata(stage.repo.root().join(".ralph/PRD-1/plan.md"));
        assert!(kind.unwrap().is_file(), "{displace}");
        assert_eq!(stage.progress().matches("- Status: SUCCESS").count(), 2, "{displace}");
        let logs = fs_err::read_dir(stage.repo.root().join(".ralph/logs")).unwrap();
        let kept = logs
            .flatten()
            .filter(|entry| entry.file_name().to_string_lossy().starts_with("as-found-"));
        assert_eq!(kept.count(), 1, "{displace}");
    }
}

#[test]
fn a_plan_that_is_no_file_any_more_after_a_crash_is_put_back_by_the_next_start() {
    for displace in DISPLACED.into_iter().chain(["rm $plan"]) {
        let mut stage = Stage::new("works", TWO);
        stage.repo.write("a.txt", "mine\n");
        let agent = format!(
            "cat >/dev/null; plan=.ralph/PRD-1/plan.md; {displace}; echo half >half.txt; \
             touch \"$AGENT_NOTES/displaced\"; sleep 600"
        );
        stage.killed_when(&["--allow-dirty", "--agent", &agent], "the plan is displaced", || {
            stage.note_path("displaced").exists()
        });
        complete(&mut stage);
    }
}

fn with_stash() -> Stage {
    let stage = Stage::new("works", "- [ ] US-001: First\n");
    stage.repo.commit_all("the plan");
    for text in ["one", "two"] {
        stage.repo.write("a.txt", text);
        stage.repo.git(["stash", "push", "-q", "-m", text]);
    }
    stage
}

#[test]
fn the_stash_is_as_it_was_whatever_an_agent_does_to_it() {
    for act in ["stash clear", "stash drop -q", "stash pop -q", "stash drop -q stash@{1}"] {
        let stage = with_stash();
        let before = stage.repo.fingerprint().stash;
        let agent = format!("cat >/dev/null; echo new >new.txt; git {act}");
        let ran = stage.command(&[]).env("RALPH_AGENT", agent).output().unwrap();
        crate::stage::Ran::from(ran).ended(0).says("from the stash; it is there again");
        let mut after: Vec<String> = lines(&stage.repo.fingerprint().stash);
        let mut wanted = lines(&before);
        after.sort();
        wanted.sort();
        assert_eq!(after, wanted, "{act}");
        assert!(!stage.exists(".git/ralph-stash"));
        assert_eq!(stage.repo.git(["for-each-ref", "refs/ralph/stash"]), "");
    }
}

#[test]
fn the_stash_outlives_an_agent_that_removes_its_log_and_tidies_up() {
    for act in [
        "rm .git/logs/refs/stash",
        "git reflog expire --expire=now --all",
        "git reflog expire --expire=now --all; git gc -q --prune=now",
        "git stash clear; git gc -q --prune=now",
        "git stash drop -q; git stash drop -q; git gc -q --prune=now",
    ] {
        let stage = with_stash();
        let before = stage.repo.fingerprint().stash;
        let agent = format!("cat >/dev/null; echo new >new.txt; {act}");
        let ran = stage.run(&["--agent", &agent]);
        ran.ended(0).says("the stash; it is there again");
        assert_eq!(stage.repo.fingerprint().stash, before, "{act}");
        assert_eq!(stage.repo.git(["for-each-ref", "refs/ralph/stash"]), "");
        stage.repo.git(["stash", "apply", "-q"]);
        assert_eq!(stage.read("a.txt"), "two", "{act}");
    }
}

#[test]
fn a_stash_without_its_log_is_mended_after_a_crash() {
    let stage = with_stash();
    let before = stage.repo.fingerprint().stash;
    let agent = "cat >/dev/null; git reflog expire --expire=now --all; kill -9 $PPID";
    stage.run(&["--agent", agent]);
    stage.run(&[]).ended(0).says("the list of the stash was removed; it is there again");
    assert_eq!(stage.repo.fingerprint().stash, before);
    assert_eq!(stage.repo.git(["for-each-ref", "refs/ralph/stash"]), "");
}

#[test]
fn a_stash_entry_that_is_gone_after_a_crash_is_named_with_the_way_back() {
    let stage = with_stash();
    let agent = "cat >/dev/null; git stash drop -q; kill -9 $PPID";
    stage.command(&[]).env("RALPH_AGENT", agent).output().unwrap();
    let ran = stage.run(&[]);
    ran.ended(0).says("`On main: two` was in the stash when the run was interrupted");
    let said = format!("{}{}", ran.out, ran.err);
    let command = said.split("`git stash store ").nth(1).unwrap().split('`').next().unwrap();
    let commit = command.rsplit(' ').next().unwrap();
    stage.repo.git(["stash", "store", "--message", "On main: two", commit]);
    assert_eq!(lines(&stage.repo.fingerprint().stash).len(), 2);
}

fn lines(text: &str) -> Vec<String> {
    text.lines().map(str::to_owned).collect()
}

/// A branch without the plan, which is committed on the first one.
fn with_another_branch(agent: &str) -> Stage {
    let stage = Stage::new(agent, TWO);
    stage.repo.git(["branch", "bare"]);
    stage.repo.commit_all("the plan");
    stage
}

#[test]
fn the_plan_of_an_interrupted_run_is_not_put_into_another_branch() {
    for (agent, note) in [("wipes-and-hangs", "wiped"), ("removes-refs", "removed")] {
        let mut stage = with_another_branch(agent);
        killed_after(&stage, note);
        stage.repo.git(["switch", "-q", "bare"]);
        stage.agent("works");
        let ran = stage.run(&[]);
        ran.ended(1).says("plan.md, and it is not put into it: `git switch main`");
        ran.says("no plan found");
        assert!(!stage.exists(".ralph/PRD-1/plan.md"), "{agent}");
        assert!(stage.exists(".ralph/run.json"), "{agent}");
        stage.repo.git(["switch", "-q", "main"]);
        stage.run(&[]).ended(0).says("uncommitted work is back: 1 file");
        assert_eq!(stage.plan(), TWO.replace("[ ]", "[x]"));
        assert_eq!((stage.read("a.txt").as_str(), stage.exists("half.txt")), ("mine\n", false));
    }
}

#[test]
fn a_run_with_the_plan_of_another_branch_leaves_that_of_the_interrupted_one_where_it_is() {
    let mut stage = with_another_branch("wipes-and-hangs");
    // Edited by hand and not committed: the copy in the git folder alone has it.
    let edited = TWO.replace("Second", "Second, by hand");
    stage.repo.write(".ralph/PRD-1/plan.md", &edited);
    killed_after(&stage, "wiped");
    stage.repo.git(["switch", "-q", "bare"]);
    stage.repo.remove("half.txt");
    stage.repo.write("IMPLEMENTATION_PLAN.md", "- [ ] US-009: Elsewhere\n");
    stage.agent("works");
    let ran = stage.run(&[]);
    ran.ended(0).says("what was not committed of").says("US-009 done").says("work is back: 1 file");
    assert!(!stage.exists(".ralph/PRD-1/plan.md"));
    assert!(!stage.repo.git(["ls-tree", "-r", "--name-only", "HEAD"]).contains("PRD-1/plan.md"));
    let copy = ran.err.split("is kept as ").nth(1).or(ran.out.split("is kept as ").nth(1)).unwrap();
    let copy = copy.lines().next().unwrap();
    assert_eq!(fs_err::read_to_string(copy).unwrap(), edited);
}
