//! Planning: the agent writes nothing but the plan, and a draft is never lost.

use serde_json::Value;

use crate::stage::{PLAN, Ran, Stage, TWO, is_alive, signal, until};

const ADDED: &str = "- [ ] US-009: Precious\n";

fn planning(stage: &Stage, agent: &str, more: &[&str]) -> Ran {
    stage.run(&[&["--mode", "planning", "--agent", agent], more].concat())
}

/// An agent that adds a story to the plan and then runs `then`.
fn adding(then: &str) -> String {
    format!("cat >/dev/null; printf -- '{}' >>{PLAN}; {then}", ADDED.replace('\n', "\\n"))
}

/// The last event with this name.
fn event(stage: &Stage, name: &str) -> Value {
    let journal = stage.read(".ralph/events.jsonl");
    let mut events = journal.lines().rev().map(|line| serde_json::from_str::<Value>(line).unwrap());
    events.find(|event| event["event"] == name).unwrap_or_default()
}

#[test]
fn a_killed_planning_run_leaves_neither_ticks_nor_an_agent() {
    let stage = Stage::new("works", TWO);
    let agent = format!(
        "cat >/dev/null; sed -i 's/\\[ \\]/[x]/' {PLAN}; echo x >code.txt; \
         echo $$ >\"$AGENT_NOTES/new\"; mv \"$AGENT_NOTES/new\" \"$AGENT_NOTES/pid\"; exec sleep 100"
    );
    let args = ["--mode", "planning", "--agent", &agent];
    stage.killed_when(&args, "the agent works", || stage.note_path("pid").exists());
    let agent = stage.note("pid").trim().to_owned();
    stage.run(&["--max-iterations", "1"]).ended(0).says("US-001 done");
    assert!(!is_alive(&agent));
    assert_eq!(stage.plan(), TWO.replacen("[ ]", "[x]", 1));
    assert!(!stage.exists("code.txt"));
    stage.is_clean();
}

#[test]
fn a_rejected_draft_is_kept_and_reported_in_every_case() {
    let stage = Stage::new("works", TWO);
    let unreadable = adding(&format!("printf -- '{}' >>{PLAN}", "- [ ] US-009: Twice\\n"));
    for (agent, more, code) in [
        (adding("exec sleep 100"), vec!["--timeout", "4", "--grace", "1"], 1),
        (adding("exec sleep 100"), vec!["--max-duration", "6", "--grace", "1"], 6),
        (adding("exit 1"), vec![], 1),
        (unreadable, vec![], 1),
    ] {
        let ran = planning(&stage, &agent, &more);
        ran.ended(code).says("finished (");
        ran.says("attempt saved; view it with `ralph-loop attempts planning/");
        assert_eq!(stage.plan(), TWO);
        let id = ran.out.split("`ralph-loop attempts ").nth(1).unwrap().split('`').next().unwrap();
        stage.run(&["attempts", id]).ended(0).says("US-009: Precious");
    }
}

#[test]
fn an_interrupted_planning_run_keeps_the_draft() {
    let stage = Stage::new("works", TWO);
    let agent = adding("touch \"$AGENT_NOTES/wrote\"; exec sleep 100");
    let child = stage.start(&["--mode", "planning", "--agent", &agent]);
    until("the agent works", || stage.note_path("wrote").exists());
    signal("INT", child.id());
    let ran = Ran::from(child.wait_with_output().unwrap());
    ran.ended(130).says("ralph-loop attempts planning/1").says("finished (interrupted)");
    assert_eq!(stage.plan(), TWO);
}

#[test]
fn planning_creates_exactly_the_given_plan() {
    let stage = Stage::new("works", TWO);
    let agent = "cat >\"$AGENT_NOTES/prompt\"; mkdir -p \"${PLAN_PATH%/*}\"; \
                 echo '- [ ] US-001: New' >\"$PLAN_PATH\"";
    for (named, made) in
        [(["--prd", "3"], ".ralph/PRD-3/plan.md"), (["--plan", "docs/NEW.md"], "docs/NEW.md")]
    {
        planning(&stage, agent, &named).ended(0).says("the plan has 1 open story");
        assert_eq!(stage.read(made), "- [ ] US-001: New\n");
        assert!(stage.note("prompt").contains(made));
        assert_eq!(stage.plan(), TWO);
    }
    // A plan is relative to the current folder, even if it does not exist yet.
    fs_err::create_dir_all(stage.repo.root().join("sub")).unwrap();
    let args = ["--mode", "planning", "--agent", agent, "--plan", "P.md"];
    stage.run_in("sub", &args).ended(0);
    assert_eq!(stage.read("sub/P.md"), "- [ ] US-001: New\n");
}

#[test]
fn planning_is_counted_and_reported_like_any_run() {
    let stage = Stage::new("works", TWO);
    stage.script("post_iteration", "echo $RALPH_STORY $RALPH_OUTCOME $RALPH_ITERATION $RALPH_MODE");
    let result = r#"{"type":"result","subtype":"success","is_error":false,"result":"ok","total_cost_usd":3}"#;
    let ran = planning(&stage, &adding(&format!("echo '{result}'")), &["--max-cost", "1"]);
    ran.ended(0).says("[post_iteration] planning success 1 planning");
    ran.says("finished (complete): planning").says("specs does not exist; the agent plans from");
    ran.says("budget exceeded: spent $3.00 of $1.00").says("$3.00");
    assert_eq!(event(&stage, "iteration_finished")["cost_usd"], 3.0);
    assert_eq!(event(&stage, "loop_finished")["finish_type"], "complete");
    stage.run(&["status"]).says("the last run ended: complete");
    planning(&stage, "true", &[]).ended(4).says("finished (no changes)");
}

#[test]
fn planning_reports_a_usage_limit_and_does_not_wait() {
    let stage = Stage::new("works", TWO);
    let agent = "echo 'usage limit reached, try again in 5 hours'; exit 1";
    planning(&stage, agent, &[]).ended(6).says("usage limit reached");
}

#[test]
fn commits_branches_and_code_of_a_planning_agent_stay_in_the_copy() {
    for act in ["git add x.txt; git commit -qm sneaked", "git checkout -q -b topic", "true"] {
        let stage = Stage::new("works", TWO);
        let agent = adding(&format!("echo x >x.txt; {act}"));
        let ran = planning(&stage, &agent, &[]);
        ran.ended(0).says("attempt saved").says("3 open stories");
        assert_eq!(stage.subjects(), ["first"]);
        assert_eq!(stage.plan(), format!("{TWO}{ADDED}"));
        stage.run(&["attempts", "planning/1"]).ended(0).says("x.txt");
        stage.is_clean();
    }
}

#[test]
fn a_plan_without_stories_is_filled_by_planning_and_refused_by_building() {
    for (place, blank) in [(PLAN, ""), (PLAN, "# Plan\n"), ("IMPLEMENTATION_PLAN.md", "# Plan\n")] {
        let stage = Stage::new("works", TWO);
        stage.repo.remove(PLAN);
        stage.repo.write(place, blank);
        stage.repo.commit_all("a plan to be written");
        stage.run(&[]).ended(1).says(place).says("no stories found");
        let agent = format!("cat >/dev/null; echo '- [ ] US-001: New' >>{place}");
        planning(&stage, &format!("{agent}; exit 1"), &[]).ended(1);
        assert_eq!(stage.read(place), blank);
        planning(&stage, "cat >/dev/null", &[]).ended(1).says("the agent ");
        planning(&stage, &agent, &[]).ended(0).says("the plan has 1 open story");
        assert_eq!(stage.read(place), format!("{blank}- [ ] US-001: New\n"));
    }
}
