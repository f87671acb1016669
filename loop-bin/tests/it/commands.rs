//! The subcommands.

use crate::stage::{Stage, is_alive, until};

const ONE: &str = "- [ ] US-001: First\n";

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
    stage.run(&["init"]).ended(0);
    assert!(stage.plan().contains("US-001"));
}

#[test]
fn complete_requires_a_current_story_and_passing_checks() {
    let stage = Stage::new("works", ONE);
    stage.repo.write(".ralph/config.toml", "[verify]\ncommands = [\"echo red; false\"]\n");
    stage
        .run(&["complete", "US-001"])
        .ended(1)
        .says("US-001 is not in progress")
        .says("no story is");
    stage.repo.write(".ralph/current-story", "US-002\n");
    stage
        .run(&["complete", "US-001", "--status", "blocked"])
        .ended(1)
        .says("the current story is US-002");
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
fn an_agent_command_with_invalid_syntax_is_a_usage_error() {
    let stage = Stage::new("works", ONE);
    let before = stage.repo.fingerprint();
    let ran = stage.run(&["--agent", "x 'y"]);
    ran.ended(2).says("the agent's command `x 'y` is not valid shell syntax").says("--agent");
    assert_eq!(stage.repo.fingerprint(), before);
}

#[test]
fn a_dry_run_reports_a_missing_agent() {
    let stage = Stage::new("works", ONE);
    let ran = stage.run(&["--dry-run", "--agent", "no-such-agent -p"]);
    ran.ended(1).says("PROBLEM  the agent `no-such-agent` was not found in PATH");
    ran.says("1 open, 0 done, 0 blocked, 0 optional; next: US-001 First").says("lands on main");
    stage.run(&["--agent", "no-such-agent -p"]).ended(1).says("was not found");
}

#[test]
fn a_merge_request_waits_for_the_user() {
    let stage = Stage::new("works", ONE);
    stage.run(&["request-merge", "--summary", "ready for you"]).ended(0);
    stage.run(&["status"]).ended(0).says("merge request: ");
    let json = stage.run(&["status", "--json"]);
    json.ended(0).says("\"open\": 1");
    stage.run(&["request-merge"]).ended(2);
}

#[test]
fn doctor_reports_a_missing_agent() {
    let stage = Stage::new("works", ONE);
    stage.run(&["doctor"]).ended(0).says("ok       project ");
    stage.repo.write(".ralph/config.toml", "[agent]\ncommand = \"no-such-agent\"\n");
    let mut command = stage.command(&["doctor"]);
    let ran: crate::stage::Ran = command.env_remove("RALPH_AGENT").output().unwrap().into();
    ran.ended(1).says("PROBLEM  the agent `no-such-agent` was not found");
}

#[test]
fn the_demo_shows_a_failure_a_refusal_and_a_blocked_story() {
    let stage = Stage::new("works", ONE);
    let temp = stage.repo.scratch().dir("temp");
    let mut command = stage.command(&["demo"]);
    let ran: crate::stage::Ran = command.env("TMPDIR", &temp).output().unwrap().into();
    ran.ended(0).says("not ok - greets by name").says("US-002: attempt saved").says("feat(US-003)");
    ran.says("[x] US-002").says("US-002: ").says(" s agent time").says("[!] US-004");
    ran.says("US-003: refused: Bash: git push origin main").says("US-004 is blocked");
    assert!(!ran.out.contains("warning"), "{}", ran.out);
    ran.says("ralph-loop report").says(&format!("rm -r '{temp}/ralph-demo-"));
    assert_eq!(fs_err::read_dir(temp).unwrap().count(), 1, "the project stays");
}

#[test]
fn init_names_the_plan_that_will_be_used() {
    let repo = test_support::TestRepo::new();
    repo.write("IMPLEMENTATION_PLAN.md", ONE);
    let (code, out, err) = crate::ralph_loop(repo.root(), &["init"]);
    assert_eq!(code, 0, "{err}");
    assert!(out.contains("Next, with the open stories of IMPLEMENTATION_PLAN.md"), "{out}");
    assert!(!repo.root().join(".ralph/PRD-1").exists());
    let fresh = test_support::TestRepo::new();
    let (_, out, _) = crate::ralph_loop(fresh.root(), &["init"]);
    assert!(out.contains("write your stories into .ralph/PRD-1/plan.md, and commit"), "{out}");
}

#[test]
fn planning_writes_the_plan_and_nothing_else() {
    let stage = Stage::new("works", ONE);
    let agent = "cat >/dev/null; printf -- '- [ ] US-001: First\\n- [ ] US-002: Second\\n' >.ralph/PRD-1/plan.md; echo x >code.txt";
    let ran = stage.run(&["--mode", "planning", "--agent", agent]);
    ran.ended(0).says("2 open stories").says("attempt saved");
    assert!(stage.plan().contains("US-002") && !stage.exists("code.txt"));
    assert_eq!(stage.subjects(), ["first"]);
    stage.repo.write("a.txt", "mine\n");
    stage.run(&["--mode", "planning", "--agent", "true"]).ended(4);
    assert_eq!(stage.read("a.txt"), "mine\n");
    stage.run(&["--mode", "planning", "--agent", "echo nonsense >.ralph/PRD-1/plan.md"]).ended(1);
    assert!(stage.plan().contains("US-002"));
}

#[test]
fn each_message_leads_a_new_user_to_the_next_step() {
    let stage = Stage::new("works", ONE);
    stage.repo.remove(".ralph");
    let mut command = stage.command(&[]);
    // The missing plan is reported before the missing agent.
    let ran: crate::stage::Ran =
        command.env("RALPH_AGENT", "no-such-agent").output().unwrap().into();
    ran.ended(1).says("no plan found; create one with `ralph-loop init`");
    stage.repo.write("TODO.md", "- [ ] One\n");
    stage.repo.write("docs/plans/next.md", "- [ ] Two\n");
    let found = "found TODO.md, docs/plans/next.md: to work on it, run `ralph-loop TODO.md`";
    stage.run(&[]).ended(1).says(found);
    let ran = stage.run(&["init"]);
    ran.ended(0).says("written  .ralph/PRD-1/plan.md").says("ralph-loop --dry-run");
    let config = stage.read(".ralph/config.toml");
    let named = config.lines().next().unwrap().strip_prefix("#:schema ./").unwrap();
    let schema: serde_json::Value =
        serde_json::from_str(&stage.read(&format!(".ralph/{named}"))).unwrap();
    let verify = &schema["properties"]["verify"]["properties"];
    assert_eq!(verify["baseline"]["enum"], serde_json::json!(["check", "ignore", "skip"]));
    assert!(!stage.repo.git(["status", "--porcelain", "--untracked-files=all"]).contains(named));
    stage.run(&["status"]).ended(0).says("no run has finished here yet").says("0 done, 2 open");
    stage.run(&["--dry-run"]).ended(1).says("is still the example that `ralph-loop init` wrote");
    stage.repo.write(crate::stage::PLAN, "- [ ] US-001: First\n- [ ] US-002: Second\n");
    stage.run(&["--dry-run"]).ended(0).says("ok       plan .ralph/PRD-1/plan.md: 2 open");
    let ran = stage.run(&["--max-iterations", "1"]);
    ran.ended(0).says("working on .ralph/PRD-1/plan.md, landing on main: 2 open stories");
    stage.run(&["status"]).ended(0).says("the last run ended: the limit of iterations was reached");
    let json = stage.run(&["status", "--json"]).out;
    let report: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!((&report["iteration"], &report["stories"]["done"]), (&1.into(), &1.into()));
}

#[test]
fn status_lists_what_needs_the_user() {
    let stage = Stage::new("works", "- [!] US-001: First\n- [ ] US-002: Second\n");
    let line = r#"{"v":1,"at":"2026-01-01T00:00:00.000Z","source":"ralph-loop","run":"r","event":"#;
    let started = r#""loop_started","mode":"building","plan":"plan.md"}"#;
    stage.repo.write(".ralph/events.jsonl", format!("{line}{started}\n"));
    let ran = stage.run(&["status"]);
    ran.ended(0).says("Needs you US-001 is blocked: First");
    ran.says("Needs you the last run was killed; `ralph-loop` continues it");
}

#[test]
fn a_repository_above_git_ceiling_directories_is_ignored() {
    let stage = Stage::new("works", ONE);
    stage.repo.write("inner/.ralph/PRD-1/plan.md", ONE);
    let inner = stage.repo.root().join("inner");
    let mut command = stage.command(&[]);
    command.current_dir(&inner).env("GIT_CEILING_DIRECTORIES", stage.repo.root());
    let ran: crate::stage::Ran = command.output().unwrap().into();
    ran.ended(1).says("is not a git repository; run `git init`").says("run `git init`");
    assert_eq!(stage.subjects(), ["first"]);
}

#[test]
fn empty_summaries_and_missing_project_folders_are_refused() {
    let stage = Stage::new("works", ONE);
    for nothing in ["", "  "] {
        stage.run(&["request-merge", "--summary", nothing]).ended(2).says("say what to merge");
    }
    let mut command = stage.command(&["--dry-run"]);
    let ran: crate::stage::Ran = command.env("RALPH_ROOT", "/no/such").output().unwrap().into();
    ran.ended(1).says("RALPH_ROOT points to /no/such, which does not exist");
    let ran = stage.run(&["--dry-run", "--timeout", "60"]);
    ran.ended(0).says("3 attempts per story, ").says("1 m per iteration");
}

#[test]
fn a_blocked_run_explains_how_to_continue() {
    let stage = Stage::new("works", "- [!] US-001: First\n");
    stage.run(&[]).ended(8).says("reopen it with `ralph-loop retry US-001 --hint");
    stage.run(&["retry", "US-001"]).ended(0);
    stage.run(&[]).ended(0).says("US-001 done");
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
