//! Cost limits: those that cannot be enforced and those that were exceeded are reported.

use crate::sessions::in_sessions;
use crate::stage::Stage;

const TWO: &str = "- [ ] US-001: First\n- [ ] US-002: Second\n";

const COSTLESS: &str = "the agent does not report its cost";

#[test]
fn an_agent_that_reports_no_cost_is_reported_once() {
    let ran = Stage::new("works", TWO).run(&["--max-cost", "0.01"]);
    ran.ended(0).says("use --max-duration or --max-iterations");
    assert_eq!(ran.out.matches(COSTLESS).count(), 1, "{}", ran.out);
    for (agent, args) in [("works", &[][..]), ("reports", &["--max-cost", "9"])] {
        let ran = Stage::new(agent, TWO).run(args);
        assert!(!ran.ended(0).out.contains(COSTLESS), "{}", ran.out);
    }
}

#[test]
fn a_cost_given_as_a_string_counts() {
    let stage = Stage::new("works", TWO);
    let agent = "cat >/dev/null; echo done >$(cat $RALPH_ROOT/.ralph/current-story).txt; \
                 echo '{\"type\":\"result\",\"is_error\":false,\"total_cost_usd\":\"0.5\"}'";
    let ran = stage.run(&["--max-cost", "0.2", "--agent", agent]);
    ran.ended(6).says("budget exceeded: spent $0.50 of $0.20");
    assert!(!ran.out.contains(COSTLESS), "{}", ran.out);
}

#[test]
fn a_dry_run_shows_every_limit_that_is_set() {
    let stage = Stage::new("works", TWO);
    let args = ["--dry-run", "--max-cost", "5", "--max-duration", "8h"];
    stage.run(&args).ended(0).says("1 h per iteration, $5.00 per run, 8 h per run\n");
    stage.run(&["--dry-run"]).ended(0).says("1 h per iteration\n");
}

#[test]
fn an_error_without_a_text_ends_without_a_colon() {
    let stage = Stage::new("works", TWO);
    let agent = "cat >/dev/null; echo '{\"type\":\"result\",\"subtype\":\"error_max_turns\",\
                 \"usage\":{\"input_tokens\":5}}'";
    let ran = stage.run(&["--attempts", "1", "--max-iterations", "1", "--agent", agent]);
    ran.says("the agent reported error_max_turns\n");
}

#[test]
fn a_session_that_exceeds_the_cost_limit_ends_the_run_or_is_reported() {
    let args = ["--stories-per-session", "2", "--max-cost", "0.05"];
    let (stage, ran) = in_sessions(&args, 3);
    ran.ended(6).says("finished (budget): 2 stories").says("budget exceeded: spent $0.10 of $0.05");
    assert_eq!(stage.plan().matches("[x]").count(), 2);
    let (_, ran) = in_sessions(&args, 2);
    ran.ended(0).says("budget exceeded: spent $0.10 of $0.05");
    assert_eq!(ran.out.matches("exceeded").count(), 1, "{}", ran.out);
}

/// Reports its tokens and then its cost, unless it hangs in between.
const HANGS_LATER: &str = r#"cat >/dev/null; echo work >>work.txt
    echo '{"type":"assistant","session_id":"s","message":{"usage":{"input_tokens":1000}}}'
    case $HANGS in
    1) sleep 300 ;;
    first) mkdir "$AGENT_NOTES/called" 2>/dev/null && sleep 300 ;;
    *) mkdir "$AGENT_NOTES/called" 2>/dev/null || sleep 300 ;;
    esac
    echo '{"type":"result","is_error":true,"result":"no","session_id":"s","total_cost_usd":0.6,"usage":{"input_tokens":1000}}'"#;

#[test]
fn the_cost_limit_includes_sessions_ended_before_reporting_costs() {
    let stage = Stage::new("works", "- [ ] US-001: First\n");
    let args = ["--agent", HANGS_LATER, "--timeout", "2", "--grace", "1", "--max-cost", "1.0"];
    let ran = stage.run(&[&args[..], &["--attempts", "9"]].concat());
    ran.ended(6).says("spent $1.20 of $1.00").says("in 2 iterations");
}

/// Runs sessions that hang before they report their cost: all of them (`1`) or only the first.
fn hanging(hangs: &str, args: &[&str]) -> crate::stage::Ran {
    let stage = Stage::new("works", "- [ ] US-001: First\n");
    let more = ["--agent", HANGS_LATER, "--timeout", "2", "--grace", "1"];
    stage.command(&[&more, args].concat()).env("HANGS", hangs).output().unwrap().into()
}

#[test]
fn an_unknown_cost_is_reported_and_ends_a_run_with_a_limit() {
    hanging("1", &["--attempts", "1"]).ended(8).says("1000 tokens, cost unknown");
    let ran = hanging("1", &["--attempts", "9", "--max-cost", "1.0"]);
    ran.ended(6).says("the cost of 2000 tokens is unknown").says("in 2 iterations");
}

#[test]
fn unknown_costs_are_estimated_once_the_price_is_known() {
    let ran = hanging("first", &["--attempts", "9", "--max-cost", "1.0"]);
    ran.ended(6).says("spent $1.20 of $1.00").says("in 2 iterations");
}

#[test]
fn the_agents_cost_is_reported_or_shown_as_unknown() {
    let stage = Stage::new("works", "- [ ] US-001: First\n");
    stage.script("finished", "echo \"<$RALPH_COST>\"");
    stage.run(&[]).ended(0).says("agent time, cost unknown\n").says("[finished] <>");
    stage.run(&["report", "--markdown"]).ended(0).says("Total cost unknown");
    stage
        .run(&["status"])
        .ended(0)
        .says("1 story landed in 1 iteration, 1 unchecked, cost unknown");
    stage.run(&[]).ended(0).says("[finished] <0.0000>");
    let stage = Stage::new("reports", TWO);
    stage.script("finished", "echo \"<$RALPH_COST>\"");
    stage.run(&[]).ended(0).says(", $0.50\n").says("[finished] <0.5000>");
}

#[test]
fn usage_of_a_killed_run_is_counted_by_the_next_run() {
    let stage = Stage::new("works", "- [ ] US-001: First\n");
    let agent = r#"cat >/dev/null; echo work >>work.txt
    echo '{"type":"assistant","session_id":"s","message":{"usage":{"input_tokens":1000}}}'
    mkdir "$AGENT_NOTES/called" 2>/dev/null && sleep 300
    echo '{"type":"result","is_error":false,"session_id":"s","total_cost_usd":0.6,"usage":{"input_tokens":1000}}'"#;
    let log = stage.repo.root().join(".ralph/logs");
    let has_printed = || {
        let files = log.read_dir_utf8().into_iter().flatten().flatten();
        let mut texts = files.filter_map(|file| fs_err::read_to_string(file.path()).ok());
        texts.any(|text| text.contains("input_tokens"))
    };
    stage.killed_when(&["--agent", agent], "the agent has used tokens", has_printed);
    let ran = stage.run(&["--agent", agent]);
    ran.ended(0).says("US-001 done").says("2000 tokens, $1.20");
    let report = stage.run(&["report", "--run", "all", "--markdown"]);
    report.ended(0).says("Total $1.20, 2000 tokens, of which failed attempts $0.60");
}
