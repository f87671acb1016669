//! Limits of money: what cannot hold is told, and what was exceeded as well.

use crate::sessions::in_sessions;
use crate::stage::Stage;

const TWO: &str = "- [ ] US-001: First\n- [ ] US-002: Second\n";

const COSTLESS: &str = "the agent does not report what it costs";

#[test]
fn an_agent_that_reports_no_cost_is_told_of_once() {
    for limit in ["--max-cost", "--story-max-cost"] {
        let ran = Stage::new("works", TWO).run(&[limit, "0.01"]);
        ran.ended(0).says("--max-duration and --max-iterations do");
        assert_eq!(ran.out.matches(COSTLESS).count(), 1, "{}", ran.out);
    }
    for (agent, args) in [("works", &[][..]), ("reports", &["--max-cost", "9"])] {
        let ran = Stage::new(agent, TWO).run(args);
        assert!(!ran.ended(0).out.contains(COSTLESS), "{}", ran.out);
    }
}

#[test]
fn a_cost_that_is_given_as_a_text_counts() {
    let stage = Stage::new("works", TWO);
    let agent = "cat >/dev/null; echo done >$(cat .ralph/current-story).txt; \
                 echo '{\"type\":\"result\",\"is_error\":false,\"total_cost_usd\":\"0.5\"}'";
    let ran = stage.run(&["--max-cost", "0.2", "--agent", agent]);
    ran.ended(6).says("$0.50 of $0.20 are spent");
    assert!(!ran.out.contains(COSTLESS), "{}", ran.out);
}

#[test]
fn a_dry_run_shows_every_limit_that_is_set() {
    let stage = Stage::new("works", TWO);
    let args = ["--dry-run", "--max-cost", "5", "--story-max-cost", "1.5"];
    stage.run(&args).ended(0).says("3600 s an iteration, $5.00 a run, $1.50 a story\n");
    let args = ["--dry-run", "--max-duration", "8h", "--story-max-duration", "10m"];
    stage.run(&args).ended(0).says("3600 s an iteration, 28800 s a run, 600 s a story\n");
    stage.run(&["--dry-run"]).ended(0).says("3600 s an iteration\n");
}

#[test]
fn an_error_without_a_text_ends_without_a_colon() {
    let stage = Stage::new("works", TWO);
    let agent = "cat >/dev/null; echo '{\"type\":\"result\",\"subtype\":\"error_max_turns\"}'";
    let ran = stage.run(&["--attempts", "1", "--max-iterations", "1", "--agent", agent]);
    ran.says("the agent reports error_max_turns\n");
}

#[test]
fn the_cost_of_one_story_is_not_promised_in_a_session_of_several() {
    const WARNED: &str = "--story-max-cost cannot hold for each story";
    let limit = ["--story-max-cost", "5"];
    let told = |args: &[&str]| {
        let stage = Stage::new("reports", TWO);
        stage.run(&[&limit[..], args].concat()).ended(0).out.matches(WARNED).count()
    };
    let counts = ["1", "2", "auto"].map(|stories| told(&["--stories-per-session", stories]));
    assert_eq!(counts, [0, 1, 1]);
}

#[test]
fn a_session_that_cost_more_than_the_run_may_ends_it_or_is_told_of() {
    let args = ["--stories-per-session", "2", "--max-cost", "0.05"];
    let (stage, ran) = in_sessions(&args, 3);
    ran.ended(6).says("finished (budget): 2 stories").says("$0.10 of $0.05 are spent");
    assert_eq!(stage.plan().matches("[x]").count(), 2);
    let (_, ran) = in_sessions(&args, 2);
    ran.ended(0).says("--max-cost was exceeded: $0.10 were spent, and $0.05 allowed");
    assert_eq!(ran.out.matches("exceeded").count(), 1, "{}", ran.out);
}
