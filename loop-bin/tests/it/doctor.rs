//! Doctor finds problems in advance that would stop a run.

use crate::stage::{ONE, PLAN, Stage};

#[test]
fn flaws_of_scripts_and_of_the_prompt_are_found() {
    let stage = Stage::new("works", ONE);
    stage.run(&["doctor"]).ended(0).says("ok       project ");
    stage.repo.write(".ralph/hooks/started", "#!/bin/sh\n");
    stage.repo.chmod(".ralph/hooks/started", 0o644);
    let prompt = PLAN.replace("plan.md", "prompt.md");
    stage.repo.write(&prompt, "Do {{STORY_ID}}\n");
    let ran = stage.run(&["doctor"]);
    ran.ended(0).says("note ").says("started is not executable; run `chmod");
    ran.says("neither {{STORY_DETAILS}} nor");
    stage.repo.write(&prompt, "Do {{STORY_IDD}}\n");
    stage.run(&["doctor"]).ended(1).says("prompt.md").says("STORY_IDD");
}

#[test]
fn a_bare_repository_is_reported() {
    let stage = Stage::new("works", ONE);
    stage.repo.git(["config", "core.bare", "true"]);
    for args in [vec!["doctor"], vec![]] {
        let ran = stage.run(&args);
        ran.ended(1).says("is bare").says("git config core.bare false");
        let all = format!("{}{}", ran.out, ran.err);
        assert!(!all.contains("rev-parse") && !all.contains("git init"), "{all}");
    }
}

#[test]
fn all_problems_are_shown_at_once() {
    let stage = Stage::new("works", ONE);
    let red = ["--baseline", "check", "--verify", "echo one; echo two; exit 1"];
    let missing = ["--agent", "no-such-agent -p"];
    let ran = stage.run(&[&["doctor"], &red[..], &missing].concat());
    ran.ended(1).says("`no-such-agent` was not found").says("failed with exit code 1");
    ran.says("\n  one\n  two\n").says("2 problems found").says("later    check `echo one");
    stage.repo.remove(PLAN);
    let ran = stage.run(&[&["doctor"], &red[..], &missing].concat());
    ran.ended(1).says("no plan found; create one").says("plan.md");
    ran.says("`no-such-agent` was not found").says("2 problems found");
    stage.repo.write(PLAN, ONE);
    let missing = ["doctor", "--verify", "no-such-check", "--baseline", "check"];
    stage.run(&missing).ended(1).says("missing: `no-such-check`").says("1 problem found");
    let ran = stage.run(&["doctor", "--no-checks", "--verify", "no-such-check"]);
    ran.says("later    check `no-such-check`");
}

#[test]
fn ignored_files_and_suspicious_limits_are_reported() {
    let stage = Stage::new("works", ONE);
    stage.repo.write(".gitignore", ".env*\n.ralph\n");
    stage.repo.write(".env", "KEY=1\n");
    stage.repo.write(".env.local", "KEY=2\n");
    stage.repo.write(".worktreeinclude", ".env.local\n");
    stage.repo.commit_all("settings");
    let ran = stage.run(&["--dry-run", "--max-duration", "8", "--workers", "3", "--model", "opus"]);
    ran.ended(0).says("git ignores .env, so the agent's copy lacks it").says(", 3 workers");
    ran.says("the run ends after 8 seconds; write 8m or 8h for more").says("model opus");
    assert!(!ran.out.contains("ignores .env.local"), "{}", ran.out);
}

#[test]
fn a_number_instead_of_a_plan_suggests_max_iterations() {
    let stage = Stage::new("works", ONE);
    stage.run(&["10"]).ended(2).says("did you mean `ralph-loop --max-iterations 10`?");
    stage.run(&["--budget", "5", "--dry-run"]).ended(0).says("$5.00 per run");
}
