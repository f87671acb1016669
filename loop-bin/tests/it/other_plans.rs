//! Other plans and projects in one repository: an agent's changes to other plans, which a later run
//! may choose, are discarded; each project has its own state and its own agent.

use crate::stage::{ONE, PLAN, Stage, TWO};

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
    // A new plan is discarded as well.
    let stage = Stage::new("works", ONE);
    let agent =
        "echo x >x.txt; mkdir -p .ralph/PRD-0; echo '- [ ] US-000: Mine' >.ralph/PRD-0/plan.md";
    stage.run(&["--agent", agent, "--verify", "true"]).ended(0);
    assert!(!stage.exists(".ralph/PRD-0/plan.md"));
}

#[test]
fn ticks_of_other_stories_are_undone_with_an_unusual_plan_path() {
    let stage = Stage::new("works", TWO);
    let agent = "echo x >x.txt; sed -i 's/\\[ \\]/[x]/' .ralph/PRD-1/plan.md";
    let plan = ".ralph/../.ralph/PRD-1/plan.md";
    let ran = stage.run(&["--agent", agent, "--max-iterations", "1", "--plan", plan]);
    ran.ended(0).says("plan: the agent ticked US-002");
    assert_eq!(stage.plan(), "- [x] US-001: First\n- [ ] US-002: Second\n");
}

const OTHERS: &str = "b/.ralph/PRD-1/plan.md";

/// A project at the top, and one in each of two folders.
fn projects() -> Stage {
    let stage = Stage::new("works", TWO);
    for folder in ["a", "b"] {
        stage.repo.write(format!("{folder}/{PLAN}"), TWO);
        stage.repo.write(format!("{folder}/file.txt"), "committed\n");
    }
    stage.repo.commit_all("three projects");
    stage
}

#[test]
fn a_project_in_a_subfolder_is_worked_on_there() {
    let stage = projects();
    let agent = "pwd >\"$AGENT_NOTES/pwd\"; echo x >>file.txt; echo x >new.txt";
    let check = "test -e new.txt && test -e ../b/file.txt";
    let args = ["--agent", agent, "--verify", check, "--max-iterations", "1"];
    stage.run_in("a", &args).ended(0).says("US-001 done");
    assert_eq!(stage.note("pwd").trim(), stage.copy().unwrap().join("a"));
    assert_eq!(stage.read("a/file.txt"), "committed\nx\n");
    let files = stage.repo.git(["show", "--format=", "--name-only", "HEAD~1"]);
    assert_eq!(files, format!("a/{PLAN}\na/file.txt\na/new.txt\n"));
    assert_eq!((stage.plan().as_str(), stage.read(OTHERS).as_str()), (TWO, TWO));
    stage.is_clean();
}

/// A nested `.ralph` folder may be ordinary content, such as the test data of a similar tool.
#[test]
fn nested_ralph_folders_are_ordinary_files() {
    let stage = Stage::new("works", TWO);
    stage.repo.write("tests/data/.ralph/config.toml", "old = 1\n");
    stage.repo.commit_all("test data");
    let agent = "echo new >tests/data/.ralph/config.toml";
    stage.run(&["--agent", agent, "--max-iterations", "1"]).ended(0).says("US-001 done");
    assert_eq!(stage.read("tests/data/.ralph/config.toml"), "new\n");
    stage.is_clean();
}
