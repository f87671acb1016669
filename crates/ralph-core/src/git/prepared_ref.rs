//! A ref that git keeps locked until another operation has succeeded.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout};

use ralph_base::supervised::patiently;

use super::{Git, GitError};

/// A locked ref that is about to move. If this value is dropped, the ref stays where it was; also
/// if our process is killed, because git then reads the end of its input.
#[derive(Debug)]
pub struct PreparedRef {
    git: Git,
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
}

const ARGS: [&str; 4] = ["update-ref", "-m", "ralph: land", "--stdin"];

impl Git {
    /// Locks a ref that is at `old` (`None`: does not exist), to move it to `new`.
    pub fn prepare_ref(
        &self,
        name: &str,
        old: Option<&str>,
        new: &str,
    ) -> Result<PreparedRef, GitError> {
        self.patiently(|| {
            let failure = |source| self.start_error(&ARGS, source);
            let mut command = self.command(&ARGS);
            let mut child = patiently(|| command.spawn()).map_err(failure)?;
            let (stdin, Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
                return Err(failure(std::io::Error::other("no pipes")));
            };
            let stdout = BufReader::new(stdout);
            let mut prepared = PreparedRef { git: self.clone(), child, stdin, stdout };
            let update = format!("update {name} {new} {}", old.unwrap_or("\"\""));
            prepared.ask(&format!("start\n{update}\nprepare"), "prepare: ok")?;
            Ok(prepared)
        })
    }
}

impl PreparedRef {
    /// Moves the ref.
    pub fn commit(mut self) -> Result<(), GitError> {
        self.ask("commit", "commit: ok")
    }

    fn ask(&mut self, commands: &str, wanted: &str) -> Result<(), GitError> {
        // If git has failed, it closes its pipes and reports the reason on stderr.
        let _ = self.stdin.as_mut().map(|stdin| writeln!(stdin, "{commands}"));
        let mut answers = self.stdout.by_ref().lines().map_while(Result::ok);
        if answers.any(|answer| answer == wanted) {
            return Ok(());
        }
        let mut said = Vec::new();
        let _ = self.child.stderr.take().map(|mut stderr| stderr.read_to_end(&mut said));
        let stderr = String::from_utf8_lossy(&said).trim().to_owned();
        let code = self.child.wait().ok().and_then(|status| status.code());
        let (command, dir) = self.git.named(&ARGS);
        Err(GitError::Failed { command, dir, code, stderr })
    }
}

impl Drop for PreparedRef {
    fn drop(&mut self) {
        self.stdin = None;
        let _ = self.child.wait();
    }
}
