//! The user's commit: the one git call that runs the user's own hooks, and so the one that may take
//! any time. It is watched as a check is.

use std::ffi::OsStr;
use std::time::Duration;

use super::{Git, GitError};
use ralph_base::supervised::{self, CheckEnd};

impl Git {
    /// Commits as the user would, with the user's hooks and the message on standard input. It ends
    /// at the limit, or when `stop` says so.
    pub fn commit<S: AsRef<OsStr>>(
        &self,
        args: &[S],
        message: &str,
        limit: Option<Duration>,
        stop: &dyn Fn() -> bool,
    ) -> Result<(), GitError> {
        let mut git = self.clone();
        git.user_hooks = true;
        git.patiently(|| {
            let ended = supervised::run(git.command(args), message.as_bytes(), limit, stop, false);
            let (end, said) = ended.map_err(|source| git.start_error(args, source))?;
            let (command, dir) = git.named(args);
            match end {
                CheckEnd::Exited(Some(0)) => Ok(()),
                CheckEnd::Exited(code) => {
                    Err(GitError::Failed { command, dir, code, stderr: said.trim().to_owned() })
                }
                CheckEnd::Stopped => Err(GitError::Stopped { command, dir }),
                CheckEnd::TimedOut => {
                    let seconds = limit.unwrap_or_default().as_secs();
                    Err(GitError::Deadline { command, dir, seconds })
                }
            }
        })
    }
}
