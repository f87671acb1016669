//! Plans that a later run may choose, while an agent is at work on another one.

use crate::stage::Stage;

const ONE: &str = "- [ ] US-001: First\n";
const OTHER: &str = "### US-101: Other\n- [ ] do it\n### US-102: More\n- [ ] do that\n";
const JSON: &str = r#"{"userStories":[{"id":"US-201","title":"Other","passes":false}]}"#;

/// Every place but the one of the plan that is worked on.
const PLACES: [(&str, &str); 6] = [
    (".ralph/PRD-2/plan.md", OTHER),
    (".ralph/fix_plan.md", OTHER),
    (".ralph/prd.json", JSON),
    ("IMPLEMENTATION_PLAN.md", OTHER),
    ("prd.json", JSON),
    ("scripts/ralph/prd.json", JSON),
];

/// Ticks all of them, and says something in each.
fn ticking(end: &str) -> String {
    let files = PLACES.map(|(path, _)| path).join(" ");
    format!(
        "echo x >$(cat $RALPH_ROOT/.ralph/current-story).txt; \
         sed -i 's/\\[ \\]/[x]/; s/false/true/; $a\\ ' {files}; {end}"
    )
}

#[test]
fn what_an_agent_ticks_in_other_plans_is_put_back() {
    for is_committed in [true, false] {
        for (end, done) in
            [("true", true), ("git add -A; git commit -qm all", true), ("exit 1", false)]
        {
            let stage = Stage::new("works", ONE);
            PLACES.iter().for_each(|(path, text)| stage.repo.write(path, text));
            if is_committed {
                stage.repo.commit_all("plans");
            } else {
                // What is uncommitted elsewhere would keep the loop from starting.
                stage.repo.git(["add", "IMPLEMENTATION_PLAN.md", "prd.json", "scripts"]);
                stage.repo.git(["commit", "-qm", "plans"]);
            }
            let ran = stage.run(&["--agent", &ticking(end), "--attempts", "1"]);
            assert_eq!(ran.out.contains("US-001 done"), done, "{end}: {}", ran.out);
            for (path, text) in PLACES {
                assert_eq!(stage.read(path), text, "{end} {path}");
                ran.says(&format!("{path} was changed while the agent worked; put back, and what"));
            }
            if is_committed {
                let changed = stage.repo.git(["diff", "--name-only", "HEAD"]);
                assert!(!PLACES.iter().any(|(path, _)| changed.contains(path)), "{changed}");
            }
            stage.run(&["--dry-run"]).says("Next      US-101 Other");
        }
    }
}

#[test]
fn what_an_agent_removes_of_them_is_put_back() {
    let stage = Stage::new("works", ONE);
    stage.repo.write(".ralph/PRD-2/plan.md", OTHER);
    stage.repo.commit_all("plans");
    let ran = stage.run(&["--agent", "echo x >x.txt; git rm -rq .ralph/PRD-2"]);
    ran.ended(0).says("PRD-2/plan.md was removed while the agent worked; put back");
    assert_eq!(stage.read(".ralph/PRD-2/plan.md"), OTHER);
    assert_eq!(stage.repo.git(["show", "HEAD:.ralph/PRD-2/plan.md"]), OTHER);
}

#[test]
fn a_new_plan_that_would_be_chosen_first_is_taken_away_and_a_later_one_is_told() {
    let stage = Stage::new("works", ONE);
    let agent = "echo x >x.txt; mkdir .ralph/PRD-0 .ralph/PRD-2; \
                 echo '- [ ] US-000: Mine' >.ralph/PRD-0/plan.md; \
                 echo '- [ ] US-009: Later' >.ralph/PRD-2/plan.md";
    let ran = stage.run(&["--agent", agent, "--verify", "true"]);
    ran.ended(0)
        .says("PRD-0/plan.md was made while the agent worked; it has no effect, and is kept");
    ran.says("PRD-2/plan.md was made while the agent worked; a later run chooses it");
    assert_eq!(ran.out.matches("a later run chooses it").count(), 1, "{}", ran.out);
    assert!(!stage.exists(".ralph/PRD-0/plan.md"));
    assert!(stage.exists(".ralph/PRD-2/plan.md"));
}

#[test]
fn the_plan_that_is_worked_on_stays_the_cores_to_repair_however_it_is_named() {
    let stage = Stage::new("works", "- [ ] US-001: First\n- [ ] US-002: Second\n");
    let agent = "echo x >$(cat $RALPH_ROOT/.ralph/current-story).txt; sed -i 's/\\[ \\]/[x]/' .ralph/PRD-1/plan.md";
    let ran = stage.run(&["--agent", agent, "--plan", ".ralph/../.ralph/PRD-1/plan.md"]);
    ran.ended(0).says("the agent ticked US-002, which was not its story; undone");
    assert!(!ran.out.contains("put back"), "{}", ran.out);
}
