//! Several stories in one session of our own loop: settled as the loop settles them.

use ralph_core::config::Config;
use ralph_core::env::{Env, STEERING};
use ralph_core::git::Repo;
use ralph_core::plan::{self, Options};
use ralph_core::settle::{self, Attempt, Claim, ClaimStatus, Place};
use ralph_core::state::{Journal, Lock, StateDir};

use super::Stage;

const PLAN: &str = ".ralph/PRD-1/plan.md";
const CONFIG: &str = "[session]\nstories_per_session = \"auto\"\n\
                      [verify]\ncommands = [\"test ! -e broken || { echo it is broken; exit 1; }\"]\n";

/// A project in which our loop has begun its first story.
fn stage(config: &str) -> Stage {
    stage_of("- [ ] US-001: One\n- [ ] US-002: Two\n- [ ] US-003: Three\n", config)
}

fn stage_of(plan: &str, config: &str) -> Stage {
    let stage = Stage::new().with("RALPH_RUN", "r1");
    stage.write(PLAN, plan);
    stage.write(".ralph/config.toml", config);
    StateDir::of_project(stage.repo.root()).prepare().unwrap();
    stage.repo.commit_all("plan");
    let (root, state) = (stage.repo.root(), StateDir::of_project(stage.repo.root()));
    let config = Config::from_parts("config.toml", config, &Env::of([("", "")]), &[]).unwrap();
    let (repo, journal) = (Repo::open(root).unwrap(), Journal::new(&state, "test"));
    let place =
        Place { root, repo: &repo, state: &state, config: &config, journal: &journal, run: "r1" };
    let plan = plan::load(&root.join(PLAN), &Options::default()).unwrap();
    let story = plan.story("US-001").unwrap();
    settle::begin(&place, &plan, story, 1).unwrap();
    Stage { _lock: Some(Lock::take(&state.lock(), "the loop").unwrap()), ..stage }
}

fn work_on(stage: &Stage, name: &str) {
    stage.write(name, "x");
    stage.work();
}

fn attempt(stage: &Stage) -> Option<(String, u64)> {
    let attempt = Attempt::load(&StateDir::of_project(stage.repo.root())).unwrap();
    attempt.map(|attempt| (attempt.story, attempt.iteration))
}

fn commits(stage: &Stage) -> Vec<String> {
    stage.repo.git(["log", "--format=%s", "-3"]).lines().map(str::to_owned).collect()
}

#[test]
fn stories_are_settled_and_the_next_one_follows() {
    let stage = stage(CONFIG);
    work_on(&stage, "one.txt");
    let reason = stage.stop("s1", false).unwrap();
    assert!(
        reason.starts_with(
            "CONTINUATION: iteration 2/50. 1 of 3 stories are done.\nUS-001 is done (commit "
        ),
        "{reason}"
    );
    assert!(reason.contains("\nNext story: US-002: Two\nWhen it works, stop:"), "{reason}");
    assert_eq!(commits(&stage)[0], "feat(US-001): One");
    assert_eq!(attempt(&stage), Some(("US-002".into(), 2)));
    assert_eq!(stage.read(".ralph/current-story"), "US-002\n");

    work_on(&stage, "two.txt");
    assert!(stage.stop("s1", true).unwrap().contains("Next story: US-003: Three"));
    work_on(&stage, "three.txt");
    assert_eq!(stage.stop("s1", true), None);
    assert_eq!(stage.allowed().0, "COMPLETE");
    assert_eq!(commits(&stage), ["feat(US-003): Three", "feat(US-002): Two", "feat(US-001): One"]);
    assert_eq!(stage.read(PLAN).matches("[x]").count(), 3);
    assert_eq!(attempt(&stage), None);
    assert_eq!(stage.read(".ralph/PRD-1/progress.md").matches("- Status: SUCCESS").count(), 3);
    assert!(!stage.exists(".ralph/sessions.log"));
}

#[test]
fn a_failed_check_sends_the_agent_back_within_the_storys_attempts() {
    let stage = stage(CONFIG);
    work_on(&stage, "broken");
    let reason = stage.stop("s1", false).unwrap();
    assert!(
        reason.starts_with("US-001 (One) is not done yet, attempt 1 of 3.\n`test ! -e broken"),
        "{reason}"
    );
    assert!(
        reason.contains("failed with exit code 1; it printed:\nit is broken\nNext: fix that,"),
        "{reason}"
    );
    stage.work();
    assert!(stage.stop("s1", true).unwrap().contains("attempt 2 of 3"));
    stage.work();
    assert_eq!(stage.stop("s1", true), None, "the third failure is the loop's");
    assert_eq!(stage.allowed().0, "let_go");
    assert_eq!(attempt(&stage), Some(("US-001".into(), 1)), "the attempt is left for the loop");
    assert!(stage.read(".ralph/failure-context.log").contains("it is broken"));
    assert!(stage.read(".ralph/sessions.log").starts_with("incomplete:US-001:"));
}

#[test]
fn a_failure_that_is_mended_is_settled() {
    let stage = stage(CONFIG);
    work_on(&stage, "broken");
    assert!(stage.stop("s1", false).is_some());
    stage.repo.remove("broken");
    work_on(&stage, "mended");
    assert!(stage.stop("s1", true).unwrap().contains("US-001 is done"));
}

#[test]
fn a_story_for_which_nothing_was_done_is_not_done() {
    let stage = stage(CONFIG);
    let reason = stage.stop("s1", false).unwrap();
    assert!(reason.contains("\nNo file was changed for it.\n"), "{reason}");
    assert_eq!(stage.read(PLAN).matches("[x]").count(), 0);
}

#[test]
fn failing_tests_are_not_settled() {
    let stage = stage(CONFIG);
    work_on(&stage, "one.txt");
    stage.state("s1", "verdict.json", r#"{"version":1,"verdict":"failed","command":"npm test"}"#);
    let reason = stage.stop("s1", false).unwrap();
    assert!(
        reason.contains("TESTS gate failed: the last test run failed (`npm test`)"),
        "{reason}"
    );
    assert_eq!(commits(&stage)[0], "plan");
}

#[test]
fn a_story_that_the_agent_calls_blocked_or_partly_done_is_the_loops() {
    for (status, note) in [
        (ClaimStatus::Blocked, "the agent says: no key"),
        (ClaimStatus::Partial, "the agent says that a part is missing: no key"),
    ] {
        let stage = stage(CONFIG);
        work_on(&stage, "half.txt");
        let state = StateDir::of_project(stage.repo.root());
        Claim::new("US-001", status, "no key").save(&state).unwrap();
        left_for_the_loop(&stage, note);
        assert!(stage.exists(".ralph/claim.json"), "the loop reads it");
    }
}

#[test]
fn so_is_one_that_the_agent_marked_as_blocked() {
    let stage = stage(CONFIG);
    work_on(&stage, "half.txt");
    let marked = stage.read(PLAN).replacen("[ ]", "[!]", 1);
    stage.write(PLAN, &marked);
    left_for_the_loop(&stage, "the agent marked the story as blocked");
    assert_eq!(stage.read(PLAN), marked, "the loop reads it");
}

#[test]
fn a_task_that_the_agent_adds_and_leaves_open_sends_it_back() {
    let plan = "### US-001: One\n- [ ] a\n";
    let stage = stage_of(plan, CONFIG);
    work_on(&stage, "one.txt");
    let added = plan.replace("[ ] a\n", "[x] a\n- [ ] the migration\n");
    stage.write(PLAN, &added);
    let reason = stage.stop("s1", false).unwrap();
    assert!(reason.contains("added open tasks to US-001: the migration; do them"), "{reason}");
    assert_eq!(commits(&stage)[0], "plan");
    // The tick is undone when the check fails, and still was the agent's word.
    work_on(&stage, "broken");
    stage.write(PLAN, &added.replace("[ ]", "[x]"));
    assert!(stage.stop("s1", true).unwrap().contains("it is broken"));
    stage.repo.remove("broken");
    stage.work();
    assert_eq!(stage.stop("s1", true), None);
    assert_eq!(stage.allowed().0, "COMPLETE");
    assert_eq!(commits(&stage)[0], "feat(US-001): One");
}

#[test]
fn nothing_is_settled_by_settings_that_the_agent_has_changed() {
    let config = CONFIG.replace("test ! -e broken", "test -e never");
    let stage = stage(&config);
    let plan = stage.repo.root().join(PLAN);
    let began = settle::steering_fingerprint(&StateDir::of_project(stage.repo.root()), &plan);
    let stage = stage.with(STEERING, began);
    work_on(&stage, "one.txt");
    let note = "the settings, the lifecycle scripts or other plans are not those that the agent was \
                started with; nothing is settled by them";
    stage.write(".ralph/config.toml", "[session]\nstories_per_session = \"auto\"\n");
    left_for_the_loop(&stage, note);
    stage.write(".ralph/config.toml", &config);
    stage.write(".ralph/PRD-2/plan.md", "- [x] US-101: Other\n");
    left_for_the_loop(&stage, note);
    stage.repo.remove(".ralph/PRD-2");
    assert!(stage.stop("s1", false).unwrap().contains("is not done yet"), "the check is back");
}

fn left_for_the_loop(stage: &Stage, note: &str) {
    assert_eq!(stage.stop("s1", false), None);
    assert_eq!(stage.allowed(), ("let_go".to_owned(), note.to_owned()));
    assert_eq!(commits(stage)[0], "plan");
    assert!(!stage.read(PLAN).contains("[x]"));
    assert_eq!(attempt(stage), Some(("US-001".into(), 1)));
}

#[test]
fn the_number_of_stories_in_a_session_is_limited() {
    let stage = stage(&CONFIG.replace("\"auto\"", "2"));
    work_on(&stage, "one.txt");
    assert!(stage.stop("s1", false).is_some());
    work_on(&stage, "two.txt");
    assert_eq!(stage.stop("s1", true), None);
    assert_eq!(attempt(&stage), Some(("US-002".into(), 2)), "the last one is the loop's to settle");
    assert_eq!(stage.allowed().0, "allowed");
}

#[test]
fn one_story_a_session_is_the_loops_alone() {
    let stage = stage("");
    work_on(&stage, "one.txt");
    assert_eq!(stage.stop("s1", false), None);
    assert_eq!(stage.allowed().0, "allowed");
    assert_eq!(commits(&stage)[0], "plan");
    assert!(!stage.exists(".ralph/sessions.log"));
}

#[test]
fn iterations_end_at_the_limit_of_the_run() {
    let stage = stage(&format!("[loop]\nmax_iterations = 1\n{CONFIG}"));
    work_on(&stage, "one.txt");
    assert_eq!(stage.stop("s1", false), None);
    let (status, note) = stage.allowed();
    assert_eq!(status, "REACHED_LIMIT");
    assert_eq!(note, "2 stories remain: US-002 (Two), US-003 (Three)");
    assert_eq!(commits(&stage)[0], "feat(US-001): One", "what was done is settled all the same");
}

#[test]
fn a_session_that_outlived_its_loop_settles_nothing() {
    let stage = Stage { _lock: None, ..stage(CONFIG) };
    work_on(&stage, "one.txt");
    assert_eq!(stage.stop("s1", false), None);
    assert_eq!(commits(&stage)[0], "plan");
    assert!(stage.repo.root().join("one.txt").exists());
}

#[test]
fn a_session_that_met_the_usage_limit_in_the_middle_of_a_story_settles_nothing() {
    let stage = stage(CONFIG);
    work_on(&stage, "half.txt");
    let mut input = super::payload("Stop-first");
    input["session_id"] = "s1".into();
    input["last_assistant_message"] = "Claude AI usage limit reached|1794830400".into();
    assert_eq!(stage.send(&input).blocked, None);
    assert_eq!(stage.allowed().0, "let_go");
    assert_eq!(
        (commits(&stage)[0].as_str(), attempt(&stage)),
        ("plan", Some(("US-001".into(), 1)))
    );
}

#[test]
fn the_attempt_of_another_run_is_left_alone() {
    let stage = stage(CONFIG);
    let other = Stage { vars: vec![("RALPH_RUN".into(), "r2".into())], ..stage };
    work_on(&other, "one.txt");
    assert_eq!(other.stop("s1", false), None);
    assert_eq!(commits(&other)[0], "plan");
}

#[test]
fn a_session_that_the_agent_starts_itself_has_no_part_in_the_story() {
    let stage = stage(CONFIG);
    stage.write(".ralph/state/working-session", "s1");
    stage.write("half.txt", "half of it");
    assert_eq!(stage.stop("nested", false), None);
    assert_eq!(attempt(&stage), Some(("US-001".into(), 1)), "nothing was settled");
    work_on(&stage, "one.txt");
    assert!(stage.stop("s1", false).unwrap().contains("US-001 is done"));
}

#[test]
fn attempts_of_earlier_sessions_count() {
    let stage = stage(CONFIG);
    let state = StateDir::of_project(stage.repo.root());
    let before = Attempt::load(&state).unwrap().unwrap();
    Attempt { failures: 1, ..before }.save(&state).unwrap();
    work_on(&stage, "broken");
    assert!(stage.stop("s1", false).unwrap().contains("attempt 2 of 3"));
    work_on(&stage, "more.txt");
    assert_eq!(stage.stop("s1", true), None, "the third failure is the last");
    assert_eq!(stage.allowed().0, "let_go");
}
