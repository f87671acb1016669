//! The subcommands.

use crate::stage::{ONE, PLAN, Ran, Stage, TWO, is_alive, until};

#[test]
fn init_writes_what_is_missing_and_overwrites_nothing() {
    let stage = Stage::new("works", ONE);
    stage.repo.write("Cargo.toml", "");
    stage.run(&["init"]).ended(0).says("check    cargo test   (rust: Cargo.toml)");
    assert!(stage.read(".ralph/config.toml").contains("\n  \"cargo test\", # rust: Cargo.toml\n"));
    assert_eq!(stage.plan(), ONE);
    stage.repo.write(".ralph/config.toml", "# mine\n");
    stage.run(&["init"]).ended(0).says("kept");
    assert_eq!(stage.read(".ralph/config.toml"), "# mine\n");
    stage.repo.remove(".ralph");
    stage.repo.commit_all("a project");
    let ran = stage.run(&["init"]);
    ran.ended(0).says("write your stories into .ralph/PRD-1/plan.md, and commit");
    assert!(stage.plan().contains("US-001"));
    // The plan that will be used is named.
    stage.repo.remove(".ralph");
    stage.repo.write("IMPLEMENTATION_PLAN.md", ONE);
    let ran = stage.run(&["init"]);
    ran.ended(0).says("Next, with the open stories of IMPLEMENTATION_PLAN.md");
    assert!(!stage.exists(".ralph/PRD-1"));
}

#[test]
fn complete_requires_a_current_story_and_passing_checks() {
    let stage = Stage::new("works", ONE);
    stage.repo.write(".ralph/config.toml", "[verify]\ncommands = [\"echo red; false\"]\n");
    let ran = stage.run(&["complete", "US-001"]);
    ran.ended(1).says("US-001 is not in progress").says("no story is");
    stage.repo.write(".ralph/current-story", "US-002\n");
    let ran = stage.run(&["complete", "US-001", "--status", "blocked"]);
    ran.ended(1).says("the current story is US-002");
    assert!(!stage.exists(".ralph/claim.json"));
    stage.repo.write(".ralph/current-story", "US-001\n");
    stage.run(&["complete", "US-001"]).ended(1).says("is not done").says("red");
    assert!(!stage.exists(".ralph/claim.json"));
    stage.run(&["complete", "us-001", "--status", "blocked", "--summary", "x"]).ended(0);
    assert!(stage.read(".ralph/claim.json").contains("\"blocked\""));
    stage.run(&["complete", "US-009"]).ended(1).says("no story US-009");
    stage.run(&["complete", "US-001", "--status", "maybe"]).ended(2);
}

#[test]
fn an_already_done_story_counts_if_claimed_and_checked() {
    let stage = Stage::new("works", ONE);
    let agent = "\"$RALPH_LOOP\" complete US-001 --summary 'was there already'";
    stage.run(&["--agent", agent, "--verify", "true"]).ended(0);
    assert_eq!(stage.subjects()[0], "feat(US-001): First");
    assert!(stage.progress().contains("was there already"));
}

#[test]
fn a_merge_request_needs_a_summary_and_waits_for_the_user() {
    let stage = Stage::new("works", ONE);
    stage.run(&["request-merge"]).ended(2);
    for nothing in ["", "  "] {
        stage.run(&["request-merge", "--summary", nothing]).ended(2).says("say what to merge");
    }
    stage.run(&["request-merge", "--summary", "ready for you"]).ended(0);
    stage.run(&["status"]).ended(0).says("merge request: ");
    stage.run(&["status", "--json"]).ended(0).says("\"open\": 1");
}

#[test]
fn the_demo_shows_a_failure_a_refusal_and_a_blocked_story() {
    let stage = Stage::new("works", ONE);
    let temp = stage.repo.scratch().dir("temp");
    let ran = stage.run_env(&[("TMPDIR", temp.as_str())], &["demo"]);
    ran.ended(0).says("not ok - greets by name").says("US-002: attempt saved").says("feat(US-003)");
    ran.says("[x] US-002").says("US-002: ").says(" s agent time").says("[!] US-004");
    ran.says("US-003: refused: Bash: git push origin main").says("US-004 is blocked");
    assert!(!ran.out.contains("warning"), "{}", ran.out);
    ran.says("ralph-loop report").says(&format!("rm -r '{temp}/ralph-demo-"));
    assert_eq!(fs_err::read_dir(temp).unwrap().count(), 1, "the project stays");
}

#[test]
fn each_message_leads_a_new_user_to_the_next_step() {
    let stage = Stage::new("works", ONE);
    stage.repo.remove(".ralph");
    // The missing plan is reported before the missing agent.
    let ran = stage.run_env(&[("RALPH_AGENT", "no-such-agent")], &[]);
    ran.ended(1).says("no plan found; create one with `ralph-loop init`");
    stage.repo.write("TODO.md", "- [ ] One\n");
    stage.repo.write("docs/plans/next.md", "- [ ] Two\n");
    let found = "found TODO.md, docs/plans/next.md: to work on it, run `ralph-loop TODO.md`";
    stage.run(&[]).ended(1).says(found);
    let ran = stage.run(&["init"]);
    ran.ended(0).says("written  .ralph/PRD-1/plan.md").says("ralph-loop --dry-run");
    let config = stage.read(".ralph/config.toml");
    let named = config.lines().next().unwrap().strip_prefix("#:schema ./").unwrap();
    let schema = stage.read(&format!(".ralph/{named}"));
    let schema: serde_json::Value = serde_json::from_str(&schema).unwrap();
    let verify = &schema["properties"]["verify"]["properties"];
    assert_eq!(verify["baseline"]["enum"], serde_json::json!(["check", "ignore", "skip"]));
    assert!(!stage.repo.git(["status", "--porcelain", "--untracked-files=all"]).contains(named));
    stage.run(&["status"]).ended(0).says("no run has finished here yet").says("0 done, 2 open");
    stage.repo.write(PLAN, TWO);
    let open = "ok       plan .ralph/PRD-1/plan.md: 2 open, 0 done, 0 blocked, 0 optional; next: US-001 First";
    stage.run(&["--dry-run"]).ended(0).says(open).says("lands on main");
    let ran = stage.run(&["--max-iterations", "1"]);
    ran.ended(0).says("working on .ralph/PRD-1/plan.md, landing on main: 2 open stories");
    stage.run(&["status"]).ended(0).says("the last run ended: the limit of iterations was reached");
    let report = stage.run(&["status", "--json"]).out;
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    assert_eq!((&report["iteration"], &report["stories"]["done"]), (&1.into(), &1.into()));
}

#[test]
fn a_folder_that_is_missing_or_not_in_a_repository_is_refused() {
    let stage = Stage::new("works", ONE);
    let ran = stage.run_env(&[("RALPH_ROOT", "/no/such")], &["--dry-run"]);
    ran.ended(1).says("RALPH_ROOT points to /no/such, which does not exist");
    stage.repo.write("inner/.ralph/PRD-1/plan.md", ONE);
    let mut command = stage.command(&[]);
    command.current_dir(stage.repo.root().join("inner"));
    command.env("GIT_CEILING_DIRECTORIES", stage.repo.root());
    let ran: Ran = command.output().unwrap().into();
    ran.ended(1).says("is not a git repository; run `git init`");
    assert_eq!(stage.subjects(), ["first"]);
}

#[test]
fn complete_is_refused_after_the_loop_was_killed() {
    let stage = Stage::new("works", ONE);
    let started = stage.note_path("started");
    let agent = format!("cat >/dev/null; echo $$ >{started}; exec sleep 100");
    stage.killed_when(&["--agent", &agent], "the agent works", || started.exists());
    stage.run(&["complete", "US-001"]).ended(1).says("no loop is working on US-001 any more");
    assert!(!stage.exists(".ralph/claim.json"));
    let pid = stage.note("started");
    until("the agent has ended with its loop", || !is_alive(pid.trim()));
    stage.run(&[]).ended(0);
}
