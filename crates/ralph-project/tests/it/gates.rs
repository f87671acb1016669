//! State folders as existing tools write them: `fixtures/gates/`, one folder per case.

use camino::Utf8Path;
use ralph_base::state::{Id, SessionDir, StateDir};
use ralph_project::gate::{
    LoopState, Orchestrator, QualityGate, Reading, StateFile, Tasks, Unmet, reason,
};
use test_support::{Scratch, fixtures, program};

/// Judges one file: returns what is unmet, or the name of a broken file.
fn judge<T: StateFile>(
    session: &SessionDir,
    gate: fn(&T, &Utf8Path) -> Option<Unmet>,
) -> Result<Option<Unmet>, String> {
    match T::load(session) {
        Reading::Missing => Ok(None),
        Reading::Found(file) => Ok(gate(&file, T::path(session).file_name().unwrap().into())),
        Reading::Broken(broken) => Err(broken.path.file_name().unwrap().to_owned()),
    }
}

fn judged(session: &SessionDir) -> String {
    let tasks = Tasks::load(session);
    let results = [
        judge(session, Orchestrator::gate),
        judge(session, LoopState::gate),
        judge(session, QualityGate::gate),
        Ok(tasks.gate("tasks".into())),
    ];
    let unmet: Vec<Unmet> = results.iter().flatten().flatten().cloned().collect();
    let mut text = if unmet.is_empty() { String::new() } else { reason(&unmet, &[]) + "\n" };
    let broken = results.into_iter().filter_map(Result::err);
    let broken_tasks =
        tasks.broken.iter().map(|broken| broken.path.file_name().unwrap().to_owned());
    for name in broken.chain(broken_tasks) {
        text.push_str(&format!("broken: {name}\n"));
    }
    text
}

#[test]
fn state_folders_are_judged_as_expected() {
    let mut cases = 0;
    for entry in fixtures().join("gates").read_dir_utf8().unwrap() {
        let case = entry.unwrap().into_path();
        if !case.is_dir() {
            continue;
        }
        cases += 1;
        let scratch = Scratch::new();
        let session = StateDir::of_project(scratch.root()).session(&Id::parse("s1").unwrap());
        scratch.dir(".ralph/state");
        let mut copy = program("cp", scratch.root());
        assert!(copy.arg("-r").args([case.as_path(), session.root()]).status().unwrap().success());
        let found = judged(&session);
        let expected = fs_err::read_to_string(case.join("expected.txt")).unwrap();
        assert_eq!(found, expected, "{case}");
    }
    assert!(cases >= 8, "{cases}");
}
