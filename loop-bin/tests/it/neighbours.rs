//! Several projects in one repository: each has its own state, and its own agent.

use crate::stage::{PLAN, Ran, Stage};

const TWO: &str = "- [ ] US-001: First\n- [ ] US-002: Second\n";
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

fn run_in(stage: &Stage, folder: &str, args: &[&str]) -> Ran {
    let mut command = stage.command(args);
    command.current_dir(stage.repo.root().join(folder)).output().expect("the loop runs").into()
}

#[test]
fn a_project_in_a_subfolder_is_worked_on_there() {
    let stage = projects();
    let agent = "pwd >\"$AGENT_NOTES/pwd\"; echo x >>file.txt; echo x >new.txt";
    let check = "test -e new.txt && test -e ../b/file.txt";
    let args = ["--agent", agent, "--verify", check, "--max-iterations", "1"];
    run_in(&stage, "a", &args).ended(0).says("US-001 done");
    assert_eq!(stage.note("pwd").trim(), stage.copy().unwrap().join("a"));
    assert_eq!(stage.read("a/file.txt"), "committed\nx\n");
    let files = stage.repo.git(["show", "--format=", "--name-only", "HEAD~1"]);
    assert_eq!(files, format!("a/{PLAN}\na/file.txt\na/new.txt\n"));
    assert_eq!((stage.plan().as_str(), stage.read(OTHERS).as_str()), (TWO, TWO));
    stage.is_clean();
}

#[test]
fn user_edits_in_other_projects_are_kept() {
    let stage = projects();
    stage.repo.write(OTHERS, "- [ ] US-001: Edited by hand\n");
    stage.repo.write("b/.ralph/guardrails.md", "new\n");
    let agent = "cat >/dev/null; echo x >>file.txt; echo x >>../b/file.txt; exit 1";
    let flags = ["--agent", agent, "--attempts", "1", "--max-iterations", "1"];
    run_in(&stage, "a", &flags).ended(0).says("attempt saved");
    assert_eq!(stage.read("b/file.txt"), "committed\n");
    assert_eq!(stage.read(OTHERS), "- [ ] US-001: Edited by hand\n");
    assert_eq!(stage.read("b/.ralph/guardrails.md"), "new\n");
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
