//! How a git call is run to its end: fed and read at the same time, for as long as it shows signs of
//! life, and again where another process's lock was in its way.

use std::ffi::OsStr;
use std::io::{self, Read, Write};
use std::process::{Child, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::ScopedJoinHandle;
use std::time::{Duration, Instant};

use wait_timeout::ChildExt;

use super::command::Git;
use super::error::GitError;
use crate::supervised;

/// What is kept of git's own messages.
const MOST_STDERR: usize = 8 * 1024;

/// How often signs of life are looked for, at least.
const PULSE: Duration = Duration::from_secs(1);

/// How often we look whether a lock is gone.
pub(super) const LOCK_PULSE: Duration = Duration::from_millis(50);

impl Git {
    /// Runs git to its end and returns what it printed. Waits for locks of others.
    pub fn run<S: AsRef<OsStr>>(&self, args: &[S]) -> Result<Vec<u8>, GitError> {
        self.feed(args, &[])
    }

    /// The same with `input` on its standard input.
    pub fn feed<S: AsRef<OsStr>>(&self, args: &[S], input: &[u8]) -> Result<Vec<u8>, GitError> {
        self.patiently(|| {
            let write = |stdin: &mut dyn Write| stdin.write_all(input);
            let write = Some(write).filter(|_| !input.is_empty());
            self.talk(args, write, read_all).map(|(output, _)| output)
        })
    }

    /// Runs git to its end; it fails if git complains of an error, whatever it makes of that.
    pub(super) fn strictly<S: AsRef<OsStr>>(&self, args: &[S]) -> Result<(), GitError> {
        let nothing = None::<fn(&mut dyn Write) -> io::Result<()>>;
        let (_, stderr) = self.talk(args, nothing, read_all)?;
        if stderr.lines().any(|line| line.starts_with("error: ")) {
            let (command, dir) = self.named(args);
            return Err(GitError::Failed { command, dir, code: Some(0), stderr });
        }
        Ok(())
    }

    /// The same, for a command that prints one line of text.
    pub fn line<S: AsRef<OsStr>>(&self, args: &[S]) -> Result<String, GitError> {
        let output = self.run(args)?;
        Ok(String::from_utf8_lossy(&output).trim_end_matches('\n').to_owned())
    }

    /// Runs git while `write` feeds it and `read` takes what it prints; both run at the same time,
    /// so that nothing has to fit into memory or into a pipe.
    pub fn stream<S, T>(
        &self,
        args: &[S],
        write: impl FnOnce(&mut dyn Write) -> io::Result<()> + Send,
        read: impl FnOnce(&mut dyn Read) -> io::Result<T> + Send,
    ) -> Result<T, GitError>
    where
        S: AsRef<OsStr>,
        T: Send,
    {
        self.talk(args, Some(write), read).map(|(taken, _)| taken)
    }

    /// Runs git again for as long as another process's lock is in its way, within bounds.
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
            if begun.elapsed() >= self.patience().locks {
                let seconds = begun.elapsed().as_secs();
                return Err(GitError::Locked { seconds, lock: lock.to_owned() });
            }
            std::thread::sleep(LOCK_PULSE);
        }
    }

    /// What was read, and what git said besides. Where there is nothing to write, git's standard input
    /// is empty, and no thread is needed for it.
    fn talk<S, T>(
        &self,
        args: &[S],
        write: Option<impl FnOnce(&mut dyn Write) -> io::Result<()> + Send>,
        read: impl FnOnce(&mut dyn Read) -> io::Result<T> + Send,
    ) -> Result<(T, String), GitError>
    where
        S: AsRef<OsStr>,
        T: Send,
    {
        let failure = |source| self.start_error(args, source);
        let mut command = self.command(args);
        if write.is_none() {
            command.stdin(Stdio::null());
        }
        let mut child = command.spawn().map_err(failure)?;
        let writing = write.zip(child.stdin.take());
        let (Some(stdout), Some(stderr)) = (child.stdout.take(), child.stderr.take()) else {
            return Err(failure(io::Error::other("no pipes")));
        };
        let moved = &AtomicU64::new(0);
        let (ended, written, taken, said) = std::thread::scope(|scope| {
            let writer = writing.map(|(write, stdin)| {
                scope.spawn(move || write(&mut Counted { pipe: stdin, moved }))
            });
            let reader = scope.spawn(move || read(&mut Counted { pipe: stdout, moved }));
            let listener = scope.spawn(|| last_part(stderr));
            let ended = wait(&mut child, self.patience().idle, moved);
            let written = writer.map_or(Ok(()), joined);
            (ended, written, joined(reader), joined(listener).unwrap_or_default())
        });
        let (command, dir) = self.named(args);
        match ended.map_err(failure)? {
            None => {
                let seconds = self.patience().idle.as_secs();
                Err(GitError::Idle { command, dir, seconds })
            }
            Some(status) if status.success() => {
                written.map_err(failure)?;
                Ok((taken.map_err(failure)?, said))
            }
            // A writer that found the pipe closed is the consequence; git's own words are the cause.
            Some(status) => {
                let stderr = with_cause(said, written.err());
                Err(GitError::Failed { command, dir, code: status.code(), stderr })
            }
        }
    }

    pub(super) fn start_error<S: AsRef<OsStr>>(&self, args: &[S], source: io::Error) -> GitError {
        let (command, dir) = self.named(args);
        GitError::Start { command, dir, source }
    }
}

/// A pipe to or from git that counts what goes through it.
struct Counted<'a, P> {
    pipe: P,
    moved: &'a AtomicU64,
}

impl<P> Counted<'_, P> {
    fn count(&self, bytes: usize) -> usize {
        self.moved.fetch_add(bytes as u64, Ordering::Relaxed);
        bytes
    }
}

impl<P: Read> Read for Counted<'_, P> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = self.pipe.read(buffer)?;
        Ok(self.count(bytes))
    }
}

impl<P: Write> Write for Counted<'_, P> {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        let bytes = self.pipe.write(buffer)?;
        Ok(self.count(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.pipe.flush()
    }
}

/// Waits until git ends; none if it showed no sign of life for a while and was killed.
fn wait(child: &mut Child, idle: Duration, moved: &AtomicU64) -> io::Result<Option<ExitStatus>> {
    let mut last = (signs_of_life(child, moved), Instant::now());
    loop {
        if let Some(status) = child.wait_timeout(PULSE.min(idle))? {
            return Ok(Some(status));
        }
        let now = signs_of_life(child, moved);
        if now != last.0 {
            last = (now, Instant::now());
        } else if last.1.elapsed() >= idle {
            // With all that it started, which would hold its pipes open.
            supervised::signal("KILL", &[format!("-{}", child.id())]);
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
    }
}

/// What went through its pipes, and the time and memory that it used so far, where the system tells:
/// it may read and write files of its own for a long time.
fn signs_of_life(child: &Child, moved: &AtomicU64) -> (u64, Vec<u8>) {
    let used = fs_err::read(format!("/proc/{}/stat", child.id())).unwrap_or_default();
    (moved.load(Ordering::Relaxed), used)
}

fn joined<T>(thread: ScopedJoinHandle<'_, io::Result<T>>) -> io::Result<T> {
    thread.join().unwrap_or_else(|_| Err(io::Error::other("a pipe's thread panicked")))
}

fn read_all(stdout: &mut dyn Read) -> io::Result<Vec<u8>> {
    let mut output = Vec::new();
    stdout.read_to_end(&mut output)?;
    Ok(output)
}

fn last_part(mut stderr: impl Read) -> io::Result<String> {
    let mut said = Vec::new();
    let mut part = [0; 4096];
    loop {
        let count = stderr.read(&mut part)?;
        if count == 0 {
            return Ok(String::from_utf8_lossy(&said).trim().to_owned());
        }
        said.extend_from_slice(part.get(..count).unwrap_or_default());
        said.drain(..said.len().saturating_sub(MOST_STDERR));
    }
}

fn with_cause(said: String, cause: Option<io::Error>) -> String {
    match cause {
        Some(cause) if cause.kind() != io::ErrorKind::BrokenPipe => format!("{said} ({cause})"),
        _ => said,
    }
}

#[cfg(test)]
mod tests {
    use test_support::Scratch;

    use super::*;
    use crate::git::command::Patience;

    fn git(idle: Duration) -> (Scratch, Git) {
        let scratch = Scratch::new();
        let git = Git::at(scratch.root().as_std_path());
        (scratch, git.with_patience(Patience { idle, ..Patience::default() }))
    }

    #[test]
    fn a_git_that_hangs_is_ended_with_all_that_it_started() {
        let (scratch, git) = git(Duration::from_millis(300));
        let alias = format!("alias.hang=!echo $$ > {}; sleep 600; true", scratch.path("pid"));
        let error = git.run(&["-c", &alias, "hang"]).unwrap_err();
        assert!(matches!(error, GitError::Idle { .. }), "{error}");
        let pid = scratch.read("pid");
        test_support::until("its shell is gone", || !test_support::is_alive(&pid));
    }

    #[test]
    fn a_git_that_is_fed_slowly_is_waited_for() {
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
    fn what_git_complains_of_is_an_error_only_where_that_is_asked_for() {
        let (_scratch, git) = git(Duration::from_secs(60));
        let complain = ["-c", "alias.complain=!echo 'error: bad' >&2; true", "complain"];
        git.run(&complain).unwrap();
        assert!(git.strictly(&complain).unwrap_err().to_string().contains("error: bad"));
    }
}
