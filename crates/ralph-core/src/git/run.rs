//! Runs a git call to completion: feeds and reads it concurrently, for as long as it shows signs of
//! life, and retries it if another process's lock was in the way.

use std::ffi::OsStr;
use std::io::{self, Read, Write};
use std::process::{Child, ExitStatus};
use std::sync::atomic::Ordering;
use std::thread::{self, Scope, ScopedJoinHandle};
use std::time::{Duration, Instant};

use ralph_base::linux;
use ralph_base::supervised::{self, CheckEnd};
use wait_timeout::ChildExt;

use super::{Git, GitError, Patience};

/// The number of bytes kept of git's own messages.
const MOST_STDERR: usize = 8 * 1024;

/// The maximum interval between checks for signs of life.
const PULSE: Duration = Duration::from_secs(1);

/// The limit without a sign of life once we were asked to stop.
const HURRIED: Duration = Duration::from_secs(5);

/// How long a git with a limit may be busy once we were asked to stop.
const BUSY: Duration = Duration::from_secs(20);

/// The interval between retries while a lock is held.
const LOCK_PULSE: Duration = Duration::from_millis(50);

impl Git {
    /// Runs git to completion and returns its output. Waits for locks of other processes.
    pub fn run<S: AsRef<OsStr>>(&self, args: &[S]) -> Result<Vec<u8>, GitError> {
        self.feed(args, &[])
    }

    /// Runs git like `run`, with `input` on its standard input.
    pub fn feed<S: AsRef<OsStr>>(&self, args: &[S], input: &[u8]) -> Result<Vec<u8>, GitError> {
        self.patiently(|| {
            let write = |stdin: &mut dyn Write| stdin.write_all(input);
            self.stream(args, write, read_all).map(|(output, _)| output)
        })
    }

    /// Runs git like `feed`, and returns what it said on stderr.
    pub fn feed_and_hear<S: AsRef<OsStr>>(
        &self,
        args: &[S],
        input: &[u8],
    ) -> Result<String, GitError> {
        self.patiently(|| {
            let write = |stdin: &mut dyn Write| stdin.write_all(input);
            self.stream(args, write, read_all).map(|(_, said)| said)
        })
    }

    /// Runs git with this input, and meanwhile another git that reads its output.
    pub fn pipe<S, T>(&self, args: &[S], input: &[u8], into: (&Self, &[T])) -> Result<(), GitError>
    where
        S: AsRef<OsStr> + Sync,
        T: AsRef<OsStr> + Sync,
    {
        let (mut taken, (reader, reading)) = (Ok(()), into);
        let take = |output: &mut (dyn Read + Send)| {
            let pass = |stdin: &mut dyn Write| io::copy(output, stdin).map(drop);
            taken = reader.stream(reading, pass, read_all).map(drop);
            Ok(())
        };
        let given = self.stream(args, |stdin| stdin.write_all(input), take);
        match (given, taken) {
            // The first one was only ended because the second one stopped reading.
            (Err(error), Err(cause)) if error.said().is_empty() => Err(cause),
            (Err(error), _) | (Ok(_), Err(error)) => Err(error),
            (Ok(_), Ok(())) => Ok(()),
        }
    }

    /// Runs git to completion; also fails if git prints an error but exits with 0.
    pub(super) fn strictly<S: AsRef<OsStr>>(&self, args: &[S]) -> Result<(), GitError> {
        let (_, stderr) = self.stream(args, |_| Ok(()), read_all)?;
        if stderr.lines().any(|line| line.starts_with("error: ")) {
            let (command, dir) = self.named(args);
            return Err(GitError::Failed { command, dir, code: Some(0), stderr });
        }
        Ok(())
    }

    /// Runs a command that prints one line of text.
    pub fn line<S: AsRef<OsStr>>(&self, args: &[S]) -> Result<String, GitError> {
        let output = self.run(args)?;
        Ok(String::from_utf8_lossy(&output).trim_end_matches('\n').to_owned())
    }

    /// Retries `run` while another process's lock is in the way, up to the time limit.
    pub(super) fn patiently<T>(
        &self,
        run: impl Fn() -> Result<T, GitError>,
    ) -> Result<T, GitError> {
        let begun = Instant::now();
        loop {
            let failed = match run() {
                Err(error) => error,
                done => return done,
            };
            let Some(lock) = failed.lock() else { return Err(failed) };
            if begun.elapsed() >= self.patience.locks {
                let seconds = begun.elapsed().as_secs();
                return Err(GitError::Locked { seconds, lock: lock.to_owned() });
            }
            std::thread::sleep(LOCK_PULSE);
        }
    }

    /// Runs git while `write` feeds it and `read` takes its output; both run concurrently, so that
    /// nothing has to fit into memory or a pipe. Also returns what git printed on stderr.
    pub(super) fn stream<S, T>(
        &self,
        args: &[S],
        write: impl FnOnce(&mut dyn Write) -> io::Result<()> + Send,
        read: impl FnOnce(&mut (dyn Read + Send)) -> io::Result<T> + Send,
    ) -> Result<(T, String), GitError>
    where
        S: AsRef<OsStr>,
        T: Send,
    {
        let failure = |source| self.start_error(args, source);
        let begun = Instant::now();
        let mut command = self.command(args);
        let mut child = supervised::patiently(|| command.spawn()).map_err(failure)?;
        let (Some(mut stdin), Some(mut stdout), Some(stderr)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(failure(io::Error::other("no pipes")));
        };
        let (ended, written, taken, said) = thread::scope(|scope| {
            let writer = start(scope, move || write(&mut stdin));
            let reader = start(scope, move || read(&mut stdout));
            let listener = start(scope, || last_part(stderr));
            let ended = wait(&mut child, self.is_kept(), self.patience);
            (ended, joined(writer), joined(reader), joined(listener).unwrap_or_default())
        });
        let (command, dir) = self.named(args);
        match ended.map_err(failure)? {
            None => {
                let seconds = begun.elapsed().as_secs();
                Err(GitError::Deadline { command, dir, seconds })
            }
            Some(status) if status.success() => {
                written.map_err(failure)?;
                Ok((taken.map_err(failure)?, said))
            }
            Some(status) => {
                let stderr = with_cause(said, written.err().or(taken.err()));
                Err(GitError::Failed { command, dir, code: status.code(), stderr })
            }
        }
    }

    pub(super) fn start_error<S: AsRef<OsStr>>(&self, args: &[S], source: io::Error) -> GitError {
        let (command, dir) = self.named(args);
        GitError::Start { command, dir, source }
    }
}

/// Waits until git ends; `None` if it showed no sign of life for a while and was killed.
fn wait(child: &mut Child, is_kept: bool, patience: Patience) -> io::Result<Option<ExitStatus>> {
    let (begun, mut last) = (Instant::now(), (Vec::new(), Instant::now()));
    let mut interrupted: Option<Instant> = None;
    loop {
        let interrupts = supervised::INTERRUPTS.load(Ordering::SeqCst);
        let idle = match interrupts {
            0 => patience.idle,
            1 => patience.idle.min(HURRIED),
            _ => patience.idle.min(PULSE),
        };
        if interrupts > 0 {
            interrupted.get_or_insert_with(Instant::now);
        }
        if let Some(status) = child.wait_timeout(PULSE.min(idle))? {
            return Ok(Some(status));
        }
        // A keeper is busy even while git hangs.
        let (pid, kept) = (child.id().cast_signed(), |pid| linux::first_child(pid).unwrap_or(pid));
        let now = linux::signs_of_life(if is_kept { kept(pid) } else { pid });
        if now != last.0 {
            last = (now, Instant::now());
        }
        // After a second interrupt we do not wait even for a git that is busy.
        let is_over = patience.busy.is_some_and(|limit| {
            begun.elapsed() >= limit || interrupted.is_some_and(|at| at.elapsed() >= BUSY)
        });
        if is_over || last.1.elapsed() >= idle || interrupts > 1 && begun.elapsed() >= HURRIED {
            // Including its child processes, which would keep its pipes open.
            supervised::kill(child, is_kept)?;
            return Ok(None);
        }
    }
}

/// Starts a thread. On a full machine there is none: its end of the pipe is closed, which ends git.
fn start<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    work: impl FnOnce() -> io::Result<T> + Send + 'scope,
) -> io::Result<ScopedJoinHandle<'scope, io::Result<T>>> {
    thread::Builder::new().spawn_scoped(scope, work)
}

fn joined<T>(thread: io::Result<ScopedJoinHandle<'_, io::Result<T>>>) -> io::Result<T> {
    thread?.join().unwrap_or_else(|_| Err(io::Error::other("a reader thread panicked")))
}

fn read_all(stdout: &mut (dyn Read + Send)) -> io::Result<Vec<u8>> {
    let mut output = Vec::new();
    stdout.read_to_end(&mut output)?;
    Ok(output)
}

fn last_part(mut stderr: impl Read + Send) -> io::Result<String> {
    let said = read_all(&mut stderr)?;
    let last = said.get(said.len().saturating_sub(MOST_STDERR)..).unwrap_or_default();
    Ok(String::from_utf8_lossy(last).trim().to_owned())
}

/// Adds the cause of a failure, except a broken pipe, which only follows from git's own error.
fn with_cause(said: String, cause: Option<io::Error>) -> String {
    match cause {
        Some(cause) if cause.kind() != io::ErrorKind::BrokenPipe => format!("{said} ({cause})"),
        _ => said,
    }
}

impl Git {
    /// Commits as the user would, with the user's hooks and the message on standard input. Is ended
    /// at the time limit, or when `stop` returns true.
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
            let ended = supervised::run(git.command(args), message.as_bytes(), limit, stop, None);
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

#[cfg(test)]
mod tests {
    use test_support::Scratch;

    use super::*;

    fn git(idle: Duration) -> (Scratch, Git) {
        let scratch = Scratch::new();
        let git = Git::at(scratch.root().as_std_path());
        (scratch, git.with_patience(Patience { idle, ..Patience::default() }))
    }

    #[test]
    fn a_git_that_hangs_is_killed_with_its_children() {
        let (scratch, git) = git(Duration::from_millis(300));
        let alias = format!("alias.hang=!echo $$ > {}; sleep 600; true", scratch.path("pid"));
        let error = git.run(&["-c", &alias, "hang"]).unwrap_err();
        assert!(matches!(error, GitError::Deadline { .. }), "{error}");
        let pid = scratch.read("pid");
        test_support::until("its shell is gone", || !test_support::is_alive(&pid));
    }

    #[test]
    fn a_busy_git_is_ended_at_its_limit() {
        let (_scratch, git) = git(Duration::from_secs(60));
        let limit = Some(Duration::from_millis(300));
        let git = git.with_patience(Patience { busy: limit, ..Patience::default() });
        let error = git.run(&["-c", "alias.work=!while :; do :; done", "work"]).unwrap_err();
        assert!(matches!(error, GitError::Deadline { .. }), "{error}");
    }

    #[test]
    fn a_git_with_slow_input_is_not_killed() {
        let idle = Duration::from_millis(300);
        let (_scratch, git) = git(idle);
        let begun = Instant::now();
        let write = |stdin: &mut dyn Write| {
            while begun.elapsed() < idle * 2 {
                stdin.write_all(b"x")?;
                std::thread::sleep(idle / 50);
            }
            Ok(())
        };
        git.stream(&["hash-object", "--stdin"], write, read_all).unwrap();
    }

    #[test]
    fn output_on_stderr_is_an_error_only_in_strict_mode() {
        let (_scratch, git) = git(Duration::from_secs(60));
        let complain = ["-c", "alias.complain=!echo 'error: bad' >&2; true", "complain"];
        git.run(&complain).unwrap();
        assert!(git.strictly(&complain).unwrap_err().to_string().contains("error: bad"));
    }
}
