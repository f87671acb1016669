//! What real projects need in a copy is present, or is reported before the first story.

use crate::stage::{PLAN, Ran, Stage, TWO};

/// A project with these settings.
fn stage(config: &str) -> Stage {
    let stage = Stage::new("works", TWO);
    stage.repo.write(".ralph/config.toml", config);
    stage.repo.write("src/app.py", "");
    stage.repo.commit_all("settings");
    stage
}

/// Runs the loop with an environment next to the project that imports the project's own files.
fn with_environment(stage: &Stage, args: &[&str]) -> Ran {
    let scratch = stage.repo.scratch();
    let env = scratch.path("env");
    let packages = "env/lib/python3.11/site-packages/app.pth";
    scratch.file(packages, format!("{}/src\n", stage.repo.root()));
    scratch.file("env/pyvenv.cfg", "");
    scratch.script("env/bin/pytest", "#!/bin/sh\nexit 0\n");
    let path = format!("{env}/bin:/usr/bin:/bin");
    let mut command = stage.command(args);
    command.env("VIRTUAL_ENV", env).env("PATH", path).output().unwrap().into()
}

#[test]
fn an_environment_that_tests_the_original_project_is_refused() {
    let stage = stage("[verify]\ncommands = [\"pytest -q\"]\n");
    let ran = with_environment(&stage, &[]);
    ran.ended(1).says("`pytest -q` would use the project").says("[workspace] setup");
    assert!(stage.copy().is_none());
    with_environment(&stage, &["doctor"]).ended(1).says("PROBLEM  `pytest -q` would use");
    with_environment(&stage, &["--dry-run"]).ended(1).says("PROBLEM  `pytest -q` would use");
    with_environment(&stage, &["--in-place"]).ended(0);
}

#[test]
fn an_environment_that_no_check_uses_is_reported() {
    let stage = stage("[verify]\ncommands = [\"true\"]\n");
    with_environment(&stage, &[]).ended(0).says("instead of the copy");
}

#[test]
fn a_copied_environment_is_refused_before_the_first_story() {
    let stage = stage("[verify]\ncommands = [\".venv/bin/pytest\"]\n");
    stage.repo.write(".gitignore", "/.venv/\n");
    stage.repo.write(".worktreeinclude", ".venv/\n");
    stage.repo.commit_all("an environment");
    let interpreter = stage.repo.root().join(".venv/bin/python");
    stage.repo.scratch().script("repo/.venv/bin/pytest", &format!("#!{interpreter}\n"));
    stage.run(&[]).ended(1).says("`.venv/bin/pytest` would use the project");
    assert!(!stage.events().contains(&"iteration_started".to_owned()));
    stage.run(&["doctor"]).ended(1).says("PROBLEM  `.venv/bin/pytest` would use the project");
}

#[test]
fn files_created_by_the_setup_are_kept_and_not_committed() {
    let stage = stage(
        "[workspace]\nsetup = [\"mkdir -p 'my deps' && echo x > 'my deps/x'\"]\n\
         [verify]\ncommands = [\"test -f 'my deps/x'\"]\n",
    );
    stage.run(&[]).ended(0);
    assert_eq!(stage.repo.git(["log", "--format=", "--name-only", "--", "my deps"]), "");
    assert!(stage.in_copy("my deps/x") && !stage.exists("my deps"));
    assert!(stage.plan().contains("[x] US-002"), "{}", stage.read(PLAN));
}

#[test]
fn a_setup_that_changes_tracked_files_is_reported() {
    let stage = stage("[workspace]\nsetup = [\"echo 1 >> src/app.py\"]\n");
    stage.run(&[]).ended(0).says("the setup changes tracked files").says("src/app.py");
}
