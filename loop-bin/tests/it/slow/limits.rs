//! Limits, budgets, quota, finish types, and refusals before anything runs.

use crate::stage::{ONE, Stage, TWO};

#[test]
fn the_iteration_limit_is_decimal_and_exits_with_code_0() {
    let plan: String = (1..=12).map(|n| format!("- [ ] US-{n:03}: Story {n}\n")).collect();
    let stage = Stage::new("works", &plan);
    stage.run(&["--max-iterations", "08"]).ended(0).says("finished (iteration limit)");
    assert_eq!(stage.plan().matches("[x]").count(), 8);
    stage.run(&["--max-iterations=1", "--fail-if-incomplete"]).ended(7);
    let ran = stage.run_env(&[("MAX_ITERATIONS", "9")], &["--fail-if-incomplete"]);
    ran.ended(0).says("finished (complete)");
}

#[test]
fn the_lowest_numbered_plan_with_open_stories_is_worked_on() {
    let stage = Stage::new("works", "- [x] US-001: Done\n");
    stage.repo.write(".ralph/PRD-2/plan.md", "- [ ] US-002: Second\n");
    stage.repo.write(".ralph/PRD-10/plan.md", "- [ ] US-010: Tenth\n");
    stage.run(&["--fail-if-incomplete"]).ended(0);
    assert_eq!(stage.subjects(), ["feat(US-002): Second", "first"]);
    stage.run(&["--prd", "010"]).ended(0);
    assert_eq!(stage.subjects()[0], "feat(US-010): Tenth");
}

#[test]
fn invalid_input_is_refused_before_anything_runs() {
    let stage = Stage::new("works", TWO);
    for args in [&["--max-iteration", "3"][..], &["--max-iterations", "x"], &["frobnicate"]] {
        stage.run(args).ended(2);
    }
    stage.repo.write(".ralph/config.toml", "[limits]\nattempts = 3\n");
    stage.run(&[]).ended(2).says("config.toml:2").says("attempts_per_story");
    stage.repo.remove(".ralph/config.toml");
    for (prompt, shown) in
        [("Do {{STORY-ID}}", "did you mean {{STORY_ID}}?"), (" \n", "prompt.md is empty")]
    {
        stage.repo.write(".ralph/PRD-1/prompt.md", prompt);
        stage.run(&[]).ended(2).says(shown);
    }
    stage.repo.remove(".ralph/PRD-1/prompt.md");
    for nothing in ["", "  ", "# claude"] {
        stage.run(&["--verify", nothing]).ended(2).says("--verify: ").says("does not run anything");
        let ran = stage.run(&["--agent", nothing]);
        ran.ended(2).says("the agent's command `").says("does not run anything");
    }
    let ran = stage.run_env(&[("PROGRESS_PATH", ".")], &[]);
    ran.ended(2).says("is a folder, but progress is written to a file");
    stage.repo.write(".ralph/PRD-1/plan.md", "no story\n");
    stage.run(&[]).ended(1).says("plan.md");
    assert_eq!(stage.subjects(), ["first"]);
}

#[test]
fn the_time_limit_ends_a_working_agent_and_costs_no_attempt() {
    let mut stage = Stage::new("hangs", TWO);
    stage.script("post_iteration", "echo $RALPH_OUTCOME >\"$AGENT_NOTES/outcome\"");
    let ran = stage.run(&["--max-duration", "6", "--attempts", "1"]);
    ran.ended(6).says("the time limit for this run was reached");
    ran.says("US-001: ").says(" s agent time").says("finished (budget)");
    assert_eq!((stage.plan().as_str(), stage.note("outcome").as_str()), (TWO, "budget\n"));
    assert_eq!((stage.discarded(), stage.exists("half.txt")), (1, false));
    assert!(stage.progress().contains("- Status: INTERRUPTED\n"), "{}", stage.progress());
    assert!(!stage.exists(".ralph/guardrails.md"), "nothing was to be learned");
    stage.is_clean();
    stage.agent("works");
    stage.run(&["--attempts", "1"]).ended(0);
}

#[test]
fn a_usage_limit_is_waited_for_and_costs_no_attempt() {
    let stage = Stage::new("meets-limit", TWO);
    let ran = stage.run(&["--attempts", "1", "--max-iterations", "2"]);
    ran.ended(0).says("usage limit reached; waiting").says("finished (complete)");
    assert_eq!(stage.plan().matches("[x]").count(), 2);
    let other = Stage::new("meets-limit", TWO);
    other.run(&["--wait-for-quota=false"]).ended(6);
    let agent = "echo 'usage limit reached, try again in 5 hours'; exit 1";
    let ran = other.run(&["--max-duration", "60", "--agent", agent]);
    ran.ended(6).says("too late for this run").says("finished (budget)");
}

/// The service gives no reset time, so the wait is longer than the time limit of the run.
#[test]
fn no_agent_starts_after_a_wait_used_up_the_time_limit() {
    let stage = Stage::new("works", TWO);
    let agent = "echo call >>\"$AGENT_NOTES/calls\"; echo 'usage limit reached'; exit 1";
    let ran = stage.run(&["--max-duration", "6", "--agent", agent]);
    ran.ended(6).says("usage limit reached; waiting").says("finished (budget)");
    assert_eq!(stage.note("calls"), "call\n", "{}", ran.out);
}

#[test]
fn a_usage_limit_message_counts_even_if_the_agent_succeeds() {
    let text = "echo \"Claude AI usage limit reached|$(($(date +%s) + 1))\"";
    let complaint = format!("{text} >&2");
    let result = "printf '{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\
                  \"result\":\"Claude AI usage limit reached|%s\"}\\n' $(($(date +%s) + 1))";
    for says in [text, &complaint, result] {
        let stage = Stage::new("works", ONE);
        let agent = format!(
            "cat >/dev/null; if [ -e \"$AGENT_NOTES/limited\" ]; then echo done >done.txt; else \
             touch \"$AGENT_NOTES/limited\"; echo half >half.txt; {says}; fi"
        );
        let ran = stage.run(&["--attempts", "1", "--max-iterations", "1", "--agent", &agent]);
        ran.ended(0).says("usage limit reached; waiting").says("finished (complete)");
        assert!(stage.exists("done.txt") && stage.exists("half.txt"), "its work is gone on with");
    }
}

#[test]
fn an_error_with_another_reason_is_not_a_usage_limit() {
    let stage = Stage::new("works", TWO);
    let said = r#"{"type":"result","subtype":"error_max_turns","is_error":true,"terminal_reason":"max_turns","result":"Claude AI usage limit reached|4000000000"}"#;
    let agent = format!("cat >/dev/null; echo half >half.txt; echo '{said}'; exit 1");
    let ran = stage.run(&["--agent", &agent, "--attempts", "1"]);
    ran.ended(8).says("US-001 is blocked").says("US-002 is blocked");
    assert!(!ran.out.contains("usage limit reached; waiting"), "{}", ran.out);
}

#[test]
fn a_reset_in_the_far_future_ends_the_run() {
    for reset in [4_000_000_000, i64::MAX] {
        let stage = Stage::new("works", TWO);
        let agent = format!(
            "echo '{{\"type\":\"rate_limit_event\",\"rate_limit_info\":\
             {{\"status\":\"rejected\",\"resetsAt\":{reset}}}}}'; exit 1"
        );
        let ran = stage.run(&["--agent", &agent, "--attempts", "1"]);
        ran.ended(6).says("too late for this run").says("finished (budget)");
        assert_eq!(stage.plan(), TWO, "no attempt is counted");
    }
}

#[test]
fn a_second_loop_reports_the_running_process() {
    let stage = Stage::new("hangs", TWO);
    let mut first = stage.start(&[]);
    crate::stage::until("the agent works", || stage.in_copy("half.txt"));
    stage.run(&[]).ended(5).says(&format!("process {}", first.id()));
    stage.run(&["status"]).ended(0).says(&format!("process {}", first.id())).says("US-001");
    crate::stage::signal("TERM", first.id());
    assert_eq!(first.wait().unwrap().code(), Some(143));
}

#[test]
fn a_dry_run_writes_nothing() {
    let stage = Stage::new("works", TWO);
    let before = stage.repo.fingerprint();
    let dry = stage.run(&["--dry-run", "--verify", "cargo test"]);
    dry.ended(0).says("US-001 First").says("cargo test");
    stage.run_env(&[("RALPH_DRY_RUN", "1")], &[]).ended(0).says("US-001 First");
    assert_eq!(stage.repo.fingerprint(), before);
    stage.repo.write(".ralph/config.toml", "[loop]\ndry_run = true\n");
    stage.run(&[]).ended(0).says("US-001 First");
    stage.run(&["--dry-run=false", "--max-iterations", "1"]).ended(0).says("US-001 done");
}

#[test]
fn tool_calls_are_printed_as_events_but_not_journaled() {
    let stage = Stage::new("works", ONE);
    let said = r#"{"type":"assistant","message":{"content":[{"type":"tool_use","id":"a","name":"Bash","input":{"command":"ls a"}},{"type":"tool_use","id":"b","name":"Bash","input":{"command":"ls b"}}]}}"#;
    let agent = format!("cat >/dev/null; echo x >x.txt; echo '{said}'");
    let ran = stage.run(&["--json", "--agent", &agent]);
    let calls: Vec<&str> =
        ran.ended(0).out.lines().filter(|line| line.contains("\"tool_call\"")).collect();
    assert_eq!(calls.len(), 2, "{}", ran.out);
    assert!(calls[1].contains("\"story\":\"US-001\"") && calls[1].contains("Bash: ls b"));
    assert!(!stage.read(".ralph/events.jsonl").contains("tool_call"));
}

#[test]
fn events_are_printed_as_json() {
    let stage = Stage::new("works", TWO);
    let ran = stage.run(&["--json"]);
    ran.ended(0).says("\"event\":\"committed\"");
    let is_event = |line: &str| line.starts_with("{\"v\":1,") && line.ends_with('}');
    assert!(ran.out.lines().all(is_event) && !ran.out.contains("\"reason\""), "{}", ran.out);
    assert_eq!(ran.out, stage.read(".ralph/events.jsonl"));
}

#[test]
fn stories_that_depend_on_a_blocked_story_end_the_run() {
    let stage =
        Stage::new("works", "- [!] US-001: First\n- [ ] US-002: Second (depends: US-001)\n");
    stage.run(&[]).ended(8).says("blocked: US-001; dependent on them: US-002");
}

#[test]
fn a_story_whose_landed_work_is_repeatedly_reverted_is_blocked() {
    let stage = Stage::committed("works", ONE);
    stage.script("post_iteration", "git reset -q --hard HEAD~1");
    let ran = stage.run(&["--attempts", "2", "--max-iterations", "9"]);
    ran.ended(8).says("US-001 is blocked: it is open again after 2 attempts");
    assert_eq!(ran.out.matches("US-001 done").count(), 2, "{}", ran.out);
    assert_eq!(stage.plan(), "- [!] US-001: First\n");
}

/// Nothing is wrong with the story, and an hour later the network is back.
#[test]
fn a_service_that_cannot_be_reached_is_waited_for_up_to_a_limit() {
    for words in [
        "getaddrinfo ENOTFOUND api.example.com",
        "connect ECONNREFUSED",
        "fork: Resource temporarily unavailable",
    ] {
        let stage = Stage::new("works", ONE);
        let agent =
            format!("echo call >>\"$AGENT_NOTES/calls\"; echo 'Error: {words}' >&2; exit 1");
        let args = ["--wait-for-service", "2", "--attempts", "1", "--agent", &agent];
        let ran = stage.run(&args);
        ran.ended(6)
            .says("the agent does not reach its service (Error: ")
            .says("; waiting for 2 s");
        ran.says("waited 2 seconds for it").says("finished (budget)");
        assert_eq!((stage.note("calls").as_str(), stage.plan().as_str()), ("call\ncall\n", ONE));
    }
}

/// What is wrong with the client's own files is wrong at the next try as well.
#[test]
fn a_client_that_does_not_start_is_tried_once() {
    let line = r#"{"type":"result","subtype":"error_during_execution","is_error":true,"errors":["Configuration error in /x/.claude.json: JSON Parse error"],"startup_failure_reason":"config_file_invalid"}"#;
    let older = "Configuration error in /x/.claude.json: JSON Parse error";
    for said in [line, older] {
        let stage = Stage::new("works", ONE);
        let agent = format!("echo call >>\"$AGENT_NOTES/calls\"; echo '{said}'; exit 1");
        let ran = stage.run(&["--agent", &agent]);
        ran.ended(1).says("the agent does not start (config_file_invalid): Configuration error in");
        assert_eq!((stage.note("calls").as_str(), stage.plan().as_str()), ("call\n", ONE));
    }
}

/// Nothing is wrong with the story, and soon there is room again.
#[test]
fn a_machine_that_cannot_start_the_agent_is_waited_for() {
    let fault = [("RALPH_INTERNAL__FAULT", "start:1")];
    let stage = Stage::new("works", ONE);
    let ran = stage.run_env(&fault, &["--wait-for-service", "2", "--attempts", "1"]);
    ran.ended(0).says("this machine cannot start the agent now (made to fail on purpose); waiting");
    ran.says("finished (complete)");
    let other = Stage::new("works", ONE);
    let ran = other.run_env(&fault, &["--wait-for-service", "0", "--attempts", "1"]);
    ran.ended(6).says("this machine cannot start the agent now");
    assert_eq!(other.plan(), ONE, "no attempt is counted");
}
