//! A log of the loop's own inside the project: `ralph-loop > nohup.out`.

use std::process::Stdio;

use crate::stage::{Ran, Stage};

const ONE: &str = "- [ ] US-001: First\n";

/// Runs the loop with both outputs in a file of the project, after a line that was there before.
fn into_log(stage: &Stage, args: &[&str]) -> (Option<i32>, String) {
    let path = stage.repo.root().join("nohup.out");
    fs_err::write(&path, "first line\n").unwrap();
    let log = fs_err::OpenOptions::new().append(true).open(&path).unwrap().into_parts().0;
    let mut command = stage.command(args);
    command.stdout(Stdio::from(log.try_clone().unwrap())).stderr(Stdio::from(log));
    let code = command.status().expect("the loop runs").code();
    (code, fs_err::read_to_string(path).unwrap_or_default())
}

#[test]
fn a_log_in_the_project_is_no_uncommitted_work_and_part_of_no_commit() {
    for args in [vec![], vec!["--allow-dirty"]] {
        let stage = Stage::new("works", ONE);
        stage.repo.write("mine.txt", "mine\n");
        if args.is_empty() {
            stage.repo.commit_all("mine");
        }
        let (code, log) = into_log(&stage, &args);
        assert_eq!(code, Some(0), "{log}");
        assert!(log.starts_with("first line\n") && log.contains("finished (complete)"), "{log}");
        let files = stage.repo.git(["log", "--format=", "--name-only"]);
        assert!(!files.contains("nohup.out"), "{files}");
        assert_eq!(stage.read("mine.txt"), "mine\n");
    }
}

#[test]
fn a_log_in_the_project_survives_rollbacks_and_an_agent_that_stages_all() {
    let stage = Stage::new("works", ONE);
    let agent =
        "git add -A; [ -e .git/second ] || { : >.git/second; echo x >x; exit 1; }; echo y >y";
    let (code, log) = into_log(&stage, &["--agent", agent]);
    assert_eq!(code, Some(0), "{log}");
    for part in ["first line\n", "rolled back", "finished (complete)"] {
        assert!(log.contains(part), "no `{part}` in {log}");
    }
    assert_eq!((stage.exists("x"), stage.exists("y")), (false, true));
    let files = stage.repo.git(["show", "--format=", "--name-only", "HEAD"]);
    assert!(files.contains("y\n") && !files.contains("nohup.out"), "{files}");
}

#[test]
fn a_log_of_somebody_else_is_uncommitted_work() {
    let stage = Stage::new("works", ONE);
    stage.repo.write("nohup.out", "of last night\n");
    let ran: Ran = stage.run(&[]);
    ran.ended(1).says("nohup.out");
}
