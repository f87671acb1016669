//! The only place that starts git.
//!
//! Every call names its folder, is free of variables that point git elsewhere, speaks untranslated
//! messages, never prompts, runs none of the user's git hooks (but for a commit that is made for
//! the user) and ends at a deadline.

use std::ffi::{OsStr, OsString};
use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use wait_timeout::ChildExt;

/// Long enough for a large repository on a slow disk; a git that hangs must not hang us.
const DEADLINE: Duration = Duration::from_secs(300);

/// How long we wait for somebody else's lock on the index or a ref.
pub(super) const LOCK_PATIENCE: Duration = Duration::from_secs(10);

/// What is kept of git's own messages.
const MOST_STDERR: usize = 8 * 1024;

/// Variables that say where a repository is or how paths are read: those that
/// `git rev-parse --local-env-vars` prints, and a few that change what git does or prints.
/// The user's identity, credentials and configuration variables stay, and so do the folders above
/// which git is not to look for a repository.
const MISLEADING: [&str; 23] = [
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_ATTR_SOURCE",
    "GIT_COMMON_DIR",
    "GIT_DIFF_OPTS",
    "GIT_DIR",
    "GIT_EXTERNAL_DIFF",
    "GIT_GLOB_PATHSPECS",
    "GIT_GRAFT_FILE",
    "GIT_ICASE_PATHSPECS",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_INTERNAL_SUPER_PREFIX",
    "GIT_LITERAL_PATHSPECS",
    "GIT_NAMESPACE",
    "GIT_NO_REPLACE_OBJECTS",
    "GIT_NOGLOB_PATHSPECS",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX",
    "GIT_QUARANTINE_PATH",
    "GIT_REPLACE_REF_BASE",
    "GIT_SHALLOW_FILE",
    "GIT_TRACE",
    "GIT_WORK_TREE",
];

/// A variable of the git that makes the user's commit, and of its hooks: they outlive us if we are
/// killed, and whoever comes next has to wait for them or end them.
pub(super) const COMMIT_MARK: &str = "RALPH_INTERNAL__COMMITTING_IN";

/// Why a git call did not give an answer.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// Git could not be started, or its pipes failed.
    #[error("could not run `git {command}` in {dir}: {source}; is git installed and on PATH?")]
    Start {
        /// The git command.
        command: String,
        /// Where it was to run.
        dir: String,
        /// The system's reason.
        source: io::Error,
    },
    /// Git ran and failed.
    #[error("`git {command}` failed in {dir}: {stderr}")]
    Failed {
        /// The git command.
        command: String,
        /// Where it ran.
        dir: String,
        /// Its exit code; none if a signal ended it.
        code: Option<i32>,
        /// The end of what it said.
        stderr: String,
    },
    /// Somebody else holds a lock in the repository, and kept it.
    #[error(
        "another process holds {lock} and kept it for {seconds} seconds; wait for that git to end, \
         or remove the file if none is running"
    )]
    Locked {
        /// How long we waited.
        seconds: u64,
        /// The file.
        lock: String,
    },
    /// Git did not end in time and was killed.
    #[error("`git {command}` in {dir} did not end within {seconds} seconds and was killed")]
    Deadline {
        /// The git command.
        command: String,
        /// Where it ran.
        dir: String,
        /// The deadline.
        seconds: u64,
    },
    /// We were asked to stop, and git was ended.
    #[error("`git {command}` in {dir} was ended, because we were asked to stop")]
    Stopped {
        /// The git command.
        command: String,
        /// Where it ran.
        dir: String,
    },
}

impl GitError {
    /// Git's exit code, where it ended by itself with a failure.
    pub fn exit_code(&self) -> Option<i32> {
        match self {
            Self::Failed { code, .. } => *code,
            _ => None,
        }
    }

    /// Whether git found no repository where it looked for one.
    pub(super) fn names_no_repository(&self) -> bool {
        matches!(self, Self::Failed { stderr, .. } if stderr.contains("not a git repository"))
    }

    /// Whether git found a repository that is set to have no work tree.
    pub(super) fn needs_a_work_tree(&self) -> bool {
        matches!(self, Self::Failed { stderr, .. } if stderr.contains("must be run in a work tree"))
    }

    /// Whether somebody else moved a branch while git was about to: a matter of trying again.
    pub(crate) fn is_overtaken(&self) -> bool {
        let moved = ["but expected", "reference already exists", "unable to resolve reference"];
        matches!(self, Self::Failed { stderr, .. }
            if stderr.contains("cannot lock ref") && moved.iter().any(|how| stderr.contains(how)))
    }
}

/// Git in one folder.
#[derive(Debug, Clone)]
pub struct Git {
    dir: PathBuf,
    vars: Vec<(String, OsString)>,
    hooks: Hooks,
}

/// Whether the user's git hooks run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hooks {
    Run,
    Off,
}

impl Git {
    /// Git in this folder.
    pub fn at(dir: impl Into<PathBuf>) -> Self {
        Self { dir: dir.into(), vars: Vec::new(), hooks: Hooks::Off }
    }

    /// The same, on another index file than the repository's own.
    #[must_use]
    pub fn on_index(&self, index_file: PathBuf) -> Self {
        self.with_var("GIT_INDEX_FILE", index_file)
    }

    /// The same; new objects go into this folder instead of the repository's own.
    #[must_use]
    pub fn with_objects(&self, folder: PathBuf) -> Self {
        let own = self.dir.join(".git/objects");
        self.with_var("GIT_OBJECT_DIRECTORY", folder)
            .with_var("GIT_ALTERNATE_OBJECT_DIRECTORIES", own)
    }

    /// The same with a variable of git's.
    #[must_use]
    pub fn with_var(&self, name: &str, value: impl Into<OsString>) -> Self {
        let mut git = self.clone();
        git.vars.push((name.to_owned(), value.into()));
        git
    }

    /// The same in another folder.
    #[must_use]
    pub(super) fn within(&self, dir: &Path) -> Self {
        Self { dir: dir.to_owned(), ..self.clone() }
    }

    /// The same as the user would run it, with the user's git hooks: for commits that are theirs.
    #[must_use]
    pub fn with_hooks(&self) -> Self {
        Self { hooks: Hooks::Run, ..self.clone() }
    }

    /// Runs git to its end and returns what it printed. Waits for locks of others.
    pub fn run<S: AsRef<OsStr>>(&self, args: &[S]) -> Result<Vec<u8>, GitError> {
        self.feed(args, &[])
    }

    /// The same with `input` on its standard input.
    pub fn feed<S: AsRef<OsStr>>(&self, args: &[S], input: &[u8]) -> Result<Vec<u8>, GitError> {
        self.patiently(|| {
            let write =
                (!input.is_empty()).then_some(|mut stdin: ChildStdin| stdin.write_all(input));
            self.talk(args, write, read_all)
        })
    }

    /// Runs git again for as long as somebody else's lock is in its way, within bounds.
    pub(super) fn patiently<T>(
        &self,
        run: impl Fn() -> Result<T, GitError>,
    ) -> Result<T, GitError> {
        let begun = Instant::now();
        loop {
            match run() {
                Err(GitError::Failed { stderr, .. }) if names_a_lock(&stderr) => {
                    if begun.elapsed() >= LOCK_PATIENCE {
                        let (seconds, lock) = (begun.elapsed().as_secs(), lock_in(&stderr));
                        return Err(GitError::Locked { seconds, lock });
                    }
                    std::thread::sleep(Duration::from_millis(50));
                }
                other => return other,
            }
        }
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
        write: impl FnOnce(ChildStdin) -> io::Result<()> + Send,
        read: impl FnOnce(ChildStdout) -> io::Result<T> + Send,
    ) -> Result<T, GitError>
    where
        S: AsRef<OsStr>,
        T: Send,
    {
        self.talk(args, Some(write), read)
    }

    /// The same; where there is nothing to write, git's standard input is empty, and no thread is
    /// needed for it.
    fn talk<S, T>(
        &self,
        args: &[S],
        write: Option<impl FnOnce(ChildStdin) -> io::Result<()> + Send>,
        read: impl FnOnce(ChildStdout) -> io::Result<T> + Send,
    ) -> Result<T, GitError>
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
        let (ended, written, taken, said) = std::thread::scope(|scope| {
            let writer = writing.map(|(write, stdin)| scope.spawn(|| write(stdin)));
            let reader = scope.spawn(|| read(stdout));
            let listener = scope.spawn(|| last_part(stderr));
            let ended = wait(&mut child);
            let written = writer.map_or(Ok(()), joined);
            (ended, written, joined(reader), joined(listener).unwrap_or_default())
        });
        match ended.map_err(failure)? {
            None => Err(GitError::Deadline {
                command: shown(args),
                dir: self.dir.display().to_string(),
                seconds: DEADLINE.as_secs(),
            }),
            Some(status) if status.success() => {
                written.map_err(failure)?;
                taken.map_err(failure)
            }
            // A writer that found the pipe closed is the consequence; git's own words are the cause.
            Some(status) => Err(GitError::Failed {
                command: shown(args),
                dir: self.dir.display().to_string(),
                code: status.code(),
                stderr: with_cause(said, written.err()),
            }),
        }
    }

    #[expect(clippy::disallowed_methods, reason = "this is the door for starting git")]
    pub(super) fn command<S: AsRef<OsStr>>(&self, args: &[S]) -> Command {
        let mut command = Command::new("git");
        for name in MISLEADING {
            command.env_remove(name);
        }
        command.envs(self.vars.iter().map(|(name, value)| (name, value)));
        command
            // Not by a change of folder before git is started: a statically linked program would
            // have to make a copy of itself for that.
            .arg("-C")
            .arg(&self.dir)
            // Ctrl-C in a terminal goes to our whole group; git is to finish what it began.
            .process_group(0)
            .env("LC_ALL", "C")
            .env("GIT_TERMINAL_PROMPT", "0")
            // A status must not take the index lock only to refresh its cache: the user or the
            // agent may be running git at the same moment.
            .env("GIT_OPTIONAL_LOCKS", "0");
        match self.hooks {
            // Hooks of the user's are for the user's commits, not for our bookkeeping.
            Hooks::Off => command.args(["-c", "core.hooksPath=/dev/null"]),
            // A commit would leave a process behind that looks after the repository, and with it a
            // lock if the machine goes down; the next commit by hand does that as well.
            Hooks::Run => {
                command.env(COMMIT_MARK, &self.dir).args(["-c", "maintenance.auto=false"])
            }
        };
        command
            // A file system monitor would be a daemon of ours that outlives us.
            .args(["-c", "core.fsmonitor=false"])
            .args(["-c", "advice.addEmbeddedRepo=false"])
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    pub(super) fn start_error<S: AsRef<OsStr>>(&self, args: &[S], source: io::Error) -> GitError {
        let (command, dir) = self.named(args);
        GitError::Start { command, dir, source }
    }

    /// The command and its folder, for messages.
    pub(super) fn named<S: AsRef<OsStr>>(&self, args: &[S]) -> (String, String) {
        (shown(args), self.dir.display().to_string())
    }

    /// The folder in which it runs.
    pub fn dir(&self) -> &Path {
        &self.dir
    }
}

fn wait(child: &mut Child) -> io::Result<Option<std::process::ExitStatus>> {
    let ended = child.wait_timeout(DEADLINE)?;
    if ended.is_none() {
        child.kill()?;
        child.wait()?;
    }
    Ok(ended)
}

fn joined<T>(thread: std::thread::ScopedJoinHandle<'_, io::Result<T>>) -> io::Result<T> {
    thread.join().unwrap_or_else(|_| Err(io::Error::other("a pipe's thread panicked")))
}

fn read_all(mut stdout: ChildStdout) -> io::Result<Vec<u8>> {
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

/// What git says behind the name of a lock that is there.
const LOCK_EXISTS: &str = "': File exists";

fn names_a_lock(stderr: &str) -> bool {
    stderr.contains(&format!(".lock{LOCK_EXISTS}"))
}

/// The lock that git names; all that it says where it names none.
fn lock_in(stderr: &str) -> String {
    let before = stderr.split_once(LOCK_EXISTS).map(|(before, _)| before);
    let path = before.and_then(|before| before.rsplit_once('\'')).map(|(_, path)| path);
    path.unwrap_or(stderr).to_owned()
}

/// The command for messages: without options before it, and short.
fn shown<S: AsRef<OsStr>>(args: &[S]) -> String {
    let words: Vec<OsString> = args.iter().map(|arg| arg.as_ref().to_owned()).collect();
    words.join(OsStr::new(" ")).to_string_lossy().chars().take(200).collect()
}
