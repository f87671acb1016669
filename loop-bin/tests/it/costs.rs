//! Cost limits: those that cannot be enforced and those that were exceeded are reported.

use crate::sessions::in_sessions;
use crate::stage::{ONE, Ran, Stage, TWO};

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

/// Runs sessions that hang before they report their cost: all (`1`), the first, or the later ones.
fn hanging(hangs: &str, args: &[&str]) -> Ran {
    let stage = Stage::new("works", ONE);
    let more = ["--agent", HANGS_LATER, "--timeout", "2", "--grace", "1"];
    stage.run_env(&[("HANGS", hangs)], &[&more, args].concat())
}

#[test]
fn the_cost_limit_includes_sessions_that_end_before_reporting_their_cost() {
    hanging("1", &["--attempts", "1"]).ended(8).says("1000 tokens, cost unknown");
    for (hangs, said) in [
        ("later", "spent $1.20 of $1.00"),
        ("first", "spent $1.20 of $1.00"),
        ("1", "the cost of 2000 tokens is unknown"),
    ] {
        let ran = hanging(hangs, &["--attempts", "9", "--max-cost", "1.0"]);
        ran.ended(6).says(said).says("in 2 iterations");
    }
}

#[test]
fn the_agents_cost_is_reported_or_shown_as_unknown() {
    let stage = Stage::new("works", ONE);
    stage.script("finished", "echo \"<$RALPH_COST>\"");
    stage.run(&[]).ended(0).says("agent time, cost unknown\n").says("[finished] <>");
    stage.run(&["report", "--markdown"]).ended(0).says("Total cost unknown");
    let ran = stage.run(&["status"]);
    ran.ended(0).says("1 story landed in 1 iteration, 1 unchecked, cost unknown");
    stage.run(&[]).ended(0).says("[finished] <0.0000>");
    let stage = Stage::new("reports", TWO);
    stage.script("finished", "echo \"<$RALPH_COST>\"");
    stage.run(&[]).ended(0).says(", $0.50\n").says("[finished] <0.5000>");
}

#[test]
fn usage_of_a_killed_run_is_counted_by_the_next_run() {
    let stage = Stage::new("works", ONE);
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
