//! Uncommitted work from between two stories, which an agent that succeeds takes out of the tree.

use crate::stage::{Ran, Stage};

const TWO: &str = "- [ ] US-001: First\n- [ ] US-002: Second\n";
const TOLD: &str = "US-002 took out of the tree what was uncommitted before it: ";

/// Somebody works in the tree after the first story.
fn with_work_between() -> Stage {
    let stage = Stage::new("works", TWO);
    stage.repo.write("gone.txt", "old\n");
    stage.script(
        "post_iteration",
        "[ ! -e \"$AGENT_NOTES/worked\" ] || exit 0; touch \"$AGENT_NOTES/worked\"; \
         echo mine >a.txt; chmod 700 a.txt; echo new >new.txt; rm gone.txt",
    );
    stage.repo.commit_all("files");
    stage
}

/// The agent of the second story begins with an act.
fn agent(act: &str, end: &str) -> String {
    format!(
        "story=$(cat .ralph/current-story); if [ $story = US-002 ]; then {act}; fi; \
         echo x >$story.txt; [ $story = US-001 ] || {end}"
    )
}

fn id_in(ran: &Ran) -> String {
    let id = ran.out.split("`ralph-loop undo ").nth(1).and_then(|rest| rest.split('`').next());
    id.expect("the way back is named").to_owned()
}

#[track_caller]
fn is_back(stage: &Stage, files: &[&str]) {
    for file in files {
        let expected = match *file {
            "a.txt" => "mine\n",
            "new.txt" => "new\n",
            _ => "",
        };
        assert_eq!(stage.read(file), expected, "{file}");
    }
    assert!(!stage.exists("gone.txt"));
}

#[test]
fn it_is_kept_told_and_brought_back_by_one_command() {
    for (act, files) in [
        ("git checkout -q -- a.txt gone.txt; rm new.txt", &["a.txt", "gone.txt", "new.txt"][..]),
        ("git stash -qu", &["a.txt", "gone.txt", "new.txt"]),
        ("rm a.txt new.txt", &["a.txt", "new.txt"]),
        ("git rm -qf a.txt; rm new.txt; mkdir new.txt; echo x >new.txt/x", &["a.txt", "new.txt"]),
    ] {
        let stage = with_work_between();
        let ran = stage.run(&["--agent", &agent(act, "true")]);
        ran.ended(0).says("finished (complete)");
        ran.says(&format!("{TOLD}{}; `ralph-loop undo ", files.join(", ")));
        let id = id_in(&ran);
        let journal = stage.read(".ralph/events.jsonl");
        let kept = format!("\"work_not_returned\",\"kept_as\":\"refs/ralph/discarded/{id}\"");
        assert!(journal.contains(&kept), "{act}: {journal}");
        stage.run(&["status"]).ended(0).says("work of yours did not come back");
        stage.run(&["undo"]).ended(0).says(&id).says("that an attempt took out of the tree");
        if act.contains("mkdir") {
            fs_err::remove_dir_all(stage.repo.root().join("new.txt")).unwrap();
        }
        stage.run(&["undo", &id]).ended(0);
        is_back(&stage, files);
        assert!(!stage.run(&["status"]).out.contains("did not come back"), "{act}");
    }
}

#[test]
fn what_is_edited_further_moved_or_left_is_no_reason_to_warn() {
    for act in
        ["true", "echo more >>a.txt; mv new.txt moved.txt", "git add -A", "git commit -qam own"]
    {
        let stage = with_work_between();
        let ran = stage.run(&["--agent", &agent(act, "true")]);
        ran.ended(0).says("finished (complete)");
        assert!(!ran.out.contains(TOLD) && stage.discarded() == 0, "{act}: {}", ran.out);
    }
}

#[test]
fn an_attempt_that_fails_and_is_not_taken_back_keeps_it_as_well() {
    let stage = with_work_between();
    let options = ["--rollback", "never", "--attempts", "1"];
    let ran = stage.run(&[&["--agent", &agent("rm new.txt", "exit 1")], &options[..]].concat());
    ran.ended(1).says(&format!("{TOLD}new.txt; "));
    stage.run(&["undo", &id_in(&ran)]).ended(0);
    assert_eq!(stage.read("new.txt"), "new\n");
}

#[test]
fn a_crash_after_the_commit_loses_none_of_it() {
    for fault in ["settle.committed", "settle.journaled"] {
        let stage = Stage::new("works", "- [ ] US-002: Second\n");
        stage.script("next_iteration", "echo mine >a.txt; chmod 700 a.txt");
        stage.repo.commit_all("a script");
        let mut command = stage.command(&["--agent", &agent("git checkout -q a.txt", "true")]);
        let killed = command.env("RALPH_INTERNAL__FAULT", fault).output().unwrap();
        assert_eq!(killed.status.code(), None, "{fault}");
        let ran = stage.run(&[]);
        ran.ended(0).says("US-002 was committed already").says(&format!("{TOLD}a.txt; "));
        assert_eq!(stage.discarded(), 1, "{fault}");
        stage.run(&["undo", &id_in(&ran)]).ended(0);
        assert_eq!(stage.read("a.txt"), "mine\n");
    }
}
