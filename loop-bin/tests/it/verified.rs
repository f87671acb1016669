//! A session reaches `verified_done` without editing files by hand, and not by false claims.

use crate::stage::{Ran, Stage, is_alive, signal, until};

const SESSION: &str = "s-1";

const CONDITIONS: &str = "memory_search task_classified must_have_answered plan_approved \
                          implementation_complete correctness_passed quality_passed \
                          adversarial_passed retrospective_done";

fn verified(stage: &Stage, args: &[&str]) -> Ran {
    stage.run(&[&["verified", "--session", SESSION], args].concat())
}

#[test]
fn an_orchestrated_session_can_reach_done() {
    let stage = Stage::new("works", "- [ ] US-001: First\n");
    verified(&stage, &["--done"]).ended(1).says("session s-1 has nothing to verify");
    let begin = ["--begin", "orchestrator", "--task", "a parser"];
    verified(&stage, &begin).ended(0).says("cannot stop until");
    verified(&stage, &["--begin", "orchestrator", "--task", "x"]).ended(1).says("already begun");
    verified(&stage, &["--done"]).ended(1).says("not done: memory_search is not met");
    let file = ".ralph/state/s-1/verdict.json";
    stage.repo.write(file, r#"{"verdict":"failed","command":"cargo test","tests":["a::b"]}"#);
    for (at, condition) in CONDITIONS.split(' ').enumerate() {
        if condition == "correctness_passed" {
            let refused = verified(&stage, &["--condition", condition]);
            refused.ended(1).says("does not hold: the last test run failed (`cargo test`): a::b");
            stage.repo.write(file, r#"{"verdict":"passed","command":"cargo test"}"#);
        }
        let phase = format!("phase {at}");
        verified(&stage, &["--condition", condition, "--phase", &phase]).ended(0);
    }
    verified(&stage, &["--condition", "all_good"]).ended(1).says("no condition `all_good`");
    let config = "[verify]\ncommands = [\"echo red; test -e fixed\"]\n";
    stage.repo.write(".ralph/config.toml", config);
    verified(&stage, &["--done"]).ended(1).says("not done: `echo red; test -e fixed`").says("red");
    let state = || stage.read(".ralph/state/s-1/orchestrator.json");
    assert!(state().contains("\"verified_done\": false"), "{}", state());
    stage.repo.write("fixed", "");
    verified(&stage, &["--done"]).ended(0).says("verified: ");
    let state = state();
    for words in ["\"verified_done\": true", "\"phase\": \"phase 8\"", "\"task\": \"a parser\""] {
        assert!(state.contains(words), "no {words} in {state}");
    }
}

#[test]
fn a_loop_inside_a_session_counts_iterations_and_ends() {
    let stage = Stage::new("works", "- [ ] US-001: First\n");
    let begin = ["--begin", "loop", "--task", "x", "--max-iterations", "3"];
    verified(&stage, &begin).ended(0);
    verified(&stage, &["--iteration", "2"]).ended(0).says("recorded in ");
    verified(&stage, &["--condition", "plan_approved"]).ended(1);
    verified(&stage, &["--done"]).ended(0).says("not checked: no [verify] commands are set");
    let state = stage.read(".ralph/state/s-1/loop.json");
    for words in ["\"iteration\": 2", "\"max_iterations\": 3", "\"verified_done\": true"] {
        assert!(state.contains(words), "no {words} in {state}");
    }
}

#[test]
fn invalid_sessions_and_files_are_refused() {
    let stage = Stage::new("works", "- [ ] US-001: First\n");
    stage.run(&["verified", "--done"]).ended(2).says("no session is given");
    stage.run(&["verified", "--session", "../x", "--done"]).ended(2);
    let args = ["verified", "--session", SESSION, "--done"];
    let other = stage.run_env(&[("CLAUDE_CODE_SESSION_ID", "s-2")], &args);
    other.ended(2).says("session s-1 is not yours, so nothing was recorded; yours is s-2");
    stage.repo.write(".ralph/state/s-1/orchestrator.json", "{\"verified_done\":");
    verified(&stage, &["--done"]).ended(1).says("is damaged");
    assert_eq!(stage.read(".ralph/state/s-1/orchestrator.json"), "{\"verified_done\":");
}

#[test]
fn done_or_damaged_sessions_may_begin_again() {
    let stage = Stage::new("works", "- [ ] US-001: First\n");
    let begin = ["--begin", "loop", "--task", "x"];
    for text in [r#"{"verified_done": true}"#, "garbage"] {
        stage.repo.write(".ralph/state/s-1/loop.json", text);
        verified(&stage, &begin).ended(0).says("cannot stop until");
        verified(&stage, &begin).ended(1).says("already begun");
    }
    stage.repo.write(".ralph/state/s-1/orchestrator.json", r#"{"conditions": 5}"#);
    verified(&stage, &["--done"]).ended(1).says("s-1/orchestrator.json");
}

#[test]
fn a_check_ends_with_the_command_that_waits_for_it() {
    let stage = Stage::new("works", "- [ ] US-001: First\n");
    verified(&stage, &["--begin", "loop", "--task", "x"]).ended(0);
    let check = "commands = [\"echo $$ >$AGENT_NOTES/check; sleep 300\"]";
    stage.repo.write(".ralph/config.toml", format!("[verify]\n{check}\n"));
    let mut child = stage.start(&["verified", "--session", SESSION, "--done"]);
    until("the check runs", || stage.note("check").ends_with('\n'));
    signal("TERM", child.id());
    assert_eq!(child.wait().unwrap().code(), Some(1));
    until("the check is gone", || !is_alive(&stage.note("check")));
}
