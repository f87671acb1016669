//! `kill -9` at every change of state: the next start completes the plan, each story lands once,
//! and the user's tree is unaffected.

use ralph_base::fault::POINTS;

use super::FAULT;
use crate::stage::{ONE, PLAN, Stage, TWO};

/// Fails its first attempt and works otherwise.
const AGENT: &str = "cat >/dev/null; story=$(cat $RALPH_STORY_FILE); \
                     echo done >$story.txt; mkdir \"$AGENT_NOTES/failed\" 2>/dev/null && exit 1; true";

/// The fault points that a run in a copy reaches.
fn points() -> impl Iterator<Item = &'static str> {
    POINTS.split(' ').filter(|point| !point.starts_with("restore."))
}

/// The points that a run reaches only once.
const ONCE: [&str; 6] = [
    "discard.kept",
    "discard.logged",
    "lock.taken",
    "loop.finishing",
    "loop.taken-over",
    WITH_WORKERS,
];

/// The point that only a run with several workers reaches.
const WITH_WORKERS: &str = "workers.started";

fn killed_at(stage: &Stage, fault: &str, args: &[&str]) -> bool {
    stage.run_env(&[(FAULT, fault)], &[&["--agent", AGENT], args].concat()).code.is_none()
}

#[track_caller]
fn is_whole(stage: &Stage, fault: &str) {
    assert_eq!(stage.plan(), TWO.replace("[ ]", "[x]"), "{fault}");
    for story in ["feat(US-001): First", "feat(US-002): Second"] {
        let times = stage.subjects().iter().filter(|subject| *subject == story).count();
        assert_eq!(times, 1, "{fault}: {:?}", stage.subjects());
    }
    assert_eq!(stage.progress().matches("- Status: SUCCESS").count(), 2, "{fault}");
    stage.repo.git(["fsck", "--strict", "--no-dangling"]);
    assert!(!stage.exists(".git/index.lock"), "{fault}");
    assert!(stage.exists("US-001.txt") && stage.exists("US-002.txt"), "{fault}");
}

fn try_points(share: usize) {
    for point in points().skip(share).step_by(4) {
        // The second occurrence is in the middle of a run.
        let fault = if ONCE.contains(&point) { point.to_owned() } else { format!("{point}:2") };
        let stage = Stage::committed("works", TWO);
        stage.repo.write("mine.txt", "mine\n");
        stage.repo.write("a.txt", "mine\n");
        let args: &[&str] = if point == WITH_WORKERS { &["--workers", "2"] } else { &[] };
        assert!(killed_at(&stage, &fault, args), "a run comes to {fault}");
        assert_eq!(stage.plan().replace("[x]", "[ ]"), TWO, "no half-written plan is visible");
        stage.run(&["--agent", AGENT]).ended(0);
        is_whole(&stage, point);
        assert_eq!(stage.repo.git(["status", "--porcelain"]), " M a.txt\n?? mine.txt\n", "{point}");
        assert_eq!((stage.read("a.txt").as_str(), stage.read(PLAN).len()), ("mine\n", TWO.len()));
    }
}

#[test]
fn a_kill_at_the_first_share_of_the_points_loses_nothing() {
    try_points(0);
}

#[test]
fn a_kill_at_the_second_share_of_the_points_loses_nothing() {
    try_points(1);
}

#[test]
fn a_kill_at_the_third_share_of_the_points_loses_nothing() {
    try_points(2);
}

#[test]
fn a_kill_at_the_last_share_of_the_points_loses_nothing() {
    try_points(3);
}

#[test]
fn a_kill_while_the_agent_works_in_place_loses_nothing() {
    for point in
        ["attempt.begun", "loop.agent-ended", "discard.kept", "land.committed", "land.advanced"]
    {
        let stage = Stage::committed("works", TWO);
        assert!(killed_at(&stage, point, &["--in-place"]), "{point}");
        stage.run(&["--in-place", "--agent", AGENT]).ended(0);
        is_whole(&stage, point);
        assert_eq!(stage.repo.git(["status", "--porcelain"]), "", "{point}");
    }
}

const ENTRY: &str = "# Progress Log\n\nan entry of others\n";

/// The loop is killed while it rebases the work onto a commit that has its own entries.
#[test]
fn progress_entries_of_another_commit_are_not_duplicated() {
    let stage = Stage::new("works", ONE);
    stage.repo.scratch().file("entry", ENTRY);
    let agent = format!(
        "cat >/dev/null; echo x >x.txt; [ ! -e \"$AGENT_NOTES/once\" ] || exit 0; touch \"$AGENT_NOTES/once\"; \
         cd {}; cp {} .ralph/PRD-1/progress.md; git add -A; git commit -qm theirs",
        stage.repo.root(),
        stage.repo.scratch().path("entry")
    );
    let args = ["--agent", &agent, "--verify", "true"];
    let ran = stage.run_env(&[(FAULT, "workspace.reset:3")], &args);
    assert_eq!(ran.code, None, "{} {}", ran.out, ran.err);
    ran.says("the target moved");
    stage.run(&args).ended(0).says("US-001 done");
    assert_eq!(stage.progress().matches("an entry of others").count(), 1, "{}", stage.progress());
}

/// Entries that the loop put into the copy for the next commit are not logged again either.
#[test]
fn a_pending_progress_entry_is_logged_once() {
    let plan: String = (1..=4).map(|n| format!("- [ ] US-00{n}: Story\n")).collect();
    let stage = Stage::committed("works", &plan);
    let agent = "cat >/dev/null; id=$(cat \"$RALPH_STORY_FILE\"); echo x >$id.txt";
    let args = ["--agent", agent, "--workers", "4", "--verify", "sleep 0.2"];
    let ran = stage.run_env(&[(FAULT, "land.committed:2")], &args);
    assert_eq!(ran.code, None, "{} {}", ran.out, ran.err);
    stage.run(&args).ended(0).says("4 of 4 stories done");
    let progress = stage.progress();
    assert_eq!(progress.matches("- Status: SUCCESS").count(), 4, "{progress}");
}
