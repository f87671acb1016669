//! A test run that ends while our loop runs, in the session of its agent and in others.

use ralph_base::state::{RunDir, StateDir};
use ralph_core::git::{Repo, discarded};
use ralph_project::under_way::Attempt;

use super::{
    PYTEST_FAILED, PYTEST_PASSED, at_a_checkpoint, break_something, change_files, without_state,
};
use crate::client::Client;
use crate::run::{Run, begin, checkpoint, hold_lock};

#[test]
fn only_an_agent_of_the_running_loop_is_rolled_back_to_its_checkpoint() {
    let (test, person, before) = at_a_checkpoint(1);
    let state = StateDir::of_project(test.root());
    checkpoint(test.root(), &state, "run-1");
    break_something(&test);
    let work = without_state(&test);
    assert_eq!(person.bash_ended("pytest", 1, PYTEST_FAILED), None);
    let agent = Client::in_repo(&test).with("RALPH_RUN", "run-1");
    let shown = agent.bash_ended("pytest", 1, PYTEST_FAILED).unwrap();
    assert!(shown.contains("test_login") && shown.contains("nothing was rolled back"), "{shown}");
    assert_eq!(agent.events("not_rolled_back")[0]["why"], "the loop of run run-1 has ended");
    let _loop = hold_lock(test.root());
    assert_eq!(person.bash_ended("pytest", 1, PYTEST_FAILED), None);
    assert_eq!(without_state(&test), work);
    assert!(agent.bash_ended("pytest", 1, PYTEST_FAILED).unwrap().contains("was rolled back"));
    assert_eq!(without_state(&test), before);
    // The checkpoint of another loop does not apply to this agent.
    checkpoint(test.root(), &state, "run-2");
    begin(test.root(), test.root(), "run-2");
    test.write("src/lib.rs", "more broken");
    assert_eq!(agent.bash_ended("pytest", 1, PYTEST_FAILED), None);
    assert_eq!(discarded(&Repo::open(test.root()).unwrap()).unwrap().len(), 1);
}

#[test]
fn the_copy_is_rolled_back_and_the_record_is_in_the_project() {
    let run = Run::new("[rollback]\non = \"failure\"\nafter_failures = 2\n");
    run.copy.write("untracked.txt", "set up");
    run.checkpoint();
    let (agent, before) = (run.agent(), without_state(&run.copy));
    run.project.write("a.txt", "a person's work");
    run.project.write("new.txt", "a person's work");
    let project = run.project.fingerprint();
    break_something(&run.copy);
    let in_project = format!("cd {} && pytest", run.project.root());
    assert_eq!(agent.bash_ended(&in_project, 1, PYTEST_FAILED), None);
    let shown = agent.bash_ended("pytest", 1, PYTEST_FAILED).unwrap();
    assert!(shown.contains("1 more failing run"), "{shown}");
    let shown = agent.bash_ended("pytest", 1, PYTEST_FAILED).unwrap();
    assert!(shown.contains("was rolled back"), "{shown}");
    // The loop takes it out of the copy, as an attempt.
    assert!(shown.contains("`ralph-loop attempts US-001`") && !shown.contains("ralph-loop undo"));
    let log = run.state().failure_context();
    assert!(shown.contains(&format!("Read {log}")), "the path leads there from the copy: {shown}");
    assert_eq!(without_state(&run.copy), before);
    let mut after = run.project.fingerprint();
    after.files.retain(|path, _| project.files.contains_key(path));
    assert_eq!((after.files, after.refs), (project.files, project.refs));
    assert_eq!(discarded(&Repo::open(run.copy.root()).unwrap()).unwrap().len(), 1);
    assert_eq!(discarded(&Repo::open(run.project.root()).unwrap()).unwrap().len(), 0);
    let lessons = RunDir::of_project(run.project.root()).unwrap().lessons();
    assert!(lessons.exists() && run.state().strikes().exists() && log.exists());
    assert!(!run.copy.root().join(".ralph/events.jsonl").exists());
    assert_eq!(agent.events("rolled_back")[0]["story"], "US-001");
}

#[test]
fn strikes_of_a_run_are_not_affected_by_a_person() {
    let mut run = Run::new("[rollback]\non = \"failure\"\n");
    run.checkpoint();
    change_files(&run.copy);
    change_files(&run.project);
    let (agent, person) = (run.agent(), run.person());
    assert!(agent.bash_ended("pytest", 1, PYTEST_FAILED).unwrap().contains("2 more failing runs"));
    let log = fs_err::read(run.state().failure_context()).unwrap();
    assert_eq!(person.bash_ended("pytest", 1, PYTEST_FAILED), None);
    assert_eq!(person.bash_ended("pytest", 0, PYTEST_PASSED), None);
    assert_eq!(fs_err::read(run.state().failure_context()).unwrap(), log);
    assert!(agent.bash_ended("pytest", 1, PYTEST_FAILED).unwrap().contains("1 more failing run"));
    run.kill_loop();
    assert_eq!(person.bash_ended("pytest", 1, PYTEST_FAILED), None, "it may yet go on");
}

#[test]
fn a_checkpoint_of_a_copy_does_not_apply_to_the_project() {
    let mut run = Run::new("");
    run.checkpoint();
    run.kill_loop();
    Attempt::clear(&RunDir::of_project(run.project.root()).unwrap()).unwrap();
    change_files(&run.project);
    let work = without_state(&run.project);
    let shown = run.person().bash_ended("pytest", 1, PYTEST_FAILED).unwrap();
    assert!(shown.contains("There is no checkpoint"), "{shown}");
    assert_eq!(without_state(&run.project), work);
    assert!(!run.state().hook_error().exists());
}
