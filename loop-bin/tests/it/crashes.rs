//! `kill -9` at any point: the next start finishes or undoes the half-done step and goes on.

use crate::stage::{Stage, is_alive, signal, until};

const TWO: &str = "- [ ] US-001: First\n- [ ] US-002: Second\n";

fn complete(stage: &mut Stage) {
    stage.agent("works");
    stage.run(&[]).ended(0).says("going on with the run");
    assert_eq!(stage.plan(), TWO.replace("[ ]", "[x]"));
    assert_eq!(stage.subjects(), ["feat(US-002): second", "feat(US-001): first", "first"]);
    stage.is_clean();
}

#[test]
fn while_the_agent_works_which_is_ended_by_the_next_start() {
    let mut stage = Stage::new("ignores-term", TWO);
    stage.killed_when(&[], "the agent works", || !stage.note("child").is_empty());
    assert!(is_alive(&stage.note("child")), "the agent outlives a loop that is killed");
    let child = stage.note("child");
    let status = stage.run(&["status"]);
    status.ended(0).says("an agent outlived its run and is still at work on US-001 (process ");
    assert!(status.out.contains(child.trim()) && status.out.contains("`kill "), "{}", status.out);
    complete(&mut stage);
    assert!(!stage.run(&["status"]).out.contains("outlived"));
    assert!(!is_alive(&stage.note("child")));
    assert_eq!(stage.discarded(), 1, "the half-done work is kept");
}

#[test]
fn while_the_checks_run() {
    let mut stage = Stage::new("works", TWO);
    stage.killed_when(
        &["--verify", "echo $$ >\"$AGENT_NOTES/begun\"; exec sleep 600"],
        "the check runs",
        || !stage.note("begun").is_empty(),
    );
    assert!(is_alive(&stage.note("begun")), "the check outlives a loop that is killed");
    complete(&mut stage);
    assert!(!is_alive(&stage.note("begun")));
}

#[test]
fn while_a_lifecycle_script_runs() {
    let mut stage = Stage::new("works", TWO);
    stage.script("post_iteration", "echo $$ >\"$AGENT_NOTES/begun\"; exec sleep 600");
    stage.killed_when(&[], "the script runs", || !stage.note("begun").is_empty());
    assert!(is_alive(&stage.note("begun")), "the script outlives a loop that is killed");
    stage.repo.remove(".ralph/hooks/post_iteration");
    complete(&mut stage);
    assert!(!is_alive(&stage.note("begun")));
}

/// What a script has changed becomes part of the next commit, as it does in a run without a crash.
#[test]
fn while_a_lifecycle_script_runs_that_has_edited_files() {
    for (name, options) in [
        ("started", &[][..]),
        ("next_iteration", &[]),
        ("post_iteration", &[]),
        ("post_iteration", &["--allow-dirty"]),
    ] {
        let stage = Stage::new("works", TWO);
        stage.repo.write("version.txt", "1\n");
        stage.repo.write("mine.txt", "1\n");
        stage.repo.commit_all("files");
        if !options.is_empty() {
            stage.repo.write("mine.txt", "mine\n");
        }
        stage.script(
            name,
            "echo 2 >version.txt; echo new >new.txt; touch \"$AGENT_NOTES/begun\"; exec sleep 600",
        );
        stage.killed_when(options, "the script runs", || stage.note_path("begun").exists());
        stage.repo.remove(format!(".ralph/hooks/{name}"));
        let told = stage.run(&["--dry-run"]);
        told.ended(0).says("goes on with what they left uncommitted");
        assert!(!told.out.contains("there is uncommitted work"), "{}", told.out);
        let ran = stage.run(&["--max-iterations", "2"]);
        ran.ended(0).says("left this uncommitted, and it goes on with it: ");
        ran.says("going on with the run").says("version.txt, new.txt");
        assert_eq!(stage.plan(), TWO.replace("[ ]", "[x]"), "{name} {}", ran.out);
        let story = if name == "post_iteration" { "HEAD" } else { "HEAD~1" };
        let files = stage.repo.git(["show", "--format=", "--name-only", story]);
        assert!(files.contains("new.txt\nversion.txt\n"), "{name}: {files}");
        let mine = if options.is_empty() { "1\n" } else { "mine\n" };
        assert_eq!(
            (stage.read("version.txt").as_str(), stage.read("mine.txt").as_str()),
            ("2\n", mine)
        );
        assert_eq!(stage.repo.git(["show", "HEAD:mine.txt"]), "1\n");
    }
}

/// They are in the checkpoint, and so in the tree when that was returned to.
#[test]
fn while_the_agent_works_on_a_tree_that_a_script_has_edited() {
    let mut stage = Stage::new("hangs", TWO);
    stage.script("next_iteration", "[ -e new.txt ] || echo new >new.txt");
    stage.killed_when(&[], "the agent works", || stage.exists("half.txt"));
    stage.agent("works");
    let ran = stage.run(&["--max-iterations", "2"]);
    ran.ended(0).says("took back an attempt at US-001").says("it goes on with it: new.txt");
    let files = stage.repo.git(["show", "--format=", "--name-only", "HEAD~1"]);
    assert!(files.contains("new.txt\n") && stage.plan().matches("[x]").count() == 2, "{files}");
}

/// Nobody knows whose that is, and it is not swept into a commit.
#[test]
fn while_a_lifecycle_script_runs_and_what_was_changed_later_is_the_users() {
    let stage = Stage::new("works", TWO);
    stage.script("started", "touch \"$AGENT_NOTES/begun\"; exec sleep 600");
    stage.killed_when(&[], "the script runs", || stage.note_path("begun").exists());
    // As if the crash had come long ago.
    let mut record: serde_json::Value =
        serde_json::from_str(&stage.read(".ralph/run.json")).unwrap();
    record["scripted"]["since"] = 1.into();
    record["scripted"]["until"] = 2.into();
    stage.repo.write(".ralph/run.json", record.to_string());
    stage.repo.write("mine.txt", "mine\n");
    stage.repo.remove(".ralph/hooks/started");
    stage.run(&[]).ended(1).says("there is uncommitted work: mine.txt");
}

/// A story that a hook has committed is neither committed nor counted twice.
#[test]
fn of_a_hook_between_the_commit_and_the_rest() {
    let stage = Stage::new("dies-settling", TWO);
    stage.run(&[]).ended(0).says("2 stories landed");
    assert_eq!(stage.subjects(), ["feat(US-002): second", "feat(US-001): first", "first"]);
    assert_eq!(stage.plan(), TWO.replace("[ ]", "[x]"));
    assert_eq!(stage.progress().matches("- Status: SUCCESS").count(), 2);
    stage.is_clean();
}

/// A git hook of the user's kills the loop in the middle of the commit.
fn killed_by_git_hook(hook: &str, then: &str) -> Stage {
    let stage = Stage::new("works", TWO);
    let path = format!(".git/hooks/{hook}");
    let kill = "kill -9 $(sed -n 's/.*\"pid\": \\([0-9]*\\).*/\\1/p' .ralph/run.json)";
    stage.repo.write(&path, format!("#!/bin/sh\n{kill}\n{then}\n"));
    stage.repo.chmod(&path, 0o755);
    assert_eq!(stage.run(&[]).code, None, "the loop was killed");
    stage.repo.remove(&path);
    stage
}

#[test]
fn before_the_commit_is_made() {
    let mut stage = killed_by_git_hook("pre-commit", "exit 1");
    until("git has ended", || !stage.exists(".git/index.lock"));
    assert_eq!(stage.subjects(), ["first"]);
    complete(&mut stage);
    assert_eq!(stage.discarded(), 0, "the work was good and is committed");
}

/// Git goes on when the loop is killed; the next start waits for it instead of doing it twice.
#[test]
fn while_git_makes_the_commit() {
    let stage = Stage::new("works", TWO);
    let hook = ".git/hooks/pre-commit";
    let kill = "kill -9 $(sed -n 's/.*\"pid\": \\([0-9]*\\).*/\\1/p' .ralph/run.json)";
    let once = "[ ! -e \"$AGENT_NOTES/killed\" ] || exit 0; touch \"$AGENT_NOTES/killed\"";
    let wait = "while [ ! -e \"$AGENT_NOTES/released\" ]; do sleep 0.02; done";
    stage.repo.write(hook, format!("#!/bin/sh\n{once}\n{kill}\n{wait}\n"));
    stage.repo.chmod(hook, 0o755);
    // The orphan holds the pipes of its loop, so only the process is waited for.
    let mut first = stage.start(&[]);
    assert_eq!(first.wait().unwrap().code(), None, "the loop was killed");
    let second = stage.start(&[]);
    until("the second has the lock", || {
        stage.read(".ralph/lock").contains(&format!("\"pid\":{}", second.id()))
    });
    fs_err::write(stage.note_path("released"), "").unwrap();
    assert!(second.wait_with_output().unwrap().status.success());
    assert_eq!(stage.subjects(), ["feat(US-002): second", "feat(US-001): first", "first"]);
    assert_eq!(stage.plan(), TWO.replace("[ ]", "[x]"));
}

#[test]
fn after_the_commit_is_made() {
    let mut stage = killed_by_git_hook("post-commit", "exit 0");
    assert_eq!(stage.subjects().len(), 2);
    complete(&mut stage);
    assert_eq!(stage.progress().matches("- Status: SUCCESS").count(), 2);
}

/// The journal tells how far the run has come; each start is killed a little later than the last.
#[test]
fn at_many_moments_of_one_plan() {
    let plan: String = (1..=6).map(|n| format!("- [ ] US-{n:03}: Story {n}\n")).collect();
    let stage = Stage::new("works", &plan);
    for moment in 1..=10 {
        let before = stage.events().len();
        let mut child = stage.start(&["--verify", "true"]);
        until("the run goes on", || {
            stage.events().len() >= before + moment || !is_alive(&child.id().to_string())
        });
        signal("KILL", child.id());
        child.wait().unwrap();
    }
    stage.run(&["--verify", "true"]).ended(0);
    assert_eq!(stage.plan(), plan.replace("[ ]", "[x]"));
    let mut subjects = stage.subjects();
    subjects.sort();
    subjects.dedup();
    assert_eq!((subjects.len(), stage.subjects().len()), (7, 7), "each story once");
    assert_eq!(stage.progress().matches("- Status: SUCCESS").count(), 6);
    stage.is_clean();
}

#[test]
fn with_the_users_work_kept_aside() {
    let mut stage = Stage::new("hangs", TWO);
    stage.repo.write("a.txt", "mine\n");
    stage.killed_when(&["--allow-dirty"], "the agent works", || stage.exists("half.txt"));
    assert_eq!(stage.read("a.txt"), "a\n");
    stage.agent("works");
    stage.run(&[]).ended(0).says("uncommitted work is back: 1 file");
    assert_eq!((stage.read("a.txt").as_str(), stage.subjects().len()), ("mine\n", 3));
}

#[test]
fn a_run_of_a_newer_version_is_left_alone() {
    let stage = Stage::new("works", TWO);
    stage.repo.write(".ralph/run.json", "{\"version\":99}");
    stage.run(&[]).ended(1).says("newer version");
    assert_eq!(stage.read(".ralph/run.json"), "{\"version\":99}");
}

/// Starts the loop with a fault on purpose, which kills it.
fn killed_at(stage: &Stage, fault: &str, args: &[&str]) {
    let ran = stage.command(args).env("RALPH_INTERNAL__FAULT", fault).output().unwrap();
    assert_eq!(ran.status.code(), None, "{fault}: {}", String::from_utf8_lossy(&ran.stderr));
}

#[test]
fn while_the_users_work_is_taken_out_of_the_tree_or_put_back() {
    let points = ["noted", "unstaged", "cleared-file:2", "restored-file", "restored-file:2"];
    for point in points.map(|point| format!("aside.{point}")) {
        let stage = Stage::new("works", TWO);
        stage.repo.write("a.txt", "staged\n");
        stage.repo.git(["add", "a.txt"]);
        stage.repo.write("a.txt", "mine\n");
        stage.repo.write("new.txt", "mine as well\n");
        let before = stage.repo.git(["status", "--porcelain", "--", ":!.ralph"]);
        killed_at(&stage, &point, &["--allow-dirty", "--max-iterations", "1"]);
        stage.run(&[]).ended(0);
        let files = stage.repo.git(["log", "--format=", "--name-only", "--grep", "feat"]);
        assert!(!files.contains("a.txt") && !files.contains("new.txt"), "{point}: {files}");
        let after = stage.repo.git(["status", "--porcelain", "--", ":!.ralph"]);
        assert_eq!(after, before, "{point}");
        assert_eq!(stage.repo.git(["show", ":a.txt"]), "staged\n", "{point}");
        assert_eq!((stage.read("a.txt").as_str(), stage.subjects().len()), ("mine\n", 3));
    }
}

#[test]
fn an_emptied_attempt_is_no_attempt_unless_it_was_being_committed() {
    let mut stage = Stage::new("works", TWO);
    killed_at(&stage, "settle.ticked", &[]);
    let attempt = fs_err::read(stage.repo.root().join(".ralph/attempt")).unwrap();
    stage.repo.write(".ralph/attempt", "");
    stage.run(&[]).ended(1).says(".ralph/attempt cannot be understood");
    stage.repo.write(".ralph/attempt", attempt);
    complete(&mut stage);
    let mut stage = Stage::new("works", TWO);
    killed_at(&stage, "checkpoint.saved", &[]);
    stage.repo.write(".ralph/attempt", "");
    complete(&mut stage);
}

#[test]
fn what_a_killed_git_or_a_killed_write_leaves_is_removed() {
    let mut stage = Stage::new("works", TWO);
    killed_at(&stage, "settle.ticked", &[]);
    for left in [".git/refs/heads/main.lock", ".git/index.lock", ".ralph/.run.json.999999-0.tmp"] {
        stage.repo.write(left, "");
    }
    complete(&mut stage);
    assert!(!stage.exists(".ralph/.run.json.999999-0.tmp"));
}

#[test]
fn a_half_written_plan_among_the_users_files_is_not_committed() {
    let stage = Stage::new("works", TWO);
    stage.repo.remove(".ralph/PRD-1");
    stage.repo.write("IMPLEMENTATION_PLAN.md", TWO);
    // The second write after the check is that of the plan.
    let patient = ["--attempts", "9"];
    for n in 4..=9 {
        stage
            .command(&patient)
            .env("RALPH_INTERNAL__FAULT", format!("replace.written:{n}"))
            .output()
            .unwrap();
    }
    stage.run(&patient).ended(0);
    let files = stage.repo.git(["log", "--format=", "--name-only"]);
    assert!(!files.contains(".tmp"), "{files}");
    let left = stage.repo.git(["status", "--porcelain", "--", ":!.ralph", ":!*.md"]);
    assert_eq!(left, "");
}

#[test]
fn a_disk_that_fills_up_in_the_middle_does_not_mix_the_users_work_with_the_agents() {
    for n in [4, 6, 8, 10, 12] {
        let stage = Stage::new("works", TWO);
        stage.repo.write("mine.txt", "mine\n");
        let fault = format!("writes:{n}");
        stage.command(&["--allow-dirty"]).env("RALPH_INTERNAL__FAULT", &fault).output().unwrap();
        stage.run(&["--allow-dirty"]).ended(0);
        let files = stage.repo.git(["log", "--format=", "--name-only"]);
        assert!(!files.contains("mine.txt"), "{fault}: {files}");
        assert_eq!(stage.read("mine.txt"), "mine\n", "{fault}");
        assert_eq!(stage.subjects().len(), 3, "{fault}");
    }
}

#[test]
fn a_note_that_cannot_be_understood_is_named() {
    for note in ["attempt", "settling.json"] {
        let stage = Stage::new("works", TWO);
        stage.repo.write(format!(".ralph/{note}"), "{\"version\":");
        stage.run(&[]).ended(1).says(&format!(".ralph/{note}"));
        assert_eq!((stage.plan().as_str(), stage.subjects().len()), (TWO, 1));
    }
}

#[test]
fn an_iteration_that_was_killed_does_not_use_up_the_limit_of_the_next_start() {
    let stage = Stage::new("works", TWO);
    let started = stage.note_path("started");
    let agent = format!("cat >/dev/null; : >{started}; exec sleep 100");
    let args = ["--max-iterations", "1", "--agent", &agent];
    stage.killed_when(&args, "the agent works", || started.exists());
    let ran = stage.run(&["--max-iterations", "1"]);
    ran.ended(0).says("it had made 0 iterations, which count towards the limit of 1");
    ran.says("US-001 done").says("finished (max_iterations)");
}

#[test]
fn a_damaged_record_of_the_last_run_is_set_aside() {
    let stage = Stage::new("works", TWO);
    for rubbish in ["{", "[]", "rubbish"] {
        stage.repo.write(".ralph/run.json", rubbish);
        stage.run(&["status"]).ended(0).says("run.json is damaged").says("sets it aside");
        stage.run(&["undo"]).ended(0);
    }
    let ran = stage.run(&[]);
    ran.ended(0).says("the record of the last run was damaged and is kept as ");
    let kept = ran.out.split("is kept as ").nth(1).unwrap().lines().next().unwrap();
    assert_eq!(fs_err::read_to_string(kept).unwrap(), "rubbish");
}
