//! `stories` and `config`, and the commands that control a running loop.

use crate::stage::{ONE, Ran, Stage, signal, until};

const TWO: &str = "# Plan\n\n- [x] US-001: First\n- [ ] US-002: Second (depends: US-001)\n\n\
                   ## Optional\n\n- [ ] US-003: Third\n";

#[test]
fn stories_are_shown_as_parsed_and_a_plan_may_be_given() {
    let stage = Stage::new("works", TWO);
    let ran = stage.run(&["stories"]);
    ran.ended(0);
    insta::assert_snapshot!(ran.out, @r"
    .ralph/PRD-1/plan.md
    [x] US-001  First  (line 3)
    [ ] US-002  Second  (after US-001)  (line 4)
    [ ] US-003  Third  (optional)  (line 8)
    ");
    let json = stage.run(&["stories", "--json"]).out;
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!((&json[1]["id"], &json[1]["state"]), (&"US-002".into(), &"open".into()));
    assert_eq!((&json[1]["depends"][0], &json[2]["optional"]), (&"US-001".into(), &true.into()));
    stage.repo.write("OTHER.md", "- [ ] A-1: Other\n");
    stage.run(&["stories", "--plan", "OTHER.md"]).ended(0).says("[ ] A-1  Other");
    // A plan may be given without a flag.
    stage.repo.commit_all("another plan");
    stage.run(&["OTHER.md", "--dry-run"]).ended(0).says("plan OTHER.md: 1 open");
    stage.run(&["OTHER.md"]).ended(0).says("A-1 done");
}

#[test]
fn settings_are_shown_with_their_source() {
    let stage = Stage::new("works", TWO);
    stage.repo.write(".ralph/config.toml", "[limits]\nmax_cost_usd = 2.5\n");
    let ran = stage.run(&["config", "--attempts", "7"]);
    ran.ended(0).says("max_cost_usd = 2.5  # .ralph/config.toml");
    ran.says("attempts_per_story = 7  # --attempts").says("baseline = \"skip\"  # RALPH_BASELINE");
    ran.says("[workspace]\nin_place = false  # default");
}

/// An agent that works on a story until `go` exists, and saves its prompts.
const SLOW: &str = "cat >\"$AGENT_NOTES/prompt-$(cat \"$RALPH_ROOT/.ralph/current-story\")\"; \
                    until [ -e \"$AGENT_NOTES/go\" ]; do sleep 0.05; done; date +%N >work.txt";

#[test]
fn stop_ends_the_run_after_its_story() {
    let stage = Stage::new("works", "- [ ] US-001: First\n- [ ] US-002: Second\n");
    stage.run(&["stop"]).ended(1).says("no run is in progress");
    let child = stage.start(&["--agent", SLOW]);
    until("the agent works", || !stage.note("prompt-US-001").is_empty());
    stage.run(&["stop"]).ended(0).says("the run stops after US-001");
    stage.run(&["status"]).ended(0).says("Stopping  before the next story");
    stage.run(&[]).ended(5).says("end it with `ralph-loop stop`");
    fs_err::write(stage.note_path("go"), "").unwrap();
    let ran: Ran = child.wait_with_output().unwrap().into();
    ran.ended(0).says("US-001 done").says("finished (stopped)").says("to continue, run");
    let shown = stage.run(&["status"]);
    shown.ended(0).says("ended: stopped by `ralph-loop stop`");
    assert!(!shown.out.contains("Stopping"), "{}", shown.out);
    assert_eq!(stage.note("prompt-US-002"), "");
    stage.run(&["--agent", SLOW]).ended(0).says("US-002 done");
}

#[test]
fn user_messages_are_in_the_next_prompt_until_a_story_lands() {
    let stage = Stage::new("works", "- [ ] US-001: First\n- [ ] US-002: Second\n");
    stage.run(&["tell", "use", "tabs"]).ended(0).says("in its next prompt");
    stage.run(&["tell", ""]).ended(2);
    let child = stage.start(&["--agent", SLOW]);
    until("the agent works", || !stage.note("prompt-US-001").is_empty());
    stage.run(&["tell", "and be quick"]).ended(0);
    fs_err::write(stage.note_path("go"), "").unwrap();
    let ran: Ran = child.wait_with_output().unwrap().into();
    ran.ended(0);
    let (first, second) = (stage.note("prompt-US-001"), stage.note("prompt-US-002"));
    assert!(first.ends_with("## From the user, just now\n\n- use tabs\n"), "{first}");
    assert!(second.ends_with("## From the user, just now\n\n- and be quick\n"), "{second}");
}

#[test]
fn commands_show_the_plan_of_the_run_unless_another_is_given() {
    let stage = Stage::new("works", "- [ ] US-001: First\n");
    stage.repo.write(".ralph/PRD-2/plan.md", "- [ ] US-201: Second\n");
    stage.repo.write("OTHER.md", "- [ ] A-1: Other\n- [ ] A-2: More\n");
    stage.repo.commit_all("plans");
    let looks = [&["stories"][..], &["status"], &["doctor", "--no-checks"]];
    let shows = |choice: &[&str], plan: &str| {
        for look in looks {
            stage.run(&[look, choice].concat()).says(plan);
        }
    };
    shows(&[], "PRD-1/plan.md");
    let child = stage.start(&["--agent", SLOW, "--prd", "2"]);
    until("the agent works", || !stage.note("prompt-US-201").is_empty());
    shows(&[], "PRD-2/plan.md");
    shows(&["--prd", "1"], "PRD-1/plan.md");
    shows(&["--plan", "OTHER.md"], "OTHER.md");
    stage.run(&["status", "--plan", "OTHER.md"]).says("0 done, 2 open");
    fs_err::write(stage.note_path("go"), "").unwrap();
    Ran::from(child.wait_with_output().unwrap()).ended(0);
    shows(&[], "PRD-1/plan.md");
}

#[test]
fn undo_retry_clean_and_another_loop_are_refused_while_a_loop_runs() {
    let mut stage = Stage::new("fails", ONE);
    stage.repo.write("inner/.ralph/PRD-1/plan.md", ONE);
    stage.repo.commit_all("two projects");
    stage.run(&["--max-iterations", "1"]).ended(0);
    stage.agent("hangs");
    let mut child = stage.start(&[]);
    until("the agent works", || stage.in_copy("half.txt"));
    let holder = format!("another ralph-loop (process {})", child.id());
    for command in [&["undo", "x"][..], &["clean"], &[]] {
        stage.run(command).ended(5).says(&holder);
    }
    stage.run(&["retry", "US-001", "--hint", "x"]).ended(5).says("US-001 is being worked on");
    stage.run(&["attempts"]).ended(0).says("US-001/1");
    stage.run(&["--dry-run"]).ended(0).says(&holder);
    for (args, code) in [(&[][..], 5), (&["--dry-run"], 0)] {
        stage.run_in("inner", args).ended(code).says(&holder);
    }
    assert!(stage.in_copy("half.txt"));
    signal("TERM", child.id());
    child.wait().unwrap();
    stage.run(&["clean"]).ended(0).says("removed the copy");
}
