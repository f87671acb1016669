//! One attempt at the next story of a plan: a checkpoint, a command, a verdict, and a rollback if
//! tests failed. Nothing is lost by that: what is rolled back is kept under a ref.
//!
//! ```sh
//! cargo run --quiet -p ralph-loop-core --example one_attempt -- plan.md 'npm test'
//! ```

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "a small program for people"
)]

use std::collections::BTreeSet;
use std::process::{Command, ExitCode};

use ralph_core::git::{Checkpoint, Repo, rollback};
use ralph_core::plan::{self, Next, Options};
use ralph_core::verdict::{Kind, Run, judge};
use ralph_core::{StateDir, Utf8Path, Utf8PathBuf};

type Failure = Box<dyn std::error::Error>;

/// What became of the story: one line for a person.
fn attempt(project: &Utf8Path, plan: &Utf8Path, command: &str) -> Result<String, Failure> {
    let plan = plan::load(plan, &Options::default())?;
    let Next::Story(story) = plan.next_story(&BTreeSet::new()) else {
        return Ok("no story is open".to_owned());
    };
    let repo = Repo::open(project)?;
    let state = StateDir::of_project(project);
    state.prepare()?;
    Checkpoint::create(&repo, &state, &format!("before {}", story.id))?;
    let ran = Command::new("sh").args(["-c", command]).current_dir(project).output()?;
    let output = String::from_utf8_lossy(&ran.stdout) + String::from_utf8_lossy(&ran.stderr);
    let run = Run { command, exit_code: ran.status.code(), output: &output, ..Run::default() };
    let verdict = judge(&run);
    let said = match verdict.kind {
        Kind::Failed => {
            let rolled_back = rollback(&repo, &state, None, "tests failed")?;
            format!("{}: rolled back; what it did is kept as {}", story.id, rolled_back.saved.name)
        }
        kind => format!("{}: {}", story.id, kind.name()),
    };
    Checkpoint::clear(&state)?;
    Ok(said)
}

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let (Some(plan), Some(command)) = (arguments.next(), arguments.next()) else {
        eprintln!("usage: one_attempt PLAN COMMAND");
        return ExitCode::from(2);
    };
    let here = std::env::current_dir().map_err(Failure::from);
    let here = here.and_then(|here| Ok(Utf8PathBuf::try_from(here)?));
    match here.and_then(|here| attempt(&here, plan.as_str().into(), &command)) {
        Ok(said) => {
            println!("{said}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

    use test_support::TestRepo;

    use super::*;

    #[test]
    fn a_failing_test_run_is_rolled_back_and_a_passing_one_is_not() {
        let repo = TestRepo::new();
        let plan = repo.root().join("plan.md");
        fs_err::write(&plan, "- [ ] A-1: Model\n").unwrap();
        let content = || fs_err::read_to_string(repo.root().join("a.txt")).unwrap();
        let pytest = |script: &str| {
            let path = repo.root().join("pytest");
            fs_err::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
            fs_err::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
            attempt(repo.root(), &plan, "./pytest").unwrap()
        };
        let said = pytest("echo b >a.txt; echo '=== 1 failed, 2 passed in 0.1s ==='; exit 1");
        assert!(said.starts_with("A-1: rolled back; what it did is kept as refs/ralph/"), "{said}");
        assert_eq!(content(), "a\n");
        let said = pytest("echo c >a.txt; echo '=== 3 passed in 0.1s ==='");
        assert_eq!((said.as_str(), content().as_str()), ("A-1: passed", "c\n"));
    }
}
