//! The user's commit: the one git call that runs the user's own hooks, and so the one that may take
//! any time. It is watched as a check is, and what is left of one whose loop was killed is ended.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::{Duration, Instant};

use super::command::{COMMIT_MARK, Git, GitError};
use crate::supervised::{self, CheckEnd};

/// How long a commit that outlived its loop may take to end by itself.
const ORPHAN_PATIENCE: Duration = Duration::from_secs(10);

/// How long it may take after it was asked to end.
const ORPHAN_GRACE: Duration = Duration::from_secs(2);

/// What bounds a commit.
#[derive(Clone, Copy)]
pub(crate) struct Watch<'a> {
    /// How long it may take, hooks included; none if it may take any time.
    pub(crate) limit: Option<Duration>,
    /// Whether we are asked to stop.
    pub(crate) stop: &'a dyn Fn() -> bool,
}

impl Git {
    /// Commits as the user would, with the user's hooks and the message on standard input.
    pub fn commit<S: AsRef<OsStr>>(
        &self,
        args: &[S],
        message: &str,
        limit: Option<Duration>,
        stop: &dyn Fn() -> bool,
    ) -> Result<(), GitError> {
        let git = self.with_hooks();
        git.patiently(|| git.commit_once(args, message, Watch { limit, stop }))
    }

    fn commit_once<S: AsRef<OsStr>>(
        &self,
        args: &[S],
        message: &str,
        watch: Watch<'_>,
    ) -> Result<(), GitError> {
        let Watch { limit, stop } = watch;
        let ended = supervised::run(self.command(args), message.as_bytes(), limit, stop);
        let (end, said) = ended.map_err(|source| self.start_error(args, source))?;
        let (command, dir) = self.named(args);
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
    }
}

/// Whether a commit that a killed process began is under way in a folder, or a hook of it.
pub fn is_commit_orphaned(dir: &Path) -> bool {
    !orphans(dir).is_empty()
}

/// Waits for such a commit for a while, or until `stop` says so; then ends it and its hooks.
pub fn end_orphaned_commit(dir: &Path, stop: &dyn Fn() -> bool) {
    wait_while_orphaned(dir, ORPHAN_PATIENCE, stop);
    for (signal, grace) in [("TERM", ORPHAN_GRACE), ("KILL", ORPHAN_GRACE)] {
        let left = orphans(dir);
        if left.is_empty() {
            return;
        }
        supervised::signal(signal, &left);
        wait_while_orphaned(dir, grace, &|| false);
    }
}

fn wait_while_orphaned(dir: &Path, patience: Duration, stop: &dyn Fn() -> bool) {
    let begun = Instant::now();
    while is_commit_orphaned(dir) && begun.elapsed() < patience && !stop() {
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// The processes that bear the mark of a commit in this folder; none if we are one of them, called
/// by a git hook.
fn orphans(dir: &Path) -> Vec<String> {
    let mark = [COMMIT_MARK.as_bytes(), b"=", dir.as_os_str().as_bytes()].concat();
    let is_marked = |process: &Path| {
        let environment = fs_err::read(process.join("environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|variable| variable == mark)
    };
    if is_marked(Path::new("/proc/self")) {
        return Vec::new();
    }
    let processes = fs_err::read_dir("/proc").into_iter().flatten().flatten();
    let marked = processes.filter(|process| is_marked(&process.path()));
    marked.filter_map(|process| process.file_name().into_string().ok()).collect()
}
