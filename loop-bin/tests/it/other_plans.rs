//! An agent's changes to other plans, which a later run may choose, are discarded.

use crate::stage::Stage;

const ONE: &str = "- [ ] US-001: First\n";
const OTHER: &str = "### US-101: Other\n- [ ] do it\n### US-102: More\n- [ ] do that\n";
const JSON: &str = r#"{"userStories":[{"id":"US-201","title":"Other","passes":false}]}"#;

/// Other places for a plan in the state folder.
const PLACES: [(&str, &str); 3] =
    [(".ralph/PRD-2/plan.md", OTHER), (".ralph/fix_plan.md", OTHER), (".ralph/prd.json", JSON)];

#[test]
fn changes_to_other_plans_are_left_out_of_the_commit() {
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
fn a_plan_created_by_the_agent_is_discarded() {
    let stage = Stage::new("works", ONE);
    let agent =
        "echo x >x.txt; mkdir -p .ralph/PRD-0; echo '- [ ] US-000: Mine' >.ralph/PRD-0/plan.md";
    stage.run(&["--agent", agent, "--verify", "true"]).ended(0);
    assert!(!stage.exists(".ralph/PRD-0/plan.md"));
}

#[test]
fn ticks_of_other_stories_are_undone_with_an_unusual_plan_path() {
    let stage = Stage::new("works", "- [ ] US-001: First\n- [ ] US-002: Second\n");
    let agent = "echo x >x.txt; sed -i 's/\\[ \\]/[x]/' .ralph/PRD-1/plan.md";
    let plan = ".ralph/../.ralph/PRD-1/plan.md";
    let ran = stage.run(&["--agent", agent, "--max-iterations", "1", "--plan", plan]);
    ran.ended(0).says("plan: the agent ticked US-002");
    assert_eq!(stage.plan(), "- [x] US-001: First\n- [ ] US-002: Second\n");
}
