//! A run that was killed, and a person who goes on by hand before the next start.

use crate::stage::{PLAN, Stage};

const ONE: &str = "- [ ] US-001: First\n";
const KEPT: &str =
    "the branch moved since the run was interrupted; kept as it is; US-001 begins anew";

/// A loop that was killed while its agent was at work, in a project whose plan is committed.
fn killed(agent: &str, plan: &str, args: &[&str]) -> Stage {
    let mut stage = Stage::new(agent, plan);
    stage.repo.commit_all("the plan");
    kill_at_work(&mut stage, args);
    stage
}

fn kill_at_work(stage: &mut Stage, args: &[&str]) {
    stage.killed_when(args, "the agent works", || stage.exists("half.txt"));
    stage.agent("works");
}

fn clean_up(stage: &Stage) {
    stage.repo.git(["checkout", "-q", "."]);
    stage.repo.git(["clean", "-qfd"]);
}

#[test]
fn what_was_committed_or_checked_out_by_hand_stays() {
    let moves: [(&str, &[&[&str]], &str); 4] = [
        ("a commit", &[&["commit", "-q", "--allow-empty", "-m", "mine"]], "main"),
        (
            "a commit on another branch",
            &[&["checkout", "-q", "-b", "other"], &["commit", "-q", "--allow-empty", "-m", "mine"]],
            "other",
        ),
        ("another branch", &[&["checkout", "-q", "-b", "other"]], "other"),
        ("an amended commit", &[&["commit", "-q", "--amend", "-m", "the plan, amended"]], "main"),
    ];
    for (what, commands, branch) in moves {
        let stage = killed("hangs", ONE, &[]);
        clean_up(&stage);
        commands.iter().for_each(|command| drop(stage.repo.git(*command)));
        let (head, mut subjects) = (stage.repo.head(), stage.subjects());
        stage.run(&["status"]).ended(0).says("begins US-001 anew");
        stage.run(&["--dry-run"]).ended(0).says("begins US-001 anew");
        stage.run(&[]).ended(0).says(KEPT);
        assert_eq!(stage.repo.git(["branch", "--show-current"]).trim(), branch, "{what}");
        assert_eq!(stage.repo.git(["rev-parse", "HEAD~1"]).trim(), head, "{what}");
        subjects.insert(0, "feat(US-001): first".to_owned());
        assert_eq!((stage.subjects(), stage.discarded()), (subjects, 0), "{what}");
        assert_eq!(stage.plan(), "- [x] US-001: First\n", "{what}");
    }
}

#[test]
fn a_commit_that_was_taken_back_by_hand_stays_away() {
    let mut stage = Stage::new("hangs", ONE);
    stage.repo.commit_all("the plan");
    stage.repo.write("unwanted.txt", "");
    stage.repo.commit_all("unwanted");
    kill_at_work(&mut stage, &[]);
    stage.repo.git(["reset", "-q", "--hard", "HEAD~1"]);
    stage.repo.remove("half.txt");
    stage.run(&[]).ended(0).says(KEPT);
    assert_eq!(stage.subjects(), ["feat(US-001): first", "the plan", "first"]);
}

#[test]
fn what_is_in_the_tree_then_counts_as_the_users() {
    let stage = killed("hangs", ONE, &[]);
    stage.repo.git(["commit", "-q", "--allow-empty", "-m", "mine"]);
    stage.run(&[]).ended(1).says(KEPT).says("half.txt; it may be yours or be left by the attempt");
    assert_eq!((stage.read("half.txt").as_str(), stage.discarded()), ("half\n", 0));
    stage.run(&["--allow-dirty"]).ended(0).says("uncommitted work is back: 1 file");
    assert_eq!(stage.subjects(), ["feat(US-001): first", "mine", "the plan", "first"]);
    assert_eq!(stage.read("half.txt"), "half\n");
}

#[test]
fn what_the_agent_committed_while_its_loop_lived_is_taken_back() {
    let mut stage = Stage::new("commits-and-hangs", ONE);
    stage.repo.commit_all("the plan");
    let head = stage.repo.head();
    stage.killed_when(&[], "the agent has committed", || {
        stage.exists("half.txt") && stage.read(".git/ralph-head").contains(&stage.repo.head())
    });
    assert_ne!(stage.repo.head(), head);
    for command in ["status", "doctor", "--dry-run"] {
        stage.run(&[command]).says("takes back what it committed");
    }
    stage.agent("works");
    stage.run(&[]).ended(0).says("took back an attempt at US-001").says("`ralph-loop undo 2");
    assert_eq!(stage.subjects(), ["feat(US-001): first", "the plan", "first"]);
    assert_eq!(stage.repo.git(["branch", "--show-current"]).trim(), "main");
    assert_eq!((stage.discarded(), stage.exists("half.txt")), (1, false));
}

#[test]
fn without_a_move_the_tree_is_taken_back_and_the_way_back_is_named() {
    let stage = killed("hangs", ONE, &[]);
    stage.repo.write("mine.txt", "mine\n");
    stage.run(&["--dry-run"]).ended(0).says("Left      an attempt at US-001 was interrupted");
    let ran = stage.run(&[]);
    ran.ended(0).says("what you changed since is in it as well; `ralph-loop undo 2");
    let id = ran.out.split("`ralph-loop undo ").nth(1).and_then(|rest| rest.split('`').next());
    stage.run(&["undo", id.unwrap(), "--show"]).ended(0).says("+mine").says("+half");
}

/// Killed while it settled: neither the user's commit nor another branch is the story's.
#[test]
fn a_commit_by_hand_after_an_interrupted_commit_is_not_the_storys() {
    for (is_ignored, branch) in [(false, "main"), (false, "other"), (true, "main"), (true, "other")]
    {
        let stage = Stage::new("works", ONE);
        if is_ignored {
            stage.repo.write(".gitignore", "*.log\n.ralph/\n");
        }
        stage.repo.commit_all("the plan");
        let mut command = stage.command(&[]);
        let killed = command.env("RALPH_INTERNAL__FAULT", "settle.ticked").output().unwrap();
        assert_eq!(killed.status.code(), None);
        clean_up(&stage);
        if branch == "other" {
            stage.repo.git(["checkout", "-q", "-b", "other"]);
        }
        stage.repo.write("unrelated.txt", "mine\n");
        stage.repo.git(["add", "unrelated.txt"]);
        stage.repo.git(["commit", "-q", "-m", "unrelated"]);
        let head = stage.repo.head();
        stage.run(&["--dry-run"]).ended(0).says("begins US-001 anew");
        stage.run(&[]).ended(0).says(KEPT);
        assert_eq!(stage.subjects().first().unwrap(), "feat(US-001): first", "{is_ignored}");
        assert_eq!(stage.repo.git(["rev-parse", "HEAD~1"]).trim(), head);
        assert!(!stage.progress().contains(&head[..8]), "{}", stage.progress());
        assert_eq!(stage.plan(), "- [x] US-001: First\n", "{PLAN}");
    }
}

#[test]
fn what_was_written_after_an_interrupted_commit_is_not_committed() {
    for fault in ["settle.ticked", "commit.staged"] {
        let stage = Stage::new("works", ONE);
        stage.repo.commit_all("the plan");
        let mut command = stage.command(&[]);
        let killed = command.env("RALPH_INTERNAL__FAULT", fault).output().unwrap();
        assert_eq!(killed.status.code(), None);
        stage.repo.write("mine.txt", "mine\n");
        let ran = stage.run(&[]);
        ran.ended(0)
            .says("US-001 was being committed when a run was ended; files were changed since");
        let files = stage.repo.git(["show", "--format=%s", "--name-only"]);
        assert!(files.contains("feat(US-001)") && !files.contains("mine.txt"), "{files}");
        let id = ran.out.split("`ralph-loop undo ").nth(1).and_then(|rest| rest.split('`').next());
        stage.run(&["undo", id.unwrap(), "--show"]).ended(0).says("+mine");
    }
}

#[test]
fn a_checkpoint_that_was_damaged_or_removed_is_found_again_and_nothing_is_lost() {
    for act in ["damaged", "removed", "removed with its refs"] {
        let mut stage = Stage::new("hangs", ONE);
        stage.repo.commit_all("the plan");
        kill_at_work(&mut stage, &[]);
        match act {
            "damaged" => stage.repo.write(".ralph/.checkpoint", b"rubbish \xff\n"),
            _ => stage.repo.remove(".ralph/.checkpoint"),
        }
        if act == "removed with its refs" {
            fs_err::remove_dir_all(stage.repo.root().join(".git/refs/ralph")).unwrap();
            stage.repo.remove(".git/ralph-saved");
        }
        let ran = stage.run(&[]);
        ran.ended(0).says(".checkpoint was removed or damaged; found again").says("US-001 done");
        assert_eq!((stage.discarded(), stage.exists("half.txt")), (1, false), "{act}");
        let id = ran.out.split("`ralph-loop undo ").nth(1).and_then(|rest| rest.split('`').next());
        stage.run(&["undo", id.unwrap(), "--show"]).ended(0).says("+half");
    }
}

#[test]
fn a_checkpoint_that_the_agent_damages_keeps_no_attempt_from_being_taken_back() {
    for act in ["rm .ralph/.checkpoint", "echo rubbish >.ralph/.checkpoint"] {
        let stage = Stage::new("works", ONE);
        let agent = format!("echo half >half.txt; {act}; exit 1");
        let ran = stage.run(&["--agent", &agent, "--attempts", "2"]);
        ran.ended(1).says("found again").says("US-001 is blocked: gave up after 2 failed attempts");
        assert_eq!((stage.discarded(), stage.exists("half.txt")), (2, false), "{act}");
    }
}

/// Also where the work is that files are gone: nothing is deleted a second time.
#[test]
fn an_interrupted_commit_of_work_that_is_as_it_was_is_told_as_such_and_made() {
    let stage = Stage::new("works", ONE);
    stage.repo.write("old.txt", "old\n");
    stage.repo.commit_all("the plan");
    let mut command = stage.command(&["--agent", "rm old.txt"]);
    let killed = command.env("RALPH_INTERNAL__FAULT", "settle.ticked").output().unwrap();
    assert_eq!(killed.status.code(), None);
    let ran = stage.run(&[]);
    ran.ended(0).says("its work is as it was, so it is checked and committed once more");
    assert_eq!(stage.subjects().first().unwrap(), "feat(US-001): first");
    assert!(stage.discarded() == 0 && !stage.exists("old.txt"), "{}", ran.out);
}

#[test]
fn work_that_was_kept_aside_is_told_of_and_comes_back_without_another_run() {
    let mut stage = Stage::new("hangs", ONE);
    stage.repo.commit_all("the plan");
    stage.repo.write("a.txt", "staged\n");
    stage.repo.git(["add", "a.txt"]);
    stage.repo.write("a.txt", "mine\n");
    let before = stage.repo.git(["status", "--porcelain", "--", ":!.ralph"]);
    kill_at_work(&mut stage, &["--allow-dirty"]);
    assert_eq!(stage.read("a.txt"), "a\n");
    for command in ["status", "doctor", "--dry-run"] {
        stage.run(&[command]).says("is kept aside as refs/ralph/aside/");
    }
    let listed = stage.run(&["undo"]).out;
    let id = listed.split_whitespace().next().unwrap();
    assert!(id.starts_with("aside/"), "{listed}");
    stage.run(&["undo", id, "--show"]).ended(0).says("+mine");
    stage.run(&["undo", id]).ended(0).says("took back an attempt").says("work is back: 1 file");
    assert_eq!(stage.repo.git(["status", "--porcelain", "--", ":!.ralph"]), before);
    assert_eq!(stage.read("a.txt"), "mine\n");
    stage.run(&["undo", id]).ended(1).says("no discarded attempt is called");
    stage.run(&["status"]).ended(0);
    stage.run(&["--allow-dirty"]).ended(0).says("uncommitted work is back: 1 file");
    assert_eq!(stage.subjects(), ["feat(US-001): first", "the plan", "first"]);
}
