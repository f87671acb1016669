//! Sessions in a copy of the project: allowed writes, and which session belongs to the run.

use serde_json::json;
use test_support::{TestRepo, fixtures, program, run_with_input};

use crate::client::{Client, ON_STOP};
use crate::run::{Run, checkpoint};

/// Writes a file with the Write tool, by its absolute path.
fn write_denied(client: &Client, path: impl AsRef<str>) -> Option<String> {
    client.denied("Write", json!({"file_path": path.as_ref()}))
}

#[test]
fn edits_outside_the_copy_are_denied_with_the_right_path() {
    let run = Run::new("");
    let (agent, project, copy) = (run.agent(), run.project.root(), run.copy.root());
    assert_eq!(write_denied(&agent, copy.join("new.rs")), None);
    let temporary = agent.home.path("tmp/notes.md");
    assert_eq!(write_denied(&agent, temporary), None);
    let reason = write_denied(&agent, project.join("src/new.rs")).unwrap();
    assert!(reason.contains("outside-copy: you work in a copy of the project"), "{reason}");
    assert!(reason.ends_with(&format!("Instead: edit {copy}/src/new.rs.")), "{reason}");
    let reason = write_denied(&agent, agent.home.path("elsewhere.rs")).unwrap();
    assert!(reason.contains(&format!("write below {copy}")), "{reason}");
    assert_eq!(agent.events("denied").len(), 2);
    let reason = agent.bash_denied("echo x > \"$RALPH_ROOT/a.txt\"").unwrap();
    assert!(reason.contains("outside-copy") && reason.contains(copy.as_str()), "{reason}");
    // State is protected, except the files for the gates.
    let plan = copy.join(".ralph/PRD-1/plan.md");
    assert_eq!(agent.bash_denied(&format!("echo x >> {plan}")), None);
    for state in [project.join(".ralph/state"), agent.home.path(".ralph/state")] {
        assert_eq!(write_denied(&agent, state.join(&agent.session).join("tasks/1.json")), None);
        assert!(write_denied(&agent, state.join(&agent.session).join("blocks.json")).is_some());
        assert!(write_denied(&agent, state.join("another/tasks/1.json")).is_some());
    }
}

#[test]
fn an_unattended_agent_must_not_deploy() {
    let run = Run::new("");
    for (command, rule) in [("terraform apply", "deploy"), ("docker push x/y", "publish-image")] {
        let reason = run.agent().bash_denied(command).unwrap();
        assert!(reason.contains(&format!("forbidden by rule {rule}")), "{reason}");
        assert_eq!(run.person().bash_denied(command), None, "{command}");
    }
    let strict = Run::new("[guard]\nenable = [\"database\"]\n");
    assert!(strict.person().bash_denied("psql -c 'drop table a'").is_some());
}

#[test]
fn without_a_copy_edits_are_not_restricted() {
    let run = Run::new("");
    let project = run.project.root();
    let agent = run.person().with("RALPH_RUN", "run-1").with("RALPH_WORKSPACE", project.as_str());
    assert_eq!(write_denied(&agent, project.join("new.rs")), None);
    assert_eq!(write_denied(&agent, agent.home.path("elsewhere.rs")), None);
}

#[test]
fn a_project_in_a_subfolder_maps_to_the_same_folder_of_the_copy() {
    let mono = TestRepo::new();
    mono.write("app/.ralph/config.toml", "");
    mono.write("app/main.rs", "x");
    mono.commit_all("app");
    let copy = mono.cloned();
    let (project, work) = (mono.root().join("app"), copy.root().join("app"));
    let agent = Client { cwd: work.clone(), ..Client::in_project(&project) };
    let agent = agent.with("RALPH_RUN", "r").with("RALPH_ROOT", project.as_str());
    let agent = agent.with("RALPH_WORKSPACE", work.as_str()).with("TMPDIR", "/nowhere");
    for (path, right) in [("app/new.rs", "app/new.rs"), ("lib/new.rs", "lib/new.rs")] {
        assert_eq!(write_denied(&agent, copy.root().join(path)), None, "{path}");
        let reason = write_denied(&agent, mono.root().join(path)).unwrap();
        assert!(reason.contains(&format!("edit {}/{right}.", copy.root())), "{reason}");
    }
    assert!(write_denied(&agent, copy.root().join(".git/hooks/x")).is_some());
    assert!(write_denied(&agent, project.join(".ralph/x")).unwrap().contains("protected-path"));
}

#[test]
fn scope_and_commits_of_the_agent_are_judged_in_the_copy() {
    let run = Run::new("[scope]\npaths = [\"b.txt\"]\nstories = { US-001 = [\"src/**\"] }\n");
    let agent = run.agent();
    run.project.write("a.txt", "a person's work");
    assert_eq!(agent.bash_denied("git commit -am x"), None, "only the project is dirty");
    run.copy.write("a.txt", "out of scope");
    assert!(agent.bash_denied("git commit -am x").unwrap().contains("a.txt"));
    assert!(write_denied(&agent, run.copy.root().join("b.txt")).unwrap().contains("scope"));
    assert_eq!(write_denied(&agent, run.copy.root().join("src/b.rs")), None);
    run.checkpoint();
    assert!(agent.bash_denied("git commit --amend --no-edit").unwrap().contains("git-history"));
    run.copy.git(["checkout", "-q", "a.txt"]);
    run.copy.git(["commit", "-q", "--allow-empty", "-m", "agent"]);
    assert_eq!(agent.bash_denied("git commit --amend --no-edit"), None);
}

#[test]
fn a_person_is_not_bound_to_the_story_of_a_run() {
    let mut run = Run::new("[scope]\npaths = [\"docs/**\"]\nstories = { US-001 = [\"src/**\"] }\n");
    run.project.write(".ralph/guardrails.md", "- read first\n");
    assert_eq!(
        run.agent().prompted("go").unwrap(),
        "Current story: US-001 (Log in), iteration 3.\nLessons from earlier attempts:\n- read first"
    );
    let person = run.person();
    for _ in ["while the loop lives", "after it was killed"] {
        assert_eq!(person.prompted("go"), None);
        assert_eq!(write_denied(&person, run.project.root().join("b.txt")), None);
        run.project.write("a.txt", "a person's work");
        assert_eq!(person.bash_denied("git commit -am x"), None);
        run.kill_loop();
    }
    let last = person.journal().pop().unwrap();
    assert_eq!((&last["event"], &last["story"]), (&"prompt".into(), &serde_json::Value::Null));
}

#[test]
fn an_agent_of_an_ended_run_gets_no_story_of_the_next_run() {
    let run = Run::new("");
    let messages = run.project.root().join(".git/ralph/messages.md");
    fs_err::write(messages, "- use tabs\n").unwrap();
    let shown = run.agent().prompted("go").unwrap();
    assert!(shown.ends_with("From the user, just now:\n- use tabs"), "{shown}");
    crate::run::begin(run.project.root(), run.copy.root(), "run-2");
    assert_eq!(run.agent().prompted("go"), None);
}

#[test]
fn tasks_of_a_person_are_compared_with_the_last_commit() {
    let run = Run::new("");
    checkpoint(run.project.root(), &run.state(), "run-1");
    run.project.write("src/lib.rs", "// TODO: the person's own, committed\n");
    run.project.commit_all("by hand");
    let payload = fs_err::read(fixtures().join("payloads/TaskCompleted-2.1.63.json")).unwrap();
    let complete = |vars: &[(&str, &str)]| {
        let mut hook = program(ON_STOP, run.project.scratch().root());
        hook.env("RALPH_ROOT", run.project.root()).envs(vars.iter().copied());
        String::from_utf8(run_with_input(&mut hook, &payload).stdout).unwrap()
    };
    assert_eq!(complete(&[]), "");
    // With `--in-place`, the same lines belong to the agent.
    assert!(complete(&[("RALPH_RUN", "run-1")]).contains("src/lib.rs:1: `TODO`"));
}
