//! Runs a command and takes back what it did to the work tree if it fails.
//!
//! Nothing is lost by that: what is taken back is kept under a ref, and `undo` brings it back.
//!
//! ```sh
//! cargo run --quiet -p ralph-loop-core --example try_command -- sh -c 'sed -i s/a/b/ README.md && false'
//! ```

#![expect(clippy::print_stderr, clippy::disallowed_methods, reason = "a small program for people")]

use std::process::{Command, ExitCode};

use camino::{Utf8Path, Utf8PathBuf};
use ralph_base::state::StateDir;
use ralph_core::git::{Checkpoint, Repo, rollback};

type Failure = Box<dyn std::error::Error>;

/// Whether the command succeeded; if not, the ref that keeps what it did.
fn attempt(project: &Utf8Path, command: &mut Command) -> Result<Option<String>, Failure> {
    let repo = Repo::open(project)?;
    let state = StateDir::of_project(project);
    state.prepare()?;
    Checkpoint::create(&repo, &state, "before a trial")?;
    if command.current_dir(project).status()?.success() {
        Checkpoint::clear(&state)?;
        return Ok(None);
    }
    let rolled_back = rollback(&repo, &state, None, "the command failed")?;
    Checkpoint::clear(&state)?;
    Ok(Some(rolled_back.saved.name))
}

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let Some(program) = arguments.next() else {
        eprintln!("usage: try_command PROGRAM [ARGUMENTS]");
        return ExitCode::from(2);
    };
    let here = std::env::current_dir().map_err(Failure::from);
    let here = here.and_then(|here| Ok(Utf8PathBuf::try_from(here)?));
    match here.and_then(|here| attempt(&here, Command::new(program).args(arguments))) {
        Ok(None) => ExitCode::SUCCESS,
        Ok(Some(saved)) => {
            eprintln!("taken back; what it did is kept as {saved}");
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use test_support::TestRepo;

    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn only_a_failing_command_is_taken_back() {
        let repo = TestRepo::new();
        let saved = attempt(repo.root(), &mut shell("echo b > a.txt; exit 1")).unwrap().unwrap();
        assert_eq!(fs_err::read_to_string(repo.root().join("a.txt")).unwrap(), "a\n");
        assert_eq!(repo.git(["show", &format!("{saved}:a.txt")]), "b\n");
        assert_eq!(attempt(repo.root(), &mut shell("echo c > a.txt")).unwrap(), None);
        assert_eq!(fs_err::read_to_string(repo.root().join("a.txt")).unwrap(), "c\n");
    }
}
