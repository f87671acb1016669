//! Several projects in one repository: the state of another one is not ours to touch.

use crate::stage::{PLAN, Ran, Stage};

const TWO: &str = "- [ ] US-001: First\n- [ ] US-002: Second\n";
const OTHERS: &str = "b/.ralph/PRD-1/plan.md";

/// A project at the top, and two in folders of it; the second of those was used before.
fn projects() -> Stage {
    let stage = Stage::new("works", TWO);
    for folder in ["a", "b"] {
        stage.repo.write(format!("{folder}/{PLAN}"), TWO);
        stage.repo.write(format!("{folder}/file.txt"), "committed\n");
    }
    stage.repo.write("b/.claude/settings.json", "{}\n");
    stage.repo.commit_all("three projects");
    stage
}

fn run_in(stage: &Stage, folder: &str, args: &[&str]) -> Ran {
    let mut command = stage.command(args);
    command.current_dir(stage.repo.root().join(folder)).output().expect("the loop runs").into()
}

#[test]
fn a_rollback_leaves_the_state_of_other_projects_as_it_is() {
    for is_used in [false, true] {
        let stage = projects();
        if is_used {
            run_in(&stage, "b", &["--max-iterations", "1"]).ended(0);
        }
        // New rules make a rollback look at ignored files as well.
        let agent = "cat >/dev/null; echo x >>file.txt; echo x >>../b/file.txt; \
                     echo x >>../.gitignore; echo '- [ ] US-009: Mine' >>../b/.ralph/PRD-1/plan.md; \
                     echo new >../b/.ralph/guardrails.md; echo '[]' >../b/.claude/settings.json; \
                     echo '{}' >>../b/.ralph/events.jsonl; exit 1";
        let journal = stage.read("b/.ralph/events.jsonl");
        let flags = ["--agent", agent, "--attempts", "1", "--max-iterations", "1"];
        run_in(&stage, "a", &flags).ended(0).says("rolled back");
        assert_eq!(stage.read("a/file.txt"), "committed\n");
        assert_eq!(stage.read("b/file.txt"), "committed\n");
        assert!(stage.read(OTHERS).ends_with("US-009: Mine\n"), "{}", stage.read(OTHERS));
        assert_eq!(stage.read("b/.ralph/guardrails.md"), "new\n");
        assert_eq!(stage.read("b/.claude/settings.json"), "[]\n");
        assert_eq!(stage.read("b/.ralph/events.jsonl"), format!("{journal}{{}}\n"));
    }
}

#[test]
fn the_state_of_other_projects_is_part_of_no_commit() {
    let stage = projects();
    stage.repo.write(OTHERS, "- [ ] US-001: Edited by hand\n");
    stage.repo.write(PLAN, "- [ ] US-001: Edited by hand\n");
    let agent = "echo x >>file.txt; echo new >../b/.ralph/guardrails.md; git add -A ..";
    run_in(&stage, "a", &["--agent", agent, "--max-iterations", "1"]).ended(0).says("US-001 done");
    let files = stage.repo.git(["show", "--format=", "--name-only", "HEAD"]);
    assert_eq!(files, format!("a/{PLAN}\na/file.txt\n"));
    assert_eq!(stage.read(OTHERS), "- [ ] US-001: Edited by hand\n");
    assert_eq!(stage.read("b/.ralph/guardrails.md"), "new\n");
}

/// A folder of that name may be work, as test data of a tool like ours is.
#[test]
fn folders_of_that_name_below_a_project_are_work_until_somebody_works_with_them() {
    let stage = Stage::new("works", TWO);
    stage.repo.write("tests/data/.ralph/config.toml", "old = 1\n");
    stage.repo.commit_all("test data");
    let agent = "cat >/dev/null; echo new >tests/data/.ralph/config.toml; exit 1";
    let flags = ["--agent", agent, "--attempts", "1", "--max-iterations", "1"];
    stage.run(&flags).ended(0).says("rolled back 1 file");
    assert_eq!(stage.read("tests/data/.ralph/config.toml"), "old = 1\n");
    let agent = "echo new >tests/data/.ralph/config.toml";
    stage.run(&["--agent", agent, "--max-iterations", "1"]).says("US-002 done");
    assert!(
        stage.repo.git(["show", "--name-only", "HEAD"]).contains("tests/data/.ralph/config.toml")
    );
}
