//! Plans that a later run may choose are not the agent's, whatever it does to its own files of them.

use crate::stage::Stage;

const ONE: &str = "- [ ] US-001: First\n";
const OTHER: &str = "### US-101: Other\n- [ ] do it\n### US-102: More\n- [ ] do that\n";
const JSON: &str = r#"{"userStories":[{"id":"US-201","title":"Other","passes":false}]}"#;

/// Every place in the state folder but the one of the plan that is worked on.
const PLACES: [(&str, &str); 3] =
    [(".ralph/PRD-2/plan.md", OTHER), (".ralph/fix_plan.md", OTHER), (".ralph/prd.json", JSON)];

#[test]
fn what_an_agent_does_to_other_plans_of_the_state_folder_is_no_part_of_its_commit() {
    let files = PLACES.map(|(path, _)| path).join(" ");
    for act in [format!("sed -i 's/\\[ \\]/[x]/; s/false/true/' {files}"), format!("rm {files}")] {
        for end in ["true", "git add -A; git commit -qm all"] {
            let stage = Stage::new("works", ONE);
            PLACES.iter().for_each(|(path, text)| stage.repo.write(path, text));
            stage.repo.commit_all("plans");
            let agent = format!("cat >/dev/null; echo x >x.txt; {act}; {end}");
            let ran = stage.run(&["--agent", &agent]);
            ran.ended(0).says("US-001: left out of the commit: .ralph/PRD-2/plan.md");
            for (path, text) in PLACES {
                assert_eq!(stage.read(path), text, "{act} {end} {path}");
            }
            assert_eq!(stage.repo.git(["status", "--porcelain"]), "");
            stage.run(&["--dry-run"]).says("US-101 Other");
        }
    }
}

#[test]
fn a_new_plan_of_the_agents_is_not_chosen_by_the_next_run() {
    let stage = Stage::new("works", ONE);
    let agent =
        "echo x >x.txt; mkdir -p .ralph/PRD-0; echo '- [ ] US-000: Mine' >.ralph/PRD-0/plan.md";
    stage.run(&["--agent", agent, "--verify", "true"]).ended(0);
    assert!(!stage.exists(".ralph/PRD-0/plan.md"));
}

#[test]
fn ticks_of_other_stories_are_undone_however_the_plan_is_named() {
    let stage = Stage::new("works", "- [ ] US-001: First\n- [ ] US-002: Second\n");
    let agent = "echo x >x.txt; sed -i 's/\\[ \\]/[x]/' .ralph/PRD-1/plan.md";
    let plan = ".ralph/../.ralph/PRD-1/plan.md";
    let ran = stage.run(&["--agent", agent, "--max-iterations", "1", "--plan", plan]);
    ran.ended(0).says("plan: the agent ticked US-002");
    assert_eq!(stage.plan(), "- [x] US-001: First\n- [ ] US-002: Second\n");
}
