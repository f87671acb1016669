//! The loop's own log inside the project: `ralph-loop > nohup.out`.

use std::process::Stdio;

use crate::stage::Stage;

const ONE: &str = "- [ ] US-001: First\n";

/// Runs the loop with stdout and stderr appended to a file of the project.
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
fn the_loops_log_in_the_project_is_not_committed() {
    for (is_ignored, place) in [(false, &[][..]), (true, &[]), (true, &["--in-place"])] {
        let stage = Stage::new("works", ONE);
        if is_ignored {
            stage.repo.write(".gitignore", "nohup.out\n");
        }
        stage.repo.commit_all("the plan");
        let agent = "git add -A; [ -e \"$AGENT_NOTES/second\" ] || { touch \"$AGENT_NOTES/second\"; \
                     echo x >x; exit 1; }; echo y >y";
        let (code, log) = into_log(&stage, &[&["--agent", agent], place].concat());
        assert_eq!(code, Some(0), "{log}");
        for part in ["first line\n", "attempt saved", "finished (complete)"] {
            assert!(log.contains(part), "no `{part}` in {log}");
        }
        let files = stage.repo.git(["log", "--format=", "--name-only"]);
        assert!(files.contains("y\n") && !files.contains("nohup.out"), "{files}");
        let left = if is_ignored { "" } else { "?? nohup.out\n" };
        assert_eq!(stage.repo.git(["status", "--porcelain"]), left);
    }
}
