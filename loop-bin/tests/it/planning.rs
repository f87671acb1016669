//! Planning: the plan is written by the agent, and by nothing else; a draft is never lost.

use serde_json::Value;

use crate::plan_edits::found;
use crate::stage::{PLAN, Ran, Stage, is_alive, signal, until};

const TWO: &str = "- [ ] US-001: First\n- [ ] US-002: Second\n";
const ADDED: &str = "- [ ] US-009: Precious\n";

fn planning(stage: &Stage, agent: &str, more: &[&str]) -> Ran {
    stage.run(&[&["--mode", "planning", "--agent", agent], more].concat())
}

/// Adds a story to the plan, and goes on.
fn adding(then: &str) -> String {
    format!("cat >/dev/null; printf -- '{}' >>{PLAN}; {then}", ADDED.replace('\n', "\\n"))
}

/// The last event of a name.
fn event(stage: &Stage, name: &str) -> Value {
    let journal = stage.read(".ralph/events.jsonl");
    let mut events = journal.lines().rev().map(|line| serde_json::from_str::<Value>(line).unwrap());
    events.find(|event| event["event"] == name).unwrap_or_default()
}

#[test]
fn specifications_that_are_not_there_are_told_before_an_agent_runs() {
    let stage = Stage::new("works", TWO);
    let agent = adding(": >\"$AGENT_NOTES/ran\"");
    let refused = planning(&stage, &agent, &["--specs", "nope"]);
    refused.ended(2).says("there is no folder ").says("/nope for planning to read");
    assert!(!stage.note_path("ran").exists());
    planning(&stage, &agent, &[]).ended(0).says("there is no folder specs; the agent plans from");
    let other = Stage::new("works", TWO);
    other.repo.write("nope/a.md", "what to do\n");
    other.repo.commit_all("the specifications");
    let ran = planning(&other, &agent, &["--specs", "nope"]);
    assert!(!ran.ended(0).out.contains("there is no folder"), "{}", ran.out);
}

#[test]
fn a_killed_planning_leaves_neither_ticks_nor_an_agent() {
    let stage = Stage::new("works", TWO);
    let pid = stage.note_path("pid");
    let agent = format!(
        "cat >/dev/null; sed -i 's/\\[ \\]/[x]/' {PLAN}; echo '- [x] US-009: New' >>{PLAN}; echo x >code.txt; echo $$ >{pid}.new; \
         mv {pid}.new {pid}; exec sleep 100"
    );
    let args = ["--mode", "planning", "--agent", &agent];
    stage.killed_when(&args, "the agent works", || pid.exists());
    let agent = stage.note("pid").trim().to_owned();
    assert!(is_alive(&agent));
    stage.run(&["status"]).ended(0).says("planning was interrupted");
    let ran = stage.run(&["--max-iterations", "1"]);
    ran.ended(0)
        .says("the plan is as it was")
        .says("US-001 done")
        .says("changed more than the plan");
    let id = ran.out.split("draft is kept: `ralph-loop undo ").nth(1).unwrap().split('`').next();
    let show = stage.run(&["undo", id.unwrap(), "--show"]);
    assert!(!show.ended(0).out.contains("[x]"), "nobody checked what a draft ticks: {}", show.out);
    assert!(!is_alive(&agent));
    assert_eq!(stage.plan(), TWO.replacen("[ ]", "[x]", 1));
    assert!(!stage.exists("code.txt"));
    stage.is_clean();
}

#[test]
fn a_killed_planning_that_left_rubbish_does_not_keep_the_next_start_from_its_plan() {
    let stage = Stage::new("works", TWO);
    let agent = format!("cat >/dev/null; echo rubbish >{PLAN}; exec sleep 100");
    let args = ["--mode", "planning", "--agent", &agent];
    stage.killed_when(&args, "the agent works", || stage.plan() == "rubbish\n");
    stage.run(&[]).ended(0).says("planning was interrupted").says("2 stories landed");
    assert_eq!(stage.plan(), TWO.replace("[ ]", "[x]"));
    stage.run(&["undo"]).says("left by planning that was ended");
}

#[test]
fn a_draft_that_is_not_taken_is_kept_and_named_on_every_way_out() {
    let stage = Stage::new("works", TWO);
    let unreadable = adding(&format!("printf -- '{}' >>{PLAN}", "- [ ] US-009: Twice\\n"));
    for (agent, more, code) in [
        (adding("exec sleep 100"), vec!["--timeout", "1", "--grace", "1"], 1),
        (adding("exec sleep 100"), vec!["--max-duration", "1", "--grace", "1"], 6),
        (adding("exit 1"), vec![], 1),
        (unreadable, vec![], 1),
    ] {
        let ran = planning(&stage, &agent, &more);
        ran.ended(code).says("finished (").says("the plan is as it was; the agent's draft is kept");
        assert_eq!(stage.plan(), TWO);
        let id = ran.out.split("`ralph-loop undo ").nth(1).unwrap().split('`').next().unwrap();
        stage.run(&["undo"]).ended(0).says(id).says("a draft of the plan: ");
        stage.run(&["undo", id, "--show"]).ended(0).says("US-009: Precious");
        let undone = stage.run(&["undo", id]);
        undone.ended(0).says("1 file changed");
        assert!(stage.plan().starts_with(&format!("{TWO}{ADDED}")), "{}", stage.plan());
        let other = undone.out.rsplit("undo ").next().unwrap().trim().to_owned();
        stage.run(&["undo", &other]).ended(0);
        assert_eq!(stage.plan(), TWO);
    }
}

#[test]
fn an_interrupted_planning_keeps_the_draft() {
    let stage = Stage::new("works", TWO);
    let child = stage.start(&["--mode", "planning", "--agent", &adding("exec sleep 100")]);
    until("the agent works", || stage.plan() != TWO);
    signal("INT", child.id());
    let ran = Ran::from(child.wait_with_output().unwrap());
    ran.ended(130).says("the agent's draft is kept").says("finished (manual)");
    assert_eq!(stage.plan(), TWO);
    assert_eq!(event(&stage, "iteration_finished")["outcome"], "interrupted");
}

#[test]
fn planning_makes_exactly_the_plan_that_was_named() {
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
    // The folder that a command is typed in counts, even for a plan that is yet to be written.
    fs_err::create_dir_all(stage.repo.root().join("sub")).unwrap();
    let mut command = stage.command(&["--mode", "planning", "--agent", agent, "--plan", "P.md"]);
    let ran: Ran = command.current_dir(stage.repo.root().join("sub")).output().unwrap().into();
    ran.ended(1).says("there is uncommitted work: docs/NEW.md");
    stage.repo.commit_all("the plan");
    let ran: Ran = command.output().unwrap().into();
    ran.ended(0);
    assert_eq!(stage.read("sub/P.md"), "- [ ] US-001: New\n");
}

#[test]
fn planning_is_counted_reported_and_shown_as_any_run_is() {
    let stage = Stage::new("works", TWO);
    stage.script("post_iteration", "echo $RALPH_STORY $RALPH_OUTCOME $RALPH_ITERATION");
    let result = r#"{"type":"result","subtype":"success","is_error":false,"result":"ok","total_cost_usd":3}"#;
    let ran = planning(&stage, &adding(&format!("echo '{result}'")), &["--max-cost", "1"]);
    ran.ended(0).says("[post_iteration] planning success 1").says("finished (complete): planning");
    ran.says("planning cost $3.00, and $1.00 were allowed").says("$3.0000");
    assert_eq!(event(&stage, "iteration_finished")["cost_usd"], 3.0);
    assert_eq!(event(&stage, "loop_finished")["finish_type"], "complete");
    stage.run(&["status"]).says("the last run ended: complete").says("1 iteration");
    let ran = planning(&stage, "true", &[]);
    ran.ended(4).says("planning: the agent changed nothing").says("finished (no_changes)");
    ran.says("[post_iteration] planning no_changes 1");
}

#[test]
fn planning_waits_for_a_usage_limit() {
    let stage = Stage::new("works", TWO);
    let limit = r#"{\"type\":\"rate_limit_event\",\"rate_limit_info\":{\"status\":\"rejected\",\"resetsAt\":'$(($(date +%s)+1))'}}"#;
    let once = "$AGENT_NOTES/once";
    let agent = adding(&format!(
        "if [ ! -e \"{once}\" ]; then : >\"{once}\"; printf '{}\\n'; exit 1; fi",
        limit.replace("\\\"", "\"")
    ));
    let ran = planning(&stage, &agent, &["--max-iterations", "1"]);
    ran.ended(0).says("the usage limit is reached; waiting").says("finished (complete)");
    assert_eq!(stage.plan(), format!("{TWO}{ADDED}"), "the first draft was taken back");
    let other = Stage::new("works", TWO);
    planning(&other, &agent, &["--wait-for-quota=false"]).ended(6);
}

#[test]
fn done_stories_are_put_back_and_removed_ones_named() {
    let stage = Stage::new("works", "- [x] US-001: First\n- [ ] US-002: Second\n- [ ] US-003: T\n");
    let ran = planning(&stage, &format!("cat >/dev/null; sed -i '/US-00[12]/d' {PLAN}"), &[]);
    ran.ended(0).says("removed US-001, done before; put back").says("removed US-002, not done");
    assert_eq!(stage.plan(), "- [x] US-001: First\n- [ ] US-003: T\n");
}

#[test]
fn commits_of_a_planning_agent_are_taken_back() {
    let stage = Stage::new("works", TWO);
    let agent = adding("echo x >x.txt; git add x.txt; git commit -qm sneaked");
    planning(&stage, &agent, &[]).ended(0).says("changed more than the plan");
    assert_eq!(stage.subjects(), ["first"]);
    assert_eq!(stage.plan(), format!("{TWO}{ADDED}"));
}

#[test]
fn a_plan_among_the_users_files_is_kept_apart_from_what_else_was_changed() {
    let stage = Stage::new("works", TWO);
    stage.repo.write("docs/PLAN.md", TWO);
    stage.repo.commit_all("the plan");
    let write = "printf -- '- [ ] US-007: More\\n' >>docs/PLAN.md; echo x >code.txt";
    let ran = planning(&stage, &format!("{write}; exit 1"), &["--plan", "docs/PLAN.md"]);
    ran.ended(1).says("changed more than the plan").says("the agent's draft is kept");
    assert_eq!((stage.read("docs/PLAN.md").as_str(), stage.exists("code.txt")), (TWO, false));
    planning(&stage, write, &["--plan", "docs/PLAN.md"]).ended(0).says("3 open stories");
    assert!(stage.read("docs/PLAN.md").contains("US-007") && !stage.exists("code.txt"));
}

#[test]
fn a_first_plan_that_was_killed_is_taken_back_as_well() {
    let stage = Stage::new("works", TWO);
    stage.repo.remove(".ralph");
    let agent = adding("exec sleep 100");
    let agent = format!("mkdir -p .ralph/PRD-1; {agent}");
    let args = ["--mode", "planning", "--agent", &agent];
    stage.killed_when(&args, "the agent works", || stage.plan() == ADDED);
    let ran = stage.run(&[]);
    ran.ended(1).says("the agent's draft is kept").says("ended 1 process");
    assert!(!stage.exists(PLAN));
    stage.run(&[]).ended(1).says("no plan found");
    planning(&stage, &adding(""), &[]).ended(0).says("1 open story");
}

#[test]
fn what_somebody_committed_after_a_killed_planning_is_theirs() {
    let stage = Stage::new("works", TWO);
    let agent = adding("echo x >code.txt; : >ready; exec sleep 100");
    let args = ["--mode", "planning", "--agent", &agent];
    stage.killed_when(&args, "the agent works", || stage.exists("ready"));
    stage.repo.git(["add", "-A"]);
    stage.repo.git(["commit", "-qm", "taken as it is"]);
    stage.run(&["--max-iterations", "1"]).ended(0).says("the branch moved since planning");
    assert!(stage.exists("code.txt") && stage.plan().contains("US-009"));
}

#[test]
fn a_killed_planning_puts_no_plan_into_a_branch_that_has_none() {
    let stage = Stage::new("works", TWO);
    stage.repo.git(["branch", "without"]);
    stage.repo.git(["add", "-A"]);
    stage.repo.git(["commit", "-qm", "with a plan"]);
    let agent = format!("cat >/dev/null; sed -i 's/\\[ \\]/[x]/' {PLAN}; exec sleep 100");
    let args = ["--mode", "planning", "--agent", &agent];
    stage.killed_when(&args, "the agent works", || stage.plan().contains("[x]"));
    stage.repo.git(["checkout", "-qf", "without"]);
    stage.repo.write("other.md", "- [ ] US-001: Other\n");
    stage.repo.git(["add", "other.md"]);
    stage.repo.git(["commit", "-qm", "another plan"]);
    let ran = stage.run(&["--plan", "other.md"]);
    ran.ended(0).says("is not there; as it was, it is kept as ").says("1 story landed");
    assert!(!stage.exists(PLAN));
    let kept = found(&stage);
    assert_eq!(stage.read(&format!(".ralph/logs/{}", kept[0])), TWO);
}

#[test]
fn a_plan_without_stories_is_filled_by_planning_and_refused_by_building() {
    for (place, blank) in [(PLAN, ""), (PLAN, "# Plan\n"), ("IMPLEMENTATION_PLAN.md", "# Plan\n")] {
        let stage = Stage::new("works", TWO);
        stage.repo.remove(PLAN);
        stage.repo.write(place, blank);
        stage.repo.commit_all("a plan to be written");
        stage.run(&[]).ended(1).says(place).says("write");
        let agent = format!("cat >/dev/null; echo '- [ ] US-001: New' >>{place}");
        planning(&stage, &format!("{agent}; exit 1"), &[]).ended(1).says("the plan is as it was");
        assert_eq!(stage.read(place), blank);
        planning(&stage, "cat >/dev/null", &[]).ended(1).says("left no usable plan");
        planning(&stage, &agent, &[]).ended(0).says("the plan has 1 open story");
        assert_eq!(stage.read(place), format!("{blank}- [ ] US-001: New\n"));
    }
}

#[test]
fn a_done_story_that_the_agent_opened_is_done_again() {
    let stage = Stage::new("works", "- [x] US-001: First\n- [ ] US-002: Second\n");
    let ran = planning(&stage, &adding(&format!("sed -i 's/\\[x\\]/[ ]/' {PLAN}")), &[]);
    ran.ended(0).says("opened US-001, done before and no different now; ticked again");
    assert_eq!(stage.plan(), format!("- [x] US-001: First\n- [ ] US-002: Second\n{ADDED}"));
    let findings = event(&stage, "plan_repaired")["findings"].to_string();
    assert!(findings.contains("US-001"), "{findings}");
}

#[test]
fn a_branch_that_the_agent_left_is_checked_out_again() {
    for leaving in ["git checkout -q -b topic", "git branch -m topic", "git checkout -q --detach"] {
        let stage = Stage::new("works", TWO);
        let ran = planning(&stage, &adding(leaving), &[]);
        ran.ended(0).says("the agent left main for ").says("the plan has 3 open stories");
        assert_eq!(stage.repo.git(["symbolic-ref", "--short", "HEAD"]).trim(), "main");
        assert_eq!(
            (stage.subjects(), stage.plan()),
            (vec!["first".into()], format!("{TWO}{ADDED}"))
        );
    }
}

#[test]
fn a_draft_in_the_stash_is_named() {
    let stage = Stage::new("works", TWO);
    let draft = format!("{}git add -f {PLAN}; git stash push -qm precious", adding(""));
    let ran = planning(&stage, &draft, &[]);
    ran.says("the agent put `On main: precious` into the stash");
    assert!(stage.repo.git(["stash", "show", "-p"]).contains("US-009"));
    assert_eq!(stage.plan(), TWO);
}
